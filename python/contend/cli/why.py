"""`contend why`: treatments for the causes of a difference, and the results. `contend profile`: the
functions in which two levels of a run spend their CPU time. Both measure a pair of a run again,
into a folder within the run's.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contend.cli.parser import columns, confirmed, counted_from_0, remark, say, say_json
from contend.errors import RequestError, WorkError
from contend.experiment import Experiment, asks_twins, from_dict
from contend.experiment.settings.server import HZ_MAX
from contend.metrics.probed import WhyFacts
from contend.sections.profile import HZ, REPEATS, ProfilePlan, plan_of_profile
from contend.sections.profile import MINUTES as PROFILE_MINUTES
from contend.store import RunFolder, find_run
from contend.store.database import RESULTS_NAME
from contend.store.folder import WITHIN, WITHIN_PROFILE
from contend.why.plan import MINUTES, NotTried, WhyPlan, plan_of_why
from contend.why.tried import by_reason

if TYPE_CHECKING:
    from contend.sections.model import Shown

MINUTES_MIN, MINUTES_MAX = 0.5, 24 * 60.0
WIDTH = 100
"""Maximum width of a line that lists many names."""


def add_why(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Why do the levels of a run differ? Picks causes whose signs the run shows. To both levels "
        "alike it applies a treatment that would remove each cause, in two doses if possible, and "
        "a placebo of equal cost. Prints the treatments and the time first."
    )
    add_pair_again(parser, minutes=MINUTES, rest="; lists the causes it has no time for")
    parser.add_argument(
        "--template",
        metavar="N",
        type=counted_from_0,
        help="for a recording: the plan, the rows and the counters of this template side by side; "
        "nothing is measured",
    )
    parser.add_argument("--plan", action="store_true", help="only print the treatments")
    parser.set_defaults(run=_why)


def _why(args: argparse.Namespace) -> int:
    path = find_run(args.folder)
    with RunFolder.open(path) as folder:
        asks = asks_twins(from_dict(folder.meta().experiment))
        if asks and args.template is not None:
            return _template(folder, args)
    if asks:
        raise RequestError(
            f"{path} asked the statements of a recording one at a time",
            hint="Choose one of its templates with --template.",
        )
    if args.template is not None:
        raise RequestError(
            f"--template: {path} asked no recording", hint="Remove it to test possible causes."
        )
    return explain(path, args)


def _template(folder: RunFolder, args: argparse.Namespace) -> int:
    """Print one template of a recording, side by side."""
    from contend.report.build import build
    from contend.sections.twins import SECTION, template_json, template_shown

    made = next(one for one in build(folder).made if one.section is SECTION)
    assert made.inputs is not None
    if args.json:
        say_json(template_json(made.found, made.inputs, args.template))
        return 0
    shown = template_shown(made.found, made.inputs, args.template)
    say(f"{shown.title}: {shown.lead}")
    for table in shown.tables:
        say("")
        if table.caption:
            say(table.caption)
        for row in columns([table.columns, *(list(map(str, row)) for row in table.rows)]):
            say(row)
    return 0


def explain(path: Path, args: argparse.Namespace, *, agreed: bool = False) -> int:
    """Try the causes of a run's differences, unless that was done; print the result.

    Args:
        args: those of `contend why`: `minutes`, `plan`, `json`, `yes`, and those of `contend run`
            that choose the server.
        agreed: the user requested it before the run and is not asked again.
    """
    from contend.sections.why import why_as_json, why_section

    inner = path / WITHIN
    if not is_measured(inner):
        require_minutes(args.minutes)
        plan = plan_of_why(path, minutes=args.minutes)
        for line in _beforehand(plan):
            remark(line)
        if args.plan:
            return 0
        require_agreed("Try it?", yes=args.yes or agreed)
        measure_within(path, inner, plan.experiment, args, about_why=plan.facts)
    show_within(path, inner, why_section, why_as_json, as_json=args.json)
    require_measured(inner)
    return 0


def _beforehand(plan: WhyPlan) -> list[str]:
    lines = [f"To try for {plan.seconds / 60:g} min, at both levels alike:"]
    if not plan.is_certain:
        lines.insert(0, "The difference is inconclusive in the run, so it is measured again too.")
    for one, proposal in plan.tried:
        lines.append(f"  {one.name}: {one.title}")
        lines += [f"    dose {n}: {d.words}" for n, d in enumerate(proposal.doses, start=1)]
        lines.append(f"    placebo: {proposal.placebo.words}")
        lines.append(f"    predicted: removes at least {proposal.least:.0%} of the difference")
    if untested := plan.facts["untested"]:
        lines.append("Not tried:")
        for name, why in by_reason(untested):
            lines += textwrap.wrap(
                f"  {name}: {why}", WIDTH, subsequent_indent="    ", break_on_hyphens=False
            )
    return lines


def add_pair_again(parser: argparse.ArgumentParser, *, minutes: float, rest: str = "") -> None:
    """RUN, `--minutes`, `--json` and `--yes`, and the defaults of `contend run` for other options.

    Args:
        rest: more help for `--minutes`.
    """
    parser.add_argument(
        "folder", metavar="RUN", help="a run folder, or the name of one under ./contend-runs"
    )
    parser.add_argument(
        "--minutes",
        metavar="N",
        type=float,
        default=minutes,
        help=f"measuring time in minutes (default: {minutes:g}){rest}",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--yes", action="store_true", help="do not prompt")
    parser.set_defaults(server=None, resume=None, ignore=[], touch_host=False, out=None)
    parser.set_defaults(scheduler=None)


def is_measured(inner: Path) -> bool:
    return (inner / RESULTS_NAME).is_file()


def require_measured(inner: Path) -> None:
    """Raise WorkError if the folder within a run's has no measured run."""
    with RunFolder.open(inner) as folder:
        records = folder.records(intervals=False)
    if any(record.status == "ok" for record in records):
        return
    message = next((str((one.error or {}).get("message", "")) for one in records), "")
    raise WorkError(
        f"nothing was measured in {inner}" + (f"; the first run: {message}" if message else ""),
        hint="Fix the cause, remove that folder and try again.",
    )


