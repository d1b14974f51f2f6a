"""The content of a run folder, as plain data, and its possible errors.

The documents inside a record (`plan`, `done`, `intervals`) are contend-load's own, kept whole.
`probes` has the lab's observations around the run.

Errors:

    RequestError ├─ NotARunFolder   no folder there that contend wrote
                 ├─ FolderExists    the folder to create exists already
                 ├─ FolderLocked    another lab works in it
                 └─ OtherFormat     written by a contend of a different format
    WorkError    ├─ DamagedStore    results.sqlite cannot be read completely
                 └─ StoreFailed     a write did not reach the disk; earlier data stay
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from contend.errors import RequestError, WorkError
from contend.experiment import Level, Planned
from contend.metrics.outcome import Done, Interval
from contend.metrics.plan import Plan
from contend.metrics.probed import Probes, RunWarning, SessionFacts

RunStatus = Literal["ok", "failed", "lost"]
"""`ok`: measured. `failed`: tried, and an error says why. `lost`: void for a recorded cause."""


def _no_plan() -> Plan:
    """The plan of a run that ended before it received one."""
    return cast(Plan, {})


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run that ended. Times are ISO 8601 in UTC."""

    run: int
    block: int
    repeat: int
    cell: Mapping[str, Level]
    status: RunStatus
    started_at: str
    ended_at: str
    plan: Plan = field(default_factory=_no_plan)
    done: Done | None = None
    intervals: list[Interval] = field(default_factory=list)
    probes: Probes = field(default_factory=Probes)
    warnings: list[RunWarning] = field(default_factory=list)
    error: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class LookRecord:
    """One diagnostic pass in one cell, in a separate block: no measured run is in it.

    Args:
        look: its name.
        block: shared by passes that were taken together; counted from 1 in a run folder.
        figures: the results of the pass, in its own format; empty if it failed.
        error: the reason why it failed.
    """

    look: str
    block: int
    cell: Mapping[str, Level]
    started_at: str
    ended_at: str
    figures: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a run and its status; the measurements are in its RunRecord. Times are seconds
    since 1970."""

    run: int
    block: int
    status: RunStatus
    started_s: float
    ended_s: float


@dataclass(frozen=True, slots=True)
class LabSession:
    """One start of the lab on the folder: a resumed run may have a different host."""

    started_at: str
    facts: SessionFacts


@dataclass(frozen=True, slots=True)
class Meta:
    """The folder's own data. `experiment` is the frozen spec as a dictionary.

    `finished` is the reason why no more runs follow; None if there may be more to do.
    """

    store_version: int
    contend_version: str
    created_at: str
    experiment: dict[str, Any]
    planned: Sequence[Planned]
    sessions: Sequence[LabSession]
    finished: str | None = None

    @property
    def facts(self) -> SessionFacts:
        """Host facts of the first session."""
        return self.sessions[0].facts if self.sessions else {}


class NotARunFolder(RequestError):
    """The path is not a run folder."""


class FolderExists(RequestError):
    """The folder to create is not empty."""


class FolderLocked(RequestError):
    """Another process writes to the run folder."""


class OtherFormat(RequestError):
    """The run folder does not have the format that this contend reads."""

    def __init__(self, file: Path, found: int, reads: int, writer: str) -> None:
        super().__init__(
            f"{file} has format {found}, but this contend only reads format {reads}",
            hint=f"Read it with contend {writer}, which wrote it; the folder was not changed.",
        )


class DamagedStore(WorkError):
    """results.sqlite is damaged: some or all of it cannot be read."""


class StoreFailed(WorkError):
    """A run could not be stored. Everything stored before it is safe."""
