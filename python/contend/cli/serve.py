"""`contend serve`: one local page over all runs of a folder."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

from contend.cli.parser import say
from contend.errors import RequestError
from contend.store.folder import RUNS_ROOT


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
