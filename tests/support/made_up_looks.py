"""Looks at the threads of a server with made-up figures, for tests of what is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from contend.experiment import Level, Planned
from contend.store import LookRecord, RunFolder


def look(**changes: Any) -> dict[str, Any]:
    """Two threads for one second, a quarter of it on a CPU, a tenth waiting for one."""
    usual: dict[str, Any] = {
        **{"duration_s": 1.0, "threads": 2, "scheduled": True},
        **{"run_us": 500_000.0, "wait_us": 200_000.0},
        **{"other_run_us": 0.0, "other_wait_us": 0.0, "user_us": 300.0, "system_us": 100.0},
        **{"minor_faults": 0, "major_faults": 0, "host_busy_us": 1e6, "host_stolen_us": 0.0},
        **{"reads": 1000, "running": 350, "idle": 400, "blocked": {"futex": 250}},
        **{"futexes": [{"address": "0x7f", "reads": 240}], "refused": None, "look_cpu_us": 5e3},
    }
    return {**usual, **changes}


def rounds(count: int = 4, slowed: float = 1.0, **changes: Any) -> list[dict[str, Any]]:
    """1000 events in each second, so that each takes two milliseconds on two connections."""
    found = []
    for number in range(count):
        looked = number % 4 in (1, 2)
        one = {
            **{"round": number, "duration_s": 1.0, "begun": 1000, "events": 1000},
            **{"qps": 1000.0 * (slowed if looked else 1.0), "client_cpu_us": 105_000.0},
            "latency_us": {"mean": 2000.0},
        }
        found.append({**one, "look": look(**changes)} if looked else one)
    return found


def slow(**changes: Any) -> dict[str, Any]:
    """Ten events of ten milliseconds, whose threads were met 40 times, mostly at a lock."""
    usual: dict[str, Any] = {
        **{"over_us": 8000.0, "events": 10, "response_us": 10_000.0, "lag_us": 0.0},
        **{"reads": 40, "running": 8, "idle": 2, "blocked": {"futex": 30}},
    }
    return {**usual, **changes}


_HELD: Sequence[dict[str, Any]] = ({}, {"by_holder_us": 20_000.0, "preempted": 10})

_WAITS: Sequence[dict[str, Any]] = (
    {"blocked": {"futex": 250, "disk": 0}},
    {"blocked": {"futex": 60, "disk": 10}},
)


def _shorter(place: int, all_rounds: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The response time without what other levels wait less; of those a thread had no CPU in one
    round that was looked at."""
    for one in all_rounds:
        mean = (2000.0 if place == 0 else 1640.0) + one["round"] % 3
        one["latency_us"] = {"mean": mean}
        if place and one["round"] == 5:
            one["look"] = {**one["look"], "threads": 1}
    return all_rounds


def add_looks(path: Path, planned: Sequence[Planned], compared: str) -> None:
    """Put made-up looks into a run folder: one block of each context, in which other levels than
    the first wait less for a lock. The look at the last one failed."""
    contexts: dict[str, list[Planned]] = {}
    for run in planned:
        context = {name: level for name, level in run.cell.items() if name != compared}
        block = contexts.setdefault(repr(context), [])
        if all(run.cell != one.cell for one in block):
            block.append(run)
    with RunFolder.open(path, write=True) as folder:
        for number, block in enumerate(contexts.values(), 1):
            block.sort(key=lambda run: str(run.cell[compared]))
            looks = [
                record(
                    _shorter(place, rounds(16, 0.99, **_WAITS[min(place, 1)], slow=slow())),
                    run.cell,
                    number,
                )
                for place, run in enumerate(block)
            ]
            if number == len(contexts):
                looks = [replace(one, figures={}, error="the server ended") for one in looks]
            folder.add_looks(*looks)
        for number, block in enumerate(contexts.values(), len(contexts) + 1):
            folder.add_looks(*(_locks(run, place, number) for place, run in enumerate(block)))
            folder.add_looks(
                *(
                    switches(run.cell, number, **_HELD[min(place, 1)])
                    for place, run in enumerate(block)
                )
            )
            folder.add_looks(*(plans(place, run.cell, number) for place, run in enumerate(block)))


