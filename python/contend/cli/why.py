"""`contend why`: what is tried for the cause of a difference, its time, and what came of it."""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from contend.cli.parser import columns, confirmed, remark, say, say_json
from contend.errors import RequestError
from contend.findings.tried import by_reason
from contend.lab.why import MINUTES, NotTried, WhyPlan, plan_of_why
from contend.probed import WhyFacts
from contend.spec import Experiment
from contend.store import RunFolder, find_run
from contend.store.database import RESULTS_NAME
from contend.store.folder import WITHIN

if TYPE_CHECKING:
    from contend.report.model import Section

WIDTH = 100
"""Of a line that lists many names."""


def add_why(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Why do the levels of a run differ? Picks the causes whose signs the run shows, and does "
        "to both levels alike what would take each away, in two doses where there are two, beside "
        "a placebo that costs as much. Says beforehand what it will try and how long that takes."
    )
    parser.add_argument(
        "folder", metavar="RUN", help="a run folder, or the name of one under ./contend-runs"
    )
    parser.add_argument(
        "--minutes",
        metavar="N",
        type=float,
        default=MINUTES,
        help=f"how long to measure (default: {MINUTES:g}); what there is no time for is said",
    )
    parser.add_argument("--plan", action="store_true", help="only say what would be tried")
    parser.add_argument("--json", action="store_true", help="print what came of it as JSON")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(run=_why, server=None, resume=None, ignore=[], touch_host=False, out=None)


def _why(args: argparse.Namespace) -> int:
    return explain(find_run(args.folder), args)


def explain(path: Path, args: argparse.Namespace, *, agreed: bool = False) -> int:
    """Try the causes of what a run found, unless that was done; and say what came of it.

    Args:
        args: as of `contend why`: `minutes`, `plan`, `json`, `yes`, and those of `contend run` that
            say which server it is.
        agreed: whoever asked for it before the run is not asked again.
    """
    inner = path / WITHIN
    if not (inner / RESULTS_NAME).is_file():
        if not 0.5 <= args.minutes <= 24 * 60:
            raise RequestError(
                f"--minutes {args.minutes:g} is not between half a minute and a day",
                hint="A minute for each candidate is usual.",
            )
        plan = plan_of_why(path, minutes=args.minutes)
        for line in _beforehand(plan):
            remark(line)
        if args.plan:
            return 0
        if not confirmed("Try it?", yes=args.yes or agreed):
            raise NotTried("nobody agreed to try it", hint="With --yes it is not asked.")
        measure_within(path, inner, plan.experiment, args, about_why=plan.facts)
    return _show(path, args)


def _beforehand(plan: WhyPlan) -> list[str]:
    lines = [f"Tried for {plan.seconds / 60:g} min, at both levels alike:"]
    for one, proposal in plan.tried:
        lines.append(f"  {one.name}: {one.title}")
        lines += [f"    dose {n}: {d.words}" for n, d in enumerate(proposal.doses, start=1)]
        lines.append(f"    placebo: {proposal.placebo.words}")
        lines.append(f"    foretold: at least {proposal.least:.0%} of the difference goes")
    if plan.untested:
        lines.append("Not tried:")
        for name, why in by_reason(plan.untested):
            lines += textwrap.wrap(
                f"  {name}: {why}", WIDTH, subsequent_indent="    ", break_on_hyphens=False
            )
    return lines


def measure_within(
    path: Path,
    inner: Path,
    experiment: Experiment,
    args: argparse.Namespace,
    *,
    about_why: WhyFacts | None = None,
) -> None:
    """Measure an experiment on the servers of a run, into a folder within the run's."""
    from rich.console import Console

    from contend.cli.progress import display_on
    from contend.cli.run import equipment_for
    from contend.lab import session
    from contend.load import find_program

    before = {
        name: server["source"]
        for name, server in session.stored_servers(path).items()
        if "source" in server
    }
    program = find_program()
    with display_on(Console(stderr=True)) as display:
        equipment = equipment_for(args, experiment, inner, program, display, before=before)
        session.begin(experiment, inner, equipment, display, about_why=about_why)


def _show(path: Path, args: argparse.Namespace) -> int:
    from contend.report.why import why_as_json, why_section

    with RunFolder.open(path) as folder:
        if args.json:
            say_json(why_as_json(folder))
            return 0
        section = why_section(folder)
    if section is None:
        raise RequestError(f"nothing was measured in {path / WITHIN}")
    say_section(section)
    return 0


def say_section(section: Section) -> None:
    """The words of a section and all of its tables."""
    say(section.lead)
    for table in section.tables:
        say("")
        for row in columns([table.columns, *table.rows]):
            say(row)
    sys.stdout.flush()
