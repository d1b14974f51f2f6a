"""The model server: its possible settings, and its knobs, whose effect is known exactly.

It is part of contend-load: an index and a segmented key cache at work, over rows that are a
function of a seed. It is not a database, so all other settings of an experiment are refused before
anything is started."""

from __future__ import annotations

from dataclasses import dataclass

from contend.errors import RequestError
from contend.experiment.settings.before_run import COLD_STARTS, LOCK_FILES, WARM
from contend.experiment.settings.model import Launch, Need, Setting, Values
from contend.experiment.settings.plan_keys import HANDLER_SOCKET, load_schema, sentence, value_kind
from contend.experiment.settings.server import MODEL, REDO_LOG_FOLDER, server_named
from contend.experiment.settings.tables import TomlTable
from contend.experiment.settings.values import Key, shown
from contend.experiment.settings.workload import may_write

_SCHEMA = load_schema("model")

HAS: dict[str, str] = {
    name: _SCHEMA["variables"][name]["default"]
    for name in (
        *("key_buffer_size", "key_cache_segments", "key_cache_division_limit"),
        *("key_cache_age_threshold", "max_connections", "max_prepared_stmt_count"),
    )
}
"""Variables with an effect, and their defaults. It only stores others for clients that set them."""

_NO_QUERY_CACHE = "it has no query cache"
_NO_FILES = "it opens no table's files"

WITHOUT_EFFECT = {
    "innodb_buffer_pool_size": "it has no InnoDB",
    "open_files_limit": _NO_FILES,
    "performance_schema": "it has none",
    "query_cache_limit": _NO_QUERY_CACHE,
    "query_cache_size": _NO_QUERY_CACHE,
    "query_cache_type": _NO_QUERY_CACHE,
    "skip_grant_tables": "it accepts every login",
    "skip_log_bin": "it writes no log",
    "skip_name_resolve": "it accepts every login",
    "table_definition_cache": _NO_FILES,
    "table_open_cache": _NO_FILES,
    "thread_cache_size": "it keeps no threads",
}
"""Options of other servers that it accepts and ignores, and why they have no effect."""

KNOBS = tuple(
    Key(name, value_kind(_SCHEMA, knob), knob["default"], sentence(knob["description"]))
    for name, knob in _SCHEMA["knobs"].items()
)
"""From contend-load's schema. Those that a file does not give keep their default."""


def is_model(cell: Values) -> bool:
    """Whether the cell runs on a model server."""
    return server_named(cell) == MODEL


@dataclass(frozen=True)
class Knobs(Setting):
    """Set at the start, with the rows and their seed, which are all of its data."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        knobs = cell[self.path]
        if not is_model(cell):
            if knobs:
                raise RequestError(
                    f"{self.path}.{next(iter(knobs))} is a knob of the model server, but the "
                    f"server is {shown(server_named(cell))}",
                    hint='Use --server model, or write kind = "model" under [server].',
                )
            return
        for path, wanted, hint in _lacking(cell):
            raise RequestError(
                f"the model server does not support {path} = {shown(wanted)}",
                hint=f"{hint} The model server is not a database: it has the index and rows of "
                "sbtest and a key cache.",
            )
        if not own:
            raise RequestError(
                'server.kind = "model" needs a private server, but --server names a running one',
                hint="Leave --server out.",
            )
        _refuse_together(knobs)

    def launch(self, cell: Values, launch: Launch) -> None:
        if not is_model(cell):
            return
        launch.arguments += [f"--rows={cell['data.rows']}", f"--seed={cell['data.seed']}"]
        if cell[self.path].get("miss") == "read":
            # Relative to its working folder, the data folder.
            launch.arguments.append("--rows-in=.")
        launch.arguments += [f"--knob={name}={value}" for name, value in cell[self.path].items()]


def _lacking(cell: Values) -> list[tuple[str, object, str]]:
    """Settings of the cell that it lacks: path, value, and what it supports instead."""
    workload, warm = cell["workload"], cell[WARM.path]
    checks = [
        ("data.schema", cell["data.schema"], cell["data.schema"] == "sbtest", 'Use "sbtest".'),
        ("data.engine", cell["data.engine"], str(cell["data.engine"]).lower() == "myisam",
         'Its index is laid out as MyISAM\'s: write engine = "MyISAM" under [data].'),
        ("data.k", cell["data.k"], cell["data.k"] == "row_number", 'Use "row_number".'),
        ("data.tables", cell["data.tables"], cell["data.tables"] is None,
         "Its one table is sbtest: leave data.tables out."),
        ("data.table_options", cell["data.table_options"], not cell["data.table_options"],
         "Leave it out."),
        ("workload.kind", workload["kind"], workload["kind"] in ("random_points", "sql"),
         'Use "random_points", or "sql" with the same SELECT.'),
        ("workload", workload["kind"], not may_write(workload["kind"], workload),
         "Use statements that only read."),
        (WARM.path, warm, warm not in COLD_STARTS,
         'Use "index" or "as-found".'),
        (LOCK_FILES.path, cell[LOCK_FILES.path], not cell[LOCK_FILES.path],
         "Leave it out."),
        (REDO_LOG_FOLDER.path, cell[REDO_LOG_FOLDER.path], not cell[REDO_LOG_FOLDER.path],
         "Leave it out."),
        ("load.protocol", cell["load.protocol"], cell["load.protocol"] != HANDLER_SOCKET,
         'Use "prepared" or "text".'),
    ]  # fmt: skip
    return [(path, wanted, hint) for path, wanted, fits, hint in checks if not fits]


def _refuse_together(knobs: Values) -> None:
    stalls = [name for name in ("stall_every_s", "stall_ms") if name in knobs]
    if len(stalls) == 1:
        (there,) = stalls
        other = "stall_ms" if there == "stall_every_s" else "stall_every_s"
        raise RequestError(
            f"server.knobs.{there} needs server.knobs.{other}",
            hint="A stall occurs every stall_every_s seconds and lasts stall_ms.",
        )


SETTING = Knobs.of(
    "server",
    "knobs",
    TomlTable(KNOBS, whole=False),
    {},
    "additional work of a model server, by name; only for that kind of server",
    need=Need.RESTART,
    tried=True,
)
