"""The entry point: runs the subcommand, and reports errors as text.

Exit codes: 0 done; 1 the work failed or was interrupted; 2 the request is wrong; 3 and 4 from a
gate: slower, inconclusive. A ContendError is printed without a traceback. So is an OSError, since a
full disk or a missing permission is for the user to fix, and a malformed answer from a server. Any
other error is a bug and is printed with its traceback."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from contend.cli.streams import clean_streams
from contend.errors import ContendError, one_line, watched, without_secrets
from contend.files import find_program

INTERRUPTED = 1

HANDED_OVER = ("mysqlslap", "sysbench")
"""Subcommands of contend-load; contend does not parse their arguments."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    with clean_streams():
        return _run(argv)


def _run(argv: Sequence[str] | None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    _remedies_left()  # From an earlier command in the same process.
    with watched(is_all=argv is None):
        try:
            return _done(arguments)
        except KeyboardInterrupt as stop:
            if isinstance(stop.__cause__, ContendError):
                _report(stop.__cause__)
            _say("contend: interrupted", _remedies_left())
            return INTERRUPTED


def _done(arguments: Sequence[str]) -> int:
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except ContendError as error:
        _report(error)
        return error.exit_code
    except BrokenPipeError:
        # The reader of the output went away (`contend show … | head`). The interpreter must not try
        # to flush the rest at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        _report(ContendError(_describe(error)))
        return 1
    except Exception as error:
        from contend.servers.client import SHAPES, misread

        known = misread(error) if isinstance(error, SHAPES) else None
        if known is None:
            raise
        _report(known)
        return known.exit_code


def _dispatch(arguments: Sequence[str]) -> int:
    # contend-load's output must not wait for contend's own parsers.
    if arguments and arguments[0] in HANDED_OVER:
        _hand_over(arguments)
    from contend.cli.parser import run_command

    return run_command(arguments)


def _hand_over(arguments: Sequence[str]) -> NoReturn:
    """Become contend-load: from here on, streams, signals and exit code are the program's own."""
    program = str(find_program())
    # Python ignores these, and a program inherits ignored signals.
    for name in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(name, signal.SIG_DFL)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, [program, *arguments])


def _report(error: ContendError) -> None:
    # A message may quote a server, whose further lines must not look like contend's. Most messages
    # repeat user input, and errors end up in logs.
    first, *more = without_secrets(error.message).splitlines() or [""]
    lines = [f"contend: error: {first}"]
    lines += [f"  | {line}" for line in (*more, *(error.detail or "").rstrip().splitlines())]
    if error.hint:
        lines.append(f"  hint: {one_line(without_secrets(error.hint))}")
    text = "\n".join(lines)
    _say(text, [remedy for remedy in _remedies_left() if remedy not in text])


def _say(text: str, remedies: Sequence[str]) -> None:
    """The error, and how to revert changes that remain."""
    lines = [text, *(f"  hint: Revert the remaining changes with `{one}`." for one in remedies)]
    sys.stderr.write("\n".join(lines) + "\n")


def _remedies_left() -> list[str]:
    # Only a command that changes something has imported this module.
    module = sys.modules.get("contend.servers.undo.journal")
    return [] if module is None else module.remedies_left()


def _describe(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else reason
