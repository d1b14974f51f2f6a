"""Looks that are lost, in a sentence for each reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contend.findings import Said
from contend.report.words import cell_phrase
from contend.store import LookRecord


def lost_words(failed: Sequence[LookRecord]) -> list[str]:
    """What is lost, and why: a sentence for each reason. Looks that were taken side by side are
    lost with one another."""
    reasons: dict[str, dict[int, list[LookRecord]]] = {}
    for one in failed:
        reasons.setdefault(str(one.error), {}).setdefault(one.block, []).append(one)
    return [_words(why, list(blocks.values())) for why, blocks in reasons.items()]


def _words(why: str, blocks: Sequence[Sequence[LookRecord]]) -> str:
    places = [phrase for records in blocks if (phrase := _place(records))]
    more = f" and at {len(places) - _NAMED} more places" if len(places) > _NAMED else ""
    at = f" with {'; with '.join(places[:_NAMED])}{more}" if places else ""
    why = why.rstrip(".")
    return str(Said.written(f"The look{at} is lost: {why}. Every measured run is kept."))


_NAMED = 3


def _place(records: Sequence[LookRecord]) -> str:
    """What they have in common."""
    first, *others = records
    same: dict[str, Any] = {
        path: level
        for path, level in first.cell.items()
        if all(other.cell[path] == level for other in others)
    }
    return str(cell_phrase(same))
