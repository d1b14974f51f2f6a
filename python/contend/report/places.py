"""Where something holds, in words: the place of a finding in the table of all cells."""

from __future__ import annotations

from collections.abc import Mapping

from contend.findings import Finding
from contend.report.words import level_label, level_phrase
from contend.spec import Level, Roles


def named(roles: Roles, one: Finding) -> str:
    """The place and the level: `from 8 connections on, key_cache_segments = 32`."""
    assert roles.compared is not None
    level = level_phrase(roles.compared.path, one.level)
    at = where(roles, one).strip()
    return f"{at}, {level}" if at else level


def where(roles: Roles, one: Finding) -> str:
    """` from 8 connections on`, ` with 10 points`, ` as a mean over all 21 cells`; nothing if the
    experiment has one place only."""
    place = one.change.place
    rows, columns = roles.table_contexts(), roles.column_levels
    is_all_columns = place.last_column - place.first_column + 1 == len(columns)
    is_all_rows = place.last_row - place.first_row + 1 == len(rows)
    if is_all_columns and is_all_rows and len(rows) * len(columns) > 1:
        return f" as a mean over all {len(rows) * len(columns)} cells"
    at = rows[place.first_row] if not is_all_rows or len(rows) == 1 else {}
    if roles.columns is not None and (not is_all_columns or len(columns) == 1):
        if place.first_column == place.last_column:
            column = columns[place.first_column]
            return place_text({**at, roles.columns.path: column} if column is not None else at)
        return f" {range_text(roles, place.first_column, place.last_column)}{place_text(at)}"
    return place_text(at)


def range_text(roles: Roles, first: int, last: int) -> str:
    """`from 8 connections on`, `up to 4 connections`; levels that are no numbers are listed."""
    assert roles.columns is not None
    path, levels = roles.columns.path, roles.columns.levels
    if first == last:
        return place_text({path: levels[first]}).strip()
    if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in levels):
        names = [level_label(one) for one in levels[first : last + 1]]
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        return f"with {path.rpartition('.')[2]} = {listed}"
    if last == len(levels) - 1:
        return f"from {level_phrase(path, levels[first])} on"
    return f"up to {level_phrase(path, levels[last])}"


def place_text(cell: Mapping[str, Level]) -> str:
    """` at 64 connections with 10 points`."""
    loads = [level_phrase(path, one) for path, one in cell.items() if path.startswith("load.")]
    rest = [level_phrase(path, one) for path, one in cell.items() if not path.startswith("load.")]
    text = f" at {', '.join(loads)}" if loads else ""
    return text + (f" with {' and '.join(rest)}" if rest else "")
