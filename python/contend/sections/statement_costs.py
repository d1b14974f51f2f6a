"""What one execution of each kind of statement or transaction costs, by itself on one connection:
each level next to its baseline."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from contend.experiment import Level, cell_key
from contend.findings import Analysis, CellFigures, Study, analyses_of, cell_figures, claims_of
from contend.metrics import Metric, metric_of
from contend.metrics.read import alone
from contend.sections.model import Inputs, Panel, Section, Shown, TableCell, TextTable
from contend.sections.panels import change_table, metric_tables
from contend.sections.words import change_json, figure_json, size_text

HALF, QUARTER = 2, 4
"""Shares of the statements' chance of a false claim: times of each by itself have a half. Its costs
and the answers at a rate, whose noise is larger, have a quarter each."""


@dataclass(frozen=True, slots=True)
class KindCost:
    """One figure of each kind.

    Args:
        end: of its metric's name, after `event.NAME.`.
        least: smaller values are as good as none, because the server's own work adds as much.
        noun: for a sentence, with the word for less of it.
        is_claimed: its changes are claims. Pages are written later, and alone no statement waits.
    """

    end: str
    title: str
    least: float
    less: str
    noun: str
    is_claimed: bool = True


TIME = KindCost("service_us_p50", "service, median, µs", 0.0, "less", "time")

COSTS = (
    KindCost("server_cpu_us", "server CPU, µs", 0.0, "less", "server CPU"),
    KindCost("redo_bytes", "redo, bytes", 10.0, "less", "redo"),
    KindCost("pages_written", "pages written", 0.01, "fewer", "pages written", is_claimed=False),
    KindCost("rows_examined", "rows examined", 0.1, "fewer", "rows examined"),
    KindCost(
        "row_lock_us", "wait for row locks, µs", 0.1, "less", "wait for row locks", is_claimed=False
    ),
)


@dataclass(frozen=True, slots=True)
class StatementCosts:
    """
    Args:
        names: of the kinds. listed: the figures to show, of each kind.
        analyses: by the name of the metric.
        unknown: figures that no run has. nothing: those that are about 0 for every kind.
    """

    names: tuple[str, ...]
    cells: tuple[CellFigures, ...]
    listed: Mapping[str, tuple[KindCost, ...]]
    analyses: Mapping[str, Analysis]
    unknown: tuple[KindCost, ...]
    nothing: tuple[KindCost, ...]
    own: Study


def costs_of_statements(inputs: Inputs) -> StatementCosts | None:
    """None if no kind was measured by itself."""
    study = inputs.study
    names = tuple(dict.fromkeys(name for run in study.measured for name in alone(run)))
    if not names:
        return None
    own = replace(study, shown=tuple(_metric(n, one) for n in names for one in (TIME, *COSTS)))
    found = [cell_figures(own, one.cell) for one in inputs.cells]
    cells = tuple(one for one in found if one is not None)
    listed = {
        name: tuple(one for one in (TIME, *COSTS) if _is_much(name, one, cells)) for name in names
    }
    shown = {one for of in listed.values() for one in of}
    known = {
        one for one in COSTS if any(_metric(n, one).name in c.figures for n in names for c in cells)
    }
    family, claimed = study.family("statements"), [one for one in COSTS if one.is_claimed]
    analyses = {}
    # Each has an equal share, whether it is shown or not: the measurements do not choose.
    for parts, costs in ((HALF, [TIME]), (QUARTER * len(claimed), claimed)):
        for metric in (
            _metric(name, one) for name in names for one in costs if one in listed[name]
        ):
            (analysis,) = analyses_of(study, [metric], family.part(parts * len(names)))
            if analysis is not None:
                analyses[metric.name] = analysis
    return StatementCosts(
        names,
        cells,
        listed,
        analyses,
        tuple(one for one in COSTS if one not in known),
        tuple(one for one in COSTS if one in known and one not in shown),
        own,
    )


def _metric(name: str, cost: KindCost) -> Metric:
    return metric_of(f"event.{name}.{cost.end}")


def _is_much(name: str, cost: KindCost, cells: Sequence[CellFigures]) -> bool:
    figures = (cell.figures.get(_metric(name, cost).name) for cell in cells)
    return any(one is not None and one.mean > cost.least for one in figures)


_TITLE = "What each statement costs"


def _show(found: StatementCosts, inputs: Inputs) -> Shown:
    tables = (table for panel in inputs.panels for table in _tables(found, inputs, panel))
    return Shown(
        _TITLE,
        " ".join(_lead(found)),
        tuple(tables),
        more=tuple(_sentences(found, inputs, "What else certainly differs", ("better", "worse"))),
    )


def prices(found: StatementCosts, inputs: Inputs) -> list[str]:
    """What certainly costs more, for the answer: one sentence per level."""
    return list(_sentences(found, inputs, "What costs more", ("worse",)))


def _lead(found: StatementCosts) -> Iterator[str]:
    yield (
        "For one execution of each kind, by itself on one connection. Server CPU is of the whole "
        "process. A page is written later, so those of earlier statements may count."
    )
    if found.nothing:
        yield f"About 0 for every kind: {_listed(found.nothing)}."
    if found.unknown:
        why = "the server's process or its counters were not visible, or levels shared one server"
        yield f"Not recorded: {_listed(found.unknown)} ({why})."


def _listed(costs: Sequence[KindCost]) -> str:
    return ", ".join(one.noun for one in costs)


def _tables(found: StatementCosts, inputs: Inputs, panel: Panel) -> Iterator[TextTable]:
    """One per column, because alone every kind has one connection."""
    layout, roles = inputs.layout, inputs.study.roles
    figures = {cell_key(one.cell): one for one in found.cells}
    metrics = {one.key: one for one in metric_tables(found.own, layout, panel.context, figures)}
    for at, head in enumerate(layout.columns):
        rows: list[tuple[TableCell, ...]] = []
        for name in found.names:
            for cost in found.listed[name]:
                key = _metric(name, cost).name
                levels = metrics[key].rows if key in metrics else ()
                row: list[TableCell] = [f"{name}, {cost.title}"]
                row += [one.estimates[at] for one in levels[:1]]
                analysis = found.analyses.get(key)
                changes = (
                    change_table(roles, layout, panel.context, analysis.compared).rows
                    if analysis is not None
                    else ()
                )
                gains = {one.label: one.gains[at] for one in changes}
                for level in levels[1:]:
                    row += [level.estimates[at], *_gain(layout.baseline, gains.get(level.label))]
                rows.append(tuple(row))
        heads = [layout.levels[0]]
        for label in layout.levels[1:]:
            over = () if layout.baseline is None else (f"over {layout.baseline}, %",)
            heads += [label, *over]
        column = f"{head} {layout.columns_label}" if head else ""
        caption = ", ".join(filter(None, (panel.title, column, "per execution")))
        yield TextTable(caption, ("", *heads), tuple(rows))


def _gain(baseline: str | None, gain: TableCell) -> list[TableCell]:
    """A figure of 0 has no change in percent."""
    return [] if baseline is None else ["" if gain is None else gain]


def _sentences(
    found: StatementCosts, inputs: Inputs, head: str, tones: Collection[str]
) -> Iterator[str]:
    """`on instead of off: insert more redo by 30 % (±5); …`, one per level."""
    roles, naming = inputs.study.roles, inputs.naming
    if roles.baseline is None or not inputs.study.decides:
        return
    for level in roles.levels[1:]:
        if level is None:
            continue
        parts: dict[str, list[str]] = defaultdict(list)
        for name in found.names:
            for cost in found.listed[name]:
                if cost is not TIME and (text := _claim(found, name, cost, level, tones)):
                    parts[name].append(text)
        if parts:
            told = "; ".join(f"{name} {' and '.join(texts)}" for name, texts in parts.items())
            instead = f"{naming.level(level)} instead of {naming.level(roles.baseline)}"
            yield f"{head}, {instead}: {told}."


def _claim(
    found: StatementCosts, name: str, cost: KindCost, level: Level, tones: Collection[str]
) -> str:
    analysis = found.analyses.get(_metric(name, cost).name)
    if analysis is None:
        return ""
    whole = next((one for one in analysis.compared.wholes if one.level == level), None)
    if whole is None or whole.tone not in tones:
        return ""
    if {"better", "worse"} <= {one.tone for one in claims_of(analysis.compared, level).findings}:
        return ""
    how = cost.less if whole.tone == "better" else "more"
    return f"{how} {cost.noun} by {size_text(whole.change)}"


def _json(found: StatementCosts, inputs: Inputs) -> list[dict[str, Any]]:
    """Each kind: its figures in each cell, with intervals, and their changes."""
    return [
        {
            "name": name,
            "cells": [
                {
                    "factors": dict(cell.cell),
                    **{
                        one.end: figure_json(cell.figures.get(_metric(name, one).name))
                        for one in (TIME, *COSTS)
                    },
                }
                for cell in found.cells
            ],
            "changes": [
                change_json(inputs.layout, one)
                for cost in found.listed[name]
                if (analysis := found.analyses.get(_metric(name, cost).name)) is not None
                for one in analysis.compared.comparisons
            ],
        }
        for name in found.names
    ]


SECTION = Section("statement_costs", _TITLE, costs_of_statements, _show, _json)
"""CPU, redo, pages, rows and lock waits of each kind by itself."""
