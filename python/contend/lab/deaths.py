"""How a server ended, if it did in the middle of something."""

from __future__ import annotations

import time
from typing import Protocol

from contend.errors import ContendError
from contend.servers.errors import ServerDied

DEATH_S = 2.0
"""How long a server that dies may still be there after its connections broke: they go first."""


class Mortal(Protocol):
    """Whoever has servers."""

    def death(self) -> ContendError | None:
        """How a server ended, if one did although nobody asked it to; told once."""
        ...


def death_behind(runner: Mortal, error: ContendError) -> ContendError | None:
    """How the server ended, if that is what is behind an error. Whoever met its death first may
    have told already."""
    if isinstance(error, ServerDied):
        return error
    death, limit_s = runner.death(), time.monotonic() + DEATH_S
    while death is None and _is_broken(error) and time.monotonic() < limit_s:
        time.sleep(0.02)
        death = runner.death()
    return death


def _is_broken(error: ContendError) -> bool:
    """Whether the server did not refuse something, but was not there (errors of clients)."""
    code = getattr(error, "code", None)
    return isinstance(code, int) and 2000 <= code < 3000
