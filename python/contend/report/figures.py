"""One cell's figures: each metric over the cell's runs, with interval and n."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from contend.report.key_depth import REQUESTS, expected_of
from contend.report.metrics import METRICS, Metric
from contend.report.model import CellFigures
from contend.report.study import Study
from contend.spec import Level
from contend.stats import Estimate, estimate, merge_percentiles
from contend.store import RunRecord


def cell_figures(study: Study, cell: Mapping[str, Level]) -> CellFigures | None:
    """What was measured in a cell; None where no run of it was."""
    runs = study.runs_of(cell)
    if not runs:
        return None
    confidence = study.experiment.compare.confidence
    merged = _merged_quantiles_us(runs)
    figures: dict[str, Estimate] = {}
    for metric in METRICS:
        values = [v for v in (metric.value(run) for run in runs) if v is not None]
        if values:
            figures[metric.key] = _estimate(metric, values, merged, confidence)
    warnings = sorted({str(w.get("code", "")) for run in runs for w in run.warnings})
    requests = expected_of(study, runs)
    return CellFigures(
        dict(cell),
        len(runs),
        figures,
        {} if requests is None else {REQUESTS: requests},
        tuple(code for code in warnings if code),
    )


def _estimate(
    metric: Metric, values: list[float], merged: Mapping[float, float], confidence: float
) -> Estimate:
    quantile = metric.histogram_quantile
    if quantile is None:
        return estimate(values, confidence)
    if min(values) <= 0:
        return estimate(values, confidence)
    over_runs = estimate(values, confidence, log_scale=True)
    point = merged.get(quantile)
    if point is None or point <= 0:
        return over_runs
    # The point is the quantile of all queries together; how far it may be off is told by how far
    # the runs' own quantiles lie apart, as a ratio.
    factor = over_runs.high / over_runs.mean if math.isfinite(over_runs.high) else math.inf
    return Estimate(point, point / factor, point * factor, over_runs.n, confidence)


def _merged_quantiles_us(runs: Sequence[RunRecord]) -> dict[float, float]:
    """Quantiles of all queries of the cell, in µs; empty where no run has a histogram."""
    logs = [str((run.done or {}).get("latency_hdr_ns") or "") for run in runs]
    wanted = [m.histogram_quantile for m in METRICS if m.histogram_quantile is not None]
    merged_ns = merge_percentiles(filter(None, logs), wanted)
    return {q: ns / 1000 for q, ns in merged_ns.items() if math.isfinite(ns)}
