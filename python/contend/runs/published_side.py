"""Published figures as a side of a comparison: ours with its interval, theirs as a bare number.

A publication is a single run of another machine without an interval, so there is no verdict. The
report says whether its number lies within our interval, above it or below.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contend.errors import RequestError, did_you_mean
from contend.experiment import Level, Published, cell_key, cells
from contend.findings import Constant, ReportText, Study, cell_figures, compared_of
from contend.metrics import Metric, metric_of
from contend.sections.panels import agrees, gain_at
from contend.sections.words import cell_phrase, estimate_text, gain_text, plain_gain, significant
from contend.stats import finite

PREFIX = "published:"
"""Before the name of a `[published.NAME]` of the first run's experiment."""


@dataclass(frozen=True, slots=True)
class PublishedCell:
    """One cell: ours and theirs as text, and the position of theirs.

    low, high: our interval; `value` theirs: percent of a gain, or the figure.
    """

    place: str
    ours: str
    theirs: str
    low: float
    high: float
    value: float

    @property
    def position(self) -> str:
        if self.value > self.high:
            return "above"
        return "below" if self.value < self.low else "within"


@dataclass(frozen=True, slots=True)
class PublishedSide:
    name: str
    machine: str
    source: str
    quantity: str
    sentence: ReportText
    rows: tuple[PublishedCell, ...]


def published_side(study: Study, name: str) -> PublishedSide:
    """The published figures that a run's experiment contains, compared with that run.

    Raises:
        RequestError: it has none of this name, or none of a cell that was measured.
    """
    known = {one.name: one for one in study.experiment.published}
    if name not in known:
        some = f"it has {', '.join(known)}" if known else "it has none"
        raise RequestError(
            f"the experiment of the first run has no published figures {name!r}; {some}",
            hint=did_you_mean(name, known) or "An experiment file has them under [published.NAME].",
        )
    published = known[name]
    metric = metric_of(published.metric)
    gains = any(row.gain_percent for row in published.rows)
    rows = tuple((_gains if gains else _figures)(study, published, metric))
    if not rows:
        raise RequestError(
            f"no cell of the first run has published figures of {name}",
            hint="They are for different levels, or for a metric that this run lacks.",
        )
    kind = f"gain over {study.roles.baseline}, %" if gains else f"figures, {metric.unit}"
    quantity = f"{metric.title}, {kind}"
    return PublishedSide(name, published.machine, published.source, quantity, _sentence(rows), rows)


def _sentence(rows: Sequence[PublishedCell]) -> ReportText:
    total, places = len(rows), ("within", "above", "below")
    counts = {place: sum(row.position == place for row in rows) for place in places}
    parts = [
        ReportText(
            "{} the measured interval in {} of {} cells", place, Constant(count), Constant(total)
        )
        for place, count in counts.items()
        if count
    ]
    return ReportText("The published value is {}.", ReportText.joined(", ", parts))


def _gains(study: Study, published: Published, metric: Metric) -> Iterator[PublishedCell]:
    analysis = compared_of(study)[0]
    if analysis is None or analysis.compared.metric.name != metric.name:
        return
    by_cell = {cell_key(one.cell): one for one in analysis.compared.comparisons}
    for cell, value in _published(study, published):
        one = by_cell.get(cell_key(cell))
        if one is not None:
            ours = f"{gain_text(one.change)} %"
            low, high = ((end - 1) * 100 for end in (one.change.low, one.change.high))
            yield PublishedCell(_place(cell), ours, f"{plain_gain(value)} %", low, high, value)


def _figures(study: Study, published: Published, metric: Metric) -> Iterator[PublishedCell]:
    for cell, value in _published(study, published):
        found = cell_figures(study, cell)
        one = found.figures.get(metric.name) if found else None
        if one is not None:
            ours, theirs = estimate_text(one), significant(value, 3)
            yield PublishedCell(_place(cell), ours, theirs, one.low, one.high, value)


def _published(study: Study, published: Published) -> Iterator[tuple[Mapping[str, Level], float]]:
    """Our cells that have a published number."""
    for cell in cells(study.experiment):
        rest = {path: level for path, level in cell.items() if path != published.columns_path}
        if len(rest) == len(cell):
            continue
        for row in published.rows:
            values = row.gain_percent or row.figures
            value = gain_at(published.columns, values, cell[published.columns_path])
            if value is not None and agrees(row.cell, rest):
                yield cell, value


def _place(cell: Mapping[str, Level]) -> str:
    return str(cell_phrase(cell)) or "all"


NO_VERDICT = (
    "Published figures are single runs on a different machine, without intervals. Compare "
    "direction and shape, not numbers; there is no verdict."
)


def published_lines(side: PublishedSide) -> list[str]:
    """As a terminal shows it."""
    places = max(len(row.place) for row in side.rows)
    ours = max(len(row.ours) for row in side.rows)
    return [
        f"Compared with published {side.name}: {side.machine} ({side.source})",
        f"{side.quantity}. {side.sentence}",
        "",
        *(
            f"  {row.place.ljust(places)}  {row.ours.ljust(ours)}  {row.theirs} published, "
            f"{row.position}"
            for row in side.rows
        ),
        "",
    ]


def published_json(side: PublishedSide) -> dict[str, Any]:
    return {
        "name": side.name,
        "machine": side.machine,
        "source": side.source,
        "what": side.quantity,
        "sentence": side.sentence,
        "cells": [
            {
                "place": row.place,
                "low": finite(row.low),
                "high": finite(row.high),
                "published": row.value,
                "lies": row.position,
            }
            for row in side.rows
        ],
    }
