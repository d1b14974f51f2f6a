"""The front door: finds the subcommand, runs it, and turns what went wrong into words.

Exit codes: 0 done, 1 the work failed or was interrupted, 2 what was asked is wrong, 3 a gate was
asked for and not passed. A ContendError is printed without a traceback; an OSError too, since a
full disk or a missing permission is the user's business. Anything else is a bug and says so by
its traceback.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from types import FrameType, ModuleType
from typing import Any, NoReturn

from contend import __version__
from contend.errors import ContendError, RequestError

COMMANDS: tuple[str, ...] = (
    "run",
    "show",
    "report",
    "export",
    "recipes",
    "schema",
    "server",
    "data",
    "calibrate",
    "sysbench",
)
"""The subcommands in the order of the help. Each is a module of this package that offers
`add_parser(subparsers)` and `run(args) -> int`."""

HANDED_OVER: tuple[str, ...] = ("sysbench",)
"""Those of another program: in place of `run(args)` they offer `hand_over(arguments)`, and what
follows their name is not for us to read."""

INTERRUPTED = 1


class Parser(argparse.ArgumentParser):
    """An argument parser that reports its errors as every other part of contend does, and knows
    its options by their whole names only."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **{"allow_abbrev": False, **named})

    def error(self, message: str) -> NoReturn:
        raise RequestError(message, hint=f"`{self.prog} --help` lists what it takes.")


def command_module(name: str) -> ModuleType:
    return importlib.import_module(f"contend.cli.{name}")


def build_parser(names: Iterable[str]) -> Parser:
    """The parser with the named subcommands. One command needs only its own module imported."""
    parser = Parser(
        prog="contend",
        description="Would this change make my MariaDB or MySQL server faster, by how much, "
        "at which load, and why?",
    )
    parser.add_argument("--version", action="version", version=f"contend {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for name in names:
        command_module(name).add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with _every_stop_is_ctrl_c():
            code = _dispatch(arguments)
            sys.stdout.flush()
        return code
    except ContendError as error:
        _report(error)
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("contend: interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (`contend show … | head`). Nobody is left to tell,
        # and the interpreter must not try to flush the rest at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        _report(ContendError(_describe(error)))
        return 1


def _dispatch(arguments: Sequence[str]) -> int:
    names = COMMANDS
    if arguments and arguments[0] in HANDED_OVER:
        command_module(arguments[0]).hand_over(arguments[1:])
    word = next((a for a in arguments if not a.startswith("-")), None)
    if word is None:
        parser = build_parser(names)
        parser.parse_args(arguments)
        parser.print_help()
        return 0
    if word not in names:
        nearest = difflib.get_close_matches(word, names, n=1)
        hint = f"Did you mean `contend {nearest[0]}`?" if nearest else "`contend --help` lists all."
        raise RequestError(f"unknown command: {word}", hint=hint)
    args = build_parser([word]).parse_args(arguments)
    code: int = command_module(word).run(args)
    return code


def _report(error: ContendError) -> None:
    lines = [f"contend: error: {error.message}"]
    if error.detail:
        lines += [f"  | {line}" for line in error.detail.rstrip().splitlines()]
    if error.hint:
        lines.append(f"  hint: {error.hint}")
    sys.stderr.write("\n".join(lines) + "\n")


def _describe(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else reason


@contextlib.contextmanager
def _every_stop_is_ctrl_c() -> Iterator[None]:
    """A terminal that closes or a service manager that stops us leaves the same clean state behind
    as Ctrl-C: server stopped, finished runs kept."""

    def interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    # Under nohup the hang-up is ignored, and must stay so.
    stops = [s for s in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(s) != signal.SIG_IGN]
    before = [signal.signal(stop, interrupt) for stop in stops]
    try:
        yield
    finally:
        for stop, handler in zip(stops, before, strict=True):
            signal.signal(stop, handler)
