"""The figures of each cell, and the comparisons of every level with the baseline at every place."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from contend.metrics import KEY_REQUESTS, Metric
from contend.report.key_depth import expected_of
from contend.report.model import CellComparison, CellFigures, Compared
from contend.report.study import Study
from contend.spec import Level, same_level
from contend.stats import Estimate, compare, compare_family, estimate, merge_percentiles
from contend.store import RunRecord


def cell_figures(study: Study, cell: Mapping[str, Level]) -> CellFigures | None:
    """What was measured in a cell; None if no run of it was."""
    runs = study.runs_of(cell)
    if not runs:
        return None
    confidence = study.experiment.compare.confidence
    merged = _merged_percentiles_us(runs, study.shown)
    figures: dict[str, Estimate] = {}
    for metric in study.shown:
        values = [v for v in (metric.value(run) for run in runs) if v is not None]
        if values:
            figures[metric.name] = _estimate(values, merged.get(metric.name), confidence)
    warnings = sorted({str(w.get("code", "")) for run in runs for w in run.warnings})
    requests = expected_of(study, runs)
    return CellFigures(
        dict(cell),
        len(runs),
        figures,
        {} if requests is None else {KEY_REQUESTS: requests},
        tuple(code for code in warnings if code),
    )


def _estimate(values: list[float], merged: float | None, confidence: float) -> Estimate:
    if merged is None or merged <= 0 or min(values) <= 0:
        return estimate(values, confidence)
    # The point is the percentile of all queries together; how far it may be off is told by how
    # far the runs' own percentiles lie apart, as a ratio.
    over_runs = estimate(values, confidence, log_scale=True)
    factor = over_runs.high / over_runs.mean if math.isfinite(over_runs.high) else math.inf
    return Estimate(merged, merged / factor, merged * factor, over_runs.n, confidence)


def _merged_percentiles_us(
    runs: Sequence[RunRecord], metrics: Sequence[Metric]
) -> dict[str, float]:
    """Percentiles of all events of the cell by the metric's name, in µs; those are left out whose
    histograms no run has."""
    recordings: dict[str, list[Metric]] = defaultdict(list)
    for metric in metrics:
        if metric.histogram is not None:
            recordings[metric.histogram.key].append(metric)
    found: dict[str, float] = {}
    for of_one in recordings.values():
        assert of_one[0].histogram is not None
        logs = filter(None, map(of_one[0].histogram.read, runs))
        merged_ns = merge_percentiles(logs, [metric.quantile or 0.0 for metric in of_one])
        for metric, ns in zip(of_one, merged_ns.values(), strict=True):
            if math.isfinite(ns):
                found[metric.name] = ns / 1000
    return found


def compared_of(study: Study) -> tuple[Compared, ...]:
    """The planned comparisons by each metric, those of which at least one pair was measured.

    Verdicts hold for all comparisons of one metric together: the first metric decides, and what
    it says does not depend on how many others are looked at beside it.
    """
    return tuple(Compared(metric, _comparisons(study, metric)) for metric in study.metrics)


def _comparisons(study: Study, metric: Metric) -> tuple[CellComparison, ...]:
    roles, settings = study.roles, study.experiment.compare
    if roles.compared is None or roles.baseline is None:
        return ()
    found: list[CellComparison] = []
    for table in roles.table_contexts():
        for level in roles.levels:
            if level is None or same_level(level, roles.baseline):
                continue
            for column in roles.column_levels:
                baseline_cell = roles.cell(table, column, roles.baseline)
                cell = roles.cell(table, column, level)
                pairs, lost = study.pairs(baseline_cell, cell)
                read = [(metric.value(one), metric.value(other)) for one, other in pairs]
                values = [(a, b) for a, b in read if a is not None and b is not None]
                lost += len(read) - len(values)
                if not values:
                    continue
                comparison = compare(
                    [one for one, _ in values],
                    [other for _, other in values],
                    margin=settings.margin,
                    confidence=settings.confidence,
                )
                found.append(CellComparison(metric, cell, level, roles.baseline, comparison, lost))
    adjusted = compare_family([one.comparison for one in found])
    return tuple(
        replace(one, comparison=comparison) for one, comparison in zip(found, adjusted, strict=True)
    )


def strongest(comparisons: Sequence[CellComparison], tone: str) -> CellComparison | None:
    """The largest change among the comparisons that are certainly better, or worse."""
    certain = [one for one in comparisons if one.tone == tone]
    return max(certain, key=lambda one: abs(math.log(one.comparison.ratio)), default=None)


def headline(comparisons: Sequence[CellComparison]) -> CellComparison | None:
    """The largest certain change, one for the better before one for the worse. Of levels that its
    interval does not tell apart, the first in the file."""
    levels = dict.fromkeys(one.level for one in comparisons)
    for tone in ("better", "worse"):
        own = ([one for one in comparisons if one.level == level] for level in levels)
        extremes = [one for one in (strongest(each, tone) for each in own) if one is not None]
        largest = max((abs(math.log(one.comparison.ratio)) for one in extremes), default=0.0)
        for one in extremes:
            bounds = (one.comparison.low, one.comparison.high)
            if max(abs(math.log(bound)) for bound in bounds) >= largest:
                return one
    return None
