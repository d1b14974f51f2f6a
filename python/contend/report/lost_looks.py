"""Looks that are lost, in a sentence for each block of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contend.findings import Said
from contend.report.words import cell_phrase
from contend.store import LookRecord


def lost_words(failed: Sequence[LookRecord]) -> list[str]:
    """What is lost, and why. Looks that were taken side by side are lost with one another."""
    blocks: dict[tuple[int, str | None], list[LookRecord]] = {}
    for one in failed:
        blocks.setdefault((one.block, one.error), []).append(one)
    return [_words(records) for records in blocks.values()]


def _words(records: Sequence[LookRecord]) -> str:
    first, *others = records
    same: dict[str, Any] = {
        path: level
        for path, level in first.cell.items()
        if all(other.cell[path] == level for other in others)
    }
    phrase = str(cell_phrase(same))
    at = f" with {phrase}" if phrase else ""
    why = str(first.error).rstrip(".")
    return str(Said.written(f"The look{at} is lost: {why}. Every measured run is kept."))
