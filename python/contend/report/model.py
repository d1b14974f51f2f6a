"""The content of a report, as plain data. terminal, html and charts decide how it looks.

A number never comes alone: it is an Estimate or a Change, and has its interval and its n. A report
is made part by part: an error costs only its own part, which reports it in a sentence.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from contend.errors import ContendError
from contend.findings import CellFigures, Compared, Finding, GateOutcome, ReportText
from contend.metrics import Metric
from contend.sections.model import (
    Chart,
    FactGroup,
    Layout,
    MadeSection,
    Notice,
    Panel,
    Shown,
    TextTable,
)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the run folder has come. `state` is complete, under way, or unfinished. `is_measured`
    if any run is, and of an experiment that compares levels both sides of a comparison are."""

    planned: int
    measured: int
    failed: int
    lost: int
    state: str
    is_measured: bool

    @property
    def text(self) -> str:
        """`504 of 504 measured`, and the state of the others."""
        parts = [f"{self.measured} of {self.planned} measured"]
        if self.failed:
            parts.append(f"{self.failed} failed")
        if self.lost:
            parts.append(f"{self.lost} lost")
        if self.state != "complete":
            parts.append(self.state)
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Answer:
    """The sentence that answers the question, its open points, and its basis.

    `others` are further sentences: the pattern over the columns, the other metrics and levels.
    `basis` gives the comparison, its repeats, its tools, and what would change the answer.
    """

    sentence: ReportText
    basis: tuple[str, ...]
    others: tuple[ReportText, ...] = ()

    def __post_init__(self) -> None:
        for one in (self.sentence, *self.others):
            if not isinstance(one, ReportText):
                raise TypeError(f"{one!r} may have a number in it that is not a finding")


@dataclass(frozen=True, slots=True)
class HostNote:
    """A problem that doctor found on the host before the runs and that affects verdicts.

    metrics: names of the metrics whose verdicts it affects. `ignored` is the user's reason for
    setting it aside; empty if it was not.
    """

    check: str
    severity: str
    evidence: str
    metrics: tuple[str, ...]
    ignored: str


@dataclass(frozen=True, slots=True)
class GateRow:
    """One cell of a gate by one metric: its change (empty if it was not measured), and its result.
    `limit` is the slowdown that fails it, as a share."""

    metric: Metric
    limit: float
    place: str
    outcome: GateOutcome
    change: str
    finding: Finding | None
    says: str


OUTCOMES = {"passed": "passed", "slower": "slower", "uncertain": "not certain"}
"""The outcomes of a gate, as printed."""

OF_POLICY = {
    "pass": "let pass by --if-not-certain pass",
    "fail": "failed by --if-not-certain fail",
}
"""What the user made of a gate that is not certain."""


@dataclass(frozen=True, slots=True)
class GateText:
    """The result of a gate for `title`: its `line` for a log, and one row per metric and cell.
    `policy` is the exit code that the user wants if it is not certain."""

    title: str
    outcome: GateOutcome
    details: str
    rows: tuple[GateRow, ...]
    policy: Literal["4", "pass", "fail"] = "4"

    @property
    def says(self) -> str:
        """The outcome, and what the user made of one that is not certain."""
        made = OF_POLICY.get(self.policy) if self.outcome == "uncertain" else None
        return ", ".join(filter(None, (f"gate {OUTCOMES[self.outcome]}", made)))

    @property
    def line(self) -> str:
        return f"{self.says}: {self.details}"

    @property
    def limits(self) -> dict[Metric, float]:
        """By metric."""
        return {row.metric: row.limit for row in self.rows}


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a report shows. `wholes` has every metric for each level as a whole, `costs`
    the costs of each. `overall` has the tables of each compared metric. `key` explains
    tables of changes, `made` has the sections in order, `charts` all curves but the picture.
    `about_server` describes the server if it is not a database. `lost` lists the parts that could
    not be made."""

    name: str
    question: str
    about_server: str
    variant: str
    run: str
    path: Path
    created_at: str
    ended_at: str
    contend_version: str
    confidence: float
    margin: float
    arrival: str
    progress: Progress
    answer: Answer
    gate: GateText | None
    picture: Chart | None
    wholes: TextTable | None
    key: str
    layout: Layout
    panels: tuple[Panel, ...]
    compared: tuple[Compared, ...]
    costs: tuple[Compared, ...]
    overall: tuple[tuple[TextTable, ...], ...]
    cells: tuple[CellFigures, ...]
    made: tuple[MadeSection, ...]
    charts: tuple[Chart, ...]
    warnings: tuple[Notice, ...]
    failures: tuple[Notice, ...]
    host_notes: tuple[HostNote, ...]
    method: tuple[str, ...]
    summary: tuple[tuple[str, str], ...]
    facts: tuple[FactGroup, ...]
    variables: TextTable | None
    spec_text: str
    overrides: tuple[str, ...] = field(default=())
    lost: tuple[Shown, ...] = ()

    @property
    def metric(self) -> Metric:
        """The one that decides."""
        return self.compared[0].metric

    @property
    def comparisons(self) -> tuple[Finding, ...]:
        """Those by the metric that decides."""
        return self.compared[0].comparisons

    @property
    def missing(self) -> tuple[Shown, ...]:
        """The messages that replace parts that could not be made."""
        made = (one.shown for one in self.made if one.is_missing)
        return (*filter(None, made), *self.lost)

    @property
    def sections(self) -> tuple[Shown, ...]:
        """Those that are shown."""
        return (*(one.shown for one in self.made if one.shown), *self.lost)

    def shown(self, name: str) -> Shown | None:
        """A section by its name; None if it has no content."""
        return next((one.shown for one in self.made if one.section.name == name), None)

    def found(self, name: str) -> Any:
        """The data that a section read; None if there are none."""
        return next((one.found for one in self.made if one.section.name == name), None)

    @property
    def cause(self) -> Shown | None:
        """Why the levels differ, if the report explains it."""
        shown = self.shown("cause")
        return shown if shown is not None and shown.is_short else None


Made = TypeVar("Made")
Otherwise = TypeVar("Otherwise")


class Parts:
    """Makes the parts of one report; `missing` has a message for each that could not be made."""

    def __init__(self) -> None:
        self.missing: list[Shown] = []

    def make(self, title: str, how: Callable[[], Made], otherwise: Otherwise) -> Made | Otherwise:
        """The result of `how`; `otherwise` if that fails."""
        try:
            return how()
        except Exception as error:  # Any error affects this part alone.
            self.missing.append(Shown(title, missing_text(error)))
            return otherwise


def missing_text(error: Exception) -> str:
    """Why a part is missing, with the place if that is a fault of contend."""
    if isinstance(error, ContendError):
        return f"This part is missing: {error.message.rstrip('.')}."
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        "This part is missing because of an error in contend; the rest of the report is valid "
        f"({type(error).__name__}: {error}; {Path(place.filename).name}, line {place.lineno})."
    )
