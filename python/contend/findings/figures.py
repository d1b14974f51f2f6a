"""The figures of each cell: means over its repeats, percentiles of all its queries together.

The independent unit is the repeat. Its runs share their servers, in all columns and blocks, and so
they count once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contend.experiment import Level
from contend.findings.study import Study
from contend.metrics import Metric
from contend.stats import Estimate, estimate, merge_percentiles
from contend.store import RunRecord

Read = Callable[[RunRecord], float | None]


def means_of_repeats(runs: Iterable[RunRecord], read: Read) -> list[float]:
    """The mean of each repeat's runs; repeats without a readable value are left out."""
    of_repeat: dict[int, list[float]] = defaultdict(list)
    for run in runs:
        value = read(run)
        if value is not None:
            of_repeat[run.repeat].append(value)
    return [sum(values) / len(values) for values in of_repeat.values()]


def over_repeats(study: Study, runs: Iterable[RunRecord], read: Read) -> Estimate | None:
    """The mean over the repeats, and n is their number; None without a readable value."""
    means = means_of_repeats(runs, read)
    return estimate(means, study.experiment.compare.confidence) if means else None


@dataclass(frozen=True, slots=True)
class CellFigures:
    """The measurements of one cell, over its `repeats`. Keys of `figures` are names of metrics;
    `expected` has the values that some of them should have, if known."""

    cell: Mapping[str, Level]
    repeats: int
    figures: Mapping[str, Estimate]
    warnings: tuple[str, ...]
    expected: Mapping[str, float] = field(default_factory=dict)


def cell_figures(study: Study, cell: Mapping[str, Level]) -> CellFigures | None:
    """The measurements of a cell; None if no run of it was measured."""
    runs = study.runs_of(cell)
    if not runs:
        return None
    confidence = study.experiment.compare.confidence
    merged = _merged_percentiles_us(runs, study.shown)
    figures: dict[str, Estimate] = {}
    for metric in study.shown:
        values = means_of_repeats(runs, metric.value)
        if values:
            figures[metric.name] = _estimate(values, merged.get(metric.name), confidence)
    warnings = sorted({str(w.get("code", "")) for run in runs for w in run.warnings})
    return CellFigures(
        dict(cell),
        len({run.repeat for run in runs}),
        figures,
        tuple(code for code in warnings if code),
    )


def _estimate(values: list[float], merged: float | None, confidence: float) -> Estimate:
    if merged is None or merged <= 0 or min(values) <= 0:
        return estimate(values, confidence)
    # The point is the percentile of all queries together. Its error comes from the spread of the
    # repeats' percentiles, as a ratio.
    over = estimate(values, confidence, log_scale=True)
    factor = over.high / over.mean if math.isfinite(over.high) else math.inf
    return Estimate(merged, merged / factor, merged * factor, over.n, confidence)


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


SWITCHES = "switches"

HELD_SHARE = 0.05
"""The share of the response time from which on preempted holders are reported as notable."""


def held_share(figures: Mapping[str, Any]) -> float | None:
    """Share of the response time that a query slept for a preempted thread; None without traces."""
    traced = [one for one in figures["rounds"] if one.get("look")]
    whole_us = float(sum(one["latency_us_mean"] * one["queries"] for one in traced))
    if whole_us <= 0:
        return None
    held_us = float(sum(one["look"]["by_holder_us"] for one in traced))
    return held_us / whole_us
