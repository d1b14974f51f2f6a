"""Looks as they stand in a run folder: those that count, beside one another."""

from __future__ import annotations

from collections.abc import Sequence

from contend.spec import CellKey, Level, cell_key, same_level
from contend.store import LookRecord


def last_looks(looks: Sequence[LookRecord], name: str) -> list[list[LookRecord]]:
    """Of each cell the last look of that name that found something; those that were taken side by
    side together."""
    last: dict[CellKey, LookRecord] = {}
    for one in looks:
        if one.look == name and one.error is None:
            last[cell_key(one.cell)] = one
    blocks: dict[int, list[LookRecord]] = {}
    for one in last.values():
        blocks.setdefault(one.block, []).append(one)
    return list(blocks.values())


def failed_looks(looks: Sequence[LookRecord], name: str) -> list[LookRecord]:
    """Of each cell whose last look of that name is lost, that look."""
    last = {cell_key(one.cell): one for one in looks if one.look == name}
    return [one for one in last.values() if one.error is not None]


def baseline_of(
    records: Sequence[LookRecord], compared: str | None, baseline: Level | None
) -> LookRecord | None:
    """That of the baseline, among those side by side."""
    if compared is None or baseline is None:
        return None
    return next((one for one in records if same_level(one.cell[compared], baseline)), None)
