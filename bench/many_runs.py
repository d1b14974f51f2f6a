"""How long a run folder of 5,000 runs takes to be shown and reported, and in how much memory.

The folder is made up, in the shape of a real one: the study's cells, 80 repeats of each, latency
histograms of 5,000 queries, as many status counters as a server's. Each command runs on its own,
so that imports count. CPU seconds stand beside wall time, which other work on the host lengthens.

    python bench/many_runs.py [--repeats 80] [--times 3]
"""

from __future__ import annotations

import argparse
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram

SUPPORT = Path(__file__).resolve().parents[1] / "tests" / "support"
sys.path.insert(0, str(SUPPORT))

import synthetic_run  # noqa: E402

from contend.store import RunFolder, RunRecord  # noqa: E402

QUERIES = 5_000
COUNTERS = {f"Counter_of_the_server_{number}": number * 977 for number in range(60)}
"""With those of the made-up run as many as MariaDB 10.11 and MySQL 9.7 change in a run."""

COMMANDS = (["show"], ["show", "--json"], ["report"])
QUANTILES = (("p50", 50), ("p90", 90), ("p95", 95), ("p99", 99), ("p999", 99.9))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=80, help="of each of the study's 63 cells")
    parser.add_argument("--times", type=int, default=3, help="how often each command is run")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = made(Path(temporary) / "run", args.repeats)
        with RunFolder.open(folder) as run:
            runs = len(run.ended())
        size = (folder / "results.sqlite").stat().st_size / 1e6
        print(f"{runs} runs, {size:.0f} MB\n")
        print("| contend | wall, s | CPU, s | peak memory, MB |\n|---|---|---|---|")
        for command in COMMANDS:
            wall_s, cpu_s, peak_mb = min(took(command, folder) for _ in range(args.times))
            print(f"| {' '.join(command)} | {wall_s:.1f} | {cpu_s:.1f} | {peak_mb:.0f} |")


def made(folder: Path, repeats: int) -> Path:
    synthetic_run.latency_histogram = latency_histogram
    experiment = synthetic_run.study(sets=[f"compare.repeats={repeats}"])
    return synthetic_run.write_run(folder, experiment, change=as_a_server_counts)


def as_a_server_counts(record: RunRecord) -> RunRecord:
    probes: dict[str, Any] = dict(record.probes)
    probes["status"] = {**COUNTERS, **probes["status"]}
    return replace(record, probes=probes)


def latency_histogram(middle_us: float, spread: float) -> tuple[str, dict[str, float]]:
    return _histogram(float(f"{middle_us:.2g}"), spread)


@cache
def _histogram(middle_us: float, spread: float) -> tuple[str, dict[str, float]]:
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    chance = random.Random(11)
    for _ in range(QUERIES):
        histogram.record_value(max(1, int(1000 * middle_us * math.exp(chance.gauss(0, spread)))))
    quantiles = {name: histogram.get_value_at_percentile(at) / 1000 for name, at in QUANTILES}
    return histogram.encode().decode(), quantiles


def took(command: list[str], folder: Path) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak memory in MB of one command."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "contend", command[0], str(folder), *command[1:]],
        stdout=subprocess.DEVNULL,
    )
    _pid, status, used = os.wait4(process.pid, 0)
    wall_s = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"contend {command[0]} ended with {process.returncode}")
    return wall_s, _cpu_s(used), used.ru_maxrss * 1024 / 1e6


def _cpu_s(used: resource.struct_rusage) -> float:
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
