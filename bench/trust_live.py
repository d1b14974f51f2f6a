"""What the lab claims, live, of levels whose difference is known.

    python bench/trust_live.py [--minutes 60]

40 experiments compare an option with itself under another name (`max_error_count` 64 and 65, which
no query of the load looks at): `contend run` in slices, each of 60 s. 20 experiments measure two
null servers of which one takes 5 % longer for each query, the way the lab measures two servers in
slices, 8 times with freshly started ones. Kept in `bench/results/trust/live.jsonl.gz` one by one;
begun anew, the command goes on. One at a time, and alone on the machine: beside other work the
intervals stay true, but get so wide that they could hardly be wrong.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import statistics
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from null_servers import NullServer, station
from rounds import machine
from trust_record import FOLDER
from units import EXPERIMENTS, log_ratios, run_experiment

from contend.experiment import cell_spec, load_experiment
from contend.experiment.settings.load import Slicing
from contend.lab.measure import measure
from contend.lab.probes import Expected, Observed
from contend.lab.testbed import Ready
from contend.load import Address, LoadProcess, find_program
from contend.store import Planned, RunRecord

ALIKE, SLOWER = "alike", "slower"
COUNTS = {ALIKE: 40, SLOWER: 20}
SLOWER_BY = 0.05
SERVICE_US = 1000.0
TURNAROUND_US = 60_000
CONNECTIONS = 8
UNITS = 8
ROUNDS = 10
FOR_S = 60.0
OPTION = "server.options.max_error_count"

Line = dict[str, Any]


def live_path(folder: Path) -> Path:
    return folder / "live.jsonl.gz"


def read_live(folder: Path) -> list[Line]:
    """The experiments that were made. `logs`: ln(level / baseline) of each unit."""
    if not live_path(folder).exists():
        return []
    with gzip.open(live_path(folder), "rt") as file:
        return [json.loads(line) for line in file]


def make_missing(folder: Path, *, counts: dict[str, int], until_s: float) -> bool:
    """Make what is missing; whether all of it is there, or the time was over before."""
    made = {(one["kind"], one["number"]) for one in read_live(folder)}
    missing = [one for one in both_in_turn(counts) if one not in made]
    folder.mkdir(parents=True, exist_ok=True)
    for kind, number in missing:
        if time.monotonic() + 2 * FOR_S > until_s:
            return False
        at = datetime.now(UTC).isoformat(timespec="seconds")
        line = {"kind": kind, "number": number, "at": at, "machine": machine()}
        line |= alike(number) if kind == ALIKE else slower(number)
        with gzip.open(live_path(folder), "at") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
        said = f"{100 * math.expm1(statistics.mean(line['logs'])):+.1f} %"
        print(f"{kind} {number + 1}/{counts[kind]}: {said}", file=sys.stderr, flush=True)
    return True


def both_in_turn(counts: dict[str, int]) -> list[tuple[str, int]]:
    """Both kinds side by side, so that an early end leaves some of each."""
    return [
        (kind, number)
        for number in range(max(counts.values()))
        for kind in counts
        if number < counts[kind]
    ]


def alike(number: int) -> Line:
    """One `contend run` from beginning to end."""
    sets = [f"compare.at_most={FOR_S:g}s", f"load.seed={number}"]
    d, finished = run_experiment("alike", sets)
    return {"logs": _only(d), "finished": finished}


def _only(d: np.ndarray) -> list[float]:
    """The log-ratios of the only level in the only cell, of the units that have it."""
    return [float(one) for one in d[:, 0, 0] if not math.isnan(one)]


def slower(number: int) -> Line:
    """Null servers in the place of the lab's: the level's take longer."""
    experiment = load_experiment(str(EXPERIMENTS / "null_servers.toml"))
    chance = random.Random(f"slower {number}")
    records: list[RunRecord] = []
    for repeat in range(1, UNITS + 1):
        block = [
            Planned(run=2 * repeat + place, block=repeat, repeat=repeat, cell={OPTION: 64 + place})
            for place in (0, 1)
        ]
        cells = [cell_spec(experiment, one.cell) for one in block]
        times = (SERVICE_US, SERVICE_US * (1 + SLOWER_BY))
        seeds = [chance.randrange(1 << 32) for _ in times]
        # Granted so long a way to the client and back, q/s are connections over service time.
        servers = [
            NullServer(
                *station(CONNECTIONS, time_us, "exponential", seed),
                f"--turnaround-us={TURNAROUND_US}",
            )
            for time_us, seed in zip(times, seeds, strict=True)
        ]
        with servers[0], servers[1]:
            readies = [_ready(server) for server in servers]
            slices = Slicing(0.1, 0.02, ROUNDS)
            load = LoadProcess(find_program())
            enter = [()] * len(block)
            records += measure(
                block, cells, readies, load, lambda _: None, slices=slices, enter=enter
            )
    return {"logs": _only(log_ratios(experiment, records))}


def _ready(server: NullServer) -> Ready:
    """A null server has no counters to look at."""
    return Ready(Address(socket=str(server.socket)), Observed(_NoCounters(), "mysql"), Expected())


class _NoCounters:
    """A control connection to a server that counts nothing."""

    def cursor(self) -> Any:
        return self

    def __enter__(self) -> Any:
        return self

    def execute(self, _statement: str) -> int:
        return 0

    def fetchall(self) -> tuple[()]:
        return ()

    def __exit__(self, *_: object) -> None:
        pass


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60, help="stop after so long")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    asked = parser.parse_args()
    until_s = time.monotonic() + 60 * asked.minutes
    done = make_missing(asked.folder, counts=COUNTS, until_s=until_s)
    print("all is made" if done else "time is up; begun anew, it goes on", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
