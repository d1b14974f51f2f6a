"""Searches for the rate of a goal on made-up servers: one exponential server per level, whose
response times are known without chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from fake_load import done_of
from hdrh.histogram import HdrHistogram

from contend.experiment import Experiment, Level, cell_spec, load_experiment, to_dict
from contend.experiment import planned_runs as first_runs
from contend.lab.design import Design
from contend.lab.goal import GoalSchedule
from contend.load import Address, plan_of
from contend.metrics.outcome import Done
from contend.store import RunFolder, RunRecord

SETTING = "server.options.sort_buffer_size"
POINTS = 2000

EXPERIMENT = """
[experiment]
name = "goal"
question = "How much does it hold?"

[server]
kind = "mariadb"

[data]
rows = 1000

[workload]
kind = "point_select"

[load]
connections = 4
warmup = "500ms"
measure = "4s"

[factors]
"server.options.sort_buffer_size" = ["256K", "4M"]

[compare]
baseline = { "server.options.sort_buffer_size" = "256K" }
repeats = 4

[goal]
hold = "p99<20ms"
"""

CAPACITIES = {"256K": 1000.0, "4M": 2500.0}
"""Events per second that each level's server can do."""

AT_MS = "2026-03-01T10:00:00.000+00:00"


def exact(capacity: float, limit_s: float = 0.02) -> float:
    """The rate at which 1 % of the events take longer."""
    return capacity - math.log(100) / limit_s


def goal_experiment(folder: Path, text: str = EXPERIMENT, **sets: str) -> Experiment:
    file = folder / "goal.toml"
    file.write_text(text)
    overrides = [f"{path.replace('__', '.')}={value}" for path, value in sets.items()]
    return load_experiment(str(file), sets=overrides)


def served(plan: Mapping[str, Any], capacity: float, noise: float = 1.0) -> Done:
    """What contend-load reports of the plan's rate; `noise` slows all responses."""
    load = plan["load"]
    rate, measured_s = load["arrival"]["stages"][0]["rate"], load["measure_s"]
    spare = max(capacity - rate, 0.01 * capacity) / noise
    waiting = max(0.0, rate - capacity) * measured_s
    ended = min(rate, capacity)
    histogram, response = _histogram(round(1e6 / spare, 3))
    queue = {
        **{"backlog_open": 0, "backlog_close": round(waiting), "due": round(rate * measured_s)},
        **{"backlog_growth_per_s": waiting / measured_s, "due_per_s": rate, "not_begun": 0},
        **{"oldest_wait_s": 0.0, "overloaded": waiting > 0.01 * rate},
        **{"lag_us": response, "lag_hdr_ns": histogram},
        **{"service_us": response, "service_hdr_ns": histogram},
    }
    return done_of(
        dict(plan),
        qps=ended,
        arrival="open loop",
        latency_us=response,
        latency_hdr_ns=histogram,
        open=queue,
    )


@cache
def _histogram(mean_us: float) -> tuple[str, Any]:
    """Exponential times, and their percentiles."""
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for number in range(POINTS):
        share = (number + 0.5) / POINTS
        histogram.record_value(max(1, round(-math.log(1 - share) * mean_us * 1000)))
    ends = {"p50": 50, "p90": 90, "p95": 95, "p99": 99, "p999": 99.9}
    found: dict[str, float] = {
        name: histogram.get_value_at_percentile(at) / 1000 for name, at in ends.items()
    }
    found |= {"count": POINTS, "mean": mean_us, "min": 1.0, "max": 10 * mean_us}
    encoded: bytes = histogram.encode()
    return encoded.decode("ascii"), found


def noise_of(record_run: int) -> float:
    """A known scatter, without chance."""
    return 1 + 0.04 * math.sin(2.4 * record_run)


Capacity = Callable[[Mapping[str, Level]], float]


def by_level(cell: Mapping[str, Level]) -> float:
    return CAPACITIES[str(cell.get(SETTING, "256K"))]


def write_goal(
    path: Path,
    experiment: Experiment,
    *,
    capacity: Capacity = by_level,
    change: Callable[[RunRecord], RunRecord] = lambda record: record,
    runs: int | None = None,
) -> Path:
    """A run folder with the whole search, or with its first `runs` runs."""
    facts: dict[str, Any] = {"way": Design("runs", servers=2).facts()}
    planned = first_runs(experiment)
    with RunFolder.create(path, to_dict(experiment), planned, facts) as folder:
        schedule = GoalSchedule(experiment, folder, Design("runs", servers=2))
        schedule.effort.ready()
        made = 0
        while (runs is None or made < runs) and (next_runs := schedule.next()):
            (run,) = next_runs
            spec = cell_spec(experiment, run.cell)
            plan = plan_of(spec, Address(socket="/s"), seed=1, watch_pid=None)
            done = served(cast(Mapping[str, Any], plan), capacity(run.cell), noise_of(run.run))
            record = change(
                RunRecord(
                    *(run.run, run.block, run.repeat, run.cell, "ok", AT_MS, AT_MS),
                    plan=plan,
                    done=done,
                )
            )
            folder.append(record)
            schedule.ended([record])
            made += 1
    return path
