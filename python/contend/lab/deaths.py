"""How a server ended, if it did in the middle of something; and what a broken control connection
says, in words."""

from __future__ import annotations

import time
from typing import Protocol

import pymysql

from contend.errors import ContendError, WorkError
from contend.servers.errors import ServerDied

DEATH_S = 2.0
"""How long a server that dies may still be there after its connections broke: they go first."""


class Mortal(Protocol):
    """Whoever has servers."""

    def death(self) -> ContendError | None:
        """How a server ended, if one did although nobody asked it to; told once."""
        ...


def death_behind(
    runner: Mortal, error: ContendError | pymysql.err.MySQLError
) -> ContendError | None:
    """How the server ended, if that is what is behind an error. Whoever met its death first may
    have told already."""
    if isinstance(error, ServerDied):
        return error
    death, limit_s = runner.death(), time.monotonic() + DEATH_S
    while death is None and _is_broken(error) and time.monotonic() < limit_s:
        time.sleep(0.02)
        death = runner.death()
    return death


def _is_broken(error: ContendError | pymysql.err.MySQLError) -> bool:
    """Whether the server did not refuse something, but was not there (errors of clients)."""
    first = error.args[0] if isinstance(error, pymysql.err.MySQLError) and error.args else None
    code = getattr(error, "code", first)
    return isinstance(code, int) and 2000 <= code < 3000


def in_words(error: ContendError | pymysql.err.MySQLError) -> ContendError:
    """An error of the control connection as one of ours."""
    if isinstance(error, ContendError):
        return error
    said = str(error.args[-1]) if error.args else str(error)
    return WorkError(f"the control connection failed: {said}")
