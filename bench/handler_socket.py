"""Point selects over HandlerSocket, prepared and as text, one at a time on a connection and several
at once, side by side on one server.

    python bench/handler_socket.py [--units 8] [--connections 1 8 64] [--depths 1 8 32]

The ways and depths are arms of one run of contend-load: slices of 0.1 s in turn, in random order,
on the same warm server. Units are freshly started servers. 64 connections with 32 requests each
are left out: 2,048 requests under way would say how long a queue is, not what a way costs.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rounds import markdown_table, publish
from scipy import stats

from contend.get import debian
from contend.load import Address, FillProcess, find_program
from contend.servers import PrivateServer
from contend.spec import DataSpec

WAYS = ("prepared", "text", "handler_socket")
UNDER_WAY_MAX = 512
"""Requests, over all connections."""
BASE = ("prepared", 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--connections", type=int, nargs="+", default=(1, 8, 64))
    parser.add_argument("--depths", type=int, nargs="+", default=(1, 8, 32))
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--kinds", nargs="+", default=("point_select",))
    asked = parser.parse_args()
    binary = debian.get("mariadb", extras=("handlersocket",))
    program = find_program()
    found: dict[tuple[str, int], list[Figures]] = {}
    with tempfile.TemporaryDirectory() as work:
        server = PrivateServer(binary, Path(work) / "server")
        server.initialise()
        for unit in range(asked.units):
            server.start({"max_connections": 1000, "innodb_buffer_pool_size": "512M"})
            if unit == 0:
                fill(program, server, asked.rows)
            for kind in asked.kinds:
                for connections in asked.connections:
                    arms = arms_of(connections, asked.depths)
                    plan = plan_of(server, kind, connections, asked.rounds, asked.rows, unit)
                    plan["arms"] = [as_plan(server, arm) for arm in arms]
                    found.setdefault((kind, connections), []).append(figures(program, plan, arms))
                    print(f"unit {unit} {kind} {connections}", file=sys.stderr, flush=True)
            server.stop()
    rows = [
        [kind, str(connections), *row]
        for (kind, connections), units in found.items()
        for row in rows_of(units)
    ]
    table = markdown_table(
        [
            *("query", "connections", "depth", "way", "q/s", "to prepared, depth 1, 95 %"),
            *("server µs/query", "client µs/query", "p99 µs"),
        ],
        rows,
    )
    facts = [
        binary.name,
        f"{asked.units} freshly started servers, {asked.rounds} slices of 0.1 s of each in each",
        f"{asked.rows:,} rows of InnoDB, Unix sockets",
    ]
    publish("handler-socket", "Point selects over HandlerSocket and SQL", facts, table)
    return 0


def fill(program: Path, server: PrivateServer, rows: int) -> None:
    data = DataSpec(rows=rows, engine="InnoDB")
    address = Address(socket=str(server.socket), database=data.database)
    FillProcess(program).run(data, address, on_progress=lambda _phase, _rows, _total: None)


def plan_of(
    server: PrivateServer, kind: str, connections: int, rounds: int, rows: int, seed: int
) -> dict[str, Any]:
    assert server.key_sockets is not None
    reads, writes = map(str, server.key_sockets)
    return {
        "version": 1,
        "server": {
            "socket": str(server.socket),
            "database": DataSpec().database,
            "handler_socket": {"socket": reads, "socket_wr": writes},
        },
        "workload": {"kind": kind, "rows": rows},
        "load": {
            "connections": connections,
            "warmup_s": 0.2,
            "slices": {"slice_s": 0.1, "settle_s": 0.02, "rounds": rounds},
        },
        "seed": seed,
    }


Arm = tuple[str, int]
"""A way to ask, and how many requests may be under way on a connection."""

Figures = dict[Arm, dict[str, float]]


def arms_of(connections: int, depths: Sequence[int]) -> list[Arm]:
    kept = [depth for depth in depths if connections * depth <= UNDER_WAY_MAX]
    return [(way, depth) for depth in kept for way in WAYS]


def as_plan(server: PrivateServer, arm: Arm) -> dict[str, Any]:
    way, depth = arm
    watch = {"pid": server.pid}
    return {"name": f"{way} {depth}", "protocol": way, "depth": depth, "watch": watch}


def figures(program: Path, plan: dict[str, Any], arms: Sequence[Arm]) -> Figures:
    ran = subprocess.run(
        [program, "run", "-"], input=json.dumps(plan), capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise SystemExit(ran.stderr)
    done = json.loads(ran.stdout.splitlines()[-1])
    return {
        arm: {
            "qps": told["done"]["qps"],
            "server_us": told["done"]["server"]["cpu_us"] / told["done"]["queries"],
            "client_us": told["done"]["client"]["cpu_us"] / told["done"]["queries"],
            "p99_us": told["done"]["latency_us"]["p99"],
        }
        for arm, told in zip(arms, done["arms"], strict=True)
    }


def rows_of(units: list[Figures]) -> list[list[str]]:
    rows = []
    for arm in units[0]:
        way, depth = arm
        mean = {name: statistics.mean(u[arm][name] for u in units) for name in units[0][arm]}
        logs = [math.log(unit[arm]["qps"] / unit[BASE]["qps"]) for unit in units]
        ratio = math.exp(statistics.mean(logs))
        half = 0.0
        if arm != BASE and len(logs) > 1:
            t = float(stats.t.ppf(0.975, len(logs) - 1))
            half = t * statistics.stdev(logs) / math.sqrt(len(logs))
        ends = f" [{ratio * math.exp(-half):.2f}, {ratio * math.exp(half):.2f}]" if half else ""
        rows.append(
            [
                str(depth),
                way,
                f"{mean['qps']:,.0f}",
                f"{ratio:.2f}{ends}",
                f"{mean['server_us']:.1f}",
                f"{mean['client_us']:.2f}",
                f"{mean['p99_us']:.0f}",
            ]
        )
    return rows


if __name__ == "__main__":
    raise SystemExit(main())
