"""Options of sysbench scripts: those of the bundled ones, and those that every script has.

A user's own script reports its options when it is run; the lab queries them before the first run.
The load generator's scripts are the source of these tables; a test keeps both equal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contend.experiment.settings.values import (
    AnyLevel,
    BaseKind,
    Choice,
    Key,
    Level,
    Refused,
    Text,
    ValueKind,
    is_number,
)

REFERENCE = "$"
"""Prefix of an option's value that refers to the value at a path: `$workload.points`."""


@dataclass(frozen=True, slots=True)
class Switch(BaseKind):
    """A switch in the notation of scripts."""

    def read(self, value: object) -> Level:
        if isinstance(value, bool) or value in ("on", "off"):
            return value
        raise self.wrong(value)

    def expected(self) -> str:
        return "true or false"

    def schema(self) -> dict[str, Any]:
        return {"type": ["boolean", "string"]}


@dataclass(frozen=True, slots=True)
class Number(BaseKind):
    """A number, or text with a size suffix in steps of 1024, such as `10M`."""

    def read(self, value: object) -> Level:
        fits = isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?[KMGTkmgt]?", value)
        if fits or is_number(value):
            return AnyLevel().read(value)
        raise self.wrong(value)

    def expected(self) -> str:
        return 'a number, or one with a suffix such as "10M"'

    def schema(self) -> dict[str, Any]:
        return {"type": ["number", "string"]}


_NUMBER, _SWITCH = Number(), Switch()


def _key(name: str, kind: ValueKind, default: object, means: str) -> Key:
    return Key(name, kind, default, means)


EVERY = (
    _key("compat", Choice(("1.0", "1.1")), "1.0", "options and messages of sysbench 1.0 or 1.1"),
    _key(
        "db_ps_mode",
        Choice(("auto", "disable")),
        None,
        "prepared statements on the server (auto) or as text (default: as load.protocol says)",
    ),
    _key(
        "mysql_ignore_errors",
        Text(),
        "1020,1205,1213",
        "errors that restart an event, or all",
    ),
    _key(
        "os_threads",
        Choice(("on", "off", "auto")),
        "auto",
        "an operating system thread for each of the script's",
    ),
    _key("rand_pareto_h", _NUMBER, 0.2, "shape of pareto"),
    _key("rand_spec_iter", _NUMBER, 12, "number of averaged draws: gaussian, special"),
    _key("rand_spec_pct", _NUMBER, 1, "size of the hot middle of special, in percent"),
    _key("rand_spec_res", _NUMBER, 75, "percent of the draws of special in the hot middle"),
    _key(
        "rand_type",
        Choice(("uniform", "gaussian", "special", "pareto", "zipfian")),
        "special",
        "how keys are drawn; zipfian with compat 1.1, special with 1.0",
    ),
    _key("rand_zipfian_exp", _NUMBER, 0.8, "exponent of zipfian, with compat 1.1"),
    _key("validate", _SWITCH, False, "seen by scripts as sysbench.opt.validate"),
)
"""The options that every script has in addition to its own."""

