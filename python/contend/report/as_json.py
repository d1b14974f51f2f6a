"""The report as a document for other programs: `contend show RUN --json`."""

from __future__ import annotations

from typing import Any

from contend.metrics import KEY_REQUESTS, PERCENTILES, THROUGHPUT
from contend.report.model import CellComparison, CellFigures, Report
from contend.stats import Estimate, finite

_COSTS = (
    "server_cpu_us_per_query",
    "client_cpu_us_per_query",
    "client_ceiling_share",
    "switches_per_query",
    "read_bytes_per_query",
    KEY_REQUESTS,
    "key_misses_per_query",
)


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
        "answer": report.answer.sentence,
        "metrics": [
            {
                "name": one.metric.name,
                "title": one.metric.title,
                "unit": one.metric.unit,
                "less_is_better": one.metric.less_is_better,
            }
            for one in report.compared
        ],
        "comparisons": [
            _comparison(one) for compared in report.compared for one in compared.comparisons
        ],
        **({"beside": _beside(report)} if report.beside else {}),
        "cells": [_cell(report, one) for one in report.cells],
    }


def _beside(report: Report) -> list[dict[str, Any]]:
    """Where two kinds of workload stand side by side: how much more the second gains, percent."""
    columns = report.layout.column_values
    return [
        {
            "place": panel.title,
            "row": row.label,
            "column": column,
            "percent": finite(one.mean),
            "low": finite(one.low),
            "high": finite(one.high),
        }
        for panel in (report.beside.panels if report.beside else ())
        for row in panel.rows
        for column, one in zip(columns, row.differences, strict=False)
        if one is not None
    ]


def _comparison(one: CellComparison) -> dict[str, Any]:
    c = one.comparison
    return {
        "metric": one.metric.name,
        "cell": dict(one.cell),
        "level": one.level,
        "baseline": one.baseline,
        "ratio": finite(c.ratio),
        "low": finite(c.low),
        "high": finite(c.high),
        "n": c.n,
        "verdict": one.word,
    }


def _cell(report: Report, cell: CellFigures) -> dict[str, Any]:
    """A cell's figures as plain numbers, and beside them the interval of each by the same name."""
    figures = cell.figures
    response = {p: _mean(figures.get(f"response_us_{p}")) for p in PERCENTILES}
    return {
        "factors": dict(cell.cell),
        "n": cell.runs,
        **{one.metric.name: _mean(figures.get(one.metric.name)) for one in report.compared},
        THROUGHPUT: _mean(figures.get(THROUGHPUT)),
        "response_us": response,
        **{key: _mean(figures.get(key)) for key in _COSTS},
        "intervals": {
            key: [finite(estimate.low), finite(estimate.high)] for key, estimate in figures.items()
        },
        "expected": dict(cell.expected),
        "warnings": list(cell.warnings),
    }


def _mean(estimate: Estimate | None) -> float | None:
    return None if estimate is None else finite(estimate.mean)
