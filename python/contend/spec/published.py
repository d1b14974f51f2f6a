"""Figures of other machines, as an experiment file states them."""

from __future__ import annotations

import sys

from contend.errors import did_you_mean
from contend.metrics import THROUGHPUT
from contend.settings.values import AnyLevel, Key, Level, Refused, shown
from contend.spec.document import Document
from contend.spec.keys import MetricNames, resolve
from contend.spec.model import Published, PublishedRow

_KEYS = ("machine", "source", "metric", "columns", "rows")
_ROW_KEYS = ("cell", "gain_percent", "figures")


def read_published(document: Document) -> tuple[Published, ...]:
    """Every `[published.NAME]`, in file order."""
    return tuple(_one(document, name) for name in document.table(("published",)))


def _one(document: Document, name: str) -> Published:
    place = ("published", name)
    table = document.table(place)
    _only(document, place, table, _KEYS)
    columns_path, columns = _columns(document, (*place, "columns"))
    return Published(
        name=name,
        machine=_text(document, (*place, "machine"), table.get("machine", "")),
        source=_text(document, (*place, "source"), table.get("source", "")),
        columns_path=columns_path,
        columns=columns,
        rows=_rows(document, (*place, "rows"), table.get("rows", []), len(columns)),
        metric=_metric(document, (*place, "metric"), table.get("metric", THROUGHPUT)),
    )


def _metric(document: Document, place: tuple[str, ...], name: object) -> str:
    text = _text(document, place, name)
    document.read(place, Key("metric", MetricNames(), (THROUGHPUT,), ""), text)
    return text


def _only(
    document: Document,
    place: tuple[str | int, ...],
    table: dict[str, object],
    keys: tuple[str, ...],
) -> None:
    for key in table:
        if key not in keys:
            where = ".".join(str(part) for part in place)
            hint = did_you_mean(key, keys)
            document.refuse((*place, key), f'unknown key "{key}" in [{where}]', hint=hint)


def _columns(document: Document, place: tuple[str, ...]) -> tuple[str, tuple[Level, ...]]:
    table = document.table(place)
    if len(table) != 1:
        document.refuse(
            place,
            f"{'.'.join(place)} must name the one path that its columns vary",
            hint='Write columns = { "load.connections" = [1, 8, 64] }.',
        )
    ((path, value),) = table.items()
    target_path = _path(document, (*place, path), path)
    if not isinstance(value, list) or not value:
        document.refuse((*place, path), f'the columns of "{path}" must be a list of levels')
    return target_path, tuple(_level(document, (*place, path), item) for item in value)


def _rows(
    document: Document, place: tuple[str, ...], rows: object, columns: int
) -> tuple[PublishedRow, ...]:
    if not isinstance(rows, list):
        document.refuse(place, f"{'.'.join(place)} must be a list of tables, not {shown(rows)}")
    return tuple(_row(document, (*place, i), row, columns) for i, row in enumerate(rows))


def _row(
    document: Document, place: tuple[str | int, ...], row: object, columns: int
) -> PublishedRow:
    if not isinstance(row, dict):
        document.refuse(place, "a published row must be a table with cell and gain_percent")
    _only(document, place, row, _ROW_KEYS)
    cell = row.get("cell")
    given = [key for key in ("gain_percent", "figures") if key in row]
    if len(given) != 1:
        document.refuse(
            place,
            "a published row has gain_percent (over the baseline) or figures, one of them",
        )
    # Figures stand for themselves; a gain is that of a level.
    if not isinstance(cell, dict) or (not cell and given == ["gain_percent"]):
        hint = 'Write cell = { "workload.points" = 10 }.'
        document.refuse(place, "a published row needs the cell that it belongs to", hint=hint)
    numbers = _numbers(document, place, given[0], row[given[0]], columns)
    if given == ["figures"] and min(numbers) <= 0:
        document.refuse(place, "figures must be above 0: they are shown as ratios")
    return PublishedRow(
        cell={
            _path(document, (*place, "cell", path), path): _level(document, place, level)
            for path, level in cell.items()
        },
        gain_percent=numbers if given == ["gain_percent"] else (),
        figures=numbers if given == ["figures"] else (),
    )


def _numbers(
    document: Document, place: tuple[str | int, ...], key: str, values: object, columns: int
) -> tuple[float, ...]:
    """One number a column."""
    if not isinstance(values, list) or len(values) != columns:
        given = len(values) if isinstance(values, list) else "none"
        document.refuse(place, f"{key} must have one number a column: {columns}, not {given}")
    for value in values:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not abs(value) < sys.float_info.max:
            document.refuse(place, f"{key} must hold numbers, not {shown(value)}")
    return tuple(float(value) for value in values)


def _path(document: Document, place: tuple[str | int, ...], path: str) -> str:
    try:
        return resolve(path).path
    except Refused as refused:
        document.refuse(place, refused.reason, hint=refused.hint)


def _level(document: Document, place: tuple[str | int, ...], value: object) -> Level:
    try:
        return AnyLevel().read(value)
    except Refused as refused:
        document.refuse(place, f"a level {refused.reason}")


def _text(document: Document, place: tuple[str, ...], value: object) -> str:
    if not isinstance(value, str):
        document.refuse(place, f"{'.'.join(place)} must be text in quotes, not {shown(value)}")
    return value
