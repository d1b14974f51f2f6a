"""`contend profile`: the functions in which two levels of a run spend their CPU time."""

from __future__ import annotations

import argparse
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
from contend.errors import RequestError
from contend.experiment.settings.profiler import HZ_MAX
from contend.sections.profile import HZ, MINUTES, REPEATS, ProfilePlan, plan_of_profile
from contend.store import find_run
from contend.store.folder import WITHIN_PROFILE


def add_profile(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "In which functions do the two levels that differ most spend their CPU time? Measures "
        "them again, with and without perf sampling the server, so that the profiler's own effect "
        "is known."
    )
    add_pair_again(parser, minutes=MINUTES)
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
        remark(_beforehand(plan))
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


def _beforehand(plan: ProfilePlan) -> str:
    return (
        f"measuring {plan.pair.compared} = {plan.pair.finding.level} and "
        f"{plan.pair.finding.baseline} again for {plan.seconds / 60:g} min ({REPEATS} repeats), "
        f"with {plan.hz} samples per second of the server's CPU time and without"
    )
