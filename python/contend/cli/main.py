"""The front door: runs the subcommand, and turns what went wrong into words.

Exit codes: 0 done, 1 the work failed or was interrupted, 2 what was asked is wrong, 3 and 4 of a
gate: slower, not certain. A ContendError is printed without a traceback; an OSError too, since a
full disk or a missing permission is the user's business. Anything else is a bug and says so by its
traceback."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import NoReturn

from contend.errors import ContendError, without_secrets
from contend.program import find_program

INTERRUPTED = 1

HANDED_OVER = ("mysqlslap", "sysbench")
"""Subcommands of contend-load: what follows their name is not for us to read."""


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
    # What contend-load answers does not wait for us to read our own command line.
    if arguments and arguments[0] in HANDED_OVER:
        _hand_over(arguments)
    from contend.cli.parser import run_command

    return run_command(arguments)


def _hand_over(arguments: Sequence[str]) -> NoReturn:
    """Become contend-load: streams, signals and exit code are the program's own from here on."""
    program = str(find_program())
    # Python ignores these, and a program inherits what is ignored.
    for name in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(name, signal.SIG_DFL)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, [program, *arguments])


def _report(error: ContendError) -> None:
    # Most of them repeat what the user wrote, and errors end up in logs.
    lines = [f"contend: error: {without_secrets(error.message)}"]
    if error.detail:
        lines += [f"  | {line}" for line in error.detail.rstrip().splitlines()]
    if error.hint:
        lines.append(f"  hint: {without_secrets(error.hint)}")
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
