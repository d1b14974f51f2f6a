"""Events that the lab reports to any kind of listener; errors of the lab."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from contend.errors import WorkError
from contend.experiment import Cell
from contend.store import RunRecord


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the reader should know; not an error."""

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
    """The runs begin. `ended` of `total` were made by an earlier session. `load_s` is the total
    duration of load; with `at_most`, some end earlier, when their work is done."""

    folder: Path
    total: int
    ended: int
    load_s: float
    at_most: bool = False


@dataclass(frozen=True, slots=True)
class RunBegan:
    """Run number `run` of `runs` planned so far is being prepared. `left_s` is the remaining time,
    if the lab's estimate is better than counting runs."""

    run: int
    block: int
    blocks: int
    cell: Cell
    runs: int
    left_s: float | None = None
    repeat: int = 1


@dataclass(frozen=True, slots=True)
class Pace:
    """Queries per second of the current run, over its last interval."""

    run: int
    qps: float


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run was stored."""

    record: RunRecord


Event = Notice | StepProgress | Began | RunBegan | Pace | RunEnded
Listener = Callable[[Event], None]


class Relay:
    """Passes the datasets package's reports (`datasets.loading.Tell`) on to a listener."""

    def __init__(self, listen: Listener) -> None:
        self._listen = listen

    def notice(self, text: str) -> None:
        self._listen(Notice(text))

    def progress(self, what: str, done: int, total: int, unit: str) -> None:
        self._listen(StepProgress(what, done, total, unit))


class Interrupted(WorkError):
    """The lab was asked to stop. Completed runs are stored."""
