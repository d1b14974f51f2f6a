"""Schemas: the tables that `contend-load fill` makes, as far as the lab must know them.

The content is contend-load's; here stand the names, what they are sized by, and which keys of
`[data]` mean something to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SCRIPT_SCHEMA = "script"
"""The schema of tables that a script's own `prepare` makes."""

SBTEST = "sbtest"

TEST_DATA = "test_data"

IMPORT_PREFIX = "import:"
"""The schema of tables that were imported: `import:NAME`."""

IMPORT_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"

COMMON_KEYS = ("schema", "engine", "seed", "table_options")
"""Keys of `[data]` that every schema has whose tables contend makes."""


@dataclass(frozen=True, slots=True)
class Schema:
    """Tables that belong together.

    Args:
        name: in an experiment file, and for contend-load.
        database: where the tables are, on a server of ours.
        tables: their names; empty if they are numbered, or a script makes them.
        views: names of the views.
        keys: of `[data]`, besides the common ones.
        common: keys that others have as well.
        own: those of the keys that are no other schema's; contend-load gets them by name.
        size_key: the key that says how much there is.
        rows: what `rows` is if nothing is said; None for the default of the key.
        rows_least: the fewest rows that it can have.
        rows_each: rows of all tables for each one that the size counts.
        row_bytes: about what a row takes on disk.
    """

    name: str
    database: str = SBTEST
    tables: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    keys: tuple[str, ...] = ("rows", "tables", "k")
    common: tuple[str, ...] = COMMON_KEYS
    own: Mapping[str, object] = field(default_factory=dict)
    size_key: str = "rows"
    rows: int | None = None
    rows_least: int = 1
    rows_each: float = 1.0
    row_bytes: int | None = None

    @property
    def journal(self) -> tuple[str, ...]:
        """The table in which contend-load tells how far it is, if the schema has one."""
        return (f"contend_{self.name}",) if self.tables else ()


_EMPLOYEES = 300_024

SCHEMAS: Mapping[str, Schema] = {
    schema.name: schema
    for schema in (
        Schema(SBTEST),
        Schema(
            "employees",
            database="employees",
            tables=(
                *("employees", "departments", "dept_manager", "dept_emp"),
                *("titles", "salaries"),
            ),
            views=("dept_emp_latest_date", "current_dept_emp"),
            keys=("rows", "emp_no_keys"),
            own={"emp_no_keys": False},
            rows=_EMPLOYEES,
            rows_least=100,
            rows_each=3_919_015 / _EMPLOYEES,
            row_bytes=60,
        ),
        Schema(
            TEST_DATA,
            database=TEST_DATA,
            tables=(TEST_DATA,),
            keys=("rows", "string_length"),
            own={"string_length": 36},
            row_bytes=190,
        ),
        Schema(
            "tpcc",
            database="tpcc",
            tables=(
                *("warehouse", "district", "customer", "history", "orders", "new_order"),
                *("order_line", "item", "stock"),
            ),
            keys=(
                *("warehouses", "partition_by", "partitions", "foreign_keys", "history_key"),
                "shrink",
            ),
            own={
                "warehouses": 1,
                "partition_by": "none",
                "partitions": 4,
                "foreign_keys": False,
                "history_key": False,
                "shrink": 1,
            },
            size_key="warehouses",
            rows_each=600_000,
            row_bytes=250,
        ),
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
    return Schema(name, database=imported, keys=(), common=("schema",))
