"""`contend why`: the treatments for the cause of a difference, their time, and the results."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

from contend.cli.pair_again import (
    add_pair_again,
    is_measured,
    measure_within,
    require_agreed,
    require_measured,
    require_minutes,
    show_within,
)
from contend.cli.parser import remark
from contend.store import find_run
from contend.store.folder import WITHIN
from contend.why.plan import MINUTES, WhyPlan, plan_of_why
from contend.why.tried import by_reason

WIDTH = 100
"""Maximum width of a line that lists many names."""


def add_why(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Why do the levels of a run differ? Picks causes whose signs the run shows. To both levels "
        "alike it applies a treatment that would remove each cause, in two doses if possible, and "
        "a placebo of equal cost. Prints the treatments and the time first."
    )
    add_pair_again(parser, minutes=MINUTES, rest="; lists the causes it has no time for")
    parser.add_argument("--plan", action="store_true", help="only print the treatments")
    parser.set_defaults(run=_why)


def _why(args: argparse.Namespace) -> int:
    return explain(find_run(args.folder), args)


def explain(path: Path, args: argparse.Namespace, *, agreed: bool = False) -> int:
    """Try the causes of a run's differences, unless that was done; print the result.

    Args:
        args: those of `contend why`: `minutes`, `plan`, `json`, `yes`, and those of `contend run`
            that choose the server.
        agreed: the user requested it before the run and is not asked again.
    """
    from contend.report.why import why_as_json, why_section

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
