"""What is certain of a level: the highest thing first, whole before columns, rows and cells.

A claim is a change whose interval has spoken (better, worse, or equivalent). An effect that
crosses, faster here and slower there, is told by its parts although its mean may be certain too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contend.findings.model import Compared, Finding
from contend.spec import Level

CERTAIN = ("better", "worse", "equivalent")
_NAMED_CELLS = 2


@dataclass(frozen=True, slots=True)
class Claims:
    """What is said of a level, the better first. `depth` is whole, columns, row or cell; empty if
    nothing is certain. `more` counts certain cells that are too many to name."""

    findings: tuple[Finding, ...] = ()
    depth: str = ""
    more: tuple[Finding, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.findings or self.more)


def claims_of(compared: Compared, level: Level) -> Claims:
    """The highest things that are certain of a level."""
    whole = next((one for one in compared.wholes if one.level == level), None)
    columns = _certain(compared.columns, level)
    rows = _certain(compared.rows, level)
    if whole is not None and whole.tone in CERTAIN and not _against(whole, (*columns, *rows)):
        return Claims((whole,), "whole")
    by_column, by_row = _longest(columns), _longest(rows)
    if by_column and (_crosses(by_column) or not _crosses(by_row)):
        return Claims(by_column, "columns")
    if by_row:
        return Claims(by_row, "row")
    cells = _certain(compared.comparisons, level)
    if len(cells) <= _NAMED_CELLS:
        return Claims(tuple(cells), "cell" if cells else "")
    return Claims((), "cell", tuple(cells))


def _certain(findings: Iterable[Finding], level: Level) -> list[Finding]:
    return [one for one in findings if one.level == level and one.tone in CERTAIN]


def _against(one: Finding, others: Sequence[Finding]) -> bool:
    """Whether any part of its place is certain of something else: of the other direction, or, if
    this says that nothing changes, of a change beyond the margin."""
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


def _longest(certain: Sequence[Finding]) -> tuple[Finding, ...]:
    """As few as tell most, none over another; better, worse, and what makes no difference."""
    chosen: list[Finding] = []
    by_length = sorted(certain, key=lambda one: (one.tone == "equivalent", -_length(one)))
    for one in by_length:
        if not _against(one, certain) and not any(_overlap(one, other) for other in chosen):
            chosen.append(one)
    return tuple(sorted(chosen, key=lambda one: (CERTAIN.index(one.tone), -_length(one))))


def _length(one: Finding) -> int:
    place = one.change.place
    return place.last_column - place.first_column + 1


def surest(gains: Sequence[Finding]) -> Finding | None:
    """The one that is certain to gain most, by the near end of its interval: the largest gain
    itself is the largest partly by chance."""
    if not gains:
        return None
    if gains[0].metric.less_is_better:
        return min(gains, key=lambda one: one.change.high)
    return max(gains, key=lambda one: one.change.low)


def _crosses(findings: Sequence[Finding]) -> bool:
    return {"better", "worse"} <= {one.tone for one in findings}
