"""The tables and their content, the queries on them, and whether those may change their rows.

Runs are compared, so each must find the same rows. A workload that may write is assumed to change
them: the lab then makes the tables again, or marks the runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from contend.errors import RequestError
from contend.experiment.settings.load import ends_with_its_work
from contend.experiment.settings.model import Differs, Need, Setting, Target, Values
from contend.experiment.settings.own_statements import own_statements
from contend.experiment.settings.plan_keys import (
    RECORDED,
    SCHEMA_OF,
    SCRIPT,
    STATEMENTS,
    WORKLOAD,
    WRITES,
)
from contend.experiment.settings.schemas import (
    IMPORT_NAME,
    IMPORT_PREFIX,
    SCHEMAS,
    SCRIPT_SCHEMA,
    imported_name,
    of_data,
    schema_of,
)
from contend.experiment.settings.values import BaseKind, Choice, Refused, Text, WholeNumber, shown

ENGINES = ("InnoDB", "MyISAM", "Aria", "RocksDB")
"""Storage engines, as a server spells them."""


@dataclass(frozen=True, slots=True)
class SchemaName(BaseKind):
    """The name of tables that contend makes, or of imported ones."""

    made: Choice

    def read(self, value: object) -> str:
        name = imported_name(value) if isinstance(value, str) else None
        if name is None:
            return self.made.read(value)
        if re.fullmatch(IMPORT_NAME, name) is None:
            raise self.wrong(value)
        return f"{IMPORT_PREFIX}{name}"

    def expected(self) -> str:
        return f'{self.made.expected()}, or "{IMPORT_PREFIX}NAME"'

    def schema(self) -> dict[str, Any]:
        imported = {"type": "string", "pattern": f"^{IMPORT_PREFIX}{IMPORT_NAME}$"}
        return {"anyOf": [self.made.schema(), imported]}


@dataclass(frozen=True)
class Which(Setting):
    """Which tables: an import is a copy of files, which only a private server can get."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        if not own and imported_name(cell[self.path]) is not None:
            raise RequestError(
                f"{self.path} = {shown(cell[self.path])} needs a private server",
                hint="Leave --server out to use a private server.",
            )

    def why_not_in_slices(self, cell: Values) -> str | None:
        if cell[self.path] == SCRIPT_SCHEMA:
            return "a script that makes its own tables makes them on one server only"
        return None


def _enough_rows(cell: Values) -> None:
    schema = schema_of(cell["data.schema"])
    if cell["data.rows"] < schema.rows_least:
        raise Refused(f"must be {schema.rows_least} or more for the schema {schema.name}")


DATA = (
    Which.of(
        "data",
        "schema",
        SchemaName(Choice(tuple(SCHEMAS))),
        "sbtest",
        "the tables: sbtest (like sysbench 0.5: no column NULL, latin1, for MyISAM "
        "MAX_ROWS=50000000), employees (the sample database of that name), test_data (from the "
        "study of warming), tpcc (the nine tables of TPC-C), script (made by the script's own "
        "prepare) or import:NAME (from a dump that `contend data import` keeps as NAME)",
        need=Need.DATA,
        lasts=Need.DATA,
    ),
    of_data("engine", Choice(ENGINES), "InnoDB", "storage engine of the tables"),
    of_data(
        "rows",
        WholeNumber(1),
        10_000,
        "rows of each table; for employees the number of employees, at least 100 (default: all "
        "300,024)",
        _enough_rows,
    ),
    of_data(
        "tables",
        WholeNumber(1, 10_000),
        None,
        "number of tables: sbtest1, sbtest2 and so on (default: the one table sbtest; for "
        "scripts, sbtest1)",
    ),
    of_data("seed", WholeNumber(0), 1, "seed of the rows' content"),
    of_data(
        "k",
        Choice(("row_number", "random")),
        "row_number",
        "content of the indexed column k: row_number (unique, in file order, like sysbench 0.5) or "
        "random (like sysbench 1.0)",
    ),
    of_data("table_options", Text(), "", "options appended to each CREATE TABLE"),
    *(setting for schema in SCHEMAS.values() for setting in schema.own),
)