def traced(**changes: Any) -> dict[str, Any]:
    """What was traced in a round of 1,000 queries."""
    usual: dict[str, Any] = {
        **{"preempted": 100, "preempted_us": 50_000.0, "slept": 2000, "asleep_us": 800_000.0},
        **{"woken_us": 90_000.0, "by_holder": 60, "by_holder_us": 160_000.0, "seen": 9000},
    }
    return {**usual, **changes}


def switches(
    cell: Mapping[str, Level], block: int = 1, lost: int = 0, **changes: Any
) -> LookRecord:
    """1,000 queries of two milliseconds in each round, of which half are traced."""
    rounds = []
    for number in range(8):
        one = {"round": number, "qps": 1000.0, "queries": 1000, "duration_s": 1.0}
        is_traced = number % 4 in (1, 2)
        more = {"qps": 950.0 + number, "look": traced(**changes)} if is_traced else {}
        rounds.append({**one, "latency_us_mean": 2000.0, **more})
    when = "2026-03-01T11:07:00.000+00:00"
    return LookRecord("switches", block, cell, when, when, {"rounds": rounds, "lost": lost})


def explained(way: str, key: str | None, **more: Any) -> dict[str, Any]:
    """A row of EXPLAIN."""
    usual = {"table": "sbtest", "type": way, "key": key, "rows": 10, "extra": "Using where"}
    return {**usual, "possible_keys": None, "key_len": None, "ref": None, **more}


BY_K = "SELECT id, k, c, pad FROM sbtest WHERE k IN (?, ...)"


def plans(place: int, cell: Mapping[str, Level], block: int = 1, **more: Any) -> LookRecord:
    """What EXPLAIN says: the first level reads the whole table, the others by an index."""
    step = explained("ALL", None, rows=99_000) if place == 0 else explained("range", "k_1")
    by_id = "SELECT c FROM sbtest WHERE id = ?"
    statements = [
        {"shape": shape, "statement": shape, "tables": [one], "why_not": None}
        for shape, one in ((BY_K, step), (by_id, explained("const", "PRIMARY", rows=1)))
    ]
    keys = {"PRIMARY": ["`id`"], **({} if place == 0 else {"k_1": ["`k`"]})}
    when = "2026-03-01T11:06:00.000+00:00"
    figures = {"statements": statements, "indexes": {"sbtest": keys}, **more}
    return LookRecord("plans", block, cell, when, when, figures)


def _locks(run: Planned, place: int, block: int) -> LookRecord:
    """What performance_schema counts: one lock with waits, one with next to none."""
    parts = [
        {
            "qps": 900.0 + 300 * place + 2 * number,
            "locks": [
                {
                    "lock": "mutex/mysys/KEY_CACHE::cache_lock",
                    "wait_us": (400.0 if place == 0 else 40.0) + number,
                    "count": 140.0,
                },
                {"lock": "mutex/sql/THD::LOCK_thd_data", "wait_us": 0.5, "count": 4.0},
                {"lock": "mutex/sql/LOCK_plugin", "wait_us": 0.01, "count": 1.0},
            ],
        }
        for number in range(4)
    ]
    when = "2026-03-01T11:05:00.000+00:00"
    return LookRecord("locks", block, run.cell, when, when, {"parts": parts})


def record(
    all_rounds: list[dict[str, Any]],
    cell: Mapping[str, Level] | None = None,
    block: int = 1,
    **more: Any,
) -> LookRecord:
    figures = {
        **{"rounds": all_rounds, "is_here": True, "connections": 2, "depth": 1},
        **{"arrival": "closed-loop", "lag_us_mean": None, **more},
    }
    when = "2026-03-01T11:00:00.000+00:00"
    return LookRecord("budget", block, cell or {"a": 1}, when, when, figures)
