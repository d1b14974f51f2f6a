"""Run folders with made-up figures in the shape of the study, for tests of the report.

Seeded, so that transcripts can be compared. The shape is what a 2-core machine shows: splitting
the key cache costs a little alone and gains much among many connections.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import random
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram

from contend.data import CONTENT_VERSION
from contend.experiment import Experiment, Planned, load_experiment, planned_runs, to_dict
from contend.metrics.probed import HostUse
from contend.store import RunFolder, RunRecord

SEGMENTS = "server.options.key_cache_segments"
POINTS = "workload.points"
CONNECTIONS = "load.connections"

GAIN_PERCENT = {
    10: {1: -13, 4: 21, 8: 46, 16: 65, 32: 77, 64: 82, 128: 79},
    50: {1: -12.5, 4: 60, 8: 108, 16: 118, 32: 121, 64: 119, 128: 115},
    100: {1: -12, 4: 92, 8: 156, 16: 152, 32: 147, 64: 142, 128: 139},
}
"""Of 32 segments over none; 64 differ from it by less than 2 %."""

QPS_OFF = {
    10: {1: 11_200, 4: 14_900, 8: 13_800, 16: 13_100, 32: 12_700, 64: 12_400, 128: 11_900},
    50: {1: 3_650, 4: 3_900, 8: 3_350, 16: 3_260, 32: 3_190, 64: 3_150, 128: 3_080},
    100: {1: 1_990, 4: 1_870, 8: 1_540, 16: 1_520, 32: 1_510, 64: 1_500, 128: 1_470},
}
HOT_SHARES = {32: (26.1, 17.2, 13.1, 11.8, 9.9, 8.2), 64: (25.8, 16.9, 12.8, 11.5, 9.6, 7.9)}
CPUS = 2

FACTS: dict[str, Any] = {
    "cpu": {"model": "Example CPU", "count": CPUS, "sockets": 1, "governor": None, "turbo": None},
    "numa": {"node_count": 1, "nodes": [{"node": 0, "cpus": "0-1"}], "balancing": False},
    "memory": {"total_bytes": 8_326_107_136, "swap_total_bytes": 0, "swappiness": 60},
    "kernel": {
        "release": "6.1.0-example",
        "mitigations": {
            "meltdown": "Not affected",
            "spectre_v2": "Mitigation: Retpolines; STIBP: disabled",
        },
        "clocksource": "tsc",
    },
    "limits": {"open_files": {"soft": 16384, "hard": 20000}},
    "disk": {"device": "vda", "scheduler": "none"},
    "os": {"name": "Debian GNU/Linux 12 (bookworm)"},
    "machine": {"virtualisation": "kvm", "container": "none", "id": "5f1d7c02a9be"},
    "content_version": CONTENT_VERSION,
    "missing": {"cpu.governor": "the kernel offers no frequency control here"},
}


def study(variant: str = "default", sets: Iterable[str] = ()) -> Experiment:
    """The main job with a number of repeats that is known beforehand."""
    found = load_experiment("segmented-key-cache", variant=variant, sets=tuple(sets))
    if any(one.startswith("compare.at_most") for one in sets):
        return found
    compare = replace(found.compare, at_most_s=None)
    if variant != "quick" or sets:
        return replace(found, compare=compare)
    # Two tables are more to look at than the small variant's one.
    factors = tuple(
        replace(one, levels=(10, 100)) if one.path == "workload.points" else one
        for one in found.factors
    )
    return replace(found, factors=factors, compare=replace(compare, repeats=6))


def write_run(
    path: Path,
    experiment: Experiment | None = None,
    *,
    runs: int | None = None,
    change: Callable[[RunRecord], RunRecord | None] | None = None,
    seed: int = 7,
    facts: dict[str, Any] | None = None,
) -> Path:
    """Make a run folder of single runs and store its first `runs` planned ones; `change` may alter
    or drop one."""
    experiment = experiment or study()
    planned = planned_runs(experiment)
    chance = random.Random(seed)
    with RunFolder.create(path, to_dict(experiment), planned, facts or FACTS) as folder:
        clock = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
        drift: dict[int, float] = {}
        for one in planned[:runs]:
            drift.setdefault(one.block, chance.gauss(0, 0.008))
            noise = math.exp(drift[one.block] + chance.gauss(0, 0.006))
            record = record_of(experiment, one, chance, noise, clock)
            clock += timedelta(seconds=2.1)
            kept = change(record) if change else record
            if kept is not None:
                folder.append(kept)
    return path


DESIGN = {"by": "slices", "why": "", "servers": 2, "own": True}
ROUNDS, SLICE_S = 16, 0.1

Gain = Callable[[int, int, int], float]
"""Of segments, points and connections: a level's q/s over that of none."""