_READING_SCRIPTS = frozenset(
    {"oltp_point_select", "oltp_read_only", "select_random_points", "select_random_ranges"}
)

_WRITING_WORDS = re.compile(
    r"\b(ALTER|ANALYZE|CALL|CREATE|DELETE|DROP|EXECUTE|IMPORT|INSERT|LOAD|MERGE|OPTIMIZE|RENAME"
    r"|REPAIR|REPLACE|TRUNCATE|UPDATE)\b",
    re.IGNORECASE,
)
"""Statements without any of these words change no table, independent of the words' position."""


def may_write(kind: str, parameters: Mapping[str, object]) -> bool:
    """Whether a run may change the rows. A user's own script may."""
    if kind == SCRIPT:
        return parameters.get("script") not in _READING_SCRIPTS
    if kind == RECORDED:
        return bool(parameters.get("writes"))
    known = WRITES.get(kind)
    if known is not None:
        return known
    return writing_share(kind, parameters) > 0


def writing_share(kind: str, parameters: Mapping[str, object]) -> float:
    """The share of events that may change the rows, from 0 to 1.

    It is known for scripts of statements that give the share of each writing event.
    """
    if kind in (SCRIPT, RECORDED) or WRITES.get(kind) is not None:
        return float(may_write(kind, parameters))
    if not any(_WRITING_WORDS.search(text) for text in _texts(parameters.values())):
        return 0.0
    shares = parameters.get("shares")
    if not isinstance(shares, Mapping):
        return 1.0
    statements = own_statements({"kind": kind, **parameters})
    writing = {one.event for one in statements if _WRITING_WORDS.search(one.text)}
    if not writing <= shares.keys():
        return 1.0
    return sum(int(shares[name]) for name in writing) / 100


def may_ask(cell: Values, tables: Iterable[str]) -> bool:
    """Whether a cell may touch any of these tables: the user's own statements only touch tables
    that they name."""
    kind = cell["workload"]["kind"]
    if kind not in STATEMENTS or kind in SCHEMA_OF:
        return True
    steps = [[step["do"], step["undo"]] for step in cell["setup"]]
    texts = _texts([*cell["workload"].values(), cell["server.before_run"], *steps])
    words = {word for text in texts for word in re.findall(r"\w+", text.lower())}
    return not words.isdisjoint(table.lower() for table in tables)


def _texts(values: Iterable[object]) -> Iterator[str]:
    """The statements among the parameters, under any name."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from _texts(value)


@dataclass(frozen=True)
class WorkloadSetting(Setting):
    """The kind of workload and its parameters."""

    def why_not_in_slices(self, cell: Values) -> str | None:
        workload = cell[self.path]
        is_known = WRITES.get(workload["kind"]) is not None
        if ends_with_its_work(cell) and not is_known and may_write(workload["kind"], workload):
            return (
                "work that has an end is compared in turns, and these statements may write: each "
                "turn would find the changes of those before it"
            )
        return None

    def between(self, before: Values, after: Values) -> Need:
        # A script with its own schema makes its tables itself.
        own_tables = after["data.schema"] == SCRIPT_SCHEMA
        other = before[self.path].get("script") != after[self.path].get("script")
        return Need.DATA if own_tables and other else Need.NOTHING

    def apply(self, target: Target, cell: Values) -> None:
        workload = cell[self.path]
        if may_write(workload["kind"], workload):
            target.expect_writes()


SETTING = WorkloadSetting.of(
    "",
    "workload",
    WORKLOAD,
    {"kind": WORKLOAD.default_kind},
    "the queries, by kind",
    each_run=True,
    differs=Differs.QUERIES,
)
