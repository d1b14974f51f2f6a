"""`contend compare`, `history` and `serve`: views of more than one run folder."""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from contend.cli.gate import add_gate, by_policy, check_gate, end_gate
from contend.cli.parser import add_metric, metrics_of, remark, say, say_json
from contend.errors import RequestError
from contend.files import write_output
from contend.store.folder import RUNS_ROOT


def add_compare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Compare runs of one experiment from different hosts, versions or days: each with the "
        "first, cell by cell. They were not interleaved, so they also differ by host and hour. To "
        "compare two servers or settings on one host, use `contend try`."
    )
    parser.add_argument(
        "sides",
        metavar="RUN",
        nargs="+",
        help="a run folder, or a folder of several: the sessions of one side. After the first "
        "also published:NAME, published figures from the experiment file",
    )
    add_metric(parser)
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")
    parser.add_argument(
        "--html", metavar="FILE", type=Path, help="also write the comparison as one HTML file"
    )
    add_gate(parser)
    parser.set_defaults(run=_compare)


def _compare(args: argparse.Namespace) -> int:
    check_gate(args, has_gate=args.fail_if_slower is not None)
    limits = _limits(args.fail_if_slower)
    if len(args.sides) < 2:
        raise RequestError("one run cannot be compared", hint="Name at least two run folders.")
    # Errors and the help must not wait for this import.
    from contend.report.gate import gate_json
    from contend.runs.published_side import PREFIX, published_side
    from contend.runs.sides import read_sides
    from contend.runs.sides_text import lines_of_sides, page_of, report_of_sides, sides_json

    runs = [name for name in args.sides if not name.startswith(PREFIX)]
    if not runs or args.sides[0] != runs[0]:
        raise RequestError(
            "published figures are compared with a run, which comes first",
            hint=f"Write `contend compare RUN {PREFIX}NAME`.",
        )
    if len(runs) == 1 and limits is not None:
        raise RequestError(
            "published figures have no intervals, so a gate is impossible",
            hint="Name at least two run folders for a gate.",
        )
    sides = read_sides(runs, metrics_of(args))
    named = [name.removeprefix(PREFIX) for name in args.sides if name.startswith(PREFIX)]
    published = [published_side(sides[0].studies[0], name) for name in named]
    report = report_of_sides(sides, published, limits=limits)
    report = replace(report, gate=by_policy(args, report.gate))
    if args.html is not None:
        write_output(args.html, page_of(report))
    if args.json:
        gate = {"gate": gate_json(report.gate)} if report.gate else {}
        say_json({**sides_json(report), **gate})
    else:
        for line in lines_of_sides(report):
            say(line)
    return end_gate(args, report.gate, (report.caveat,))


def _limits(text: str | None) -> dict[str, float] | None:
    from contend.experiment.gate import GateKind
    from contend.experiment.settings.values import Refused

    if text is None:
        return None
    try:
        return GateKind().read(text)
    except Refused as refused:
        raise RequestError(f"--fail-if-slower {refused.reason}", hint=refused.hint) from None


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


def add_serve(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Serve a read-only page over all runs of a folder on 127.0.0.1, until Ctrl-C: a list to "
        "filter, each report, two runs side by side, an experiment over time, the progress of a "
        "run. The printed address contains the token that gives access."
    )
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        type=Path,
        nargs="?",
        default=RUNS_ROOT,
        help="folder of the run folders (default: contend-runs)",
    )
    parser.add_argument(
        "--port", type=int, default=0, help="port on 127.0.0.1 (default: any free one)"
    )
    parser.set_defaults(run=_serve)


def _serve(args: argparse.Namespace) -> int:
    if any(importlib.util.find_spec(name) is None for name in ("starlette", "uvicorn")):
        raise RequestError(
            "the packages for `contend serve` are not installed.",
            hint="Run pip install 'contend[serve]'.",
        )
    from contend.runs.pages import serve

    def print_now(address: str) -> None:
        say(address)
        sys.stdout.flush()

    serve(args.folder, args.port, print_now)
    return 0