def the_studys(segments: int, points: int, connections: int) -> float:
    """The gains of GAIN_PERCENT."""
    return _qps(points, connections, segments) / QPS_OFF[points][connections]


def write_slices(
    path: Path,
    experiment: Experiment | None = None,
    *,
    gain: Gain = the_studys,
    blocks: int | None = None,
    change: Callable[[RunRecord], RunRecord | None] | None = None,
    speed: Callable[[int], float] = lambda _: 1.0,
    server_sd: float = 0.005,
    slice_sd: float = 0.02,
    finished: str | None = "all planned runs are done",
    design: dict[str, Any] = DESIGN,
    facts: dict[str, Any] | None = None,
    seed: int = 7,
) -> Path:
    """Make a run folder of comparisons in slices and store its first `blocks` blocks.

    `speed` of a round, over the usual, is that of all levels. Servers differ for a whole repeat by
    `server_sd`, slices by `slice_sd`, as logarithms.
    """
    experiment = experiment or study()
    planned = planned_runs(experiment, in_slices=True)
    last = len(planned) if blocks is None else blocks
    chance = random.Random(seed)
    with RunFolder.create(
        path, to_dict(experiment), planned, {**(facts or FACTS), "way": design}
    ) as folder:
        clock = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
        servers: dict[tuple[int, Any], float] = {}
        for block, of_block in itertools.groupby(planned, lambda one: one.block):
            if block > last:
                break
            shared = [chance.gauss(0, 0.03) for _ in range(ROUNDS)]
            for one in of_block:
                level = int(one.cell.get(SEGMENTS, 0))
                points, at = int(one.cell.get(POINTS, 10)), int(one.cell.get(CONNECTIONS, 8))
                server = servers.setdefault((one.repeat, level), chance.gauss(0, server_sd))
                usual = QPS_OFF[points][at] * (gain(level, points, at) if level else 1.0)
                speeds = [
                    usual * speed(i) * math.exp(server + shared[i] + chance.gauss(0, slice_sd))
                    for i in range(ROUNDS)
                ]
                record = in_slices(record_of(experiment, one, chance, 1.0, clock), speeds, chance)
                kept = change(record) if change else record
                if kept is not None:
                    folder.append(kept)
            clock += timedelta(seconds=3.8)
        if blocks is None and finished is not None:
            folder.finish(finished)
    return path


def in_slices(record: RunRecord, speeds: list[float], chance: random.Random) -> RunRecord:
    """The same run with slices of these speeds."""
    cell = record.cell
    points, connections = int(cell.get(POINTS, 10)), int(cell.get(CONNECTIONS, 8))
    qps, measured_s = sum(speeds) / len(speeds), SLICE_S * len(speeds)
    queries = round(qps * measured_s)
    segments = int(cell.get(SEGMENTS, 0))
    slices = {"slice_s": SLICE_S, "settle_s": 0.02, "rounds": len(speeds)}
    intervals = [
        {"index": i, "start_s": 0.24 * i, "duration_s": SLICE_S, "qps": one, "errors": 0}
        for i, one in enumerate(speeds)
    ]
    probes = {
        **_probes(segments, queries, points, chance),
        "layout": {"padding_bytes": None, "stack_limit_bytes": None},
    }
    return replace(
        record,
        plan={**record.plan, "load": {"connections": connections, "slices": slices}},
        done=_done(qps, queries, measured_s, connections, segments, chance),
        intervals=intervals,
        probes=probes,
    )


