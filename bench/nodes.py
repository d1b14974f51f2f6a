"""What does it cost the client to ask two servers instead of one?

    python bench/nodes.py [--rounds 10] [--seconds 3]

Point selects at 64 connections: on one private server, and routed by key to two that hold the same
table. A round has both in random order; the figure is the client's CPU a query, of the whole
process. A third row asks the first server through two nodes, which leaves only the route's own
cost: two servers also share this machine's CPUs and caches.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from typing import Any

from lab import DATABASE, TABLE, fill, private_server
from peers import spent
from rounds import markdown_table, publish, ratio

from contend.load import find_program

CONNECTIONS = 64


def plan(sockets: list[str], rows: int, seconds: float, seed: int) -> dict[str, Any]:
    """A plan that asks the server of the only socket, or those of several by key."""
    servers = [{"socket": socket, "database": DATABASE} for socket in sockets]
    load: dict[str, Any] = {"connections": CONNECTIONS, "measure_s": seconds, "interval_s": 0}
    workload = {"kind": "point_select", "table": TABLE, "rows": rows}
    whole = {"version": 1, "seed": seed, "server": servers[0], "workload": workload, "load": load}
    if len(servers) == 1:
        return whole
    load["route"] = {"by": "key"}
    nodes = [{"name": f"n{place}", "server": server} for place, server in enumerate(servers)]
    return whole | {"nodes": nodes}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rows", type=int, default=100_000)
    arguments = parser.parse_args()
    order = random.Random(9)
    cpu: dict[str, list[float]] = {}
    qps: dict[str, list[float]] = {}
    options: dict[str, str | int] = {"max_connections": 300, "innodb_buffer_pool_size": "256M"}
    with private_server(options) as first, private_server(options) as second:
        for server in (first, second):
            fill(server, engine="InnoDB", rows=arguments.rows)
        one, other = str(first.socket), str(second.socket)
        ways = {
            "one server": [one],
            "one server, as two nodes": [one, one],
            "two servers": [one, other],
        }
        for number in range(arguments.rounds):
            names = list(ways)
            order.shuffle(names)
            for name in names:
                told = json.dumps(plan(ways[name], arguments.rows, arguments.seconds, number))
                output, cpu_s, _ = spent([str(find_program()), "run", "-"], stdin=told)
                done = json.loads(output.splitlines()[-1])
                cpu.setdefault(name, []).append(1e6 * cpu_s / done["queries"])
                qps.setdefault(name, []).append(done["qps"])
                said = f"{name}: {done['qps']:.0f} q/s, {cpu[name][-1]:.2f} µs a query"
                print(f"{number + 1}/{arguments.rounds} {said}", file=sys.stderr, flush=True)
        version = first.variables()["version"]
    rows = [
        [
            name,
            f"{statistics.mean(qps[name]):,.0f}",
            f"{statistics.mean(cpu[name]):.2f}",
            "" if name == "one server" else ratio(cpu[name], cpu["one server"]),
        ]
        for name in cpu
    ]
    publish(
        "nodes",
        "Asking two servers instead of one",
        [
            f"servers: {version}, InnoDB, {arguments.rows:,} rows each, Unix sockets",
            f"point selects at {CONNECTIONS} connections to each, prepared, closed loop; "
            f"{arguments.rounds} rounds of {arguments.seconds:g} s",
            "client CPU of the whole process, its start included; ratios with 95 % intervals",
        ],
        markdown_table(["", "q/s", "client CPU, µs a query", "over one server"], sorted(rows)),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
