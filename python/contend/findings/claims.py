"""The certain results of a level: the widest ranges of columns first, then the whole, rows, cells.

A claim is a change whose interval is decided (better, worse, or equivalent). An effect that
crosses, faster here and slower there, is reported by its parts even if its mean is certain too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from contend.experiment import Level
from contend.findings.model import Compared, Finding

CERTAIN = ("better", "worse", "equivalent")
_NAMED_CELLS = 2
_NAMED_RANGES = 3


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims about a level, the widest first. `depth` is whole, columns, row or cell; empty if
    nothing is certain. `more` counts certain cells beyond those that are named. `open` has the
    columns without a claim, because they are inconclusive. `together`: the columns of a range
    are certain as a mean only, and not each of its ends."""

    findings: tuple[Finding, ...] = ()
    depth: str = ""
    more: tuple[Finding, ...] = ()
    open: tuple[Finding, ...] = ()
    together: bool = False

    def __bool__(self) -> bool:
        return bool(self.findings or self.more)


def claims_of(compared: Compared, level: Level) -> Claims:
    """The widest ranges of columns that are certain at both ends; else the highest things that
    are."""
    whole = next((one for one in compared.wholes if one.level == level), None)
    columns = _certain(compared.columns, level)
    rows = _certain(compared.rows, level)
    by_row = _longest(rows)
    singles = {
        one.change.place.first_column: one
        for one in compared.columns
        if one.level == level and _length(one) == 1
    }
    wholes = [whole] if whole is not None and whole.tone in CERTAIN else []
    candidates = [one for one in (*wholes, *columns) if _is_certain_at_its_ends(one, singles)]
    widest = _longest(candidates, (*columns, *rows))
    open_ = [
        one
        for one in singles.values()
        if one.tone == "inconclusive" and not any(_overlap(one, other) for other in widest)
    ]
    on_average = bool(wholes) and not _against(wholes[0], (*columns, *rows))
    is_little = on_average and len(open_) > sum(map(_length, widest))
    if (
        0 < len(widest) <= _NAMED_RANGES
        and not is_little
        and (_crosses(widest) or not _crosses(by_row))
    ):
        depth = "whole" if widest == tuple(wholes) else "columns"
        return Claims(widest, depth, open=tuple(open_))
    if on_average:
        return Claims((wholes[0],), "whole", together=True)
    by_column = _longest(columns)
    if by_column and (_crosses(by_column) or not _crosses(by_row)):
        return Claims(by_column, "columns", together=True)
    if by_row:
        return Claims(by_row, "row")
    cells = _certain(compared.comparisons, level)
    if len(cells) <= _NAMED_CELLS:
        return Claims(tuple(cells), "cell" if cells else "")
    return Claims((), "cell", tuple(cells))


def _is_certain_at_its_ends(one: Finding, singles: Mapping[int, Finding]) -> bool:
    """Whether its first and its last column each give the same result by themselves. A mean is
    certain sooner, and would name columns whose result is unknown."""
    place = one.change.place
    if place.first_column == place.last_column:
        return True
    ends = (singles.get(place.first_column), singles.get(place.last_column))
    return all(end is not None and end.tone == one.tone for end in ends)


def _certain(findings: Iterable[Finding], level: Level) -> list[Finding]:
    return [one for one in findings if one.level == level and one.tone in CERTAIN]


def _against(one: Finding, others: Sequence[Finding]) -> bool:
    """Whether any part of its place is certain of the opposite direction. If this finding is "no
    change": whether a part certainly changes beyond the margin."""
    parts = [other for other in others if _within(other, one)]
    if one.tone == "equivalent":
        return _crosses(parts) or any(other.is_large for other in parts)
    contrary = {"better": "worse", "worse": "better"}[one.tone]
    return any(other.tone == contrary for other in parts)


def _within(part: Finding, whole: Finding) -> bool:
    one, other = part.change.place, whole.change.place
    return (
        other.first_row <= one.first_row
        and one.last_row <= other.last_row
        and other.first_column <= one.first_column
        and one.last_column <= other.last_column
    )


def _overlap(one: Finding, other: Finding) -> bool:
    a, b = one.change.place, other.change.place
    return (
        a.first_row <= b.last_row
        and b.first_row <= a.last_row
        and a.first_column <= b.last_column
        and b.first_column <= a.last_column
    )


def _longest(
    candidates: Sequence[Finding], others: Sequence[Finding] | None = None
) -> tuple[Finding, ...]:
    """The fewest findings with the most information. None overlaps another, and none contradicts
    `others` (or each other); better, worse, and no difference."""
    chosen: list[Finding] = []
    by_length = sorted(candidates, key=lambda one: (one.tone == "equivalent", -_length(one)))
    for one in by_length:
        against = _against(one, candidates if others is None else others)
        if not against and not any(_overlap(one, other) for other in chosen):
            chosen.append(one)
    return tuple(sorted(chosen, key=lambda one: (CERTAIN.index(one.tone), -_length(one))))


def _length(one: Finding) -> int:
    place = one.change.place
    return place.last_column - place.first_column + 1


def surest(gains: Sequence[Finding]) -> Finding | None:
    """The one whose gain is most certain, by the near end of its interval: the largest gain itself
    is the largest partly by chance."""
    if not gains:
        return None
    if gains[0].metric.less_is_better:
        return min(gains, key=lambda one: one.change.high)
    return max(gains, key=lambda one: one.change.low)


def _crosses(findings: Sequence[Finding]) -> bool:
    return {"better", "worse"} <= {one.tone for one in findings}


def leading_level(compared: Compared) -> Level:
    """The level that the sentence is about, among those with a certain result: the one with the
    best change over all cells. If its interval includes several, the first of them in the file.
    """
    wholes = list(compared.wholes)
    certain = [one for one in wholes if claims_of(compared, one.level)] or wholes
    better = [one for one in certain if one.tone == "better"] or certain
    pick = min if compared.metric.less_is_better else max
    best = pick(better, key=lambda one: one.change.ratio).change
    return next(one.level for one in better if one.change.low <= best.ratio <= one.change.high)
