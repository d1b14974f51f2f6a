"""Compared run folders as text: the sentence, the table of cells, the differences. For the
terminal, as JSON and as one page that fetches nothing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contend.errors import RequestError
from contend.experiment.gate import limits_of, rate_of
from contend.experiment.settings.values import Refused
from contend.findings import REMEDY, Finding, Gated, ReleaseGate, Study, smallest_slowdown
from contend.report.gate import gate_text, percent_text
from contend.report.model import GateText
from contend.runs.page import filled
from contend.runs.published_side import (
    NO_VERDICT,
    PublishedSide,
    published_json,
    published_lines,
)
from contend.runs.sides import (
    DifferenceRow,
    RunSide,
    SidesCompared,
    compare_sides,
    differences_between,
)
from contend.sections.words import cell_phrase, gain_text, significant
from contend.stats import finite

_FEW = 3
_NOT_MEASURED = "Cost not measured"

Row = tuple[str, Finding | None]
"""A cell as text, and its finding; None where a side has fewer than two units."""


@dataclass(frozen=True, slots=True)
class SideTable:
    """One side over the first: its sentence, one row per cell, and the other differences."""

    name: str
    sentence: str
    rows: tuple[Row, ...]
    reversal: str
    differences: tuple[DifferenceRow, ...]


@dataclass(frozen=True, slots=True)
class SidesReport:
    """A comparison as text.

    detectable: the smallest slowdown that its gate finds; empty without a gate.
    """

    title: str
    first: str
    quantity: str
    caveat: str
    units: str
    tables: tuple[SideTable, ...] = ()
    left_out: tuple[str, ...] = ()
    gate: GateText | None = None
    detectable: str = ""
    published: tuple[PublishedSide, ...] = ()


def report_of_sides(
    sides: Sequence[RunSide],
    published: Sequence[PublishedSide] = (),
    *,
    limits: Mapping[str, float] | None = None,
) -> SidesReport:
    """Sides over the first of them, which may be compared with published figures alone.

    Args:
        limits: the slowdowns that fail the gate, as `GateKind` reads them; None without a gate.

    Raises:
        RequestError: they have no cell in common, or the gate has a metric that no run has.
    """
    study = sides[0].studies[0]
    title = study.experiment.question or study.experiment.name
    counts = [(side.name, len(side.studies)) for side in sides]
    units = ", ".join(f"{name}: {n} session{'' if n == 1 else 's'}" for name, n in counts)
    first, theirs = sides[0].name, tuple(published)
    if len(sides) == 1:
        return SidesReport(title, first, "published figures", NO_VERDICT, units, published=theirs)
    if limits is not None:
        limits = _by_name(limits, study)
    found = compare_sides(sides, limits)
    quantity = f"gain over {study.roles.baseline}" if found.by_gains else "figures"
    tables = tuple(_table(side, sides[0], found) for side in sides[1:])
    gate, detectable = (None, "") if limits is None else _gate(sides, found, limits)
    return SidesReport(
        title=title,
        first=first,
        quantity=f"{found.metric.title}, {quantity}",
        caveat=_caveat(tables, by_gains=found.by_gains),
        units=units,
        tables=tables,
        left_out=found.left_out,
        gate=gate,
        detectable=detectable,
        published=theirs,
    )


def _table(side: RunSide, first: RunSide, compared: SidesCompared) -> SideTable:
    findings = compared.findings[side.name]
    places = (str(cell_phrase(cell)) or "all" for cell in compared.cells)
    rows = tuple(zip(places, findings, strict=True))
    return SideTable(
        side.name,
        _sentence(side.name, first.name, compared, findings),
        rows,
        _reversal(side.name, first.name, rows),
        differences_between(first.studies[0], side.studies[0]),
    )


def _sentence(
    name: str, first: str, compared: SidesCompared, findings: Sequence[Finding | None]
) -> str:
    metric, known = compared.metric, [one for one in findings if one is not None]
    subject = f"the gain of {name}" if compared.by_gains else name
    better, worse = metric.changed(metric.better), metric.changed(metric.worse)
    if compared.by_gains:
        better, worse = "better", "worse"
    parts = [
        f"{word} in {count} of {len(findings)} cells"
        for word, tone in ((better, "better"), (worse, "worse"), ("the same", "equivalent"))
        if (count := sum(one.tone == tone for one in known))
    ]
    if parts:
        return f"Compared with {first}, {subject} is {', '.join(parts)}."
    if without := next((one.without for one in known if one.without), ""):
        return f"Compared with {first}, {subject} is undecided: {without}."
    return f"Compared with {first}, no difference of {subject} is certain."


def _reversal(name: str, first: str, rows: Sequence[Row]) -> str:
    """Where the order reverses along the cells: by the certain results, else by the estimates."""
    found = [(place, one) for place, one in rows if one is not None]
    signs = [(place, one.change.ratio > 1) for place, one in found if one.is_certain]
    certainty = ""
    if len({up for _, up in signs}) < 2:
        signs = [(place, one.change.ratio > 1) for place, one in found]
        certainty = " (inconclusive)"
    turns = [
        f"between {before} and {after}"
        for (before, up), (after, then) in itertools.pairwise(signs)
        if up != then
    ]
    if not turns:
        return ""
    more = "" if len(turns) <= _FEW else f" and {len(turns) - _FEW} times more"
    return f"The order of {name} and {first} reverses {', '.join(turns[:_FEW])}{more}{certainty}."


def _caveat(tables: Sequence[SideTable], *, by_gains: bool) -> str:
    """The sides that were not interleaved, and the consequence."""
    hosts = any(one.about == "host" for table in tables for one in table.differences)
    of = "their hosts and hours" if hosts else "their hours"
    if by_gains:
        return (
            "These runs were not interleaved. Both levels of a gain share a host and an hour; the "
            f"differences between gains include the difference of {of}."
        )
    return (
        f"These runs were not interleaved: the difference includes that of {of}. Only more "
        "sessions show how much that is."
    )


def _by_name(limits: Mapping[str, float], study: Study) -> dict[str, float]:
    """The limits by the names of metrics, in a run of this experiment."""
    experiment = study.experiment
    levels = next((one.levels for one in experiment.factors if one.path == "workload.kind"), ())
    kinds = {str(experiment.base["workload"]["kind"]), *map(str, levels)}
    try:
        return limits_of(limits, study.metrics[0].name, rate_of(kinds))
    except Refused as refused:
        raise RequestError(f"--fail-if-slower {refused.reason}", hint=refused.hint) from None


def _gate(
    sides: Sequence[RunSide], found: SidesCompared, limits: Mapping[str, float]
) -> tuple[GateText, str]:
    """The gate of all sides over the first, and the smallest slowdown that it finds: of several
    metrics, that of the one that is the least precise for its limit."""
    cells = [
        Gated(metric, limits[metric.name], cell, name, one, _against(one))
        for metric, by_side in found.gated.items()
        for name, findings in by_side.items()
        for cell, one in zip(found.cells, findings, strict=True)
    ]
    text = gate_text(ReleaseGate(tuple(cells)), " and ".join(side.name for side in sides))
    sizes = [
        (smallest_slowdown(one.finding, one.limit), one.limit, one.metric)
        for one in cells
        if one.finding and not one.finding.without
    ]
    n = min(len(side.studies) for side in sides)
    sessions = f"{n} session{'' if n == 1 else 's'} per side"
    if len(sizes) < len(cells):
        return text, (
            f"With {sessions} nothing is certain, because the spread of sessions is unknown. "
            "Measure two or more per side, with the run folders of each side in one folder."
        )
    size, limit, metric = max(sizes, key=lambda one: one[0] / one[1])
    of = f" of {metric.name}" if len(limits) > 1 else ""
    return text, (
        f"With {sessions}, the gate detects a slowdown{of} of {significant(size * 100, 2)} % in "
        f"four of five cases; the limit is {percent_text(limit)}."
    )


def _against(one: Finding | None) -> str:
    """The reason against passing."""
    if one is None:
        return "a side has fewer than two units"
    return f"{one.held}; {REMEDY}" if one.held else one.without


def lines_of_sides(report: SidesReport) -> Iterator[str]:
    """As a terminal shows it."""
    yield from (report.title, f"{report.quantity}; {report.units}", "")
    for table in report.tables:
        yield table.sentence
        if table.reversal:
            yield table.reversal
        width = max(len(place) for place, _ in table.rows)
        cells = (f"  {place.ljust(width)}  {change_text(one)}" for place, one in table.rows)
        yield from ("", *cells, "")
        if table.differences:
            yield f"Differences between {report.first} and {table.name}:"
            yield from _difference_lines(table.differences)
        else:
            yield "No recorded difference of host, server or experiment."
        yield ""
    for each in report.published:
        yield from published_lines(each)
    if report.published and report.tables:
        yield from (NO_VERDICT, "")
    yield report.caveat
    yield from (f"{text}." for text in report.left_out)
    if report.gate is not None:
        yield from (report.detectable, report.gate.line)


def _difference_lines(differences: Sequence[DifferenceRow]) -> Iterator[str]:
    """The measured differences first; a heading marks the others as not measured."""
    cheap = [one for one in differences if not one.is_measured]
    for one in differences:
        if one.is_measured:
            yield f"  {one.about} {one.name}: {one.one} | {one.other}"
            if one.cost:
                yield f"    {one.cost}"
    if cheap:
        yield f"  {_NOT_MEASURED}:"
        yield from (f"    {one.about} {one.name}: {one.one} | {one.other}" for one in cheap)


def change_text(one: Finding | None) -> str:
    if one is None:
        return "fewer than two units, no interval"
    word = f" {one.word}" if one.word else " (no verdict)"
    return f"{gain_text(one.change)} %{word}, n = {one.change.n} {one.contrast.units}"


def page_of(report: SidesReport) -> str:
    """The text of the page."""
    return filled("sides.html.j2", report=report, change_text=change_text)


def sides_json(report: SidesReport) -> dict[str, Any]:
    document: dict[str, Any] = {
        "title": report.title,
        "first": report.first,
        "what": report.quantity,
        "carries": report.caveat,
        "not_compared": list(report.left_out),
    }
    if report.published:
        document["published"] = [published_json(one) for one in report.published]
    document["sides"] = [
        {
            "name": table.name,
            "sentence": table.sentence,
            "turn": table.reversal or None,
            "cells": [_cell(place, one) for place, one in table.rows],
            "differences": [
                {
                    "about": each.about,
                    "name": each.name,
                    "one": each.one,
                    "other": each.other,
                    "cost": each.cost or None,
                    "measured": each.is_measured,
                }
                for each in table.differences
            ],
        }
        for table in report.tables
    ]
    return document


def _cell(place: str, one: Finding | None) -> dict[str, Any]:
    if one is None:
        return {"place": place, "ratio": None}
    change = one.change
    return {
        "place": place,
        "cell": dict(one.cell),
        "ratio": finite(change.ratio),
        "low": finite(change.low),
        "high": finite(change.high),
        "n": change.n,
        "units": one.contrast.units,
        "verdict": one.word or None,
        "without": one.without or None,
        "detectable": change.detectable if math.isfinite(change.detectable) else None,
    }
