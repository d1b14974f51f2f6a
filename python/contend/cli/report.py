"""`contend report`: the one HTML file of a run folder, and its charts as files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from contend.cli.metric import add_metric, metrics_of
from contend.errors import RequestError
from contend.report import build, html
from contend.store import RunFolder, find_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write one HTML file that fetches nothing, and its charts as SVG and PNG beside it."
    )
    parser.add_argument(
        "folder", metavar="RUN", help="a run folder, or the name of one under ./contend-runs"
    )
    add_metric(parser)
    parser.add_argument(
        "--out", metavar="FILE", type=Path, help="where to write (default: RUN/report.html)"
    )


def run(args: argparse.Namespace) -> int:
    path = find_run(args.folder)
    out: Path = args.out or path / "report.html"
    if out.is_dir():
        raise RequestError(f"{out} is a folder", hint="Name a file, such as report.html.")
    metrics = metrics_of(args)
    with RunFolder.open(path) as folder:
        report = build(folder, metrics)
    page, *drawings = html.write(report, out)
    sys.stdout.write(f"{page}\n")
    if drawings:
        sys.stdout.write(f"{drawings[0].parent} ({len(drawings)} files)\n")
    if note := html.note(report):
        sys.stderr.write(f"contend: {note}\n")
    return 0
