"""Schemas: the tables that `contend-load fill` makes, as far as the lab must know them.

The content is contend-load's. Here stand the names, what the tables are sized by, and the keys of
`[data]` that mean something to them: each schema in one file, and one line of `SCHEMAS`.
"""

from __future__ import annotations

from collections.abc import Mapping

from contend.settings.schemas import employees, test_data, tpcc
from contend.settings.schemas.model import Schema

SCRIPT_SCHEMA = "script"
"""The schema of tables that a script's own `prepare` makes."""

SBTEST = "sbtest"

IMPORT_PREFIX = "import:"
"""The schema of tables that were imported: `import:NAME`."""

IMPORT_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"

SCHEMAS: Mapping[str, Schema] = {
    schema.name: schema
    for schema in (
        Schema(SBTEST, supplied=("rows", "tables")),
        employees.SCHEMA,
        test_data.SCHEMA,
        tpcc.SCHEMA,
        Schema(SCRIPT_SCHEMA),
    )
}


def imported_name(schema: str) -> str | None:
    """The name of the import that a schema is; None if it is none."""
    return schema.removeprefix(IMPORT_PREFIX) if schema.startswith(IMPORT_PREFIX) else None


def schema_of(name: str) -> Schema:
    """What is known of a schema by its name: of an import that its tables, engines and rows are
    those of a dump."""
    imported = imported_name(name)
    if imported is None:
        return SCHEMAS[name]
    return Schema(name, database=imported, more=(), common=("schema",), scripts=True)
