"""Names of the levels of the compared factor: by the experiment file, or unchanged. Also the names
of places in the table of all cells: `from 8 connections on`.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from contend.experiment import Experiment, Level, Roles, Words, roles_of
from contend.findings import Constant, Figure, Finding, ReportText
from contend.sections.words import (
    CHANGE_FORMATS,
    FIGURE_FORMATS,
    cell_phrase,
    factor_label,
    is_counted,
    level_label,
    level_phrase,
)

if TYPE_CHECKING:
    from contend.why.explain import Axis, Place

USE = "server.use"

_SPEAK_FOR_THEMSELVES = (USE, "data.engine")
"""Factors whose levels are names that everybody knows: `InnoDB`, `mysql@sid`."""


@dataclass(frozen=True, slots=True)
class Naming:
    """Names of the levels, as tables and sentences use them."""

    roles: Roles
    words: Words
    servers: Mapping[str, str] = field(default_factory=dict)
    """Levels that are servers -> the version that each reported: `MariaDB 11.8.6`."""

    def level(self, level: Level) -> ReportText:
        """The name of a level in tables and charts."""
        name = self.words.name(level) or self.servers.get(str(level)) or level_label(level)
        return ReportText.written(name)

    def noun(self, level: Level) -> ReportText:
        """A level as a noun in a sentence: `multi-row inserts`, `InnoDB`,
        `innodb_flush_method = fsync`."""
        compared = self.roles.compared
        if compared is None or compared.path in _SPEAK_FOR_THEMSELVES or self.words.name(level):
            return self.level(level)
        return level_phrase(compared.path, level)

    @property
    def baseline(self) -> ReportText:
        """The baseline in a sentence, after `than`: its name is enough."""
        assert self.roles.baseline is not None
        return self.level(self.roles.baseline)

    def change(self, level: Level) -> ReportText:
        """The step from the baseline to a level, as the subject of a sentence. Empty if their
        names are enough."""
        words = self.words.change or ""
        return ReportText.written(words.format(level=self.level(level), baseline=self.baseline))

    def is_plural(self, level: Level) -> bool:
        return self.words.is_plural(level)

    def say(self, template: str, /, **places: Place) -> ReportText:
        """See `contend.why.explain.SentenceWriter`."""
        for name, one in places.items():
            if not isinstance(one, Figure | Finding | Constant | str):
                raise TypeError(
                    f"{name} in {template!r} is {one!r}, and not a finding: a sentence needs its "
                    "interval and its n"
                )
        return ReportText.written(_Formatter(self).vformat(template, (), places))

    def axis(self, axis: Axis) -> ReportText:
        factors = {"table": None, "level": self.roles.compared, "column": self.roles.columns}
        factor, usual = factors[axis], {"table": "table", "level": "", "column": "cell"}
        return ReportText(usual[axis]) if factor is None else factor_label(factor.path)

    def place(self, cell: Mapping[str, Level], part: str) -> str:
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
        return parts[part]


_PLACES = ("at", "table", "level", "column", "head", "cell")


class _Formatter(string.Formatter):
    """Figures and findings by the names of their formats."""

    def __init__(self, naming: Naming) -> None:
        self._naming = naming

    def format_field(self, value: Any, format_spec: str) -> str:
        if not isinstance(value, Figure | Finding):
            return format(value, format_spec)
        if format_spec in _PLACES:
            return self._naming.place(value.contrast.cell, format_spec)
        if isinstance(value, Finding):
            return CHANGE_FORMATS[format_spec](value.change)
        return FIGURE_FORMATS[format_spec](value.estimate)


def naming_of(experiment: Experiment, servers: Mapping[str, str] | None = None) -> Naming:
    """`servers`: see `Naming`."""
    roles = roles_of(experiment)
    words = experiment.words.get(roles.compared.path if roles.compared else "", Words())
    return Naming(roles, words, servers or {})


def as_sentence(text: ReportText) -> ReportText:
    """With a capital, unless it begins with a name in lower case."""
    first = re.split(r"[\s,]", text, maxsplit=1)[0]
    is_word = first.isalpha() or bool(re.fullmatch(r"[a-z]+-[a-z-]+", first))
    is_setting = text[len(first) :].startswith(" =")
    is_small = is_word and first.islower() and not is_setting
    return ReportText.written(text[0].upper() + text[1:]) if is_small else text


def within_sentence(sentence: ReportText) -> ReportText:
    """Without its capital, after other words, unless it begins with a name such as MariaDB."""
    first = sentence.split(maxsplit=1)[0]
    if first[1:] != first[1:].lower():
        return sentence
    return ReportText.written(sentence[0].lower() + sentence[1:])


_LISTED = 3
"""Maximum number of levels without an order that are named."""


def named(roles: Roles, one: Finding) -> ReportText:
    """The place and the level: `from 8 connections on, key_cache_segments = 32`."""
    assert roles.compared is not None
    level = level_phrase(roles.compared.path, one.level)
    at = place_of(roles, one)
    return ReportText("{}, {}", at, level) if at else level


def place_of(roles: Roles, one: Finding) -> ReportText:
    """`from 8 connections on`, `with 10 points`, `from 1 to 64 connections`; empty if the
    experiment has one place only."""
    place = one.change.place
    rows, columns = roles.table_contexts(), roles.column_levels
    is_all_rows = len(rows) > 1 and place.last_row - place.first_row + 1 == len(rows)
    at = {} if is_all_rows else _varying(roles, rows[place.first_row])
    if roles.columns is None:
        over_all = ReportText("as a mean over all {} tables", Constant(len(rows)))
        return over_all if is_all_rows else place_text(at)
    path = roles.columns.path
    if place.first_column == place.last_column:
        column = columns[place.first_column]
        return place_text({**at, path: column} if column is not None else at)
    is_part = place.first_column > 0 or place.last_column < len(columns) - 1
    ranges = (
        range_text(roles, place.first_column, place.last_column) if is_part else _all_columns(roles)
    )
    return ReportText.joined(" ", filter(None, (ranges, place_text(at))))


def _varying(roles: Roles, cell: Mapping[str, Level]) -> dict[str, Level]:
    """Without factors of one level: the headings of the tables name those."""
    factors = {one.path: one for one in (*roles.tables, *filter(None, (roles.columns,)))}
    return {path: level for path, level in cell.items() if len(factors[path].levels) > 1}


def _all_columns(roles: Roles) -> ReportText:
    assert roles.columns is not None
    path, levels = roles.columns.path, roles.columns.levels
    if not _in_order(levels):
        if len(levels) <= _LISTED:
            return _listed(path, levels)
        return ReportText(
            "on average over all {} levels of {}", Constant(len(levels)), factor_label(path)
        )
    if is_counted(path):
        return ReportText("from {} to {}", level_label(levels[0]), level_phrase(path, levels[-1]))
    return ReportText("from {} to {}", level_phrase(path, levels[0]), level_label(levels[-1]))


def _in_order(levels: Sequence[Level]) -> bool:
    """Whether they are numbers, or sizes such as 64M."""
    return all(
        (isinstance(one, int | float) and not isinstance(one, bool))
        or re.fullmatch(r"\d+[KMGT]", str(one))
        for one in levels
    )


def _listed(path: str, levels: Sequence[Level]) -> ReportText:
    *most, last = map(level_label, levels)
    return ReportText(
        "with {} = {} and {}", factor_label(path), ReportText.joined(", ", most), last
    )


def columns_text(roles: Roles, singles: Sequence[Finding]) -> ReportText:
    """`at 1 connection`, `up to 4 connections`, `at 1 and 16 connections`."""
    assert roles.columns is not None
    path, levels = roles.columns.path, roles.columns.levels
    at = sorted(one.change.place.first_column for one in singles)
    if len(at) == 1:
        return place_text({path: levels[at[0]]})
    is_at_an_end = at[0] == 0 or at[-1] == len(levels) - 1
    if is_at_an_end and at == list(range(at[0], at[-1] + 1)):
        return range_text(roles, at[0], at[-1])
    *most, last = (level_label(levels[one]) for one in at)
    return place_text({path: f"{', '.join(most)} and {last}"})


def range_text(roles: Roles, first: int, last: int) -> ReportText:
    """`from 8 connections on`, `up to 4 connections`; levels that are not numbers are listed."""
    assert roles.columns is not None
    path, levels = roles.columns.path, roles.columns.levels
    if first == last:
        return place_text({path: levels[first]})
    if not _in_order(levels):
        return _listed(path, levels[first : last + 1])
    if last == len(levels) - 1:
        return ReportText("from {} on", level_phrase(path, levels[first]))
    return ReportText("up to {}", level_phrase(path, levels[last]))


def place_text(cell: Mapping[str, Level]) -> ReportText:
    """`at 64 connections with 10 points`; empty if there is one place only."""
    loads = [level_phrase(path, one) for path, one in cell.items() if path.startswith("load.")]
    rest = [level_phrase(path, one) for path, one in cell.items() if not path.startswith("load.")]
    at = ReportText("at {}", ReportText.joined(", ", loads)) if loads else ReportText("")
    with_ = ReportText("with {}", ReportText.joined(" and ", rest)) if rest else ReportText("")
    return ReportText.joined(" ", filter(None, (at, with_)))
