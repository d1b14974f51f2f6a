"""The model server beside MariaDB: speed, CPU a query, and what 32 and 64 segments gain.

    python bench/model_server.py [--rounds 4] [--seconds 45] [--quick]

For 10 and 100 points by itself: work is added to the model's requests of a page, so that a query
takes as much CPU as MariaDB's at 1 connection (the mean of 0 and 32 segments). How that is divided
between under the lock and outside of it does not show there, where nobody waits, so the gains are
measured for several shares of it under the lock. Then both servers are measured by the recipe of
the study, in slices, in turns of `--seconds`: over 1, 8 and 64 connections. Nothing is fitted to
these.
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rounds import markdown_table, publish
from units import log_ratios

from contend.experiment import contexts, from_dict, load_experiment
from contend.experiment.settings.server import MODEL
from contend.files import default_cache
from contend.lab import session
from contend.lab.equipment import private_equipment
from contend.load import find_program
from contend.servers.find import find_server
from contend.stats import Estimate, estimate
from contend.store import RunFolder, RunRecord

RECIPE = "segmented-key-cache"
SEGMENTS = "server.options.key_cache_segments"
CONNECTIONS = (1, 8, 64)
POINTS = (10, 100)
LEVELS = (0, 32, 64)
SHARES = (0.0, 0.25, 0.5)
"""Of what is fitted, that are done under the lock."""

FIT_S = 20.0


@dataclass(frozen=True)
class Contestant:
    """A server as it is measured: its kind, what it is called, its knobs."""

    kind: str
    name: str
    sets: tuple[str, ...] = ()


def measure(
    one: Contestant, points: int, connections: Sequence[int], levels: Sequence[int], seconds: float
) -> tuple[list[RunRecord], dict[tuple[int, int], list[float]]]:
    """A run of the recipe: its records, and ln(level / off) of each repeat by connections and
    level."""
    sets = [
        *(f"server.kind={one.kind}", f"workload.points={points}"),
        *(f"load.connections={list(connections)}", f"{SEGMENTS}={list(levels)}"),
        *(f"compare.at_most={seconds:g}s", f"load.seed={time.time_ns() % 1_000_000}"),
        *one.sets,
    ]
    experiment = load_experiment(RECIPE, sets=sets)
    with tempfile.TemporaryDirectory(prefix="contend-bench-") as place:
        path = Path(place) / "run"
        equipment = private_equipment(
            {one.kind: find_server(one.kind)},
            cache=default_cache(),
            program=find_program(),
            listen=lambda _event: None,
        )
        session.begin(experiment, path, equipment, lambda _event: None)
        with RunFolder.open(path) as folder:
            # On a busy host a level may not have had its turn.
            records = [run for run in folder.records() if run.done and run.done["queries"]]
            experiment = from_dict(folder.meta().experiment)
    d = log_ratios(experiment, records)
    places = [int(one.get("load.connections", connections[0])) for one in contexts(experiment)]
    gains = {
        (place, level): [float(x) for x in d[:, at, n] if x == x]
        for at, place in enumerate(places)
        for n, level in enumerate(levels[1:])
    }
    return records, gains


def cpu_us(records: Sequence[RunRecord], level: int | None = None) -> float:
    """CPU of the server for each query, at a level or over all of them."""
    found = []
    for run in records:
        done = run.done
        if done is None or (level is not None and run.cell[SEGMENTS] != level):
            continue
        used = done.get("server")
        if used is not None and done["queries"]:
            found.append(used["cpu_us"] / done["queries"])
    return statistics.mean(found)


def requests(records: Sequence[RunRecord]) -> float:
    """Requests of a page for each query, each of which does the work of the knobs once."""
    counts = [run.probes["status"] for run in records if "status" in run.probes]
    asked = sum(one["Key_read_requests"] for one in counts)
    return asked / sum(one["Questions"] for one in counts)


def contestants(points: int, seconds: float) -> tuple[list[Contestant], list[str]]:
    """MariaDB, the bare model, and the model with as much CPU a query at 1 connection, the mean of
    0 and 32 segments; and what was fitted."""
    both = [Contestant("mariadb", "MariaDB"), Contestant(MODEL, "model, no knob")]
    runs = [measure(one, points, [1], [0, 32], seconds)[0] for one in both]
    theirs, bare = (statistics.mean(cpu_us(some, level) for level in (0, 32)) for some in runs)
    missing_ns = max(0.0, theirs - bare) * 1000 / requests(runs[1])
    found = list(both)
    for share in SHARES if missing_ns else ():
        knobs = {"outside_lock_ns": missing_ns * (1 - share), "under_lock_ns": missing_ns * share}
        sets = tuple(f"server.knobs.{name}={round(value)}" for name, value in knobs.items())
        found.append(Contestant(MODEL, f"model, {share:.0%} of it under the lock", sets))
    said = [
        f"{points} points, 1 connection: MariaDB {theirs:.1f} µs of CPU a query, the model without "
        f"a knob {bare:.1f}" + ("" if missing_ns else ", which is as much: nothing is fitted")
    ]
    said += [f"{points} points, {one.name}: {', '.join(one.sets)}" for one in found[2:]]
    return found, said


def gain(logs: Sequence[float]) -> tuple[str, Estimate | None]:
    """`+34 % [+31, +37] n=8`, and the estimate of the ratio."""
    if len(logs) < 2:
        return "–", None
    found = estimate([math.exp(one) for one in logs], log_scale=True)
    ends = f"[{100 * (found.low - 1):+.0f}, {100 * (found.high - 1):+.0f}]"
    return f"{100 * (found.mean - 1):+.0f} % {ends} n={found.n}", found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=45, help="of each server in each round")
    parser.add_argument("--points", type=int, nargs="*", default=list(POINTS))
    parser.add_argument(
        "--quick", action="store_true", help="some minutes: two short rounds, 10 points"
    )
    asked = parser.parse_args()
    if asked.quick:
        asked.rounds, asked.seconds, asked.points = 2, 15.0, [10]
    fit_s = FIT_S / 2 if asked.quick else FIT_S
    rows, said = [], []
    for points in asked.points:
        found, words = contestants(points, fit_s)
        said += words
        records: dict[str, list[RunRecord]] = defaultdict(list)
        gains: dict[tuple[str, int, int], list[float]] = defaultdict(list)
        for number in range(asked.rounds):
            for one in found:
                runs, logs = measure(one, points, CONNECTIONS, LEVELS, asked.seconds)
                records[one.name] += runs
                for (connections, level), some in logs.items():
                    gains[one.name, connections, level] += some
                print(
                    f"{points} points, round {number + 1}/{asked.rounds}: {one.name}",
                    file=sys.stderr,
                    flush=True,
                )
        for connections, one in itertools.product(CONNECTIONS, found):
            some = [r for r in records[one.name] if r.cell.get("load.connections") == connections]
            off = [r for r in some if r.cell[SEGMENTS] == 0]
            qps = statistics.mean(r.done["qps"] for r in off if r.done is not None)
            cells = [str(points), str(connections), one.name, f"{qps:,.0f}"]
            cells += [f"{cpu_us(some, level):.1f}" for level in (0, 32)]
            for level in LEVELS[1:]:
                text, ours = gain(gains[one.name, connections, level])
                _, theirs = gain(gains[found[0].name, connections, level])
                if one.kind == MODEL and ours is not None and theirs is not None:
                    apart = ours.low > theirs.high or ours.high < theirs.low
                    text += " (apart)" if apart else ""
                cells.append(text)
            rows.append(cells)
    publish(
        "model-server",
        "The model server beside MariaDB: what segments of the key cache gain",
        [f"servers: {find_server('mariadb').name}, {find_server(MODEL).name}, Unix socket",
         "the study's recipe, 1,000,000 rows, in slices; gains over one lock with 95 % intervals",
         "(apart): the interval of the model's gain and that of MariaDB's have nothing in common",
         *said],
        markdown_table(
            ["points", "connections", "server", "off, q/s", "CPU a query, off, µs", "32, µs",
             "32 segments", "64 segments"],
            rows,
        ),
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
