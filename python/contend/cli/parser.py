"""The command line for argparse: one subcommand's arguments, or the names of all. Also the common
parts of several subcommands: printing and asking."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Collection, Container, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

from contend import __version__
from contend.cli.main import HANDED_OVER
from contend.errors import RequestError, did_you_mean, nearest, one_line


class Subcommand(NamedTuple):
    """A subcommand.

    Args:
        module: of this package, with a function `add_NAME(parser)`. That adds the arguments and, as
            the default of `run`, the function that does the work and returns the exit code.
            Subcommands that are handed over need none.
    """

    module: str
    means: str


COMMANDS: dict[str, Subcommand] = {
    "try": Subcommand(
        "experiments", "compare values of a server option, without an experiment file"
    ),
    "screen": Subcommand("screen", "find the lines that matter in a new set of server options"),
    "run": Subcommand("run", "measure an experiment: a built-in recipe or a file"),
    "why": Subcommand("why", "test possible causes of a difference between levels of a run"),
    "predict": Subcommand("predict", "predict the gain of a run on a machine with other CPUs"),
    "profile": Subcommand("why", "show the functions in which two levels spend CPU time"),
    "show": Subcommand("results", "print the results of a run"),
    "report": Subcommand("results", "write the HTML report of a run"),
    "compare": Subcommand("runs", "compare runs of two hosts, versions or days"),
    "export": Subcommand("results", "write a run as CSV, JSON or Parquet"),
    "history": Subcommand("runs", "show runs of one experiment over time, and what changed"),
    "serve": Subcommand("runs", "serve a local web page over all runs of a folder"),
    "recipes": Subcommand("experiments", "list the built-in experiments, or print one"),
    "schema": Subcommand(
        "experiments", "print the JSON Schema of experiment files, for your editor"
    ),
    "warm": Subcommand("warm", "load tables and indexes into the caches of a running server"),
    "restore": Subcommand("restore", "revert changes that a killed command left on a server"),
    "server": Subcommand("server", "download servers without root; list or remove them"),
    "data": Subcommand("data", "import your own dump; list or remove datasets"),
    "log": Subcommand(
        "log", "read your server's log into a recording of its statements, and show them"
    ),
    "check": Subcommand("data", "check the consistency conditions of a schema's tables"),
    "doctor": Subcommand("doctor", "check this host or a server for problems, with their fix"),
    "calibrate": Subcommand("calibrate", "measure the limits of the load generator on this host"),
    "completion": Subcommand("completion", "print a completion script for your shell"),
    "mysqlslap": Subcommand("main", "run a mysqlslap command line: same options and output"),
    "sysbench": Subcommand("main", "run a sysbench command line: same scripts, options, output"),
}
"""In the order of the help."""


class Parser(argparse.ArgumentParser):
    """An argument parser that reports errors like the rest of contend, and accepts only complete
    option names.

    `intermixed` allows options between positional arguments. `meant` maps options of other programs
    to their names here.
    """

    intermixed = False
    _within = False
    meant: Mapping[str, str] = {}

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **{"allow_abbrev": False, **named})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self._within:
            return super().parse_known_args(args, namespace)
        if self.intermixed:
            # It calls this function again, twice.
            self._within = True
            parsed, rest = self.parse_known_intermixed_args(args, namespace)
        else:
            parsed, rest = super().parse_known_args(args, namespace)
        if rest:
            self._refuse(rest[0])
        return parsed, rest

    def _refuse(self, unknown: str) -> NoReturn:
        name = unknown.partition("=")[0].replace("_", "-")
        own = self.meant.get(name)
        hint = f"Use {own}." if own else did_you_mean(name, self._option_string_actions)
        raise RequestError(
            f"unknown {'option' if unknown.startswith('-') else 'argument'}: {unknown}",
            hint=hint or f"See `{self.prog} --help`.",
        )

    def error(self, message: str) -> NoReturn:
        raise RequestError(message, hint=f"See `{self.prog} --help`.")


def command_module(name: str) -> ModuleType:
    return importlib.import_module(f"contend.cli.{COMMANDS[name].module}")


def build_parser(whole: Collection[str]) -> Parser:
    """The parser of all subcommands. Only those in `whole` have their arguments, because these
    require importing their modules."""
    parser = Parser(
        prog="contend",
        description="Would this change make my MariaDB or MySQL server faster, by how much, "
        "at which load, and why?",
    )
    parser.add_argument("--version", action="version", version=f"contend {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for name, command in COMMANDS.items():
        has_arguments = name in whole and name not in HANDED_OVER
        own = subparsers.add_parser(name, help=command.means, add_help=has_arguments)
        if has_arguments:
            getattr(command_module(name), f"add_{name}")(own)
    return parser


def run_command(arguments: Sequence[str]) -> int:
    """Parse a command line and run its subcommand; returns the exit code."""
    word = next((a for a in arguments if not a.startswith("-")), None)
    if word is None:
        parser = build_parser(())
        parser.parse_args(arguments)
        parser.print_help()
        return 0
    if word not in COMMANDS:
        meant = nearest(word, COMMANDS)
        hint = f"Did you mean `contend {meant}`?" if meant else "See `contend --help`."
        raise RequestError(f"unknown command: {word}", hint=hint)
    args = build_parser((word,)).parse_args(arguments)
    code: int = args.run(args)
    return code


def add_metric(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--metric",
        metavar="NAME",
        action="append",
        default=[],
        help="metric to compare, such as response_us_p99 (default: the experiment's); repeat for "
        "several, the first decides",
    )


def add_equal_load(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--equal-load",
        action="store_true",
        help="also measure times of statements at a rate that all levels hold (load.rate); the "
        "default for several statements that are compared in slices",
    )
    parser.add_argument(
        "--alone",
        action="store_true",
        help="also measure each kind of statement or transaction by itself, with its CPU, redo, "
        "pages written and rows examined (load.alone); the default for several statements that "
        "are compared in slices",
    )


def metrics_of(args: argparse.Namespace) -> tuple[str, ...]:
    """The names given by `--metric`; empty for the experiment's. Raises RequestError."""
    from contend.experiment import MetricNames, Refused  # contend's help must not wait for it

    try:
        return MetricNames().read(args.metric) if args.metric else ()
    except Refused as refused:
        raise RequestError(f"--metric {refused.reason}", hint=refused.hint) from None


def counted_from_0(text: str) -> int:
    """The number of something, as an argument."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number, counted from 0")
    return int(text)


def confirmed(question: str, *, yes: bool) -> bool:
    """Whether the user agrees: `--yes` agrees; without a terminal, the answer is no."""
    if yes:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write(f"{one_line(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def say(line: str) -> None:
    """Print a line of output."""
    sys.stdout.write(f"{one_line(line)}\n")


def say_json(document: Any) -> None:
    """Print a document, for programs."""
    sys.stdout.write(json.dumps(document, indent=2) + "\n")


def remark(line: str) -> None:
    """Print a line for people that is not part of the output."""
    sys.stderr.write(f"{one_line(line)}\n")


def columns(rows: Sequence[Sequence[str]], *, right: Container[int] = ()) -> list[str]:
    """A line for each row, with the cells under one another; flush right in columns `right`."""
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
