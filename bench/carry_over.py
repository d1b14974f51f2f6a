"""Does a level run differently for what ran before it? One level against itself.

    python bench/carry_over.py [--units 8] [--rounds 100] [--rest-ms 0 200] [--keep FILE]

Point selects on a server of their own are one arm of a run. Beside it, in slices of 0.1 s in random
order, three others: one reads on a server of its own, one reads on the same server (two sets of
connections), one writes on a server of its own. The slices of the first arm are compared by what
came just before them, so nothing may differ. A unit is a run on freshly started servers. What the
other servers go on doing meanwhile is seen from the CPU time that they use in these slices.

With several values of --rest-ms or --settle-ms units take them in turn. The host drifts within a
unit, so each slice is seen against its neighbours of the same arm; it stalls now and then, so
medians of the slices stand beside the means. --keep adds the units to a file, and the table is of
all that are in it: so a long measurement can be made in parts.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rounds import markdown_table, publish
from scipy import stats

from contend.get import debian
from contend.load import Address, FillProcess, find_program
from contend.servers import PrivateServer, ServerBinary
from contend.spec import DataSpec

ASKED = "asked"
NEIGHBOURS = 6
"""Slices of the same arm on each side, of which a slice is seen as a deviation."""

READS, SHARES, WRITES = "reads elsewhere", "reads on the same server", "writes elsewhere"
BEFORE = (READS, SHARES, WRITES, ASKED)
BESIDE = {"shares": SHARES, "writes": WRITES}
"""What else there may be in a run, beside the arm that reads elsewhere."""


@dataclass(frozen=True)
class Unit:
    """What one set of servers came to."""

    settle_ms: float
    rest_ms: float
    apart: bool
    """The servers were kept to one CPU, and the load generator to another."""
    logs: dict[str, list[float]]
    """Deviations of ln(q/s) of the first arm's slices from their neighbours, by the arm before."""
    cpu: dict[str, float]
    """Of a CPU, what the servers of others used in these slices, by the arm before."""
    qps: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--settle-ms", type=float, nargs="+", default=[20])
    parser.add_argument("--rest-ms", type=float, nargs="+", default=[200])
    parser.add_argument("--engine", default="InnoDB")
    parser.add_argument("--apart", action="store_true", help="servers on CPU 0, the client on 1")
    parser.add_argument("--option", action="append", default=[], help="of the servers: NAME=VALUE")
    parser.add_argument("--beside", nargs="+", choices=list(BESIDE), default=list(BESIDE))
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no unit after that")
    parser.add_argument("--keep", type=Path, help="a file for the units, whose earlier ones count")
    asked = parser.parse_args()
    kept = asked.keep if asked.keep is not None and asked.keep.exists() else None
    units = [Unit(**json.loads(line)) for line in kept.read_text().splitlines()] if kept else []
    binary = debian.get("mariadb")
    measure(asked, binary, units)
    facts = [
        f"{binary.name}, {asked.engine}, {asked.rows:,} rows, Unix sockets",
        f"freshly started servers for each unit, {asked.rounds} slices of each arm on each",
        f"{asked.connections} connections an arm; slices of 0.1 s",
        "CPU: what the servers that others asked used in these slices, of one CPU",
    ]
    title = "The same point selects, by the arm whose slice came before"
    head = [
        "settled ms",
        "rest ms",
        "CPUs",
        "the arm before",
        "units",
        "q/s",
        "CPU",
        "means, to the first",
        "medians, to the first",
    ]
    rows = []
    for settings in sorted({settings_of(one) for one in units}):
        mine = [one for one in units if settings_of(one) == settings]
        settle_ms, rest_ms, apart = settings
        about = [f"{settle_ms:g}", f"{rest_ms:g}", "apart" if apart else "shared"]
        if len(mine) > 1:
            with_it = {name: [one for one in mine if name in one.logs] for name in BEFORE}
            rows += [[*about, *row_of(name, us)] for name, us in with_it.items() if len(us) > 1]
    publish("carry-over", title, facts, markdown_table(head, rows))
    return 0


def settings_of(unit: Unit) -> tuple[float, float, bool]:
    return unit.settle_ms, unit.rest_ms, unit.apart


def measure(asked: argparse.Namespace, binary: ServerBinary, units: list[Unit]) -> None:
    """Add units."""
    program, begun = find_program(), time.monotonic()
    conditions = list(itertools.product(asked.settle_ms, asked.rest_ms))
    options = {
        "innodb_buffer_pool_size": "256M",
        "key_buffer_size": "64M",
        **dict(one.split("=", 1) for one in asked.option),
    }
    with tempfile.TemporaryDirectory() as work:
        servers = [PrivateServer(binary, Path(work) / str(place)) for place in range(3)]
        for server in servers:
            server.initialise()
        for number in range(asked.units):
            if time.monotonic() - begun > asked.seconds:
                break
            for server in servers:
                server.start(options)
                if asked.apart:
                    keep_to(0, server)
                if number == 0:
                    fill(program, server, asked.rows, asked.engine)
            settle_ms, rest_ms = conditions[number % len(conditions)]
            plan = plan_of(servers, asked, len(units), settle_ms / 1000, rest_ms / 1000)
            slices = slices_of(program, plan, ("taskset", "-c", "1") if asked.apart else ())
            logs, cpu = after(slices)
            qps = statistics.mean(one["qps"] for one in slices if one["arm"] == ASKED)
            unit = Unit(settle_ms, rest_ms, asked.apart, logs, cpu, qps)
            units.append(unit)
            if asked.keep is not None:
                with asked.keep.open("a") as file:
                    file.write(json.dumps(asdict(unit)) + "\n")
            said = ", ".join(
                f"{name} {math.expm1(change_of(unit, name, statistics.mean)):+.1%} "
                f"({math.expm1(change_of(unit, name, statistics.median)):+.1%}, {cpu[name]:.1%})"
                for name in logs
            )
            about = f"settled {settle_ms:g} ms, rest {rest_ms:g} ms, {qps:,.0f} q/s"
            print(f"unit {len(units)}: {about}: {said}", file=sys.stderr, flush=True)
            for server in servers:
                server.stop()


