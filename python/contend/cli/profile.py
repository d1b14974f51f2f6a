"""`contend profile`: in which functions two levels of a run spend their CPU time."""

from __future__ import annotations

import argparse
from pathlib import Path

from contend.cli.parser import confirmed, remark, say_json
from contend.cli.why import measure_within, say_section
from contend.errors import RequestError
from contend.lab.profiling import HZ, MINUTES, REPEATS, ProfilePlan, plan_of_profile
from contend.lab.why import NotTried
from contend.settings.profiler import HZ_MAX
from contend.store import RunFolder, find_run
from contend.store.database import RESULTS_NAME
from contend.store.folder import WITHIN_PROFILE


def add_profile(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "In which functions do the two levels of a run that differ most spend their CPU time? "
        "Measures the pair again, with perf sampling the server and without, so that what the "
        "profiler does to the server and to the difference is told too."
    )
    parser.add_argument(
        "folder", metavar="RUN", help="a run folder, or the name of one under ./contend-runs"
    )
    parser.add_argument(
        "--hz",
        metavar="N",
        type=int,
        default=HZ,
        help=f"samples a second of the server's CPU time (default: {HZ})",
    )
    parser.add_argument(
        "--minutes",
        metavar="N",
        type=float,
        default=MINUTES,
        help=f"how long to measure (default: {MINUTES:g})",
    )
    parser.add_argument("--json", action="store_true", help="print what came of it as JSON")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(
        run=_profile, server=None, resume=None, ignore=[], touch_host=False, out=None
    )
    parser.set_defaults(scheduler=None)


def _profile(args: argparse.Namespace) -> int:
    return profile(find_run(args.folder), args)


def profile(path: Path, args: argparse.Namespace, *, agreed: bool = False) -> int:
    """Profile the pair of a run, unless that was done; and say what was seen.

    Args:
        args: as of `contend profile`: `hz`, `minutes`, `json`, `yes`, and those of `contend run`
            that say which server it is.
        agreed: whoever asked for it before the run is not asked again.
    """
    inner = path / WITHIN_PROFILE
    if not (inner / RESULTS_NAME).is_file():
        _check(args)
        plan = plan_of_profile(path, hz=args.hz, minutes=args.minutes)
        remark(_beforehand(plan))
        if not confirmed("Profile it?", yes=args.yes or agreed):
            raise NotTried("nobody agreed to profile it", hint="With --yes it is not asked.")
        measure_within(path, inner, plan.experiment, args)
    return _show(path, as_json=args.json)


def _check(args: argparse.Namespace) -> None:
    if not 1 <= args.hz <= HZ_MAX:
        raise RequestError(
            f"--hz {args.hz} is not between 1 and {HZ_MAX:,}",
            hint="Fewer disturb less; more samples come from more time too (--minutes).",
        )
    if not 0.5 <= args.minutes <= 24 * 60:
        raise RequestError(f"--minutes {args.minutes:g} is not between half a minute and a day")


def _beforehand(plan: ProfilePlan) -> str:
    return (
        f"{plan.pair.compared} = {plan.pair.finding.level} and {plan.pair.finding.baseline} again, "
        f"for {plan.seconds / 60:g} min ({REPEATS} repeats), with {plan.hz} samples a second of "
        "the server's CPU time and without"
    )


def _show(path: Path, *, as_json: bool) -> int:
    from contend.report.profile import profile_as_json, profile_section

    with RunFolder.open(path) as folder:
        if as_json:
            say_json(profile_as_json(folder))
            return 0
        section = profile_section(folder)
    if section is None:
        raise RequestError(f"nothing was measured in {path / WITHIN_PROFILE}")
    say_section(section)
    return 0
