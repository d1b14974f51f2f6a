"""The log-ratio of a level to its baseline in one repeat: what every interval rests on, that of a
report and that at which a run stops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from contend.metrics import Metric
from contend.stats import merge_percentiles
from contend.store import RunRecord


@dataclass(frozen=True, slots=True)
class Reading:
    """What a run says of a metric: its value, None if it has none, and of a percentile the
    histogram that it was read from."""

    value: float | None
    histogram: str | None


def reading_of(metric: Metric, run: RunRecord) -> Reading:
    """Read a run."""
    value = metric.value(run)
    if metric.histogram is None or value is None:
        return Reading(value, None)
    return Reading(value, metric.histogram.read(run) or None)


def log_ratio(metric: Metric, pairs: Sequence[tuple[Reading, Reading]]) -> float:
    """ln(level / baseline) from all blocks of one repeat together; NaN if it is not known.

    Args:
        pairs: the baseline's figure and the level's, of each block.
    """
    if not pairs:
        return math.nan
    if metric.histogram is not None and len(pairs) > 1:
        baseline, level = (_percentile(metric, side) for side in zip(*pairs, strict=True))
        return _log(level) - _log(baseline)
    ratios = [_log(other.value) - _log(one.value) for one, other in pairs]
    return math.fsum(ratios) / len(ratios)


def _percentile(metric: Metric, runs: Sequence[Reading]) -> float | None:
    """Of all queries of the runs; there is no average of percentiles."""
    assert metric.quantile is not None
    logs = [run.histogram for run in runs if run.histogram is not None]
    if len(logs) < len(runs):
        return None
    return merge_percentiles(logs, [metric.quantile])[metric.quantile]


def _log(value: float | None) -> float:
    return math.log(value) if value is not None and math.isfinite(value) and value > 0 else math.nan
