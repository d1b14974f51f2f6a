"""Record server processes that are alike in everything, from which false claims can be counted.

    python bench/trust_record.py [--minutes 4.5]

A unit is four freshly started servers over copies of one table, as the lab starts them for a
baseline and three levels. Each cell (1, 8 and 64 connections, 10 and 100 points) is asked once in
slices of 0.1 s, the four in turn, and once in separate runs of 0.5 s, one of each. 14 units are
recorded while the host is quiet, and 14 beside a neighbour that computes half of the time.

What is recorded is kept after each unit, in `bench/results/trust/`, a line of JSON for each server
process; begun anew, the command goes on with what is missing. With `--minutes` it stops in time.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import itertools
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pairs import SYSTEM, Arm, Copies, Pair, copies
from rounds import RESULTS, machine

FOLDER = RESULTS / "trust"
HOSTS = ("quiet", "busy")
CONNECTIONS = (1, 8, 64)
POINTS = (10, 100)
PROCESSES = 4
UNITS = 14
ROUNDS = 8
RUN_S = 0.5
ROWS = 100_000
UNIT_S = 45.0
"""What a unit takes, before one was recorded."""

Line = dict[str, Any]


def record_path(folder: Path, host: str) -> Path:
    return folder / f"{host}.jsonl.gz"


def read_lines(folder: Path, host: str) -> list[Line]:
    """What was recorded on a quiet or busy host, a line for each process."""
    path = record_path(folder, host)
    if not path.exists():
        return []
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def record(folder: Path, *, units: int, until_s: float) -> bool:
    """Record what is missing; whether all of it is there, or the time was over before."""
    missing = [
        (host, unit)
        for unit in range(units)
        for host in HOSTS
        if unit not in {line["unit"] for line in read_lines(folder, host)}
    ]
    if not missing:
        return True
    folder.mkdir(parents=True, exist_ok=True)
    took_s = UNIT_S
    with copies(rows=ROWS, number=PROCESSES) as data:
        for host, unit in missing:
            begun_s = time.monotonic()
            if begun_s + took_s > until_s:
                return False
            with neighbour(host):
                lines = record_unit(data, host, unit)
            with gzip.open(record_path(folder, host), "at") as file:
                file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
            took_s = time.monotonic() - begun_s
            print(f"{host}, unit {unit + 1}/{units}: {took_s:.0f} s", file=sys.stderr, flush=True)
    return True


@contextlib.contextmanager
def neighbour(host: str) -> Iterator[None]:
    """The neighbour of a busy host."""
    if host != "busy":
        yield
        return
    with subprocess.Popen([sys.executable, str(Path(__file__).with_name("neighbour.py"))]) as busy:
        try:
            yield
        finally:
            busy.kill()


def record_unit(data: Copies, host: str, unit: int) -> list[Line]:
    """Start servers, ask them all cells, and say what each answered."""
    draw = random.Random(f"{host} {unit}")
    lines: list[Line] = [
        {
            "host": host,
            "unit": unit,
            "process": process,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": machine(),
            "server": data.version,
            "cells": [],
        }
        for process in range(PROCESSES)
    ]
    cells = list(itertools.product(CONNECTIONS, POINTS))
    draw.shuffle(cells)
    with data.pair(SYSTEM, padding=0.0, segments=(0,) * PROCESSES) as servers:
        for connections, points in cells:
            asked = {"connections": connections, "points": points}
            for line, seen in zip(lines, ask(servers, asked, draw), strict=True):
                line["cells"].append(asked | seen)
    return lines


def ask(servers: Pair, asked: dict[str, int], draw: random.Random) -> list[Line]:
    """One cell: in slices, then in separate runs."""
    arms = [Arm(str(process), process) for process in range(PROCESSES)]
    rounds = servers.rounds(arms, **asked, rounds=ROUNDS, seed=draw.randrange(1 << 32))
    seed, order = draw.randrange(1 << 32), list(range(PROCESSES))
    draw.shuffle(order)
    runs = {
        process: servers.one_run(process, **asked, seconds=RUN_S, seed=seed) for process in order
    }
    return [
        {
            "slices": figures([one[process] for one in rounds]),
            "run": figures([runs[process]]),
        }
        for process in range(PROCESSES)
    ]


def figures(lines: list[Line]) -> dict[str, list[float]]:
    return {
        "qps": [round(line["qps"], 1) for line in lines],
        "p99_us": [round(line["latency_us"]["p99"], 1) for line in lines],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60, help="stop after so long")
    parser.add_argument("--units", type=int, default=UNITS)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    asked = parser.parse_args()
    until_s = time.monotonic() + 60 * asked.minutes
    done = record(asked.folder, units=asked.units, until_s=until_s)
    print("all is recorded" if done else "time is up; begun anew, it goes on", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
