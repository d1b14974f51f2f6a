"""How the datasets room tells what it does while it takes its time."""

from __future__ import annotations

from typing import Protocol

from contend.datasets.engines import describe
from contend.spec import DataSpec


class Tell(Protocol):
    """Somebody who wants to know."""

    def notice(self, text: str) -> None:
        """Something the reader should know; no error."""
        ...

    def progress(self, what: str, done: int, total: int, unit: str) -> None:
        """`done` of `total` rows or bytes; the last call has both equal."""
        ...


class FillTelling:
    """Passes on how far a fill is; says once when the rows are there and the keys are not."""

    def __init__(self, tell: Tell, data: DataSpec) -> None:
        self._tell = tell
        self._data = data
        self._phase = ""

    def __call__(self, phase: str, rows: int) -> None:
        self._tell.progress(f"loading {describe(self._data)}", rows, self._data.rows_in_all, "rows")
        if phase == "keys" != self._phase:
            self._tell.notice(f"building the keys of {describe(self._data)}")
        self._phase = phase
