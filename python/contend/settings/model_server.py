"""The model server: what it can be asked for, and its knobs, whose effect is known exactly.

It is contend-load's own: an index and a segmented key cache at work, over rows that are a function
of a seed. It is no database, so whatever else an experiment wants is refused before anything is
started."""

from __future__ import annotations

from dataclasses import dataclass

from contend.errors import RequestError
from contend.settings.before_run import COLD_STARTS, LOCK_FILES, WARM
from contend.settings.load import HANDLER_SOCKET
from contend.settings.model import Launch, Need, Setting, Values
from contend.settings.server import KIND, MODEL, USE
from contend.settings.tables import TomlTable
from contend.settings.values import Choice, Key, Real, WholeNumber, shown
from contend.settings.workload import may_write

HAS = {
    "key_buffer_size": "134217728",
    "key_cache_age_threshold": "300",
    "key_cache_block_size": "1024",
    "key_cache_division_limit": "100",
    "key_cache_segments": "0",
    "max_connections": "151",
}
"""Its variables, with their defaults."""

_NO_QUERY_CACHE = "it has no query cache"
_NO_FILES = "it opens no table's files"

WITHOUT_EFFECT = {
    "innodb_buffer_pool_size": "it has no InnoDB",
    "open_files_limit": _NO_FILES,
    "performance_schema": "it has none",
    "query_cache_limit": _NO_QUERY_CACHE,
    "query_cache_size": _NO_QUERY_CACHE,
    "query_cache_type": _NO_QUERY_CACHE,
    "skip_grant_tables": "it lets everybody in",
    "skip_log_bin": "it writes no log",
    "skip_name_resolve": "it lets everybody in",
    "table_definition_cache": _NO_FILES,
    "table_open_cache": _NO_FILES,
    "thread_cache_size": "it keeps no threads",
}
"""Options of other servers that it is given without harm, and why nothing comes of them."""

_SECOND_NS = 1_000_000_000


def _ns(name: str, means: str) -> Key:
    return Key(name, WholeNumber(0, _SECOND_NS), None, means)


KNOBS = (
    _ns("under_lock_ns", "work with a segment's lock held, at each request of a page, ns, spun"),
    _ns("outside_lock_ns", "work between the two locks of each request of a page, ns, spun"),
    _ns("miss_ns", "what a page that is not in the cache costs, ns, slept"),
    Key(
        "miss",
        Choice(("read",)),
        None,
        "a page that is not in the cache is read from a file, in place of miss_ns",
    ),
    _ns("second_lock_ns", "work under a second lock that each query takes once, ns, spun"),
    _ns("row_lock_ns", "work under the lock of each row that is read, ns, spun"),
    Key("delay_us", WholeNumber(0, 10_000_000), None, "wait before each answer, µs, slept"),
    Key(
        "padding",
        Choice(("apart", "shared")),
        None,
        "control blocks of the segments have lines of cache of their own (apart) or lie side by "
        "side (shared)",
    ),
    Key("speed", Real(0.999, 1.101), None, "a factor of the time of all that it does: 1.0 to 1.1"),
    Key(
        "stall_every_s", Real(0.0, 3600.0), None, "all queries stand still once in so many seconds"
    ),
    Key("stall_ms", WholeNumber(0, 60_000), None, "for so long"),
    _ns(
        "leak_ns_per_s", "work that each query has more with each second since the start, ns, spun"
    ),
    Key(
        "lock",
        Choice(("adaptive", "normal", "std", "parking_lot", "fair")),
        None,
        "kind of the segments' locks: pthread's adaptive (as MariaDB's) or normal, std, "
        "parking_lot, or fair (handed to whoever has waited longest)",
    ),
    Key(
        "pool", WholeNumber(1, 1024), None, "threads for all connections, in place of one for each"
    ),
)
"""All are off if nothing is said."""


def is_model(cell: Values) -> bool:
    """Whether the cell runs on a model server."""
    return str(cell[USE.path] or cell[KIND.path]) == MODEL


@dataclass(frozen=True)
class Knobs(Setting):
    """Given at the start, with the rows and their seed, which are all of its data."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        knobs = cell[self.path]
        if not is_model(cell):
            if knobs:
                raise RequestError(
                    f"{self.path}.{next(iter(knobs))} is a knob of the model server, and the "
                    f"server is {shown(cell[USE.path] or cell[KIND.path])}",
                    hint='Use --server model, or write kind = "model" under [server].',
                )
            return
        for path, wanted, hint in _lacking(cell):
            raise RequestError(
                f"the model server cannot have {path} = {shown(wanted)}",
                hint=f"{hint} It has the index and the rows of sbtest, and a key cache: it is no "
                "database.",
            )
        if not own:
            raise RequestError(
                'server.kind = "model" is a private server, and --server names one that runs',
                hint="Leave --server out.",
            )
        _refuse_together(knobs)

    def launch(self, cell: Values, launch: Launch) -> None:
        if not is_model(cell):
            return
        launch.arguments += [f"--rows={cell['data.rows']}", f"--seed={cell['data.seed']}"]
        launch.arguments += [f"--knob={name}={value}" for name, value in cell[self.path].items()]


def _lacking(cell: Values) -> list[tuple[str, object, str]]:
    """What the cell wants of it that it has not: path, value, and what it can have."""
    workload, warm = cell["workload"], cell[WARM.path]
    checks = [
        ("data.schema", cell["data.schema"], cell["data.schema"] == "sbtest", 'Take "sbtest".'),
        ("data.engine", cell["data.engine"], str(cell["data.engine"]).lower() == "myisam",
         'Its index is laid out as MyISAM\'s: write engine = "MyISAM" under [data].'),
        ("data.k", cell["data.k"], cell["data.k"] == "row_number", 'Take "row_number".'),
        ("data.tables", cell["data.tables"], cell["data.tables"] is None,
         "Its one table is sbtest: leave data.tables out."),
        ("data.table_options", cell["data.table_options"], not cell["data.table_options"],
         "Leave it out."),
        ("workload.kind", workload["kind"], workload["kind"] in ("random_points", "sql"),
         'Take "random_points", or "sql" with the same SELECT.'),
        ("workload", workload["kind"], not may_write(workload["kind"], workload),
         "It writes nothing: take statements that only read."),
        (WARM.path, warm, warm not in COLD_STARTS,
         'It has no files to be cold: take "index" or "as-found".'),
        (LOCK_FILES.path, cell[LOCK_FILES.path], not cell[LOCK_FILES.path],
         "It has no files: leave it out."),
        ("load.protocol", cell["load.protocol"], cell["load.protocol"] != HANDLER_SOCKET,
         'Take "prepared" or "text".'),
    ]  # fmt: skip
    return [(path, wanted, hint) for path, wanted, is_had, hint in checks if not is_had]


def _refuse_together(knobs: Values) -> None:
    if "miss" in knobs and "miss_ns" in knobs:
        raise RequestError(
            "server.knobs.miss and server.knobs.miss_ns both say what a miss costs",
            hint="Give one of them.",
        )
    stalls = [name for name in ("stall_every_s", "stall_ms") if name in knobs]
    if len(stalls) == 1:
        (there,) = stalls
        other = "stall_ms" if there == "stall_every_s" else "stall_every_s"
        raise RequestError(
            f"server.knobs.{there} needs server.knobs.{other}",
            hint="A stall is every stall_every_s seconds, and lasts stall_ms.",
        )


SETTING = Knobs(
    "server",
    Key(
        "knobs",
        TomlTable(KNOBS, whole=False),
        {},
        "what a model server does besides, by name; of no other kind of server",
    ),
    need=Need.RESTART,
    tried=True,
)
