"""A series of runs before and after one of them.

The unit is the run: what sessions of a host differ by is in the scatter of the runs, so nothing is
added for it. What is set against one another are two samples that share no unit (`stats.welch`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contend.findings.families import Family
from contend.findings.model import Contrast, Finding
from contend.metrics import Metric
from contend.spec import Level
from contend.stats import welch

WHOLE = 0.05
"""The chance that anything which a history tells is false."""


def family_over_time() -> Family:
    """That of a history: all its series, at all places where a change could be told."""
    return Family("history", 1 - WHOLE, 1 - WHOLE)


def after_over_before(
    metric: Metric,
    cell: Mapping[str, Level],
    before: Sequence[float],
    after: Sequence[float],
    *,
    members: int,
    margin: float,
) -> Finding:
    """What lies after a run over what lies before it.

    Args:
        before, after: ln of the figure or of the gain, a value a run.
        members: how many contrasts hold together (Bonferroni): every place of every series, since
            the place was chosen with the series in sight.
        margin: relative difference that does not matter.

    Raises:
        ValueError: a side has fewer than two values, or one that is not finite.
    """
    family = family_over_time()
    change = welch(after, before, margin=margin, confidence=1 - (1 - family.confidence) / members)
    contrast = Contrast("runs", metric, dict(cell), "after", "before", family, units="runs")
    return Finding(contrast, change, margin)
