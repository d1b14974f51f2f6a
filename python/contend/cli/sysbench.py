"""`contend sysbench`: the command line of sysbench, handed over to contend-load as it is."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from contend.load import find_program


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    subparsers.add_parser(
        "sysbench", help="run a sysbench command line: its scripts, options, output", add_help=False
    )


def hand_over(arguments: Sequence[str]) -> NoReturn:
    """Become contend-load: streams, signals and exit code are the program's own from here on."""
    program = str(find_program())
    # Python ignores these, and a program inherits what is ignored.
    for name in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(name, signal.SIG_DFL)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, [program, "sysbench", *arguments])
