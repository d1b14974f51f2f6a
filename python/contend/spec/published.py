"""Figures of other machines, as an experiment file states them."""

from __future__ import annotations

import sys

from contend.errors import did_you_mean
from contend.settings.values import AnyLevel, Level, Refused, shown
from contend.spec.document import Document
from contend.spec.model import Published, PublishedRow
from contend.spec.paths import resolve

_KEYS = ("machine", "source", "columns", "rows")
_ROW_KEYS = ("cell", "gain_percent")


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
    )


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
    cell, gains = row.get("cell"), row.get("gain_percent")
    if not isinstance(cell, dict) or not cell:
        hint = 'Write cell = { "workload.points" = 10 }.'
        document.refuse(place, "a published row needs the cell that it belongs to", hint=hint)
    if not isinstance(gains, list) or len(gains) != columns:
        given = len(gains) if isinstance(gains, list) else "none"
        document.refuse(
            place, f"gain_percent must have one number a column: {columns}, not {given}"
        )
    for gain in gains:
        is_number = isinstance(gain, int | float) and not isinstance(gain, bool)
        if not is_number or not abs(gain) < sys.float_info.max:
            document.refuse(place, f"gain_percent must hold numbers, not {shown(gain)}")
    return PublishedRow(
        cell={
            _path(document, (*place, "cell", path), path): _level(document, place, level)
            for path, level in cell.items()
        },
        gain_percent=tuple(float(gain) for gain in gains),
    )


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
