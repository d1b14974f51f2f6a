"""The tables and their content, what is asked of them, and whether that may change their rows.

Runs are compared, so each must find the same rows. What may write is not trusted to have left
them: whoever plays the cells makes the tables anew after it, or marks the runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from contend.settings.model import Need, Setting, Target, Values
from contend.settings.plan_keys import SCRIPT, WORKLOAD, WRITES
from contend.settings.values import Choice, Key, Text, Whole

SCRIPT_SCHEMA = "script"
"""The schema of tables that a script's own `prepare` makes."""


def _of_data(key: Key) -> Setting:
    return Setting("data", key, need=Need.DATA, lasts=Need.DATA)


DATA = tuple(
    _of_data(key)
    for key in (
        Key(
            "schema",
            Choice(("sbtest", SCRIPT_SCHEMA)),
            "sbtest",
            "which tables are made: sbtest (as sysbench 0.5 made it: no column NULL, latin1, for "
            "MyISAM MAX_ROWS=50000000), or those of the script's own prepare",
        ),
        Key(
            "engine",
            Choice(("InnoDB", "MyISAM", "Aria", "RocksDB")),
            "InnoDB",
            "storage engine of the tables",
        ),
        Key("rows", Whole(1), 10_000, "rows of each table"),
        Key(
            "tables",
            Whole(1, 10_000),
            None,
            "number of tables, sbtest1, sbtest2 and so on (default: the one table sbtest; for a "
            "script 1, so sbtest1)",
        ),
        Key("seed", Whole(0), 1, "seed of the rows' content"),
        Key(
            "k",
            Choice(("row_number", "random")),
            "row_number",
            "how the indexed column k is filled: row_number (unique, in file order, as sysbench "
            "0.5 did) or random (as sysbench 1.0 does)",
        ),
        Key("table_options", Text(), "", "options appended to CREATE TABLE"),
    )
)


_READING_SCRIPTS = frozenset(
    {"oltp_point_select", "oltp_read_only", "select_random_points", "select_random_ranges"}
)

_WRITING_WORDS = re.compile(
    r"\b(ALTER|ANALYZE|CALL|CREATE|DELETE|DROP|EXECUTE|IMPORT|INSERT|LOAD|MERGE|OPTIMIZE|RENAME"
    r"|REPAIR|REPLACE|TRUNCATE|UPDATE)\b",
    re.IGNORECASE,
)
"""Statements without any of these words change no table, wherever in them the word would stand."""


def may_write(kind: str, parameters: Mapping[str, object]) -> bool:
    """Whether a run of it may leave other rows than it found. A script of the user's own may."""
    if kind == SCRIPT:
        return parameters.get("script") not in _READING_SCRIPTS
    known = WRITES.get(kind)
    if known is not None:
        return known
    return any(_WRITING_WORDS.search(text) for text in _texts(parameters.values()))


def _texts(values: Iterable[object]) -> Iterator[str]:
    """The statements among the parameters, whatever they are called there."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from _texts(value)


@dataclass(frozen=True)
class Workload(Setting):
    """The kind of workload and its parameters."""

    def between(self, before: Values, after: Values) -> Need:
        # The tables of a script's own are made by the script.
        own_tables = after["data.schema"] == SCRIPT_SCHEMA
        other = before[self.path].get("script") != after[self.path].get("script")
        return Need.DATA if own_tables and other else Need.NOTHING

    def apply(self, target: Target, cell: Values) -> None:
        workload = cell[self.path]
        # Tables of a script's own are the script's to look after; its prepare may take hours.
        if cell["data.schema"] != SCRIPT_SCHEMA and may_write(workload["kind"], workload):
            target.expect_writes()


SETTING = Workload(
    "",
    Key("workload", WORKLOAD, {"kind": WORKLOAD.default_kind}, "what is asked of the server"),
    each_run=True,
)