_COMMON = (
    _key("auto_inc", _SWITCH, True, "the server numbers new rows; prepare, and oltp_insert"),
    _key("create_secondary", _SWITCH, True, "prepare: make an index on k"),
    _key("create_table_options", Text(), "", "prepare: options for CREATE TABLE; with compat 1.1"),
    _key("delete_inserts", _NUMBER, 1, "pairs of a DELETE and an INSERT in a transaction"),
    _key("distinct_ranges", _NUMBER, 1, "SELECT DISTINCT queries in a transaction"),
    _key("index_updates", _NUMBER, 1, "UPDATEs of an indexed column in a transaction"),
    _key("mysql_storage_engine", Text(), "innodb", "prepare: engine of the tables"),
    _key("non_index_updates", _NUMBER, 1, "UPDATEs of a different column in a transaction"),
    _key("order_ranges", _NUMBER, 1, "SELECT ORDER BY queries in a transaction"),
    _key("pgsql_variant", Text(), None, "has no effect"),
    _key("point_selects", _NUMBER, 10, "SELECTs by primary key in a transaction"),
    _key("range_selects", _SWITCH, True, "run the range SELECTs"),
    _key("range_size", _NUMBER, 100, "rows of a range"),
    _key("reconnect", _NUMBER, 0, "events after which to reconnect; with compat 1.1"),
    _key("secondary", _SWITCH, False, "prepare: a secondary key on id instead of the primary"),
    _key("simple_ranges", _NUMBER, 1, "plain range SELECTs in a transaction"),
    _key("skip_trx", _SWITCH, False, "no BEGIN and COMMIT"),
    _key("sum_ranges", _NUMBER, 1, "SELECT SUM() queries in a transaction"),
    _key("table_size", _NUMBER, None, "rows of each table (default: data.rows)"),
    _key("tables", _NUMBER, None, "number of queried tables (default: data.tables)"),
)

_POINTS = (_key("random_points", _NUMBER, 10, "keys in the list of the SELECT"),)
_RANGES = (
    _key("number_of_ranges", _NUMBER, 10, "ranges of the SELECT"),
    _key("delta", _NUMBER, 5, "width of each range"),
)

BUNDLED: Mapping[str, tuple[Key, ...]] = {
    "bulk_insert": (),
    "oltp_delete": _COMMON,
    "oltp_insert": _COMMON,
    "oltp_point_select": _COMMON,
    "oltp_read_only": _COMMON,
    "oltp_read_write": _COMMON,
    "oltp_update_index": _COMMON,
    "oltp_update_non_index": _COMMON,
    "oltp_write_only": _COMMON,
    "select_random_points": (*_COMMON, *_POINTS),
    "select_random_ranges": (*_COMMON, *_RANGES),
}
"""Bundled script -> the options that it declares."""

IN_PLACE_OF_PREPARE = {
    "auto_inc": "setup",
    "create_secondary": "setup",
    "create_table_options": "data.table_options",
    "mysql_storage_engine": "data.engine",
    "secondary": "setup",
}
"""Options of bundled scripts that only `prepare` reads (except `auto_inc`, which oltp_insert reads
too), and the equivalent key for contend's own tables."""


def of_prepare(name: str, script: str) -> bool:
    """Only the `prepare` of a bundled script reads the option."""
    if is_file(script) or (script, name) == ("oltp_insert", "auto_inc"):
        return False
    return name in IN_PLACE_OF_PREPARE


ELSEWHERE = {
    "events": "a script in the lab runs for load.measure",
    "percentile": "the report shows percentiles anyway",
    "rand_seed": "use load.seed",
    "report_interval": "use load.interval",
    "threads": "use load.connections",
    "time": "use load.measure",
    "warmup_time": "use load.warmup",
}
"""Options of sysbench's command line that have a different place in an experiment."""


def is_file(script: str) -> bool:
    """Whether this is a user's own file and not a bundled script's name."""
    return "/" in script or script.endswith(".lua")


def option_key(name: str, script: str) -> Key | None:
    """The option `name` of `script`; None if it has none. Any name fits a file: only the file
    itself knows its options."""
    if name in ELSEWHERE:
        raise Refused(f"is not an option of a script: {ELSEWHERE[name]}")
    for key in (*EVERY, *BUNDLED.get(script, ())):
        if key.name == name:
            return key
    return Key(name, AnyLevel(), None, "an option of the script") if is_file(script) else None


def option_names(script: str) -> tuple[str, ...]:
    """Every known option of `script`."""
    return tuple(key.name for key in (*BUNDLED.get(script, ()), *EVERY))


def reference(value: object) -> str | None:
    """The path that an option's value refers to, if any."""
    if isinstance(value, str) and value.startswith(REFERENCE):
        return value.removeprefix(REFERENCE)
    return None