def require_minutes(minutes: float) -> None:
    if not MINUTES_MIN <= minutes <= MINUTES_MAX:
        raise RequestError(
            f"--minutes must be from {MINUTES_MIN} to {MINUTES_MAX:g}, not {minutes:g}",
            hint="A few minutes are usual.",
        )


def require_agreed(question: str, *, yes: bool) -> None:
    if not confirmed(question, yes=yes):
        raise NotTried("not confirmed", hint="Use --yes to skip the prompt.")


def measure_within(
    path: Path,
    inner: Path,
    experiment: Experiment,
    args: argparse.Namespace,
    *,
    about_why: WhyFacts | None = None,
) -> None:
    """Measure an experiment on the servers of a run, into a folder within the run's."""
    from contend.cli.console import console
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
    with display_on(console(stderr=True)) as display:
        equipment = equipment_for(args, experiment, inner, program, display, before=before)
        session.begin(experiment, inner, equipment, display, about_why=about_why)


def show_within(
    path: Path,
    inner: Path,
    section_of: Callable[[RunFolder], Shown | None],
    json_of: Callable[[RunFolder], Any],
    *,
    as_json: bool,
) -> None:
    """Print the result: its section's text and all of its tables, or a document."""
    with RunFolder.open(path) as folder:
        if as_json:
            say_json(json_of(folder))
            return
        section = section_of(folder)
    if section is None:
        require_measured(inner)
        raise WorkError(f"nothing was measured in {inner}")
    say(section.lead)
    for table in section.tables:
        say("")
        for row in columns([table.columns, *(list(map(str, row)) for row in table.rows)]):
            say(row)
    sys.stdout.flush()


def add_profile(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "In which functions do the two levels that differ most spend their CPU time? Measures "
        "them again, with and without perf sampling the server, so that the profiler's own effect "
        "is known."
    )
    add_pair_again(parser, minutes=PROFILE_MINUTES)
    parser.add_argument(
        "--hz",
        metavar="N",
        type=int,
        default=HZ,
        help=f"samples per second of the server's CPU time (default: {HZ})",
    )
    parser.set_defaults(run=_profile)


def _profile(args: argparse.Namespace) -> int:
    return profile(find_run(args.folder), args)


def profile(path: Path, args: argparse.Namespace, *, agreed: bool = False) -> int:
    """Profile the pair of a run, unless that was done; print the result.

    Args:
        args: those of `contend profile`: `hz`, `minutes`, `json`, `yes`, and those of `contend run`
            that choose the server.
        agreed: the user requested it before the run and is not asked again.
    """
    from contend.sections.profile import profile_as_json, profile_section

    inner = path / WITHIN_PROFILE
    if not is_measured(inner):
        _require_hz(args.hz)
        require_minutes(args.minutes)
        plan = plan_of_profile(path, hz=args.hz, minutes=args.minutes)
        remark(_profile_plan_text(plan))
        require_agreed("Profile it?", yes=args.yes or agreed)
        measure_within(path, inner, plan.experiment, args)
    show_within(path, inner, profile_section, profile_as_json, as_json=args.json)
    require_measured(inner)
    return 0


def _require_hz(hz: int) -> None:
    if not 1 <= hz <= HZ_MAX:
        raise RequestError(
            f"--hz must be from 1 to {HZ_MAX:,}, not {hz}",
            hint="A lower rate disturbs less; a longer time (--minutes) also gives more samples.",
        )


def _profile_plan_text(plan: ProfilePlan) -> str:
    return (
        f"measuring {plan.pair.compared} = {plan.pair.finding.level} and "
        f"{plan.pair.finding.baseline} again for {plan.seconds / 60:g} min ({REPEATS} repeats), "
        f"with {plan.hz} samples per second of the server's CPU time and without"
    )
