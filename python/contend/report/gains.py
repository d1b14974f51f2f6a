"""The comparisons: every level against the baseline at every place, with verdicts that hold for
all of them together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from contend.report.model import CellComparison
from contend.report.study import Study
from contend.spec import same_level
from contend.stats import compare, compare_family
from contend.store import RunRecord


def comparisons_of(study: Study) -> tuple[CellComparison, ...]:
    """All planned comparisons for which at least one pair was measured, table by table."""
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
                if not pairs:
                    continue
                comparison = compare(
                    [_qps(one) for one, _ in pairs],
                    [_qps(other) for _, other in pairs],
                    margin=settings.margin,
                    confidence=settings.confidence,
                )
                found.append(CellComparison(cell, level, roles.baseline, comparison, lost))
    adjusted = compare_family([one.comparison for one in found])
    return tuple(
        replace(one, comparison=comparison) for one, comparison in zip(found, adjusted, strict=True)
    )


def strongest(comparisons: Sequence[CellComparison], verdict: str) -> CellComparison | None:
    """The largest change among the comparisons with that verdict."""
    certain = [one for one in comparisons if one.comparison.verdict == verdict]
    return max(certain, key=lambda one: abs(math.log(one.comparison.ratio)), default=None)


def headline(comparisons: Sequence[CellComparison]) -> CellComparison | None:
    """The largest certain change, gains before losses. Of levels that its interval does not tell
    apart, the first in the file."""
    levels = dict.fromkeys(one.level for one in comparisons)
    for verdict in ("faster", "slower"):
        own = ([one for one in comparisons if one.level == level] for level in levels)
        extremes = [one for one in (strongest(each, verdict) for each in own) if one is not None]
        largest = max((abs(math.log(one.comparison.ratio)) for one in extremes), default=0.0)
        for one in extremes:
            bounds = (one.comparison.low, one.comparison.high)
            if max(abs(math.log(bound)) for bound in bounds) >= largest:
                return one
    return None


def _qps(record: RunRecord) -> float:
    return float((record.done or {}).get("qps") or 0.0)
