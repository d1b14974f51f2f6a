"""The comparisons: every level against the baseline at every place, by every metric compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from contend.metrics import Metric
from contend.report.model import CellComparison, Compared
from contend.report.study import Study
from contend.spec import same_level
from contend.stats import compare, compare_family


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
