"""The command line as argparse has it: one subcommand's arguments, or the names of all."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Collection, Sequence
from types import ModuleType
from typing import Any, NoReturn

from contend import __version__
from contend.cli.main import HANDED_OVER
from contend.errors import RequestError, nearest

COMMANDS: dict[str, str] = {
    "run": "measure an experiment: a built-in recipe or a file",
    "show": "show what a run folder says",
    "report": "write the HTML report of a run folder",
    "export": "write a run folder as CSV, JSON or Parquet",
    "recipes": "list the built-in experiments, or print one to start your own from",
    "schema": "print the JSON Schema of experiment files, for your editor",
    "server": "get a server without root, list the servers at hand, remove one",
    "data": "list the datasets that are kept for later runs, remove them",
    "calibrate": "measure what the load generator itself can do on this host",
    "sysbench": "run a sysbench command line: its scripts, options, output",
}
"""The subcommands in the order of the help, with their lines of it. Each but those of another
program is a module of this package that offers `add_arguments(parser)` and `run(args) -> int`."""


class Parser(argparse.ArgumentParser):
    """An argument parser that reports its errors as every other part of contend does, and knows
    its options by their whole names only."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **{"allow_abbrev": False, **named})

    def error(self, message: str) -> NoReturn:
        raise RequestError(message, hint=f"`{self.prog} --help` lists what it takes.")


def command_module(name: str) -> ModuleType:
    return importlib.import_module(f"contend.cli.{name}")


def build_parser(whole: Collection[str]) -> Parser:
    """The parser of all subcommands. Only those in `whole` have their arguments, because that
    takes their modules, and what these import."""
    parser = Parser(
        prog="contend",
        description="Would this change make my MariaDB or MySQL server faster, by how much, "
        "at which load, and why?",
    )
    parser.add_argument("--version", action="version", version=f"contend {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for name, meaning in COMMANDS.items():
        has_arguments = name in whole and name not in HANDED_OVER
        own = subparsers.add_parser(name, help=meaning, add_help=has_arguments)
        if has_arguments:
            command_module(name).add_arguments(own)
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
        hint = f"Did you mean `contend {meant}`?" if meant else "`contend --help` lists all."
        raise RequestError(f"unknown command: {word}", hint=hint)
    args = build_parser((word,)).parse_args(arguments)
    code: int = command_module(word).run(args)
    return code
