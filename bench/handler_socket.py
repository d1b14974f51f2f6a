"""Point selects over HandlerSocket, prepared and as text, side by side on one server.

    python bench/handler_socket.py [--rounds 10] [--connections 1 8 64] [--rows 100000]

The three ways are arms of one run of contend-load: slices of 0.1 s in turn, in random order, on the
same warm server. Units are freshly started servers.
"""

from __future__ import annotations

import argparse
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

WAYS = ("prepared", "text", "handler_socket")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--connections", type=int, nargs="+", default=(1, 8, 64))
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--kinds", nargs="+", default=("point_select",))
    asked = parser.parse_args()
    binary = debian.get("mariadb", extras=("handlersocket",))
    program = find_program()
    found: dict[tuple[str, int], list[dict[str, dict[str, float]]]] = {}
    with tempfile.TemporaryDirectory() as work:
        server = PrivateServer(binary, Path(work) / "server")
        server.initialise()
        for unit in range(asked.units):
            server.start({"max_connections": 500, "innodb_buffer_pool_size": "512M"})
            if unit == 0:
                fill(program, server, asked.rows)
            for kind in asked.kinds:
                for connections in asked.connections:
                    plan = plan_of(server, kind, connections, asked.rounds, asked.rows, unit)
                    found.setdefault((kind, connections), []).append(figures(program, plan))
                    print(f"unit {unit} {kind} {connections}", file=sys.stderr, flush=True)
            server.stop()
    rows = [
        [kind, str(connections), *row]
        for (kind, connections), units in found.items()
        for row in rows_of(units)
    ]
    table = markdown_table(
        [
            *("query", "connections", "way", "q/s", "to prepared, 95 %"),
            *("server µs/query", "client µs/query", "p99 µs"),
        ],
        rows,
    )
    facts = [
        binary.name,
        f"{asked.units} freshly started servers, each way {asked.rounds} slices of 0.1 s in each",
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
        "arms": [{"name": way, "protocol": way, "watch": {"pid": server.pid}} for way in WAYS],
        "seed": seed,
    }


def figures(program: Path, plan: dict[str, Any]) -> dict[str, dict[str, float]]:
    ran = subprocess.run(
        [program, "run", "-"], input=json.dumps(plan), capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise SystemExit(ran.stderr)
    done = json.loads(ran.stdout.splitlines()[-1])
    return {
        arm["arm"]: {
            "qps": arm["done"]["qps"],
            "server_us": arm["done"]["server"]["cpu_us"] / arm["done"]["queries"],
            "client_us": arm["done"]["client"]["cpu_us"] / arm["done"]["queries"],
            "p99_us": arm["done"]["latency_us"]["p99"],
        }
        for arm in done["arms"]
    }


def rows_of(units: list[dict[str, dict[str, float]]]) -> list[list[str]]:
    rows = []
    for way in WAYS:
        mean = {name: statistics.mean(u[way][name] for u in units) for name in units[0][way]}
        logs = [math.log(unit[way]["qps"] / unit[WAYS[0]]["qps"]) for unit in units]
        ratio = math.exp(statistics.mean(logs))
        half = 0.0
        if way != WAYS[0] and len(logs) > 1:
            t = float(stats.t.ppf(0.975, len(logs) - 1))
            half = t * statistics.stdev(logs) / math.sqrt(len(logs))
        ends = f" [{ratio * math.exp(-half):.2f}, {ratio * math.exp(half):.2f}]" if half else ""
        rows.append(
            [
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
