"""Screening: the server options in which two sets differ, and which of them a cell has from which.

Each option that differs is a line. A cell has some lines from the old set and the others from the
new one. Cells that mix them show the effect of each line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contend.experiment.settings.model import Setting, Values
from contend.experiment.settings.options import OPTIONS
from contend.experiment.settings.values import Choice, Level, Text

LINES_MIN, LINES_MAX = 2, 31

OLD = Setting.of(
    "screen",
    "old",
    OPTIONS.key.kind,
    {},
    "the old of two sets of server options whose differing lines are screened. An option that only "
    "one set has is the server's default in the other",
)
NEW = Setting.of("screen", "new", OPTIONS.key.kind, {}, "the new set")

LINES = Setting.of(
    "screen",
    "lines",
    Text(f"[01]{{{LINES_MIN},{LINES_MAX}}}", "a digit for each line: 1 if it is new, else 0"),
    None,
    "the lines of a cell, in the order of the new set and then of the rest: 1 for a new one, 0 for "
    "an old one. contend chooses the cells",
)

PARTS = ("lines", "together", "proof")
PART = Setting.of(
    "screen",
    "part",
    Choice(PARTS),
    PARTS[0],
    "the part of the screen that a cell belongs to: lines (which of them matter), together "
    "(whether these work together), proof (whether these do all that the new set does). contend "
    "chooses it",
)

SCREEN = (OLD, NEW, LINES, PART)


@dataclass(frozen=True, slots=True)
class ScreenLine:
    """An option that differs between the two sets; None: the set does not have it."""

    name: str
    old: Level | None
    new: Level | None


def lines_of(cell: Values) -> tuple[ScreenLine, ...]:
    """The lines of a screen, those of the new set first; none if nothing is screened."""
    old, new = cell[OLD.path], cell[NEW.path]
    return tuple(
        ScreenLine(name, old.get(name), new.get(name)) for name in dict.fromkeys((*new, *old))
    )


def options_with_lines(cell: Values) -> Mapping[str, Any]:
    """The value of `server.options` that a cell's lines make, by its path; empty without lines."""
    chosen = cell[LINES.path]
    if chosen is None:
        return {}
    return {OPTIONS.path: {**cell[OPTIONS.path], **chosen_options(lines_of(cell), chosen)}}


def chosen_options(lines: Sequence[ScreenLine], chosen: str) -> dict[str, Level]:
    """The options of some lines, by their digits."""
    levels = {
        line.name: line.new if digit == "1" else line.old
        for line, digit in zip(lines, chosen, strict=True)
    }
    return {name: level for name, level in levels.items() if level is not None}
