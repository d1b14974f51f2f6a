"""How alike a load of recorded transactions is to its recording: the share of each template, rows
per statement, rows examined where both know them.

It appears if runs sent the transactions of a recording. A load is never all of a recording: what
may not be sent is missing, and the shares are those of what remains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contend.experiment import Level
from contend.experiment.settings.plan_keys import RECORDED
from contend.metrics import read
from contend.metrics.counters import ROWS_READ
from contend.metrics.twins import RecordedTemplate, RecordingFacts
from contend.sections.model import Inputs, Section, Shown, TextTable
from contend.sections.words import cell_phrase, significant
from contend.store import RunRecord

_LISTED = 20
"""Maximum number of templates in the table: those with the largest shares."""

_TEXT = 80
"""Characters of a template in the table."""


@dataclass(frozen=True, slots=True)
class CellLikeness:
    """One cell compared with the recording.

    Args:
        moved: the share of statements that would have to be of other templates, 0 to 1: half the
            sum of the differences of all shares.
        rows: per statement, sent or changed.
        examined: rows that the server read per statement, by its counters; None if not counted.
    """

    cell: Mapping[str, Level]
    statements: int
    moved: float
    rows: float | None
    examined: float | None


@dataclass(frozen=True, slots=True)
class TemplateLikeness:
    """The shares of a template among the statements that were sent: as recorded, and in all
    cells."""

    template: RecordedTemplate
    recorded: float
    sent: float


@dataclass(frozen=True, slots=True)
class Likeness:
    """A load compared with its recording.

    Args:
        covered: the share of the recording's statements whose templates were sent, 0 to 1.
        covered_time: likewise of their logged time; None if no times were logged.
        rows, examined: per statement of these templates, as logged; None if not logged.
    """

    name: str
    digest: str
    covered: float
    covered_time: float | None
    rows: float | None
    examined: float | None
    has_shares: bool
    cells: tuple[CellLikeness, ...]
    templates: tuple[TemplateLikeness, ...]


def _read(inputs: Inputs) -> Likeness | None:
    """None if no run sent the transactions of a recording."""
    study = inputs.study
    known: Mapping[str, RecordingFacts] = study.meta.facts.get("recordings", {})
    runs = [run for run in study.measured if _sends(run)]
    if not runs or not known:
        return None
    (name, facts), *_ = known.items()
    templates = {f"t{one['template']}": one for one in facts["templates"]}
    sent = _queries(runs)
    of = {key: one for key, one in templates.items() if key in sent}
    calls = Counter({key: one["calls"] for key, one in of.items()})
    if not calls.total():
        return None
    cells = []
    for cell in inputs.cells:
        own = [run for run in study.runs_of(cell.cell) if _sends(run)]
        queries = _of(_queries(own), of)
        if not queries.total():
            continue
        cells.append(
            CellLikeness(
                cell.cell,
                queries.total(),
                moved(calls, queries),
                _sum(own, "rows", of) / queries.total(),
                _examined(own),
            )
        )
    sums = _of(sent, of)
    shares = (
        TemplateLikeness(one, calls[key] / calls.total(), sums[key] / (sums.total() or 1))
        for key, one in of.items()
    )
    times = [(one["calls"] * one["mean_us"]) for one in templates.values() if one["mean_us"]]
    covered = [(one["calls"] * one["mean_us"]) for one in of.values() if one["mean_us"]]
    return Likeness(
        name=name,
        digest=facts["digest"],
        covered=calls.total() / facts["statements"],
        covered_time=sum(covered) / sum(times) if times else None,
        rows=_mean(of.values(), "rows_sent_mean"),
        examined=_mean(of.values(), "rows_examined_mean"),
        has_shares=any(run.plan["workload"].get("shares") for run in runs),
        cells=tuple(cells),
        templates=tuple(sorted(shares, key=lambda one: -max(one.recorded, one.sent))),
    )


def moved(recorded: Counter[str], sent: Counter[str]) -> float:
    """Half the sum of the differences of shares: 0 if all are equal, 1 if nothing is common."""
    names = recorded.keys() | sent.keys()
    shares = (recorded[one] / recorded.total() - sent[one] / sent.total() for one in names)
    return sum(map(abs, shares)) / 2


def _sends(run: RunRecord) -> bool:
    workload = run.plan.get("workload")
    return workload is not None and workload["kind"] == RECORDED and run.done is not None


def _classes(run: RunRecord) -> Sequence[Mapping[str, Any]]:
    return run.done.get("classes") or () if run.done else ()


def _queries(runs: Sequence[RunRecord]) -> Counter[str]:
    found: Counter[str] = Counter()
    for run in runs:
        for one in _classes(run):
            found[one["name"]] += one["queries"]
    return found


def _of(queries: Counter[str], templates: Mapping[str, RecordedTemplate]) -> Counter[str]:
    return Counter({name: queries[name] for name in templates})


def _sum(runs: Sequence[RunRecord], key: str, templates: Mapping[str, RecordedTemplate]) -> float:
    classes = (one for run in runs for one in _classes(run))
    return sum(float(one[key]) for one in classes if one["name"] in templates)


def _examined(runs: Sequence[RunRecord]) -> float | None:
    """Rows that the server read per statement, by its counters."""
    counted = [found for run in runs if (found := read.status(run)) and found.get("Questions")]
    rows = sum(found.get(name, 0) for found in counted for name in ROWS_READ)
    asked = sum(found["Questions"] for found in counted)
    return rows / asked if asked else None


def _mean(templates: Any, key: str) -> float | None:
    """Per call, of the templates that have it."""
    having = [one for one in templates if one[key] is not None]
    calls = sum(one["calls"] for one in having)
    return sum(one["calls"] * one[key] for one in having) / calls if calls else None


def _percent(share: float) -> str:
    return f"{significant(share * 100, 2)} %"


def _known(value: float | None) -> str:
    return "unknown" if value is None else significant(value, 3)


def _show(found: Likeness, _inputs: Inputs) -> Shown:
    time = "" if found.covered_time is None else f" ({_percent(found.covered_time)} of their time)"
    intended = " workload.shares changes the shares on purpose." if found.has_shares else ""
    rows: list[tuple[str, ...]] = [
        ("as recorded", "", "", _known(found.rows), _known(found.examined)),
        *(
            (
                cell_phrase(one.cell) or "all",
                f"{one.statements:,}",
                _percent(one.moved),
                _known(one.rows),
                _known(one.examined),
            )
            for one in found.cells
        ),
    ]
    listed = found.templates[:_LISTED]
    return Shown(
        title=f"Likeness to the recording {found.name}",
        lead=f"The templates that were sent are {_percent(found.covered)} of the statements of the "
        f"recording{time}. Shares and rows are of these.{intended}",
        tables=(
            TextTable(
                "Moved: the share of statements that would have to be of other templates for all "
                "shares to be as recorded",
                ("cell", "statements", "moved", "rows per statement", "rows examined"),
                tuple(rows),
            ),
            TextTable(
                "Share of each template"
                + (
                    f": the {_LISTED} largest of {len(found.templates)}"
                    if len(found.templates) > _LISTED
                    else ""
                ),
                ("template", "recorded", "sent", "statement"),
                tuple(
                    (
                        f"t{one.template['template']}",
                        _percent(one.recorded),
                        _percent(one.sent),
                        one.template["text"][:_TEXT],
                    )
                    for one in listed
                ),
            ),
        ),
    )


def _json(found: Likeness, _inputs: Inputs) -> dict[str, Any]:
    return {
        "recording": found.name,
        "digest": found.digest,
        "covered": found.covered,
        "covered_time": found.covered_time,
        "rows_per_statement": found.rows,
        "rows_examined_per_statement": found.examined,
        "cells": [
            {
                "factors": dict(one.cell),
                "statements": one.statements,
                "moved": one.moved,
                "rows_per_statement": one.rows,
                "rows_examined_per_statement": one.examined,
            }
            for one in found.cells
        ],
        "templates": [
            {
                "template": one.template["template"],
                "recorded": one.recorded,
                "sent": one.sent,
            }
            for one in found.templates
        ],
    }


SECTION = Section("recorded", "Likeness to the recording", _read, _show, _json)
