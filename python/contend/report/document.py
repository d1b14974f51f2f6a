"""The report as JSON for other programs: the answer, every change, every figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from contend.findings import FALSE_SHARE, CellFigures, Compared, CounterList, Finding
from contend.metrics import COSTS, PERCENTILES, THROUGHPUT
from contend.report.budget import budget_json
from contend.report.gate import gate_json
from contend.report.lock_waits import locks_json
from contend.report.model import Report, Sessions, Shape, Statements
from contend.report.plans import plans_json
from contend.report.scaling import scaling_json
from contend.report.switches import switches_json
from contend.stats import Estimate, finite


def as_json(report: Report) -> dict[str, Any]:
    """Plain JSON values. A figure that is not known, or a bound that is infinite, is null."""
    progress = report.progress
    return {
        "experiment": report.name,
        "run": report.run,
        "runs": {
            "planned": progress.planned,
            "measured": progress.measured,
            "failed": progress.failed,
            "lost": progress.lost,
            "state": progress.state,
        },
        **({"about_server": report.about_server} if report.about_server else {}),
        "answer": report.answer.sentence,
        "others": list(report.answer.others),
        "basis": list(report.answer.basis),
        **({"gate": gate_json(report.gate)} if report.gate else {}),
        "host": [asdict(note) for note in report.host_notes],
        "metrics": [
            {
                "name": one.metric.name,
                "title": one.metric.title,
                "unit": one.metric.unit,
                "less_is_better": one.metric.less_is_better,
            }
            for one in report.compared
        ],
        **{
            name: [_change(report, one) for compared in report.compared for one in of(compared)]
            for name, of in _DEPTHS.items()
        },
        "costs": [_change(report, one) for compared in report.costs for one in compared.wholes],
        **({"sessions": _sessions(report.sessions)} if report.sessions else {}),
        **({"beside": _beside(report)} if report.beside else {}),
        **(
            {"statements": _statements_json(report, report.statements)} if report.statements else {}
        ),
        **({"shapes": [_shape(report, one) for one in report.shapes]} if report.shapes else {}),
        **({"locks": locks_json(report.locks)} if report.locks else {}),
        **({"switches": switches_json(report.switches)} if report.switches else {}),
        **({"plans": plans_json(report.plans)} if report.plans else {}),
        **({"budgets": budget_json(report.budgets)} if report.budgets else {}),
        **({"scaling": [scaling_json(one) for one in report.sweeps]} if report.sweeps else {}),
        **({"counters": _counters(report.counters.all)} if report.counters else {}),
        "cells": [_cell(report, one) for one in report.cells],
        **({"missing": {one.title: one.lead for one in report.missing}} if report.missing else {}),
    }


_DEPTHS: dict[str, Callable[[Compared], Sequence[Finding]]] = {
    "levels": lambda compared: compared.wholes,
    "columns": lambda compared: compared.columns,
    "rows": lambda compared: compared.rows,
    "comparisons": lambda compared: compared.comparisons,
}


def _counters(found: CounterList) -> dict[str, Any]:
    """Every counter that differs, at every place; null is infinite, or that it has no bound."""
    return {
        "false_share": FALSE_SHARE,
        "counters": found.counters,
        "tested": found.tested,
        "picked": found.picked,
        "units": found.units,
        "per_level": list(found.per_level),
        "per_block": list(found.per_block),
        "found": [
            {
                "metric": one.finding.metric.name,
                "source": one.source.title,
                "cell": dict(one.finding.cell),
                "level": one.finding.level,
                "baseline": one.finding.baseline,
                "at_baseline": finite(one.baseline),
                "at_level": finite(one.level),
                "only": _ONLY.get(one.finding.change.ratio),
                "ratio": finite(one.finding.change.ratio),
                "low": finite(one.finding.change.low),
                "high": finite(one.finding.change.high),
                "confidence": one.finding.change.alone.confidence,
                "n": one.finding.change.n,
                "verdict": one.finding.word,
                "by_the_clock": one.by_rate,
            }
            for one in found.found
        ],
    }


_ONLY = {math.inf: "level", 0.0: "baseline"}


def _sessions(earlier: Sessions) -> dict[str, Any]:
    """Logarithms of ratios; null if too few sessions tell."""
    found = earlier.together
    names = ("tau", "low", "high", "spread", "mean", "half_width")
    figures = {name: None if found is None else getattr(found, name) for name in names}
    return {"level": earlier.level, "n": earlier.n, **figures}


def _beside(report: Report) -> list[dict[str, Any]]:
    """Where two kinds of workload stand side by side: how much more the second gains, percent."""
    columns = report.layout.column_values
    return [
        {
            "place": panel.title,
            "row": row.label,
            "column": column,
            "percent": finite((one.change.ratio - 1) * 100),
            "low": finite((one.change.low - 1) * 100),
            "high": finite((one.change.high - 1) * 100),
            "verdict": one.word or None,
        }
        for panel in (report.beside.panels if report.beside else ())
        for row in panel.rows
        if row.is_difference
        for column, one in zip(columns, row.gains, strict=True)
        if one is not None
    ]


def _statements_json(report: Report, found: Statements) -> list[dict[str, Any]]:
    """Each statement: its text if it is known, its figures in each cell, its changes by the mean
    service time."""
    texts = dict(found.texts)
    changes = {one.metric.name: one for one in found.compared}
    names = dict.fromkeys(one.name for one in found.figures)
    documents = []
    for name in names:
        compared = changes.get(f"statement.{name}.service_us_mean")
        documents.append(
            {
                "name": name,
                "text": texts.get(name),
                "cells": [
                    {
                        "factors": dict(one.cell),
                        "n": one.repeats,
                        **{key: _mean(estimate) for key, estimate in one.figures.items()},
                        "intervals": {
                            key: [finite(e.low), finite(e.high)] for key, e in one.figures.items()
                        },
                    }
                    for one in found.figures
                    if one.name == name
                ],
                **{
                    depth: [_change(report, one) for one in of(compared)] if compared else []
                    for depth, of in _DEPTHS.items()
                },
            }
        )
    return documents


def _shape(report: Report, shape: Shape) -> dict[str, Any]:
    """How many times the figure of the first column each column's is."""
    columns = report.layout.column_values
    return {
        "metric": shape.metric.name,
        "rows": [
            {
                "place": panel.title,
                "row": row.label,
                "published": bool(row.published),
                "columns": [
                    {
                        "column": column,
                        "times": finite(one.ratio),
                        "low": finite(one.low),
                        "high": finite(one.high),
                        "n": one.n,
                    }
                    for column, one in zip(columns, row.measured, strict=False)
                    if one is not None
                ]
                or [
                    {"column": column, "times": one}
                    for column, one in zip(columns, row.published, strict=False)
                    if one is not None
                ],
            }
            for panel in shape.panels
            for row in panel.rows
        ],
    }