def record_of(
    experiment: Experiment,
    planned: Planned,
    chance: random.Random,
    noise: float,
    clock: datetime,
) -> RunRecord:
    cell = planned.cell
    points = int(cell.get(POINTS, 10))
    connections = int(cell.get(CONNECTIONS, 8))
    segments = int(cell.get(SEGMENTS, 0))
    # A script gains the same and costs the client more.
    share = 0.96 if cell.get("workload.kind") == "lua" else 1.0
    qps = share * _qps(points, connections, segments) * noise
    measured_s = experiment.base["load.measure"]
    queries = round(qps * measured_s)
    return RunRecord(
        run=planned.run,
        block=planned.block,
        repeat=planned.repeat,
        cell=dict(cell),
        status="ok",
        started_at=clock.isoformat(timespec="milliseconds"),
        ended_at=(clock + timedelta(seconds=1.9)).isoformat(timespec="milliseconds"),
        plan={
            "version": 1,
            "workload": _workload(str(cell.get("workload.kind", "random_points")), points),
            "load": {"connections": connections},
            "seed": 303,
        },
        done=_done(qps, queries, measured_s, connections, segments, chance),
        intervals=[
            {"index": i, "start_s": float(i), "duration_s": 1.0, "qps": qps, "errors": 0}
            for i in range(int(measured_s))
        ],
        probes=_probes(segments, queries, points, chance),
    )


def with_warning(record: RunRecord, code: str, message: str) -> RunRecord:
    return replace(record, warnings=[{"code": code, "message": message}])


def with_gate(path: Path, limit: float, **more: float) -> None:
    """Give a run folder's experiment a gate on its throughput, and on more metrics. One that has it
    from the beginning is open-ended, and has no plan beyond its first repeat."""
    with contextlib.closing(sqlite3.connect(path / "results.sqlite")) as connection, connection:
        ((text,),) = connection.execute("SELECT value FROM meta WHERE key = 'experiment'")
        experiment = json.loads(text)
        compare = experiment["compare"]
        compare["fail_if_slower"] = {compare["metric"][0]: limit, **more}
        compare["metric"] = [*dict.fromkeys((*compare["metric"], *more))]
        change = "UPDATE meta SET value = ? WHERE key = 'experiment'"
        connection.execute(change, (json.dumps(experiment),))


def host_use(steal_share: float = 0.0) -> HostUse:
    """What the host's probe says of a run: nothing, but for what its hypervisor took."""
    return {
        "elapsed_s": 4.0,
        "cpus": 2,
        "busy_share": 0.5,
        "steal_share": steal_share,
        "iowait_share": 0.0,
        "stall_share": {},
        "load_1m_before": None,
        "vm": {},
        "throttled_s": None,
        "thermal_events": None,
        "own_cpu_s": None,
        "disturbances": [],
    }


def as_failed(record: RunRecord, message: str, status: str = "failed") -> RunRecord:
    return replace(record, status=status, done=None, error={"message": message})  # type: ignore[arg-type]


def _qps(points: int, connections: int, segments: int) -> float:
    off = QPS_OFF[points][connections]
    if segments == 0:
        return off
    gain = (
        GAIN_PERCENT[points][connections]
        + (1.4 if segments > 32 else 0) * math.log(connections + 1) / 4
    )
    return off * (1 + gain / 100)


