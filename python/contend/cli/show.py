"""`contend show`: what a run folder says, in the terminal or as JSON."""

from __future__ import annotations

import argparse
import io
import json
import sys

from rich.console import Console

from contend.cli.metric import add_metric, metrics_of
from contend.report import as_json, build, terminal
from contend.store import RunFolder, find_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Show the answer, the tables and the warnings of a run folder, finished or not."
    )
    parser.add_argument(
        "folder", metavar="RUN", help="a run folder, or the name of one under ./contend-runs"
    )
    add_metric(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print comparisons and cells as JSON")
    form.add_argument(
        "--full",
        action="store_true",
        help="add every figure, the method, the facts of host and server, and the spec",
    )


def run(args: argparse.Namespace) -> int:
    metrics = metrics_of(args)
    with RunFolder.open(find_run(args.folder)) as folder:
        # What is not printed is not read.
        report = build(folder, metrics, percentiles=args.full or args.json)
    if args.json:
        json.dump(as_json(report), sys.stdout, indent=2, ensure_ascii=False)
        sys.stdout.write("\n")
        return 0
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot say ± is no reason to fail.
        sys.stdout.reconfigure(errors="replace")
    terminal.render(report, Console(file=sys.stdout), full=args.full)
    return 0
