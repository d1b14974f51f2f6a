"""Sentences of findings, written out: how a figure, a change and a place look in words."""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from contend.findings import AtLevel, Called, Figure, Finding, Given, Said, Sentence
from contend.report.words import (
    UNKNOWN,
    cell_phrase,
    error_text,
    estimate_text,
    factor_label,
    gain_text,
    half_of,
    level_label,
    level_phrase,
    share_text,
    size_text,
    times_of,
)
from contend.spec import Level, Roles
from contend.stats import Estimate


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes sentences about one experiment; `level` has the names of its levels."""

    roles: Roles
    level: Callable[[Level], str]

    def text(self, sentence: Sentence | AtLevel | Called | str) -> Said:
        if isinstance(sentence, AtLevel):
            return Said.written(self.level(sentence.level))
        if isinstance(sentence, Called):
            return self._called(sentence)
        if isinstance(sentence, str):
            return Said.written(sentence)
        return Said.written(_Formatter(self).vformat(sentence.words, (), sentence.places))

    def _called(self, one: Called) -> Said:
        factors = {"table": None, "level": self.roles.compared, "column": self.roles.columns}
        factor, usual = factors[one.axis], {"table": "table", "level": "", "column": "cell"}
        return Said(usual[one.axis]) if factor is None else factor_label(factor.path)

    def place(self, cell: Mapping[str, Level], how: str) -> str:
        """A place, or a part of it: `at` is all of it, `cell` all but the level."""
        roles = self.roles
        compared = roles.compared.path if roles.compared else None
        columns = roles.columns.path if roles.columns else None
        rest = {path: one for path, one in cell.items() if path != compared}
        tables = {path: one for path, one in rest.items() if path != columns}
        table = ", ".join(level_phrase(path, one) for path, one in tables.items())
        level = self.level(cell[compared]) if compared is not None and compared in cell else ""
        column, head = "", ""
        if columns is not None and columns in cell:
            column, head = level_phrase(columns, cell[columns]), level_label(cell[columns])
        parts = {
            "table": table or "all",
            "level": level or "all",
            "column": column,
            "head": head or "all",
            "cell": cell_phrase(rest),
            "at": ", ".join(filter(None, (table, level, column))),
        }
        return parts[how]


_PLACES = ("at", "table", "level", "column", "head", "cell")


class _Formatter(string.Formatter):
    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Given):
            return format(value, format_spec)
        if not isinstance(value, Figure | Finding):
            return self._writer.text(value)
        if format_spec in _PLACES:
            return self._writer.place(value.contrast.cell, format_spec)
        if isinstance(value, Finding):
            return _CHANGES[format_spec](value)
        return _FIGURES[format_spec](value.estimate)


_CHANGES: dict[str, Callable[[Finding], str]] = {
    "gain": lambda one: gain_text(one.change),
    "size": lambda one: size_text(one.change),
    "times": lambda one: estimate_text(times_of(one.change)),
}


def _n(one: Estimate) -> str:
    return f"{one.n} repeat{'' if one.n == 1 else 's'}"


def _ms(one: Estimate) -> str:
    scaled = replace(one, mean=one.mean / 1000, low=one.low / 1000, high=one.high / 1000)
    return estimate_text(scaled)


def _gain(one: Estimate) -> str:
    """A share more, in percent."""
    half = half_of(one) * 100
    if not math.isfinite(half):
        return f"{one.mean * 100:+.0f} {UNKNOWN}"
    places = 0 if half >= 0.95 else 1
    return f"{one.mean * 100:+.{places}f} {error_text(half, places)}"


_FIGURES: dict[str, Callable[[Estimate], str]] = {
    "": estimate_text,
    "share": share_text,
    "percent": lambda one: f"{one.mean * 100:.0f}",
    "plain": lambda one: f"{one.mean * 100:+.0f}",
    "gain": _gain,
    "size": lambda one: estimate_text(one).removeprefix("-"),
    "ms": _ms,
    "n": _n,
    "count": lambda one: f"{one.n}",
}
"""How a figure is written."""
