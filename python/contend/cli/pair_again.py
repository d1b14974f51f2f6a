"""Common parts of `contend why` and `contend profile`: both measure a pair of a run again, into a
folder within the run's."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contend.cli.parser import columns, confirmed, say, say_json
from contend.errors import RequestError, WorkError
from contend.experiment import Experiment
from contend.metrics.probed import WhyFacts
from contend.store import RunFolder
from contend.store.database import RESULTS_NAME
from contend.why.plan import NotTried

if TYPE_CHECKING:
    from contend.sections.model import Shown

MINUTES_MIN, MINUTES_MAX = 0.5, 24 * 60.0


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
