"""The data of an experiment: what its schema says of itself, and what means nothing to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contend.errors import did_you_mean
from contend.settings.plan_keys import SCHEMA_OF, SCRIPT, STATEMENTS
from contend.settings.schemas import Schema, imported_name, schema_of
from contend.settings.values import Level
from contend.spec.document import Document
from contend.spec.model import Factor

_SECTION = "data."

_OF_A_DUMP = (
    "It has the tables, rows and engines of its dump. `contend data import --engine` gives them "
    "another engine, under another name; data.schema can be a factor."
)


def with_data_of_schema(
    document: Document, values: dict[str, Any], factors: tuple[Factor, ...]
) -> dict[str, Any]:
    """`values` with the size that the schema has if nothing is said.

    Raises:
        SpecError: a key means nothing to the schema, or the workload asks other tables.
    """
    levels = {factor.path: factor.levels for factor in factors}
    schemas = [schema_of(str(name)) for name in _levels(levels, "data.schema", values)]
    given = {
        **{f"{_SECTION}{name}": ("data", name) for name in document.table(("data",))},
        **{path: ("factors", path) for path in levels if path.startswith(_SECTION)},
    }
    for path, place in given.items():
        _check_key(document, place, path.removeprefix(_SECTION), schemas)
    kinds = levels.get("workload.kind", (values["workload"]["kind"],))
    _check_kinds(document, [str(kind) for kind in kinds], schemas)
    usual = {schema.rows for schema in schemas}
    if "data.rows" not in given and len(usual) == 1 and (rows := usual.pop()) is not None:
        return {**values, "data.rows": rows}
    return values


def _levels(
    levels: Mapping[str, tuple[Level, ...]], path: str, values: Mapping[str, Any]
) -> tuple[Level, ...]:
    return levels.get(path, (values[path],))


def _check_key(
    document: Document, place: tuple[str, ...], name: str, schemas: list[Schema]
) -> None:
    """A key must mean something to one of the schemas; a factor to all of them."""
    knows = [name in (*schema.common, *schema.keys) for schema in schemas]
    if all(knows) or (any(knows) and place[0] == "data"):
        return
    schema = next(schema for schema, known in zip(schemas, knows, strict=True) if not known)
    document.refuse(
        place,
        f'data.{name} means nothing to the schema "{schema.name}"',
        hint=_OF_A_DUMP
        if imported_name(schema.name) is not None
        else did_you_mean(name, schema.keys) or f"It has {', '.join(schema.keys)}.",
    )


def _check_kinds(document: Document, kinds: list[str], schemas: list[Schema]) -> None:
    """Most kinds ask the tables of sbtest."""
    for asking in kinds:
        other = next((schema.name for schema in schemas if not _may_ask(asking, schema.name)), None)
        if other is not None:
            wanted = SCHEMA_OF[asking]
            document.refuse(
                ("workload", "kind") if "kind" in document.table(("workload",)) else ("workload",),
                f'workload "{asking}" asks the tables of {wanted}, and data.schema is "{other}"',
                hint=f'Write schema = "{wanted}" in [data], or take another kind of workload.',
            )
    own = next((schema for schema in schemas if schema.tables or imported_name(schema.name)), None)
    takes_scripts = own is not None and own.scripts
    fits = STATEMENTS | SCHEMA_OF.keys() | ({SCRIPT} if takes_scripts else set())
    kind = next((kind for kind in kinds if kind not in fits), None)
    if own is not None and kind is not None:
        document.refuse(
            ("data", "schema"),
            f'workload "{kind}" asks the tables of sbtest, and the schema is "{own.name}"',
            hint=f'Write kind = "{own.kind}" in [workload], or take statements of your own ("sql").'
            if own.kind is not None
            else 'Take a workload of statements of your own, such as "sql".',
        )


def _may_ask(kind: str, schema: str) -> bool:
    """Which tables an import has nobody knows before they are looked at."""
    wanted = SCHEMA_OF.get(kind)
    if wanted is None or wanted == schema:
        return True
    return schema_of(wanted).in_dumps and imported_name(schema) is not None
