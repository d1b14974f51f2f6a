"""The parts of an experiment file that only its report uses: figures of other machines, and the
names of a factor's levels."""

from __future__ import annotations

import string
import sys

from contend.errors import did_you_mean
from contend.experiment.document import Document, Path
from contend.experiment.keys import MetricNames
from contend.experiment.model import Published, PublishedRow, Words
from contend.experiment.settings.values import AnyLevel, Key, Level, Text, is_number, shown
from contend.metrics import THROUGHPUT

WORDS = {
    "change": "the change from the baseline to a level, as the subject of a sentence, with "
    "placeholders {level} and {baseline} for their names",
    "levels": "the name of each level in a sentence, by the level as written",
    "plural": 'the levels whose names are plural: "multi-row inserts make", "an index makes"',
}
"""The keys of `[words."PATH"]`, and their meanings."""

_TEXT = Key("", Text(), "", "")


def read_words(document: Document) -> dict[str, Words]:
    """Every `[words."PATH"]` by its path, in file order. A path need not be a factor, since an
    override may have fixed it."""
    return dict(_words(document, path) for path in document.table(("words",)))


def _words(document: Document, path: str) -> tuple[str, Words]:
    place = ("words", path)
    target, table = document.target(place, path), document.table(place)
    document.only(place, WORDS, called=f'words."{path}"')
    levels = {
        level: str(document.read((*place, "levels", level), _TEXT, name))
        for level, name in document.table((*place, "levels")).items()
    }
    change = str(document.read((*place, "change"), _TEXT, table.get("change", "")))
    if not _is_sentence(change):
        document.refuse(
            (*place, "change"),
            "change may contain {level} and {baseline}, but no other braces",
            hint='Write change = "adding {level} instead of {baseline}".',
        )
    plural, at = table.get("plural", []), (*place, "plural")
    if not isinstance(plural, list):
        document.refuse(at, f"plural must be a list of levels, not {shown(plural)}")
    for index, level in enumerate(plural):
        if level not in levels:
            sentence = f"plural has {shown(level)}, which levels does not name"
            document.refuse((*at, index), sentence, hint=did_you_mean(str(level), levels))
    return target.path, Words(change, levels, tuple(plural))


def _is_sentence(change: str) -> bool:
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(change) if name is not None]
    except ValueError:
        return False
    return set(names) <= {"level", "baseline"}


def read_published(document: Document) -> tuple[Published, ...]:
    """Every `[published.NAME]`, in file order."""
    return tuple(_published(document, name) for name in document.table(("published",)))


def _published(document: Document, name: str) -> Published:
    place = ("published", name)
    table = document.table(place)
    document.only(place, ("machine", "source", "metric", "columns", "rows"))
    machine, source, metric = (
        str(document.read((*place, key), _TEXT, table.get(key, usual)))
        for key, usual in (("machine", ""), ("source", ""), ("metric", THROUGHPUT))
    )
    document.read((*place, "metric"), Key("metric", MetricNames(), (), ""), metric)
    columns_path, columns = _columns(document, (*place, "columns"))
    rows, at = table.get("rows", []), (*place, "rows")
    if not isinstance(rows, list):
        document.refuse(at, f"{'.'.join(at)} must be a list of tables, not {shown(rows)}")
    read = [_row(document, (*at, index), row, len(columns)) for index, row in enumerate(rows)]
    return Published(name, machine, source, columns_path, columns, tuple(read), metric)


def _columns(document: Document, place: tuple[str, ...]) -> tuple[str, tuple[Level, ...]]:
    table = document.table(place)
    if len(table) != 1:
        document.refuse(
            place,
            f"{'.'.join(place)} must name the one path that varies over the columns",
            hint='Write columns = { "load.connections" = [1, 8, 64] }.',
        )
    ((path, value),) = table.items()
    at = (*place, path)
    target = document.target(at, path)
    if not isinstance(value, list) or not value:
        document.refuse(at, f'the columns of "{path}" must be a list of levels')
    return target.path, tuple(_level(document, at, item) for item in value)


def _row(document: Document, place: Path, row: object, columns: int) -> PublishedRow:
    if not isinstance(row, dict):
        document.refuse(place, "a published row must be a table with cell and gain_percent")
    document.only(place, ("cell", "gain_percent", "figures"))
    keys = [key for key in ("gain_percent", "figures") if key in row]
    if len(keys) != 1:
        document.refuse(
            place,
            "a published row needs either gain_percent (over the baseline) or figures",
        )
    cell, is_gain = row.get("cell"), keys == ["gain_percent"]
    # Figures need no level; a gain belongs to a level.
    if not isinstance(cell, dict) or (not cell and is_gain):
        hint = 'Write cell = { "workload.points" = 10 }.'
        document.refuse(place, "a published row needs the cell that it belongs to", hint=hint)
    numbers = _numbers(document, place, keys[0], row[keys[0]], columns)
    if not is_gain and min(numbers) <= 0:
        document.refuse(place, "figures must be above 0, because they are shown as ratios")
    levels = {
        document.target(at := (*place, "cell", path), path).path: _level(document, at, level)
        for path, level in cell.items()
    }
    return PublishedRow(levels, *((numbers, ()) if is_gain else ((), numbers)))


def _numbers(
    document: Document, place: Path, key: str, values: object, columns: int
) -> tuple[float, ...]:
    """One number per column."""
    if not isinstance(values, list) or len(values) != columns:
        count = len(values) if isinstance(values, list) else "none"
        document.refuse(place, f"{key} must have one number per column: {columns}, not {count}")
    for value in values:
        if not is_number(value) or not abs(value) < sys.float_info.max:
            document.refuse(place, f"{key} must hold numbers, not {shown(value)}")
    return tuple(float(value) for value in values)


def _level(document: Document, place: Path, value: object) -> Level:
    level: Level = document.read(place, Key("", AnyLevel(), None, ""), value)  # type: ignore[assignment]
    return level
