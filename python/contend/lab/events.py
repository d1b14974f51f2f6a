"""What the lab tells while it works, whoever shows it and however; what can go wrong in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from contend.errors import WorkError
from contend.spec import Cell
from contend.store import RunRecord


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the reader should know; no error."""

    text: str


@dataclass(frozen=True, slots=True)
class StepProgress:
    """A long step before the runs: loading or restoring data, calibrating. The last has
    done == total.

    Args:
        what: `loading 1M rows (MyISAM)`.
        unit: `rows`, `bytes` or `rounds`.
    """

    what: str
    done: int
    total: int
    unit: str


@dataclass(frozen=True, slots=True)
class Began:
    """The runs begin. `ended` of `total` were made by an earlier session; `load_s` is how long
    all of them drive load, `at_most` that some end earlier, when their work is done."""

    folder: Path
    total: int
    ended: int
    load_s: float
    at_most: bool = False


@dataclass(frozen=True, slots=True)
class RunBegan:
    """Run number `run` of `runs` that are planned by now is being prepared. `left_s` is how long
    all that is to come takes, if the lab knows better than who counts runs."""

    run: int
    block: int
    blocks: int
    cell: Cell
    runs: int
    left_s: float | None = None
    repeat: int = 1


@dataclass(frozen=True, slots=True)
class Pace:
    """Queries a second of the run under way, over its last interval."""

    run: int
    qps: float


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run was stored."""

    record: RunRecord


Event = Notice | StepProgress | Began | RunBegan | Pace | RunEnded
Listener = Callable[[Event], None]


class Relay:
    """Passes on to a listener what the datasets room tells (`datasets.loading.Tell`)."""

    def __init__(self, listen: Listener) -> None:
        self._listen = listen

    def notice(self, text: str) -> None:
        self._listen(Notice(text))

    def progress(self, what: str, done: int, total: int, unit: str) -> None:
        self._listen(StepProgress(what, done, total, unit))


class Interrupted(WorkError):
    """The lab was told to stop. What ended is stored."""
