"""How the datasets room tells what it does while it takes its time."""

from __future__ import annotations

from typing import Protocol


class Tell(Protocol):
    """Somebody who wants to know."""

    def notice(self, text: str) -> None:
        """Something the reader should know; no error."""
        ...

    def progress(self, what: str, done: int, total: int, unit: str) -> None:
        """`done` of `total` rows or bytes; the last call has both equal."""
        ...
