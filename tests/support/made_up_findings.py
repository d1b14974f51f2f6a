"""Findings as a test wants them: no run, no statistics."""

from __future__ import annotations

from contend.experiment import Experiment, Level, roles_of
from contend.findings import Compared, Contrast, Family, Finding
from contend.metrics import Metric
from contend.stats import Change, Estimate, Place

_HALF = {"better": 0.05, "worse": 0.02, "equivalent": 0.01, "inconclusive": 0.12, "open": 0.12}


def compared_of(
    experiment: Experiment,
    metric: Metric,
    level: Level,
    ratio: float,
    *,
    first: str = "",
    rest: str,
) -> Compared:
    """A level whose first column says one thing and all others, in a range and each alone, another
    one; as a whole it says what they say. `first` and `rest` are tones."""
    roles = roles_of(experiment)
    rows, columns = len(roles.table_contexts()), len(roles.column_levels)
    tones = [first or rest, *([rest] * (columns - 1))]

    def found(depth: str, tone: str, first_column: int, last_column: int) -> Finding:
        place = Place(depth, 0, 0, rows - 1, first_column, last_column)  # type: ignore[arg-type]
        change = _change(metric, place, ratio, tone)
        assert roles.baseline is not None
        contrast = Contrast("level", metric, {}, level, roles.baseline, Family("first", 0.96, 0.96))
        return Finding(contrast, change, 0.02)

    singles = [found("columns", tone, at, at) for at, tone in enumerate(tones)]
    ranges = [found("columns", rest, at, columns - 1) for at in range(1, columns - 1)]
    return Compared(
        metric,
        wholes=(found("whole", rest, 0, columns - 1),),
        columns=(*singles, *ranges) if columns > 1 else (),
    )


def _change(metric: Metric, place: Place, ratio: float, tone: str) -> Change:
    up = (tone == "better") != metric.less_is_better
    verdicts = {"better": metric.better, "worse": metric.worse, "open": None}
    size = ratio if up else 2 - ratio
    middle = size if tone in ("better", "worse") else 1.004
    low, high = middle - _HALF[tone], middle + _HALF[tone]
    alone = Estimate(middle, low, high, 8, 0.95)
    return Change(
        place=place,
        ratio=middle,
        low=low,
        high=high,
        verdict=verdicts.get(tone, tone),  # type: ignore[arg-type]
        n=8,
        df=7.0,
        sd_log=0.02,
        detectable=0.02,
        cells=1,
        of_cells=1,
        alone=alone,
        p_sign_flip=0.01,
        robust=alone,
    )
