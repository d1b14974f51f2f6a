"""`contend predict`: what the gain of a run would be on other machines."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

from contend.cli.console import console
from contend.cli.parser import Parser, columns, remark, say, say_json
from contend.cli.progress import Display, display_on
from contend.errors import ContendError, RequestError
from contend.experiment import CPUS_MAX, PredictSpec
from contend.files import find_program
from contend.lab.events import StepProgress
from contend.store import RunFolder, find_run

CONNECTIONS_MAX = 10_000
WIDTH = 100
"""Width of a paragraph."""

EXAMPLES = """\
examples:
  contend predict contend-runs/segmented-key-cache-20260102T030405Z --host pitbull
  contend predict RUN --cpus 4,24 --connections 1,8,64
  contend predict RUN --host mine.toml
"""


def add_predict(parser: Parser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = (
        "What would the gain of this run be on a different machine? The costs of the key\n"
        "cache in virtual time are fitted to what the run measured, and placed on machines\n"
        "with other CPUs. Prints a band for each number of connections, and what the band\n"
        "is made of. For a run of segmented-key-cache; it needs no server."
    )
    parser.epilog = EXAMPLES
    parser.add_argument("folder", metavar="RUN", help="a run folder")
    parser.add_argument(
        "--cpus",
        metavar="N,…",
        type=lambda text: _numbers("--cpus", text, CPUS_MAX),
        default=(),
        help="numbers of CPUs of a machine that is otherwise like the run's own",
    )
    parser.add_argument(
        "--host",
        dest="machines",
        metavar="NAME|FILE",
        action="append",
        default=[],
        help="a described machine: pitbull, perro, or a TOML file (repeatable)",
    )
    parser.add_argument(
        "--connections",
        metavar="N,…",
        type=lambda text: _numbers("--connections", text, CONNECTIONS_MAX),
        default=(),
        help="numbers of connections (default: those of the study, and of the run)",
    )
    parser.add_argument("--json", action="store_true", help="print the predictions as JSON")
    parser.set_defaults(run=_predict)


def _numbers(option: str, text: str, most: int) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch(r"[0-9]{1,9}", part) and 1 <= int(part) <= most for part in parts):
        raise RequestError(
            f'{option} "{text}" is not a list of numbers from 1 to {most:,}',
            hint=f"Write {option} 4,24, for example.",
        )
    return tuple(dict.fromkeys(map(int, parts)))


def _predict(args: argparse.Namespace) -> int:
    wanted = PredictSpec(args.cpus, tuple(dict.fromkeys(args.machines)))
    if not wanted:
        raise RequestError(
            "no machine to predict",
            hint="Add --cpus 24, or --host pitbull (or a TOML file that describes a machine).",
        )
    path = find_run(args.folder)
    with display_on(console(stderr=True)) as display:
        predict_into(path, find_program(), wanted, args.connections, display)
    _show(path, as_json=args.json)
    return 0


def predict_into(
    path: Path,
    program: Path,
    wanted: PredictSpec,
    connections: Sequence[int],
    display: Display,
) -> None:
    """Predict, and keep the predictions in the run folder."""
    # Errors of the command line must not wait for this import.
    from contend.predict.foretell import predict_run

    def on_step(step: str, done: int, total: int) -> None:
        display(StepProgress(step, done, total, "runs"))

    with RunFolder.open(path) as folder:
        predict_run(folder, program, wanted, connections, on_step)


def check_machines(wanted: PredictSpec) -> None:
    """Refuse a machine that cannot be predicted before anything is measured."""
    if wanted.machines:
        from contend.predict.machine import find_machine

        for name in wanted.machines:
            find_machine(name)


def with_prediction(path: Path, wanted: PredictSpec, program: Path, display: Display) -> Path:
    """A run folder with the predictions that its experiment wants. Without them the run is as good
    as with them."""
    if wanted:
        try:
            predict_into(path, program, wanted, (), display)
        except ContendError as error:
            remark(f"contend: nothing is predicted: {error.message}")
    return path


def _show(path: Path, *, as_json: bool) -> None:
    from contend.predict.stored import as_json as plain
    from contend.predict.stored import read

    if as_json:
        say_json({"predictions": [plain(one) for one in read(path)]})
        return
    from contend.report import build, html
    from contend.sections.prediction import SECTION

    with RunFolder.open(path) as folder:
        built = build(folder)
    shown = next(one.shown for one in built.made if one.section is SECTION)
    assert shown is not None
    for text in (shown.lead, *shown.more):
        say("\n".join(textwrap.wrap(text, WIDTH)))
        say("")
    for table in shown.tables:
        say(table.caption)
        for row in columns([table.columns, *(list(map(str, row)) for row in table.rows)]):
            say(row)
        say("")
    page = path / "report.html"
    html.write(built, page)
    say(f"Report: {page}")
