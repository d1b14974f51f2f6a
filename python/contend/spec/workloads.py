"""Which workloads there are, and what each can be told.

The load generator's plan is the source of these kinds; a test holds this table equal to the
schema that it prints. Repeating it here lets a file be checked, and an editor complete it,
without starting a program. `rows`, `table` and `tables` are missing on purpose: they
follow from `[data]`.
"""

from __future__ import annotations

from contend.spec.values import Flag, Key, Options, Real, Tagged, Text, Whole

SCRIPT = "lua"
"""The kind of workload that is a sysbench script."""

STATEMENTS = "sql"
"""The kind of workload that is the user's own statements; its tables are named in them."""

SUPPLIED = frozenset({"rows", "table", "tables"})
"""Parameters of the plan that the lab fills in from the dataset."""

_ITER = Key("iter", Whole(1, 1000), 12, "how many uniform draws are averaged")

DISTRIBUTION = Tagged(
    noun="distribution",
    default_kind="uniform",
    kinds={
        "uniform": (),
        "gaussian": (_ITER,),
        "special": (
            _ITER,
            Key("pct", Whole(1, 100), 1, "size of the hot middle, in percent of the range"),
            Key("res", Whole(0, 100), 75, "how many percent of the draws fall in the hot middle"),
        ),
        "pareto": (Key("h", Real(0.0, 1.0), 0.2, "shape: smaller is more skewed"),),
        "zipfian": (Key("exp", Real(0.0, 100.0), 0.8, "exponent: larger is more skewed"),),
    },
    descriptions={
        "uniform": "every key equally likely",
        "gaussian": "the mean of `iter` uniform draws: a bell around the middle",
        "special": "`res` percent of the draws in the middle `pct` percent, the rest gaussian",
        "pareto": "a few keys take most draws, as a power law",
        "zipfian": "the i-th most frequent key is drawn in proportion to 1 / i^exp",
    },
)

_DISTRIBUTION_KEY = Key("distribution", DISTRIBUTION, {"kind": "uniform"}, "how keys are drawn")


def _count(name: str, default: int, means: str) -> Key:
    return Key(name, Whole(0, 100_000), default, means)


_TRANSACTION_KEY = Key("transaction", Flag(), True, "BEGIN before and COMMIT after the statements")
_READS = (
    _count("point_selects", 10, "point selects of an event"),
    Key("range_size", Whole(1), 100, "rows of a range"),
    _count("simple_ranges", 1, "range selects of an event"),
    _count("sum_ranges", 1, "selects of a range's sum in an event"),
    _count("order_ranges", 1, "selects of a range in order in an event"),
    _count("distinct_ranges", 1, "selects of a range's distinct values in an event"),
)
_WRITES = (
    _count("index_updates", 1, "updates of the indexed column in an event"),
    _count("non_index_updates", 1, "updates of another column in an event"),
    _count("delete_inserts", 1, "pairs of a DELETE and an INSERT of the same row in an event"),
)

WORKLOAD = Tagged(
    noun="workload",
    default_kind="point_select",
    kinds={
        "point_select": (_DISTRIBUTION_KEY,),
        "random_points": (
            Key("points", Whole(1, 65_535), 10, "how many keys one query asks for"),
            _DISTRIBUTION_KEY,
        ),
        "random_ranges": (
            Key("ranges", Whole(1, 32_767), 10, "how many ranges one query asks for"),
            Key("delta", Whole(0), 5, "width of each range"),
            _DISTRIBUTION_KEY,
        ),
        "read_only": (_DISTRIBUTION_KEY, _TRANSACTION_KEY, *_READS),
        "read_write": (_DISTRIBUTION_KEY, _TRANSACTION_KEY, *_READS, *_WRITES),
        "write_only": (_DISTRIBUTION_KEY, _TRANSACTION_KEY, *_WRITES),
        "update_index": (_DISTRIBUTION_KEY,),
        "update_non_index": (_DISTRIBUTION_KEY,),
        "delete": (_DISTRIBUTION_KEY,),
        "insert": (
            Key(
                "auto_increment",
                Flag(),
                True,
                "the server numbers new rows; if not, event n inserts the id rows + 1 + n",
            ),
            _DISTRIBUTION_KEY,
        ),
        "bulk_insert": (
            Key("batch", Whole(1, 21_845), 1000, "new rows of one statement"),
            Key(
                "bulk_execute",
                Flag(),
                False,
                "MariaDB: one execution of a prepared statement carries the batch "
                "(COM_STMT_BULK_EXECUTE)",
            ),
            _DISTRIBUTION_KEY,
        ),
        STATEMENTS: (
            Key(
                "text",
                Text(),
                None,
                "statements with placeholders, in the grammar of the page on the sql workload",
                required=True,
            ),
        ),
        SCRIPT: (
            Key(
                "script",
                Text(r"[^\x00-\x1f]+", "a bundled script's name, or the path of a file"),
                None,
                "a bundled script by name, or a file: its path, from the folder of this file, has "
                "a slash or ends in .lua",
                required=True,
            ),
            Key("options", Options(), {}, "options of the script"),
        ),
    },
    descriptions={
        "point_select": "SELECT c FROM sbtest WHERE id = ?",
        "random_points": "SELECT id, k, c, pad FROM sbtest WHERE k IN (?, …)",
        "random_ranges": "SELECT COUNT(k) FROM sbtest WHERE k BETWEEN ? AND ? OR …",
        "read_only": "a transaction of reads",
        "read_write": "a transaction of reads and then writes",
        "write_only": "a transaction of writes",
        "update_index": "UPDATE sbtest SET k = k + 1 WHERE id = ?",
        "update_non_index": "UPDATE sbtest SET c = ? WHERE id = ?",
        "delete": "DELETE FROM sbtest WHERE id = ?",
        "insert": "one new row",
        "bulk_insert": "one statement of many new rows",
        STATEMENTS: "statements of your own",
        SCRIPT: "a sysbench script: one of its threads a connection, each query of it counted, "
        "each `event()` an event",
    },
)
