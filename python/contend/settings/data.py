"""The tables and their content."""

from __future__ import annotations

from contend.settings.model import Need, Setting
from contend.settings.values import Choice, Key, Text, Whole


def _of_data(key: Key) -> Setting:
    return Setting("data", key, need=Need.DATA, lasts=Need.DATA)


DATA = tuple(
    _of_data(key)
    for key in (
        Key(
            "schema",
            Choice(("sbtest", "script")),
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