def keep_to(cpu: int, server: PrivateServer) -> None:
    """Threads that it makes later go where those that make them are."""
    for task in Path(f"/proc/{server.pid}/task").iterdir():
        os.sched_setaffinity(int(task.name), {cpu})


def fill(program: Path, server: PrivateServer, rows: int, engine: str) -> None:
    data = DataSpec(rows=rows, engine=engine)
    address = Address(socket=str(server.socket), database=data.database)
    FillProcess(program).run(data, address, on_progress=lambda _phase, _rows, _total: None)


def plan_of(
    servers: list[PrivateServer],
    asked: argparse.Namespace,
    seed: int,
    settle_s: float,
    rest_s: float,
) -> dict[str, Any]:
    def arm(name: str, place: int, kind: str) -> dict[str, Any]:
        at = {"socket": str(servers[place].socket), "database": DataSpec().database}
        workload = {"kind": kind, "rows": asked.rows}
        return {
            "name": name,
            "server": at,
            "workload": workload,
            "watch": {"pid": servers[place].pid},
        }

    first = arm(ASKED, 0, "point_select")
    return {
        "version": 1,
        "server": first["server"],
        "workload": first["workload"],
        "load": {
            "connections": asked.connections,
            "warmup_s": 0.2,
            "slices": {
                "slice_s": 0.1,
                "settle_s": settle_s,
                "rest_s": rest_s,
                "rounds": asked.rounds,
            },
        },
        "arms": [
            first,
            arm(READS, 1, "random_points"),
            *([arm(SHARES, 0, "random_points")] if "shares" in asked.beside else []),
            *([arm(WRITES, 2, "update_index")] if "writes" in asked.beside else []),
        ],
        "seed": seed,
    }


def slices_of(program: Path, plan: dict[str, Any], wrap: tuple[str, ...]) -> list[dict[str, Any]]:
    command = [*wrap, str(program), "run", "-"]
    ran = subprocess.run(
        command, input=json.dumps(plan), capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise SystemExit(ran.stderr)
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    return [line for line in lines if line["type"] == "slice"]


def after(slices: list[dict[str, Any]]) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Of the first arm's slices, by the arm before: deviations of ln(q/s) from their neighbours,
    and the CPU that the servers of others used in them."""
    mine = [(b["arm"], one) for b, one in itertools.pairwise(slices) if one["arm"] == ASKED]
    logs = [math.log(one["qps"]) for _before, one in mine]
    found: dict[str, list[float]] = {name: [] for name in BEFORE}
    cpu: dict[str, list[float]] = {name: [] for name in BEFORE}
    shared = any(one["arm"] == SHARES for one in slices)
    for place, (before, one) in enumerate(mine):
        around = logs[max(0, place - NEIGHBOURS) : place] + logs[place + 1 :][:NEIGHBOURS]
        found[before].append(logs[place] - statistics.mean(around))
        # The arm that shares the server watches the same process as the first.
        used_us = sum(one["watched_cpu_us"][1:]) - shared * one["watched_cpu_us"][0]
        cpu[before].append(used_us / 1e6 / one["duration_s"])
    return (
        {name: each for name, each in found.items() if each},
        {name: statistics.mean(each) for name, each in cpu.items() if each},
    )


def row_of(name: str, units: list[Unit]) -> list[str]:
    qps = statistics.mean(unit.qps * math.exp(statistics.mean(unit.logs[name])) for unit in units)
    cpu = statistics.mean(unit.cpu[name] for unit in units)
    row = [name, str(len(units)), f"{qps:,.0f}", f"{cpu:.1%}"]
    if name == READS:
        return [*row, "", ""]
    return [*row, *(with_interval(name, units, of) for of in (statistics.mean, statistics.median))]


def change_of(unit: Unit, name: str, of: Callable[[list[float]], float]) -> float:
    """How much more the slices after this arm have than those after the first, as a logarithm."""
    return of(unit.logs[name]) - of(unit.logs[READS])


def with_interval(name: str, units: list[Unit], of: Callable[[list[float]], float]) -> str:
    """The change over the units, with its 95 % interval."""
    logs = [change_of(unit, name, of) for unit in units]
    t = float(stats.t.ppf(0.975, len(logs) - 1))
    half = t * statistics.stdev(logs) / math.sqrt(len(logs))
    low, middle, high = (math.expm1(statistics.mean(logs) + one) for one in (-half, 0.0, half))
    return f"{middle:+.1%} ({low:+.1%} to {high:+.1%})"


if __name__ == "__main__":
    raise SystemExit(main())
