"""`contend show`, `contend report`, `contend export`: the results of a run folder, in the terminal,
as one HTML file, as tables.

Each imports only its own writer: output in the terminal does not wait for page templates.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from contend.cli.parser import add_metric, metrics_of, remark, say, say_json
from contend.errors import RequestError
from contend.files import replace_file, write_output
from contend.report import as_json, build
from contend.report import export as tables
from contend.store import RunFolder, find_run, rescue

_FOLDER = "folder"
"""Not a table: a clean copy of the run folder."""


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="RUN", help="a run folder, or the name of one under ./contend-runs"
    )


def add_show(parser: argparse.ArgumentParser) -> None:
    parser.description = "Print the answer, the tables and the warnings of a run, finished or not."
    _add_folder(parser)
    add_metric(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print comparisons and cells as JSON")
    form.add_argument(
        "--full",
        action="store_true",
        help="add all figures, the method, the facts of host and server, and the spec",
    )
    parser.set_defaults(run=_show)


def _show(args: argparse.Namespace) -> int:
    from contend.cli.console import console
    from contend.report import terminal

    metrics = metrics_of(args)
    with RunFolder.open(find_run(args.folder)) as folder:
        # Read only the parts that are printed.
        report = build(folder, metrics, percentiles=args.full or args.json)
    if args.json:
        document = as_json(report)
        say_json(document)
        return int("missing" in document)
    return int(not terminal.render(report, console(), full=args.full))


def add_report(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write a self-contained HTML report, and its charts as SVG and PNG files next to it."
    )
    _add_folder(parser)
    add_metric(parser)
    parser.add_argument(
        "--out", metavar="FILE", type=Path, help="file to write (default: RUN/report.html)"
    )
    parser.set_defaults(run=_report)


def _report(args: argparse.Namespace) -> int:
    from contend.report import html

    path = find_run(args.folder)
    out: Path = args.out or path / "report.html"
    if out.is_dir():
        raise RequestError(f"{out} is a folder", hint="Name a file, such as report.html.")
    metrics = metrics_of(args)
    with RunFolder.open(path) as folder:
        report = build(folder, metrics)
    put = replace_file if args.out is None else write_output
    page, *drawings = html.write(report, out, put)
    say(str(page))
    if drawings:
        say(f"{drawings[0].parent} ({len(drawings)} files)")
    if note := html.note(report):
        remark(f"contend: {note}")
    return int(bool(report.missing))


def add_export(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write a table of a run as CSV or Parquet, all of it as JSON, or a clean copy as a folder "
        "with all runs that can be read, even from a damaged one."
    )
    _add_folder(parser)
    parser.add_argument(
        "--format", choices=(*tables.FORMATS, _FOLDER), required=True, help="output format"
    )
    parser.add_argument(
        "--table",
        choices=tuple(tables.TABLES),
        default="runs",
        help="table to write as csv or parquet (default: runs)",
    )
    add_metric(parser)
    parser.add_argument(
        "--out",
        metavar="PATH",
        type=Path,
        help="where to write (default for csv and json: standard output)",
    )
    parser.set_defaults(run=_export)


def _export(args: argparse.Namespace) -> int:
    path = find_run(args.folder)
    form = tables.FORMATS.get(args.format)
    if args.out is None and (form is None or not form.is_text):
        raise RequestError(
            f"--format {args.format} needs --out", hint="It cannot be written to a terminal."
        )
    if form is None:
        saved = rescue(path, args.out)
        say(f"{saved.folder}: {saved.runs} of {saved.planned} planned runs")
        return 0
    with RunFolder.open(path) as folder:
        content = form.content(folder, args.table, metrics_of(args))
    if args.out is None:
        assert isinstance(content, str)
        sys.stdout.write(content)
    else:
        write_output(args.out, content)
    return 0
