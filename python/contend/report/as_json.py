"""The report as a document for other programs: `contend show RUN --json`."""

from __future__ import annotations

from typing import Any

from contend.report.key_depth import REQUESTS
from contend.report.model import CellComparison, CellFigures, Report
from contend.stats import Estimate, finite

_LATENCIES = ("p50", "p95", "p99")
_COSTS = (
    "server_cpu_us_per_query",
    "client_cpu_us_per_query",
    "client_ceiling_share",
    "switches_per_query",
    "read_bytes_per_query",
    REQUESTS,
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
        "comparisons": [_comparison(one) for one in report.comparisons],
        **({"beside": _beside(report)} if report.beside else {}),
        "cells": [_cell(one) for one in report.cells],
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
        "cell": dict(one.cell),
        "level": one.level,
        "baseline": one.baseline,
        "ratio": finite(c.ratio),
        "low": finite(c.low),
        "high": finite(c.high),
        "n": c.n,
        "verdict": c.verdict,
    }


def _cell(cell: CellFigures) -> dict[str, Any]:
    """A cell's figures as plain numbers, and beside them the interval of each by the same name."""
    figures = cell.figures
    latency = {p: _mean(figures.get(f"latency_us_{p}")) for p in _LATENCIES}
    return {
        "factors": dict(cell.cell),
        "n": cell.runs,
        "qps": _mean(figures.get("qps")),
        "latency_us": latency,
        **{key: _mean(figures.get(key)) for key in _COSTS},
        "intervals": {
            key: [finite(estimate.low), finite(estimate.high)] for key, estimate in figures.items()
        },
        "expected": dict(cell.expected),
        "warnings": list(cell.warnings),
    }


def _mean(estimate: Estimate | None) -> float | None:
    return None if estimate is None else finite(estimate.mean)
