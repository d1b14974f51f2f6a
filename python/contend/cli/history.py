"""`contend history`: runs of one experiment over time."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from contend.cli.parser import add_metric, metrics_of, remark, say, say_json
from contend.errors import RequestError


def add_history(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Show runs of one experiment over time: the gain of each level and the speed of each cell, "
        "run by run. Reports each run from which they certainly changed, and what else changed "
        "there: the server, its variables, contend, the host."
    )
    parser.add_argument(
        "folders",
        metavar="FOLDER",
        nargs="+",
        help="run folders, or folders of run folders",
    )
    parser.add_argument(
        "--experiment", metavar="NAME", help="experiment to show, if there are several"
    )
    add_metric(parser)
    parser.add_argument(
        "--html", metavar="FILE", type=Path, help="write a self-contained HTML page"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the history as JSON")
    form.add_argument("--full", action="store_true", help="add every series and every run")
    parser.set_defaults(run=_history)


def _history(args: argparse.Namespace) -> int:
    from contend.runs.history import build
    from contend.runs.history_text import as_json, lines_of

    if args.html is not None and args.html.is_dir():
        raise RequestError(f"{args.html} is a folder", hint="Name a file, such as history.html.")
    history = build(args.folders, experiment=args.experiment, metrics=metrics_of(args))
    if args.html is not None:
        from contend.runs.history_page import write

        missing = write(history, args.html)
        remark(f"contend: {args.html}")
        if missing:
            remark(f"contend: {missing}")
    if args.json:
        say_json(as_json(history))
        return 0
    for line in lines_of(history, shutil.get_terminal_size().columns, full=args.full):
        say(line)
    return 0
