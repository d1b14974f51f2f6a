"""Does a level run differently for what the level beside it does? One level against itself.

    python bench/carry_over.py [--units 8] [--rounds 30] [--connections 8]

Point selects on a server of their own, in slices of 0.1 s in turn with another arm: one that reads
on a server of its own, one that reads on the same server (two sets of connections), or one that
writes on a server of its own. What is compared is always the same point selects, so nothing may
differ. A unit is a set of freshly started servers; in each the neighbours come in random order.
"""

from __future__ import annotations

import argparse
import json
import math
import random
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

ASKED = {"kind": "point_select"}
READS, SHARES, WRITES = "reads elsewhere", "reads on the same server", "writes elsewhere"
NEIGHBOURS = {
    READS: (1, {"kind": "random_points"}),
    SHARES: (0, {"kind": "random_points"}),
    WRITES: (2, {"kind": "update_index"}),
}
"""The server of each, and what it asks there."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--engine", default="InnoDB")
    asked = parser.parse_args()
    binary = debian.get("mariadb")
    program = find_program()
    units: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as work:
        servers = [PrivateServer(binary, Path(work) / str(place)) for place in range(3)]
        for server in servers:
            server.initialise()
        for unit in range(asked.units):
            for server in servers:
                server.start({"innodb_buffer_pool_size": "256M", "key_buffer_size": "64M"})
                if unit == 0:
                    fill(program, server, asked.rows, asked.engine)
            order = list(NEIGHBOURS)
            random.Random(unit).shuffle(order)
            units.append(
                {
                    name: queries_per_s(program, plan_of(servers, name, asked, unit))
                    for name in order
                }
            )
            print(f"unit {unit}: {units[-1]}", file=sys.stderr, flush=True)
            for server in servers:
                server.stop()
    rows = [row_of(name, units) for name in NEIGHBOURS]
    head = ["the arm beside it", "its q/s", "to the first", "95 %"]
    facts = [
        f"{binary.name}, {asked.engine}, {asked.rows:,} rows, Unix sockets",
        f"{asked.units} sets of freshly started servers, each neighbour {asked.rounds} rounds",
        f"{asked.connections} connections an arm, slices of 0.1 s after 0.02 s of settling",
    ]
    title = "One level beside levels that read and write"
    publish("carry-over", title, facts, markdown_table(head, rows))
    return 0


def fill(program: Path, server: PrivateServer, rows: int, engine: str) -> None:
    data = DataSpec(rows=rows, engine=engine)
    address = Address(socket=str(server.socket), database=data.database)
    FillProcess(program).run(data, address, on_progress=lambda _phase, _rows, _total: None)


def plan_of(
    servers: list[PrivateServer], neighbour: str, asked: argparse.Namespace, seed: int
) -> dict[str, Any]:
    def at(place: int) -> dict[str, Any]:
        return {"socket": str(servers[place].socket), "database": DataSpec().database}

    place, workload = NEIGHBOURS[neighbour]
    return {
        "version": 1,
        "server": at(0),
        "workload": {**ASKED, "rows": asked.rows},
        "load": {
            "connections": asked.connections,
            "warmup_s": 0.2,
            "slices": {"slice_s": 0.1, "settle_s": 0.02, "rounds": asked.rounds},
        },
        "arms": [
            {"name": "asked"},
            {"name": "other", "server": at(place), "workload": {**workload, "rows": asked.rows}},
        ],
        "seed": seed,
    }


def queries_per_s(program: Path, plan: dict[str, Any]) -> float:
    ran = subprocess.run(
        [program, "run", "-"], input=json.dumps(plan), capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise SystemExit(ran.stderr)
    return float(json.loads(ran.stdout.splitlines()[-1])["arms"][0]["done"]["qps"])


def row_of(name: str, units: list[dict[str, float]]) -> list[str]:
    mean = statistics.mean(unit[name] for unit in units)
    if name == READS:
        return [name, f"{mean:,.0f}", "1", ""]
    logs = [math.log(unit[name] / unit[READS]) for unit in units]
    t = float(stats.t.ppf(0.975, len(logs) - 1))
    half = t * statistics.stdev(logs) / math.sqrt(len(logs))
    change = statistics.mean(logs)
    ends = (math.expm1(change - half), math.expm1(change + half))
    return [
        name,
        f"{mean:,.0f}",
        f"{math.expm1(change):+.1%}",
        f"{ends[0]:+.1%} to {ends[1]:+.1%}",
    ]


if __name__ == "__main__":
    raise SystemExit(main())
