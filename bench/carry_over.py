"""Does a level run differently for what ran before it? One level against itself.

    python bench/carry_over.py [--units 8] [--rounds 100] [--connections 8]

Point selects on a server of their own are one arm of a run. Beside it, in slices of 0.1 s in random
order, three others: one reads on a server of its own, one reads on the same server (two sets of
connections), one writes on a server of its own. The slices of the first arm are compared by what
came just before them, so nothing may differ. A unit is a run on freshly started servers. What the
other servers go on doing meanwhile is seen from the CPU time that they use in these slices.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rounds import markdown_table, publish
from scipy import stats

from contend.get import debian
from contend.load import Address, FillProcess, find_program
from contend.servers import PrivateServer
from contend.spec import DataSpec

ASKED = "asked"
READS, SHARES, WRITES = "reads elsewhere", "reads on the same server", "writes elsewhere"
BEFORE = (READS, SHARES, WRITES, ASKED)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--settle-ms", type=float, default=20)
    parser.add_argument("--rest-ms", type=float, default=0)
    parser.add_argument("--engine", default="InnoDB")
    asked = parser.parse_args()
    binary = debian.get("mariadb")
    program = find_program()
    units: list[dict[str, float]] = []
    beside: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as work:
        servers = [PrivateServer(binary, Path(work) / str(place)) for place in range(3)]
        for server in servers:
            server.initialise()
        for unit in range(asked.units):
            for server in servers:
                server.start({"innodb_buffer_pool_size": "256M", "key_buffer_size": "64M"})
                if unit == 0:
                    fill(program, server, asked.rows, asked.engine)
            slices = slices_of(program, plan_of(servers, asked, unit))
            units.append(logs_after(slices))
            beside.append(cpu_beside(slices))
            said = ", ".join(
                f"{name}: {math.expm1(units[-1][name] - units[-1][READS]):+.1%}" for name in BEFORE
            )
            print(f"unit {unit}: {said}", file=sys.stderr, flush=True)
            for server in servers:
                server.stop()
    facts = [
        f"{binary.name}, {asked.engine}, {asked.rows:,} rows, Unix sockets",
        f"{asked.units} sets of freshly started servers, {asked.rounds} slices of each arm on each",
        f"{asked.connections} connections an arm; slices of 0.1 s after {asked.settle_ms:g} ms, "
        f"servers at rest before that for at most {asked.rest_ms:g} ms",
        "in the slices of these point selects the server that is read elsewhere used "
        f"{statistics.mean(one for one, _ in beside):.1%} of a CPU, the one that is written to "
        f"{statistics.mean(one for _, one in beside):.1%}",
    ]
    title = "The same point selects, by the arm whose slice came before"
    head = ["the arm before", "q/s", "to the first", "95 %"]
    publish("carry-over", title, facts, markdown_table(head, [row_of(n, units) for n in BEFORE]))
    return 0


def fill(program: Path, server: PrivateServer, rows: int, engine: str) -> None:
    data = DataSpec(rows=rows, engine=engine)
    address = Address(socket=str(server.socket), database=data.database)
    FillProcess(program).run(data, address, on_progress=lambda _phase, _rows, _total: None)


def plan_of(servers: list[PrivateServer], asked: argparse.Namespace, seed: int) -> dict[str, Any]:
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
                "settle_s": asked.settle_ms / 1000,
                "rest_s": asked.rest_ms / 1000,
                "rounds": asked.rounds,
            },
        },
        "arms": [
            first,
            arm(READS, 1, "random_points"),
            arm(SHARES, 0, "random_points"),
            arm(WRITES, 2, "update_index"),
        ],
        "seed": seed,
    }


def slices_of(program: Path, plan: dict[str, Any]) -> list[dict[str, Any]]:
    ran = subprocess.run(
        [program, "run", "-"], input=json.dumps(plan), capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise SystemExit(ran.stderr)
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    return [line for line in lines if line["type"] == "slice"]


def logs_after(slices: list[dict[str, Any]]) -> dict[str, float]:
    """Mean ln(q/s) of the first arm's slices, by the arm before."""
    found: dict[str, list[float]] = {name: [] for name in BEFORE}
    for before, one in itertools.pairwise(slices):
        if one["arm"] == ASKED:
            found[before["arm"]].append(math.log(one["qps"]))
    return {name: statistics.mean(logs) for name, logs in found.items()}


def cpu_beside(slices: list[dict[str, Any]]) -> tuple[float, float]:
    """Of a CPU, what the other two servers used in the first arm's slices: read, written to."""
    mine = [one for one in slices if one["arm"] == ASKED]
    time_us = 1e6 * sum(one["duration_s"] for one in mine)
    read, written = (sum(one["watched_cpu_us"][place] for one in mine) for place in (1, 3))
    return read / time_us, written / time_us


def row_of(name: str, units: list[dict[str, float]]) -> list[str]:
    mean = math.exp(statistics.mean(unit[name] for unit in units))
    if name == READS:
        return [name, f"{mean:,.0f}", "", ""]
    logs = [unit[name] - unit[READS] for unit in units]
    t = float(stats.t.ppf(0.975, len(logs) - 1))
    half = t * statistics.stdev(logs) / math.sqrt(len(logs))
    change = statistics.mean(logs)
    return [
        name,
        f"{mean:,.0f}",
        f"{math.expm1(change):+.1%}",
        f"{math.expm1(change - half):+.1%} to {math.expm1(change + half):+.1%}",
    ]


if __name__ == "__main__":
    raise SystemExit(main())