def _done(
    qps: float,
    queries: int,
    measured_s: float,
    connections: int,
    segments: int,
    chance: random.Random,
) -> dict[str, Any]:
    waiting = 0.0 if connections == 1 else (3.1 if segments == 0 else 0.7)
    busy = 1.05 if connections == 1 else (1.43 if segments == 0 else 1.98)
    client_share = 0.16 if connections == 1 else 0.17
    cpu_us = busy * measured_s * 1e6 * math.exp(chance.gauss(0, 0.004))
    middle_us = connections / qps * 1e6
    histogram, summary = _latency(round(middle_us, 1), 0.25 + 0.25 * waiting, chance)
    return {
        "ended": "time",
        "measured_s": measured_s,
        "queries": queries,
        "rows": queries * 10,
        "qps": qps,
        "arrival": "closed-loop",
        "latency_us": summary,
        "latency_hdr_ns": histogram,
        "errors": [],
        "client": {"cpu_us": cpu_us * client_share, "voluntary_switches": queries // 9},
        "server": {
            "cpu_us": cpu_us * (1 - client_share),
            "voluntary_switches": round(queries * (1 + waiting) * chance.uniform(0.99, 1.01)),
            "involuntary_switches": queries // 50,
            "read_bytes": 0,
            "write_bytes": 0,
        },
        "client_busiest_thread_share": client_share * busy,
        "fairness": 0.998,
    }


def _latency(
    middle_us: float, spread: float, chance: random.Random
) -> tuple[str, dict[str, float]]:
    shift = math.exp(chance.gauss(0, 0.01))
    encoded, quantiles = latency_histogram(round(middle_us * shift, 1), round(spread, 2))
    return encoded, {"count": 1000, **quantiles}


QUANTILES = {"p50": 50, "p90": 90, "p95": 95, "p99": 99, "p999": 99.9}


@cache
def latency_histogram(middle_us: float, spread: float) -> tuple[str, dict[str, float]]:
    """400 latencies around a middle, encoded, and their quantiles in µs."""
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    chance = random.Random(11)
    drawn = [max(1, int(1000 * middle_us * math.exp(chance.gauss(0, spread)))) for _ in range(400)]
    for value in drawn:
        histogram.record_value(value)
    drawn.sort()
    # What the histogram would say, which looks through all that it can hold for each of them.
    quantiles = {
        name: histogram.get_highest_equivalent_value(drawn[round(4 * percent) - 1]) / 1000
        for name, percent in QUANTILES.items()
    }
    return histogram.encode().decode(), quantiles


def _workload(kind: str, points: int) -> dict[str, Any]:
    if kind == "lua":
        script = "select_random_points"
        return {"kind": kind, "script": script, "options": {"random_points": points}}
    return {"kind": kind, "points": points}


def _probes(segments: int, queries: int, points: int, chance: random.Random) -> dict[str, Any]:
    visits = queries * points * 9
    probes: dict[str, Any] = {
        "status": {
            "Questions": round(queries * 1.2),
            "Key_read_requests": visits,
            # Some entries are the last of their page, which costs a further walk.
            "Handler_read_key": round(visits / (9.04 + 0.005 * (queries % 3))),
            "Key_reads": 0,
        },
        "variables_that_differ": {
            "key_buffer_size": {"value": "536870912", "default": "134217728"},
            "key_cache_segments": {"value": str(segments), "default": "0"},
            "max_connections": {"value": "256", "default": "151"},
            "table_open_cache": {"value": "512", "default": "2000"},
            "skip_grant_tables": {"value": "ON", "default": "OFF"},
        },
        "server": {
            "kind": "mariadb",
            "version": "10.11.14-MariaDB",
            "source": "unpacked from the machine's own package suite",
            "change": "in place (SET GLOBAL)",
        },
        "load_generator": {"version": "0.1.0", "engine": "io_uring"},
        "warmed": {"cache": True, "why_not": None, "files": True},
        "dataset": {"engine": "MyISAM", "rows": 1_000_000, "key": "9c41e07f3b2d"},
    }
    written = {"reads": 0, "write_requests": 0, "writes": 0}
    unsplit = {"cache": "default", "segment": None, "read_requests": visits, **written}
    probes["key_caches"] = [unsplit]
    if segments:
        hot = [share * chance.uniform(0.99, 1.01) for share in HOT_SHARES[segments]]
        rest = (100 - sum(hot)) / (segments - len(hot))
        shares = hot + [rest * chance.uniform(0.8, 1.2) for _ in range(segments - len(hot))]
        probes["key_caches"] = [
            {
                "cache": "default",
                "segment": i + 1,
                "read_requests": round(visits * share / 100),
                **written,
            }
            for i, share in enumerate(shares)
        ]
    return probes


def at_equal_load(record: RunRecord, rate: float = 100.0) -> RunRecord:
    """The same run with a measurement at the same load, whose times are those of the run."""
    assert record.done is not None
    equal = {
        **{"rate": rate, "share": 0.7, "capacity": rate / 0.7, "least": rate / 0.7},
        "done": {**record.done, "arrival": "open-loop"},
    }
    alone = {"all": {"done": {**record.done, "connections": 1}}}
    probes = {**record.probes, "equal_load": equal, "alone": alone}
    return replace(record, probes=probes)  # type: ignore[arg-type]
