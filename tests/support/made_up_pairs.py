"""Made-up pairs of runs: of each candidate one that has its signs, and one that has not."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from made_up_looks import switches

from contend.experiment import load_experiment
from contend.experiment.order import cell_spec
from contend.why.candidate import HostPowers, Pair

BASE = cell_spec(load_experiment("server-versus-server"), {"server.profile": "own"}).having(
    server__profiles={}, server__profile=None, load__connections=8
)
"""A cell with all settings, of 8 connections."""


def run(status: dict[str, int] | None = None, probes: Any = None, **done: Any) -> Any:
    """A run of 1,000 questions."""
    counted = {"Questions": 1000, **(status or {})}
    found = {
        "status": counted,
        "dataset": {"bytes": 50 << 20},
        "variables_that_differ": {},
        **(probes or {}),
    }
    return SimpleNamespace(done=done or IDLE, probes=found, plan={}, run=1)


def pair(slower: Any, faster: Any, **cell: Any) -> Pair:
    spec = BASE.having(**cell)
    return Pair(
        compared="server.use",
        place={},
        finding=None,  # type: ignore[arg-type]
        cells={"slower": spec, "faster": spec},
        runs={"slower": [slower], "faster": [faster]},
        kind="mariadb",
        own=True,
        here=True,
        host=HostPowers(
            cpus=2, root=True, groups=True, nodes=2, frequency=True, files_in_memory=True
        ),
    )


def _used(cpu_us: float, voluntary: int, involuntary: int = 0) -> dict[str, Any]:
    return {
        "cpu_us": cpu_us,
        "voluntary_switches": voluntary,
        "involuntary_switches": involuntary,
        "read_bytes": 0,
        "write_bytes": 0,
    }


def done(
    *,
    server_us: float = 600,
    switches: float = 0.01,
    preempted: float = 0.0,
    client_us: float = 100,
) -> dict[str, Any]:
    """What 1,000 queries took in a second; each figure is of one query."""
    return {
        "qps": 1000.0,
        "queries": 1000,
        "events": 1000,
        "measured_s": 1.0,
        "server": _used(1000 * server_us, round(1000 * switches), round(1000 * preempted)),
        "client": _used(1000 * client_us, 0),
        "latency_us": {"mean": 1000.0, "count": 1000},
    }


IDLE = done()
BUSY = done(server_us=1500, switches=0.8, preempted=0.05)
POINTS: dict[str, Any] = {"workload": {"kind": "random_points", "points": 10}}
CACHED = {"Key_reads": 0, "Key_read_requests": 900}
HASHED = {"Innodb_adaptive_hash_hash_searches": 900}
KEYS = {"Key_read_requests": 9000, "Handler_read_key": 1000}


def of_host(**shares: Any) -> dict[str, Any]:
    usual = {"elapsed_s": 1.0, "cpus": 2, "busy_share": 1.0, "steal_share": 0.0}
    return {"host": {**usual, "own_cpu_s": 1.6, "stall_share": {}, **shares}}


def of_variable(name: str, value: str, default: str = "") -> dict[str, Any]:
    return {"variables_that_differ": {name: {"value": value, "default": default}}}


def _counted(name: str, here: int, there: int = 0, **cell: Any) -> tuple[Pair, Pair]:
    """Signs by one counter alone: how often here and there among 1,000; not if it is nowhere."""
    return (
        pair(run({name: here}), run({name: there}), **cell),
        pair(run({name: here}), run({name: here}), **cell),
    )


def _asked(faster: Any, slower: Any) -> Any:
    for one in (faster, slower):
        one.plan = {"workload": {"kind": "random_points"}}
    return faster


def _points(slower: Any, faster: Any, **cell: Any) -> Pair:
    _asked(faster, slower)
    return pair(slower, faster, **cell)


def _with(slower: Any, faster: Any) -> Any:
    """Runs of a server whose variables differ from their defaults."""
    return run(probes={"variables_that_differ": slower}, **faster)


_ON = {"value": "ON", "default": "OFF"}
_MEAN = {"latency_us": {"mean": 3000.0, "count": 1000}}
STILL: dict[str, Any] = {"stall_share": {"io.some": 0.01}}
_WRITING = {**IDLE, "server": {**IDLE["server"], "write_bytes": 10**6}}
_THREE = {"queries": 3000, "events": 1000, "server": _used(900_000, 30)}


def _trips(events: int) -> Any:
    return run(**{**done(), **_THREE, "events": events, **_MEAN})


def _held(slower_us: float, faster_us: float) -> Pair:
    """Sides whose switches were traced."""
    looks: Any = {
        side: {"switches": switches({}, by_holder_us=us).figures}
        for side, us in (("slower", slower_us), ("faster", faster_us))
    }
    return replace(pair(run(), run()), looks=looks)


def _at_distance(ns: float) -> Pair:
    """Sides on two caches of four CPUs each, with such a time for a line between two of them."""
    look = {"pairs": [{"cpus": [0, 4], "handover_ns": ns}]}
    found = pair(*(run(probes={"state": {"before": look, "after": look}}, **BUSY) for _ in "12"))
    return replace(found, host=replace(found.host, cpus=8, caches=((0, 1, 2, 3), (4, 5, 6, 7))))


SIGNS: dict[str, tuple[Pair, Pair]] = {
    "missing-index": (
        pair(run({"Handler_read_rnd_next": 10**6}), run(), **POINTS),
        pair(run({"Handler_read_rnd_next": 10}), run(), **POINTS),
    ),
    "temporary-tables-on-disk": _counted("Created_tmp_disk_tables", 500),
    "sort-passes": _counted("Sort_merge_passes", 500),
    "table-cache": _counted("Opened_tables", 500, load__connections=1000),
    "thread-cache": _counted("Threads_created", 100, 1),
    "query-cache-lock": _counted("Qcache_inserts", 900),
    "statement-log": (
        pair(_with({"general_log": _ON}, IDLE), run()),
        pair(_with({"general_log": _ON}, IDLE), _with({"general_log": _ON}, IDLE)),
    ),
    "quota": (
        pair(
            run(probes={"placement": {"server": {"cpu_quota": "0.5"}}}),
            run(),
            place__server__cpu_quota=0.5,
        ),
        pair(run(probes={"placement": {"server": {"cpus": "0"}}}), run()),
    ),
    "binary-log-flush": (
        pair(
            run({"Binlog_group_commits": 900}, of_variable("sync_binlog", "1")),
            run({"Binlog_group_commits": 300}),
        ),
        pair(run(), run({"Binlog_group_commits": 900})),
    ),
    "log-flush": (
        pair(run({"Innodb_data_fsyncs": 500}), run()),
        pair(run({"Innodb_data_fsyncs": 1}), run()),
    ),
    "log-device": (
        pair(run({"Innodb_data_fsyncs": 500}), run()),
        pair(run({"Innodb_data_fsyncs": 1}), run()),
    ),
    "redo-log": (
        pair(
            run(
                {"Innodb_buffer_pool_pages_flushed": 500},
                {"gauges": {"Innodb_checkpoint_age": 80, "Innodb_checkpoint_max_age": 100}},
            ),
            run({"Innodb_buffer_pool_pages_flushed": 50}),
        ),
        pair(
            run(
                {"Innodb_buffer_pool_pages_flushed": 500},
                {"gauges": {"Innodb_checkpoint_age": 8, "Innodb_checkpoint_max_age": 100}},
            ),
            run({"Innodb_buffer_pool_pages_flushed": 50}),
        ),
    ),
    "dirty-pages": (
        pair(
            run(
                {"Innodb_buffer_pool_pages_flushed": 500},
                of_variable("innodb_max_dirty_pages_pct", "5"),
            ),
            run({"Innodb_buffer_pool_pages_flushed": 50}),
        ),
        pair(run({"Innodb_buffer_pool_pages_flushed": 5}), run()),
    ),
    "doublewrite": _counted("Innodb_dblwr_pages_written", 500),
    "buffer-pool-reads": (
        pair(run({"Innodb_buffer_pool_reads": 500}), run({"Innodb_buffer_pool_reads": 500})),
        pair(run({"Innodb_buffer_pool_reads": 1}), run()),
    ),
    "key-cache-reads": (
        pair(run({"Key_reads": 500, "Key_read_requests": 900}), run(CACHED)),
        pair(run({"Key_reads": 1, "Key_read_requests": 900}), run(CACHED)),
    ),
    "adaptive-hash-index": (
        pair(run(HASHED, **done(switches=0.9)), run(**done(switches=0.5))),
        pair(run(HASHED, **done(switches=0.9)), run(HASHED, **done(switches=0.9))),
    ),
    "row-lock": _counted(
        "Innodb_row_lock_waits",
        100,
        workload={"kind": "update_non_index", "distribution": {"kind": "zipfian", "exp": 0.8}},
    ),
    "table-lock": _counted("Table_locks_waited", 100, workload={"kind": "insert"}),
    "key-cache-lock": (
        _points(run(KEYS, **BUSY), run()),
        _points(run(KEYS), run()),
    ),
    "key-cache-visits": (
        _points(run(KEYS, **done(server_us=700)), run(KEYS), load__connections=1),
        _points(run(KEYS, **BUSY), run(KEYS, **done(server_us=1500)), load__connections=1),
    ),
    "index-estimates": (
        pair(
            run({"Innodb_buffer_pool_read_requests": 90_000, "Handler_read_key": 10_000}),
            run({"Innodb_buffer_pool_read_requests": 30_000, "Handler_read_key": 10_000}),
            **POINTS,
        ),
        pair(
            run({"Innodb_buffer_pool_read_requests": 900, "Handler_read_key": 10}), run(), **POINTS
        ),
    ),
    "plan-changed": (
        pair(
            run(
                {"Handler_read_next": 9000},
                of_variable("optimizer_max_sel_arg_weight", "3", "32000"),
            ),
            run({"Handler_read_next": 100}),
        ),
        pair(run({"Handler_read_next": 9000}), run({"Handler_read_next": 9000})),
    ),
    "connection-setup": (
        pair(run({"Connections": 100}), run(), load__reconnect_every=10),
        pair(run({"Connections": 1}), run(), load__reconnect_every=10),
    ),
    "round-trips": (
        pair(
            _trips(1000),
            run(**done()),
            workload={"kind": "batch_select", "select_by": "select", "batch_rows": 100},
        ),
        pair(
            _trips(3000),
            run(**done()),
            workload={"kind": "batch_select", "select_by": "select", "batch_rows": 100},
        ),
    ),
    "bandwidth": (
        pair(run({"Bytes_sent": 10**8}, **{**done(), **_MEAN}), run()),
        pair(run({"Bytes_sent": 10**5}, **{**done(), **_MEAN}), run()),
    ),
    "instrumentation": (
        pair(_with({"performance_schema": _ON}, done(server_us=700)), run()),
        pair(_with({"performance_schema": _ON}, done(server_us=600)), run()),
    ),
    "superfluous-index": (
        pair(run({"Handler_write": 900, "Innodb_buffer_pool_write_requests": 9000}), run()),
        pair(run({"Handler_write": 9, "Innodb_buffer_pool_write_requests": 90}), run()),
    ),
    "scan-beside": (
        pair(run({"Handler_read_rnd_next": 10**6}), run()),
        pair(run({"Handler_read_rnd_next": 10**6, "Select_scan": 1000}), run()),
    ),
    "bulk-load-beside": (
        pair(run({"Handler_write": 10**5}), run()),
        pair(run({"Handler_write": 10**5, "Com_insert": 900}), run()),
    ),
    "burst-beside": (
        pair(run({"Questions": 2000}), run()),
        pair(run({"Questions": 2000}), run({"Questions": 2000})),
    ),
    "disk-beside": (
        pair(run(probes=of_host(stall_share={"io.some": 0.3})), run(probes=of_host(**STILL))),
        pair(
            run(probes=of_host(stall_share={"io.some": 0.3}), **_WRITING),
            run(probes=of_host(**STILL)),
        ),
    ),
    "cpus-far-apart": (_at_distance(600.0), _at_distance(90.0)),
    "cpu-contention": (pair(run(**BUSY), run()), pair(run(), run())),
    "preempted-holders": (_held(160_000.0, 20_000.0), _held(20_000.0, 20_000.0)),
    "run-queue": (
        pair(run(**BUSY), run(), load__connections=64),
        pair(run(**done(server_us=1500, switches=0.8)), run(), load__connections=64),
    ),
    "wake-up": (
        pair(run(probes=of_host(busy_share=0.5), **BUSY), run()),
        pair(run(probes=of_host(busy_share=0.97), **BUSY), run(probes=of_host())),
    ),
    "neighbour": (
        pair(run(probes=of_host()), run(probes=of_host())),
        pair(run(probes=of_host(own_cpu_s=2.0)), run(probes=of_host(own_cpu_s=2.0))),
    ),
    "client-bound": (
        pair(run(probes={"calibration": {"share": 0.9}}), run()),
        pair(run(probes={"calibration": {"share": 0.3}}), run()),
    ),
    "memory-of-another-node": (
        pair(run(**done(server_us=800)), run()),
        pair(run(**done(server_us=800, client_us=150)), run()),
    ),
    "frequency": (
        pair(run(**done(server_us=800, client_us=130)), run()),
        pair(run(**done(server_us=800)), run()),
    ),
    "mitigations": (
        pair(run(**done(server_us=800, client_us=130, switches=0.9)), run(**done(switches=0.9))),
        pair(run(**done(server_us=800, client_us=130)), run()),
    ),
    "steal": (
        pair(run(probes=of_host(steal_share=0.1)), run(probes=of_host())),
        pair(run(probes=of_host()), run(probes=of_host())),
    ),
}
