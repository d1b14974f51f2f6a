"""Run folders beside one another, in words: the sentence, the table of cells, what differs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contend.findings import (
    Finding,
    Given,
    RunSide,
    Said,
    SidesCompared,
    compare_sides,
    refuse_twice,
)
from contend.report.differences import DifferenceRow, differences_between
from contend.report.model import GateText
from contend.report.published_side import (
    NO_VERDICT,
    PublishedSide,
    published_json,
    published_lines,
)
from contend.sections.words import cell_phrase, gain_text
from contend.stats import finite

_FEW = 3


@dataclass(frozen=True, slots=True)
class SideTable:
    """One side over the first: what is said of it, a row a cell, and what else differs."""

    name: str
    sentence: Said
    rows: tuple[tuple[str, Finding | None], ...]
    turn: str
    differences: tuple[DifferenceRow, ...]


@dataclass(frozen=True, slots=True)
class SidesReport:
    title: str
    first: str
    what: str
    carries: str
    units: str
    tables: tuple[SideTable, ...]
    left_out: tuple[str, ...]
    gate: GateText | None = None
    detectable: str = ""
    published: tuple[PublishedSide, ...] = ()


def report_of_published(side: RunSide, published: Sequence[PublishedSide]) -> SidesReport:
    """A run beside published figures, and beside no other run."""
    experiment = side.studies[0].experiment
    return SidesReport(
        title=experiment.question or experiment.name,
        first=side.name,
        what="published figures",
        carries=NO_VERDICT,
        units=_sessions_text([side]),
        tables=(),
        left_out=(),
        published=tuple(published),
    )


def report_of_two(sides: Sequence[RunSide]) -> SidesReport:
    """Sides by the metric that decides in the first, with the narrowest margin that they have.

    Raises:
        RequestError: they have no cell in common, or are one run.
    """
    refuse_twice((side.name, study) for side in sides for study in side.studies)
    margin = min(study.experiment.compare.margin for side in sides for study in side.studies)
    return report_of_sides(
        sides, compare_sides(sides, sides[0].studies[0].metrics[0], margin=margin)
    )


def report_of_sides(
    sides: Sequence[RunSide],
    compared: SidesCompared,
    gate: GateText | None = None,
    detectable: str = "",
    published: Sequence[PublishedSide] = (),
) -> SidesReport:
    first = sides[0]
    experiment = first.studies[0].experiment
    what = "gain over " + str(first.studies[0].roles.baseline) if compared.by_gains else "figures"
    tables = tuple(
        _table(side, first, compared, compared.findings[side.name]) for side in sides[1:]
    )
    return SidesReport(
        title=experiment.question or experiment.name,
        first=first.name,
        what=f"{compared.metric.title}, {what}",
        carries=_carries(compared, tables),
        units=_sessions_text(sides),
        tables=tables,
        left_out=compared.left_out,
        gate=gate,
        detectable=detectable,
        published=tuple(published),
    )


def _sessions_text(sides: Sequence[RunSide]) -> str:
    counts = {side.name: len(side.studies) for side in sides}
    return ", ".join(
        f"{name}: {count} session{'' if count == 1 else 's'}" for name, count in counts.items()
    )


def _table(
    side: RunSide, first: RunSide, compared: SidesCompared, findings: Sequence[Finding | None]
) -> SideTable:
    rows = tuple(
        (str(cell_phrase(cell)) or "all", one)
        for cell, one in zip(compared.cells, findings, strict=True)
    )
    return SideTable(
        side.name,
        _sentence(side.name, compared, findings),
        rows,
        _turn(side.name, compared.first, rows),
        differences_between(first.studies[0], side.studies[0]),
    )


def _sentence(name: str, compared: SidesCompared, findings: Sequence[Finding | None]) -> Said:
    metric, gains, total = compared.metric, compared.by_gains, Given(len(findings))
    known = [one for one in findings if one is not None]
    subject = Said.written(f"{'the gain of ' if compared.by_gains else ''}{name}")
    over = Said.written(compared.first)
    better = sum(one.tone == "better" for one in known)
    worse = sum(one.tone == "worse" for one in known)
    alike = sum(one.tone == "equivalent" for one in known)
    parts = [
        Said("{} in {} of {} cells", word, Given(count), total)
        for word, count in (
            (Said("better") if gains else Said.written(metric.changed(metric.better)), better),
            (Said("worse") if gains else Said.written(metric.changed(metric.worse)), worse),
            (Said("the same"), alike),
        )
        if count
    ]
    if parts:
        return Said("Beside {}, {} is {}.", over, subject, Said.joined(", ", parts))
    without = next((one.without for one in known if one.without), "")
    if without:
        return Said(
            "Beside {}, nothing is decided of {}: {}.", over, subject, Said.written(without)
        )
    return Said("Beside {}, nothing is certain of {}.", over, subject)


def _turn(name: str, first: str, rows: Sequence[tuple[str, Finding | None]]) -> str:
    """Where the order turns along the cells: by what is certain, else by the estimates."""
    found = [(place, one) for place, one in rows if one is not None]
    certain = [(place, one) for place, one in found if one.is_certain]
    signs = [(place, one.change.ratio > 1) for place, one in certain]
    how = ""
    if len({up for _, up in signs}) < 2:
        signs = [(place, one.change.ratio > 1) for place, one in found]
        how = " by what was seen, which is not certain"
    turns = [
        f"between {before} and {after}"
        for (before, up), (after, then) in itertools.pairwise(signs)
        if up != then
    ]
    if not turns:
        return ""
    more = "" if len(turns) <= _FEW else f" and {len(turns) - _FEW} times more"
    return f"The order of {name} and {first} turns {', '.join(turns[:_FEW])}{more}{how}."


def _carries(compared: SidesCompared, tables: Sequence[SideTable]) -> str:
    """What was not interleaved, and what that means."""
    hosts = any(one.about == "host" for table in tables for one in table.differences)
    of = "their hosts and of their hours" if hosts else "their hours"
    if compared.by_gains:
        return (
            "These runs were not measured in turn. Each gain is of one host and hour, which both "
            f"of its levels had; what differs between the gains carries the difference of {of}."
        )
    return (
        "These runs were not measured in turn: the difference carries that of "
        f"{of}, and only more sessions tell how much that is."
    )


def lines_of_sides(report: SidesReport) -> list[str]:
    """As a terminal shows it."""
    lines = [report.title, f"{report.what}; {report.units}", ""]
    for table in report.tables:
        lines += [str(table.sentence), *([table.turn] if table.turn else []), ""]
        width = max(len(place) for place, _ in table.rows)
        for place, one in table.rows:
            lines.append(f"  {place.ljust(width)}  {change_text(one)}")
        lines.append("")
        if table.differences:
            lines.append(f"What differs between {report.first} and {table.name}:")
            lines += _difference_lines(table.differences)
        else:
            lines.append("Nothing that was recorded of host, server and experiment differs.")
        lines.append("")
    for each in report.published:
        lines += published_lines(each)
    if report.published and report.tables:
        lines += [NO_VERDICT, ""]
    lines.append(report.carries)
    lines += [f"Not compared: {text}." for text in report.left_out]
    if report.detectable:
        lines.append(report.detectable)
    if report.gate is not None:
        lines.append(report.gate.line)
    return lines


def _difference_lines(differences: Sequence[DifferenceRow]) -> Iterator[str]:
    """What was measured first; over the others it stands that they were not."""
    dear = [one for one in differences if one.is_measured]
    for one in dear:
        yield f"  {one.about} {one.name}: {one.one} | {one.other}"
        if one.cost:
            yield f"    {one.cost}"
    cheap = [one for one in differences if not one.is_measured]
    if cheap:
        yield f"  {_NOT_MEASURED}:"
        yield from (f"    {one.about} {one.name}: {one.one} | {one.other}" for one in cheap)


_NOT_MEASURED = "What these cost was not measured"


def change_text(one: Finding | None) -> str:
    if one is None:
        return "fewer than two units, no interval"
    word = f" {one.word}" if one.word else " (no verdict)"
    return f"{gain_text(one.change)} %{word}, n = {one.change.n} {one.contrast.units}"


def sides_json(report: SidesReport) -> dict[str, Any]:
    return {
        "title": report.title,
        "first": report.first,
        "what": report.what,
        "carries": report.carries,
        "not_compared": list(report.left_out),
        **(
            {"published": [published_json(one) for one in report.published]}
            if report.published
            else {}
        ),
        "sides": [
            {
                "name": table.name,
                "sentence": table.sentence,
                "turn": table.turn or None,
                "cells": [_cell(place, one) for place, one in table.rows],
                "differences": [
                    {
                        "about": d.about,
                        "name": d.name,
                        "one": d.one,
                        "other": d.other,
                        "cost": d.cost or None,
                        "measured": d.is_measured,
                    }
                    for d in table.differences
                ],
            }
            for table in report.tables
        ],
    }


def _cell(place: str, one: Finding | None) -> Mapping[str, Any]:
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