def _change(report: Report, one: Finding) -> dict[str, Any]:
    """A change as plain numbers. `columns` are the first and the last of a range."""
    c, columns = one.change, report.layout.column_values
    ends = [columns[c.place.first_column], columns[c.place.last_column]]
    return {
        "metric": one.metric.name,
        "cell": dict(one.cell),
        **({"columns": ends} if c.place.depth == "columns" else {}),
        "level": one.level,
        "baseline": one.baseline,
        "ratio": finite(c.ratio),
        "low": finite(c.low),
        "high": finite(c.high),
        "n": c.n,
        "verdict": one.word or None,
        "detectable": finite(c.detectable),
    }


def _cell(report: Report, cell: CellFigures) -> dict[str, Any]:
    """A cell's figures as plain numbers, and beside them the interval of each by the same name."""
    figures = cell.figures
    response = {p: _mean(figures.get(f"response_us_{p}")) for p in PERCENTILES}
    return {
        "factors": dict(cell.cell),
        "n": cell.repeats,
        **{one.metric.name: _mean(figures.get(one.metric.name)) for one in report.compared},
        THROUGHPUT: _mean(figures.get(THROUGHPUT)),
        "response_us": response,
        **{key: _mean(figures.get(key)) for key in COSTS},
        "intervals": {
            key: [finite(estimate.low), finite(estimate.high)] for key, estimate in figures.items()
        },
        "expected": dict(cell.expected),
        "warnings": list(cell.warnings),
    }


def _mean(estimate: Estimate | None) -> float | None:
    return None if estimate is None else finite(estimate.mean)
