"""Schemas: the tables that `contend-load fill` makes, as far as the lab must know them.

The content is contend-load's. This module has the names, the units of size, and the schemas' keys
of `[data]`, which are settings like all others. A new schema is a `Schema` and a line of `SCHEMAS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from contend.experiment.settings.model import Need, Setting, Values
from contend.experiment.settings.values import Choice, Flag, Key, Refused, ValueKind, WholeNumber

COMMON_KEYS = ("schema", "engine", "seed", "table_options")
"""Keys of `[data]` of every schema whose tables contend makes."""


@dataclass(frozen=True)
class DataKey(Setting):
    """A key of `[data]`; `test` checks that its value fits the rest of the cell."""

    test: Callable[[Values], None] = lambda _cell: None

    def check(self, cell: Values) -> None:
        self.test(cell)


def of_data(
    name: str,
    kind: ValueKind,
    default: object,
    means: str,
    test: Callable[[Values], None] = lambda _cell: None,
) -> DataKey:
    """A key on which the content of the tables depends. `test` raises Refused."""
    key = Key(name, kind, default, means)
    return DataKey("data", key, need=Need.DATA, lasts=Need.DATA, test=test)


@dataclass(frozen=True)
class Schema:
    """Tables that belong together.

    Args:
        name: in an experiment file, and for contend-load.
        database: the database of the tables on a private server.
        tables: their names; empty if they are numbered, or a script makes them.
        own: keys of `[data]` that only this schema has; contend-load gets them by name.
        more: keys shared with some other schemas.
        common: keys that all have.
        supplied: the keys that a workload's plan has too, and gets from the data.
        size_key: the key for the size.
        rows: default for `rows`; None for the default of the key.
        rows_least: minimum number of rows.
        rows_each: rows of all tables per unit of size.
        row_bytes: approximate bytes of a row on disk.
        kind: of the workload that queries its tables; None: the kinds that query the tables of
            sbtest, or none.
        scripts: a user's own script may query its tables.
        in_dumps: a dump may have its tables, so its kind of workload may query an import.
        owned_by: the column that decides which of several servers has a row, by the table's name;
            tables without one are complete on each. The keys are those of `size_key`, from 1 on.
    """

    name: str
    database: str = "sbtest"
    tables: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    own: tuple[Setting, ...] = ()
    more: tuple[str, ...] = ("rows", "tables", "k")
    common: tuple[str, ...] = COMMON_KEYS
    supplied: tuple[str, ...] = ()
    size_key: str = "rows"
    rows: int | None = None
    rows_least: int = 1
    rows_each: float = 1.0
    row_bytes: int | None = None
    kind: str | None = None
    scripts: bool = False
    in_dumps: bool = False
    owned_by: Mapping[str, str] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of `[data]` that it uses, besides the common ones."""
        return (*self.more, *(setting.key.name for setting in self.own))

    @property
    def journal(self) -> tuple[str, ...]:
        """The table in which contend-load records its progress, if the schema has one."""
        return (f"contend_{self.name}",) if self.tables else ()

    def rows_in_all(self, size: int, own: Mapping[str, Any]) -> int:
        """Approximate rows of all tables together, from its size and its own keys."""
        del own
        return round(size * self.rows_each)

    def smallest(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """Its own keys for tables with very few rows that accept the same statements."""
        return dict(own)


_EMPLOYEES = 300_024

EMPLOYEES = Schema(
    "employees",
    database="employees",
    tables=(*("employees", "departments", "dept_manager", "dept_emp"), *("titles", "salaries")),
    views=("dept_emp_latest_date", "current_dept_emp"),
    more=("rows",),
    own=(
        of_data(
            "emp_no_keys",
            Flag(),
            False,
            "employees: the plain keys on emp_no that release 1.0.6 had besides the primary keys",
        ),
    ),
    rows=_EMPLOYEES,
    rows_least=100,
    rows_each=3_919_015 / _EMPLOYEES,
    row_bytes=60,
)


TEST_DATA = Schema(
    "test_data",
    database="test_data",
    tables=("test_data",),
    more=("rows",),
    own=(
        of_data(
            "string_length",
            WholeNumber(10, 74),
            36,
            "test_data: characters per string (not published in the study)",
        ),
    ),
    supplied=("rows", "string_length"),
    row_bytes=190,
    kind="string_lookup",
)


TPCC = "tpcc"
"""The schema of TPC-C, and the kind of workload with its transactions."""


@dataclass(frozen=True)
class Warehouses(Schema):
    """Sized in warehouses; partitions by value need one each."""

    def rows_in_all(self, size: int, own: Mapping[str, Any]) -> int:
        return round(size * self.rows_each / int(own["shrink"]))

    def smallest(self, own: Mapping[str, Any]) -> dict[str, Any]:
        return {**own, "warehouses": min(own["warehouses"], own["partitions"]), "shrink": 100}


def _warehouses_of_workload(cell: Values) -> None:
    """A workload that does not give the number uses the data's."""
    loaded = cell["data.warehouses"]
    for name in ("warehouses", "first_warehouse", "last_warehouse"):
        wanted = cell["workload"].get(name)
        if cell["data.schema"] == TPCC and wanted is not None and wanted > loaded:
            raise Refused(
                f"workload.{name} is {wanted}, but data.warehouses is {loaded}",
                hint=f"Write warehouses = {wanted} in [data], or leave workload.{name} out.",
                whole=True,
            )


def _enough_warehouses(cell: Values) -> None:
    by_value = cell["data.partition_by"] in ("range", "list")
    if by_value and cell["data.partitions"] > cell["data.warehouses"]:
        raise Refused(
            f"must be at most {cell['data.warehouses']}: partitions by "
            f"{cell['data.partition_by']} need a warehouse each"
        )


def _foreign_keys(cell: Values) -> None:
    if not cell["data.foreign_keys"]:
        return
    if cell["data.engine"] != "InnoDB":
        raise Refused(
            f"data.foreign_keys: {cell['data.engine']} has no foreign keys",
            hint='Leave foreign_keys out, or write engine = "InnoDB".',
            whole=True,
        )
    if cell["data.partition_by"] != "none":
        raise Refused(
            "data.foreign_keys and data.partition_by exclude each other: InnoDB has no foreign "
            "keys from or to partitioned tables",
            hint="Leave one of them out.",
            whole=True,
        )


def _share(cell: Values) -> None:
    first, last = (cell[f"data.{name}_warehouse"] for name in ("first", "last"))
    there = cell["data.warehouses"]
    if (first or 1) > (last or there) or (last or there) > there:
        raise Refused(
            f"data.first_warehouse and last_warehouse: {first or 1} to {last or there} is not a "
            f"range of the warehouses 1 to {there}",
            whole=True,
        )


_TPCC = Warehouses(
    TPCC,
    database=TPCC,
    tables=(
        *("warehouse", "district", "customer", "history", "orders", "new_order"),
        *("order_line", "item", "stock"),
    ),
    more=(),
    own=(
        of_data(
            "warehouses",
            WholeNumber(1, 100_000),
            1,
            "tpcc: number of warehouses, about 100 MB each",
            _warehouses_of_workload,
        ),
        of_data(
            "first_warehouse",
            WholeNumber(1, 100_000),
            None,
            "tpcc: the first warehouse of this server, if several share them; a topology divides "
            "them itself (default: 1)",
            _share,
        ),
        of_data(
            "last_warehouse",
            WholeNumber(1, 100_000),
            None,
            "tpcc: the last warehouse of this server (default: the last of all)",
        ),
        of_data(
            "partition_by",
            Choice(("none", "hash", "key", "range", "list")),
            "none",
            "tpcc: how all tables except item are partitioned by warehouse",
        ),
        of_data(
            "partitions",
            WholeNumber(1, 1024),
            4,
            "tpcc: number of partitions",
            _enough_warehouses,
        ),
        of_data(
            "foreign_keys",
            Flag(),
            False,
            "tpcc: the specification's foreign keys (InnoDB)",
            _foreign_keys,
        ),
        of_data(
            "history_key",
            Flag(),
            False,
            "tpcc: a primary key for history, which has none in the specification",
        ),
        of_data(
            "shrink",
            WholeNumber(1, 100),
            1,
            "tpcc, for a trial: divisor of the numbers of customers, orders and items",
        ),
    ),
    size_key="warehouses",
    rows_each=600_000,
    row_bytes=250,
    kind=TPCC,
    scripts=True,
    in_dumps=True,
    owned_by={
        "warehouse": "w_id",
        "district": "d_w_id",
        "customer": "c_w_id",
        "history": "h_w_id",
        "orders": "o_w_id",
        "new_order": "no_w_id",
        "order_line": "ol_w_id",
        "stock": "s_w_id",
    },
)


SCRIPT_SCHEMA = "script"
"""The schema of tables that a script's own `prepare` makes."""

SBTEST = "sbtest"

IMPORT_PREFIX = "import:"
"""Prefix of the schema of imported tables: `import:NAME`."""

IMPORT_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"

SCHEMAS: Mapping[str, Schema] = {
    schema.name: schema
    for schema in (
        Schema(SBTEST, supplied=("rows", "tables")),
        EMPLOYEES,
        TEST_DATA,
        _TPCC,
        Schema(SCRIPT_SCHEMA),
    )
}


def imported_name(schema: str) -> str | None:
    """The name of a schema's import; None if it is not an import."""
    return schema.removeprefix(IMPORT_PREFIX) if schema.startswith(IMPORT_PREFIX) else None


def schema_of(name: str) -> Schema:
    """The definition of a schema by its name; an import has the tables, engines and rows of its
    dump."""
    imported = imported_name(name)
    if imported is None:
        return SCHEMAS[name]
    return Schema(name, database=imported, more=(), common=("schema",), scripts=True)
