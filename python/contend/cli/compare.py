"""`contend compare`: run folders of one experiment from two hosts, versions or days."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from contend.cli.gate import add_gate, check_gate, end_gate
from contend.cli.parser import add_metric, metrics_of, say, say_json
from contend.errors import RequestError, WorkError
from contend.files import write_output
from contend.store import RunFolder, find_run
from contend.store.database import RESULTS_NAME

if TYPE_CHECKING:
    from contend.findings import Finding, RunSide, SidesCompared, Study
    from contend.report.model import GateText
    from contend.report.published_side import PublishedSide
    from contend.report.sides import SidesReport


def add_compare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Compare run folders of one experiment from two hosts, versions or days, cell by cell, "
        "with the first. What was not measured in turn carries the difference of its host and "
        "hour: to compare two servers or settings on one host, `contend try` is the better design."
    )
    parser.add_argument(
        "sides",
        metavar="RUN",
        nargs="+",
        help="a run folder, or a folder that has several of them: the sessions of one side; after "
        "the first also published:NAME, figures that the experiment brings with it",
    )
    add_metric(parser)
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")
    parser.add_argument(
        "--html", metavar="FILE", type=Path, help="write the comparison as one HTML file too"
    )
    add_gate(parser)
    parser.set_defaults(run=_compare)


def _compare(args: argparse.Namespace) -> int:
    check_gate(args, has_gate=args.fail_if_slower is not None)
    limit = _limit(args.fail_if_slower)
    if len(args.sides) < 2:
        raise RequestError("one run is nothing to compare", hint="Name two run folders or more.")
    # What a refusal and the help do not wait for.
    from contend.report.published_side import PREFIX, published_side
    from contend.report.sides import lines_of_sides, report_of_published, sides_json

    runs = [name for name in args.sides if not name.startswith(PREFIX)]
    if not runs or args.sides[0] != runs[0]:
        raise RequestError(
            "published figures are set beside a run, which is named first",
            hint=f"Write `contend compare RUN {PREFIX}NAME`.",
        )
    if len(runs) == 1 and limit is not None:
        raise RequestError(
            "published figures have no intervals, and so no gate",
            hint="A gate is between two run folders or more.",
        )
    sides = _read(runs, metrics_of(args))
    named = [name.removeprefix(PREFIX) for name in args.sides if name.startswith(PREFIX)]
    published = [published_side(sides[0].studies[0], name) for name in named]
    gate = None
    if len(runs) == 1:
        report = report_of_published(sides[0], published)
    else:
        report, gate = _of_runs(sides, published, limit)
    if args.html is not None:
        from contend.report.sides_page import page_of

        write_output(args.html, page_of(report))
    if args.json:
        from contend.report.gate import gate_json

        say_json({**sides_json(report), **({"gate": gate_json(gate)} if gate else {})})
    else:
        for line in lines_of_sides(report):
            say(line)
    return end_gate(args, gate, (report.carries,))


def _of_runs(
    sides: list[RunSide], published: list[PublishedSide], limit: float | None
) -> tuple[SidesReport, GateText | None]:
    from contend.findings import compare_sides
    from contend.report.sides import report_of_sides

    margin = min(study.experiment.compare.margin for side in sides for study in side.studies)
    if limit is not None:
        margin = min(margin, limit)
    found = compare_sides(sides, sides[0].studies[0].metrics[0], margin=margin)
    gate, detectable = (None, "") if limit is None else _gate(sides, found, limit)
    return report_of_sides(sides, found, gate, detectable, published), gate


def _limit(text: str | None) -> float | None:
    from contend.settings.values import Refused, Width

    if text is None:
        return None
    try:
        return Width(sign="", meaning="a slowdown, such as 3%").read(text)
    except Refused as refused:
        raise RequestError(f"--fail-if-slower {refused.reason}") from None


def _read(names: list[str], metrics: tuple[str, ...]) -> list[RunSide]:
    from contend.findings import RunSide, refuse_twice

    sides: list[RunSide] = []
    named: list[tuple[str, Study]] = []
    for name in names:
        read = [(str(path), _study(path, metrics)) for path in _folders(name)]
        sides.append(RunSide(name.rstrip("/") or name, tuple(study for _, study in read)))
        named += read
    refuse_twice(named)
    return sides


def _folders(name: str) -> list[Path]:
    """The run folder of this name, or those in the folder of this name."""
    path = Path(name)
    if path.is_dir() and not (path / RESULTS_NAME).is_file():
        inside = sorted(each for each in path.iterdir() if (each / RESULTS_NAME).is_file())
        if inside:
            return inside
    return [find_run(name)]


def _study(path: Path, metrics: tuple[str, ...]) -> Study:
    from contend.findings import study_of

    with contextlib.closing(RunFolder.open(path)) as folder:
        if folder.writer_pid() is not None:
            raise RequestError(
                f"{path} is being written: its run is still under way",
                hint="Compare it when the run has ended.",
            )
        study = study_of(folder, metrics, percentiles=False)
    if not study.measured:
        raise WorkError(f"{path} has no measured run", hint="`contend show` says what it has.")
    return study


def _gate(sides: list[RunSide], found: SidesCompared, limit: float) -> tuple[GateText, str]:
    from contend.findings import gate_over, smallest_slowdown
    from contend.report.gate import gate_text, percent_text
    from contend.sections.words import significant

    cells = [
        (cell, name, one, _why(one))
        for name, findings in found.findings.items()
        for cell, one in zip(found.cells, findings, strict=True)
    ]
    title = " and ".join(side.name for side in sides)
    gate = gate_over(found.metric, limit, cells)
    sizes = [smallest_slowdown(one, limit) for _, _, one, _ in cells if one and not one.without]
    n = min(len(side.studies) for side in sides)
    if len(sizes) < len(cells):
        said = (
            f"With {n} session{'' if n == 1 else 's'} a side nothing is found for certain: what "
            "sessions differ by is not known. Two or more a side tell it, each a folder in one."
        )
    else:
        said = (
            f"It finds a slowdown of {significant(max(sizes) * 100, 2)} % four times in five, from "
            f"{n} session{'' if n == 1 else 's'} a side; the limit is {percent_text(limit)}."
        )
    return gate_text(gate, title), said


def _why(one: Finding | None) -> str:
    return "a side has fewer than two units" if one is None else one.without
