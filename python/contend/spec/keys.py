"""Every key of an experiment file, in one table.

The reader, the overrides, the factors, the JSON Schema and the reference page are all made from
it, so that a key is added in one place.
"""

from __future__ import annotations

from contend.metrics import THROUGHPUT
from contend.spec.metric_names import MetricNames
from contend.spec.values import Choice, Duration, Key, Real, Text, Whole

NAME = Text(r"[A-Za-z0-9][A-Za-z0-9._-]*", "letters, digits, '.', '_' and '-', for folder names")
OPTION_NAME = r"[A-Za-z][A-Za-z0-9_.-]*"

EXPERIMENT = (
    Key("name", NAME, None, "short name; run folders carry it (default: the file's name)"),
    Key("question", Text(), "", "what the experiment asks, one sentence"),
    Key(
        "explain",
        Choice(("segmented-key-cache",)),
        None,
        "which analysis of the cause the report adds",
    ),
)

SERVER = (
    Key("kind", Choice(("mariadb", "mysql")), "mariadb", "which server a private one is"),
    Key(
        "change",
        Choice(("in_place", "restart")),
        "restart",
        "how an option that differs between cells is changed: in_place (SET GLOBAL, for dynamic "
        "variables only) or restart",
    ),
)

DATA = (
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
        "how the indexed column k is filled: row_number (unique, in file order, as sysbench 0.5 "
        "did) or random (as sysbench 1.0 does)",
    ),
    Key("table_options", Text(), "", "options appended to CREATE TABLE"),
)

ENGINES = ("epoll", "io_uring")

LOAD = (
    Key("connections", Whole(1, 100_000), 1, "connections that send queries at the same time"),
    Key(
        "threads",
        Whole(1, 1024),
        None,
        "worker threads of the load generator (default: one a CPU, if each has a connection)",
    ),
    Key("warmup", Duration(zero_allowed=True), 1.0, "load before the measured window"),
    Key("measure", Duration(), 5.0, "length of the measured window"),
    Key(
        "interval",
        Duration(zero_allowed=True),
        1.0,
        "length of the intervals reported while a run lasts; 0: none",
    ),
    Key(
        "protocol",
        Choice(("prepared", "text")),
        "prepared",
        "prepared: binary protocol, statements prepared once a connection; text: plain queries",
    ),
    Key(
        "engine",
        Choice(("auto", *ENGINES)),
        "auto",
        "how the load generator waits for its sockets: auto (io_uring if this host allows it, else "
        "epoll), chosen once for all cells; as a factor each level names one",
        level_kind=Choice(ENGINES),
    ),
    Key("seed", Whole(0), 1, "seed of the queries' random streams and of the order of the runs"),
)

COMPARE = (
    Key(
        "metric",
        MetricNames(),
        (THROUGHPUT,),
        "what is compared; of several the first decides, and the others stand beside it",
    ),
    Key("repeats", Whole(2, 10_000), 8, "runs of each cell: pairs of each comparison"),
    Key(
        "margin",
        Real(0.0, 1.0),
        0.02,
        "relative difference within which two levels count as equivalent: 0.02 is 2 percent",
    ),
    Key("confidence", Real(0.5, 1.0), 0.95, "confidence of the intervals"),
)

SECTIONS: dict[str, tuple[Key, ...]] = {
    "experiment": EXPERIMENT,
    "server": SERVER,
    "data": DATA,
    "load": LOAD,
    "compare": COMPARE,
}
"""Sections with fixed keys. `server.options`, `workload`, `factors`, `compare.baseline` and
`published` have keys of their own and are read by code of their own."""

TOP_LEVEL = (
    "experiment",
    "server",
    "data",
    "workload",
    "load",
    "factors",
    "compare",
    "published",
    "quick",
    "full",
)

VARIANTS = ("quick", "full")
"""Tables of overrides that `--quick` and `--full` put in place."""

MEANINGS = {
    "experiment": "what this is and what it asks",
    "server": "the server under test: a private one unless --server names one",
    "server.options": "options of a private server, by name",
    "data": "the tables and their content",
    "workload": "what is asked of the server",
    "load": "how hard and how long",
    "factors": "what varies: a path of this file in quotes, and the list of its levels",
    "compare": "what is compared with what, and how surely",
    "compare.baseline": "the factor compared and the level that the others are compared with",
    "published": "figures of other machines, shown beside ours",
    "quick": "overrides for --quick: a path in quotes, and its value or list of levels",
    "full": "overrides for --full: a path in quotes, and its value or list of levels",
}
