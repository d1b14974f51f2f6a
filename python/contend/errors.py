"""The error tree. Everything that a user can meet is a ContendError; anything else is a bug.

    ContendError
    ├─ RequestError   what was asked is wrong                            exit 2
    ├─ WorkError      the work failed                                    exit 1
    └─ GateError      inconclusive or regressed, and a gate was asked for  exit 3

Rooms derive their own classes from these, so that a caller can catch one kind of trouble.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import ClassVar


class ContendError(Exception):
    """Something a user can act on: what was wrong, where, and what to do.

    Args:
        message: one sentence that says what was wrong and where (file, line, key, server).
        hint: what to do about it, one sentence.
        detail: lines to show below, verbatim (the end of an error log, say).
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None, detail: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.detail = detail


class RequestError(ContendError):
    """What was asked is wrong."""

    exit_code = 2


class WorkError(ContendError):
    """The work failed."""

    exit_code = 1


class GateError(ContendError):
    """A gate was asked for, and the answer is inconclusive or regressed."""

    exit_code = 3


def nearest_hint(name: str, known: Iterable[str]) -> str:
    """`Did you mean …?`, or all known names if none is near."""
    names = list(known)
    nearest = difflib.get_close_matches(name, names, n=1)
    if nearest:
        return f"Did you mean {nearest[0]}?"
    return f"Known: {', '.join(names)}." if names else "There are none."
