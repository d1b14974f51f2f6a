"""Run folders of closed work with made-up figures: a list of two statements that each client asks
once, in two engines. One takes the same time in both; the other is dear in MyISAM among many
clients."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from synthetic_run import write_run

from contend.experiment import Experiment, load_experiment
from contend.store import RunRecord

STATEMENTS = ("SELECT COUNT(*) FROM sbtest", "SELECT c FROM sbtest LIMIT 10")
NAMES = ("count_all", "first_ten")

SWEEP = f"""
[experiment]
name = "sweep"
question = "How does the time for a list grow with the clients that ask it?"
explain = "concurrency"

[data]
engine = "MyISAM"
rows = 1000

[workload]
kind = "list"
times = 1
names = {list(NAMES)}
statements = {list(STATEMENTS)}

[load]
protocol = "text"
warmup = "0s"
measure = "1m"

[factors]
"load.connections" = [1, 8, 64]

[compare]
metric = "seconds"
repeats = 5

[published.new]
machine = "a large one"
metric = "seconds"
columns = {{ "load.connections" = [1, 8, 64] }}
rows = [{{ cell = {{}}, figures = [0.5, 0.6, 3.3] }}]

[published.old]
machine = "an old one"
metric = "seconds"
columns = {{ "load.connections" = [1, 8, 64] }}
rows = [{{ cell = {{}}, figures = [1.0, 1.2, 2.2] }}]
"""

ENGINES = (
    SWEEP.partition("[published.new]")[0]
    .replace(
        '[factors]\n"load.connections" = [1, 8, 64]',
        '[factors]\n"data.engine" = ["MyISAM", "InnoDB"]\n"load.connections" = [1, 8]',
    )
    .replace("metric =", 'baseline = { "data.engine" = "MyISAM" }\nmetric =')
    .replace("concurrency", "engines")
)

COUNT_MS = {
    ("MyISAM", 1): 100.0,
    ("MyISAM", 8): 400.0,
    ("MyISAM", 64): 3200.0,
    ("InnoDB", 1): 104.0,
    ("InnoDB", 8): 250.0,
}
"""Of `count_all`; `first_ten` takes a tenth of a millisecond wherever."""


def experiment(folder: Path, text: str) -> Experiment:
    path = folder / "closed.toml"
    path.write_text(textwrap.dedent(text))
    return load_experiment(str(path))


def write_closed(
    folder: Path,
    text: str = SWEEP,
    *,
    change: Callable[[RunRecord], RunRecord] = lambda record: record,
    **how: Any,
) -> Path:
    """A run folder in `folder`."""
    tried = experiment(folder, text)

    def closed(record: RunRecord) -> RunRecord:
        return change(as_closed(record))

    return write_run(folder / "run", tried, change=closed, **how)


def as_closed(record: RunRecord) -> RunRecord:
    """The same run, over when its work was."""
    assert record.done is not None
    clients = int(record.cell["load.connections"])
    engine = str(record.cell.get("data.engine", "MyISAM"))
    wobble = 1 + (record.run * 7 % 5 - 2) / 400
    count_ms, ten_ms = COUNT_MS[engine, clients] * wobble, 0.1 / wobble
    seconds = (count_ms + ten_ms) / 1000
    classes = [
        {"name": name, "queries": clients, "rows": clients, "errors": 0, "latency_us": times(ms)}
        for name, ms in zip(NAMES, (count_ms, ten_ms), strict=True)
    ]
    done = {
        **record.done,
        "ended": "events",
        "measured_s": seconds,
        "queries": 2 * clients,
        "qps": 2 * clients / seconds,
        "classes": classes,
        "client": {"cpu_us": 1000.0 * clients, "voluntary_switches": 1},
        "server": {
            "cpu_us": (min(clients, 2) * 0.97 * seconds) * 1e6,
            "voluntary_switches": clients,
            "involuntary_switches": 0,
            "read_bytes": 0,
            "write_bytes": 0,
        },
    }
    plan = {
        **record.plan,
        "workload": {"kind": "list", "names": list(NAMES), "statements": list(STATEMENTS)},
    }
    status = {"Questions": 2 * clients, "Handler_read_rnd_next": 1011 * clients}
    probes = {**record.probes, "status": status}
    return replace(record, done=done, plan=plan, probes=probes)  # type: ignore[arg-type]


def times(ms: float) -> dict[str, float]:
    """Of one statement, in µs."""
    us = 1000 * ms
    return {"count": 1, "mean": us, "p50": us, "p90": us, "p95": 1.1 * us, "p99": 1.2 * us}
