"""Whether the terminals of a thousand warehouses keep their keying and think times.

    python bench/tpcc_terminals.py [--warehouses 1000] [--seconds 60] [--runs 3]

Ten connections a warehouse ask the transactions of TPC-C of contend-load's own null server, which
answers at once; one worker thread, held on one CPU, drives all of them. How much later than its
user meant a transaction began is the lag.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from null_servers import NullServer
from rounds import markdown_table, publish

from contend.load import find_program

LAG_US_P99_MAX = 1000.0
TERMINALS = 10


def drive(socket: Path, warehouses: int, seconds: float, percent: int) -> dict[str, Any]:
    """One run on one CPU: its last line."""
    plan = {
        "version": 1,
        "seed": 7,
        "server": {"socket": str(socket), "connect_timeout_s": 60},
        "workload": {
            "kind": "tpcc",
            "warehouses": warehouses,
            "c_load": 0,
            "waits_percent": percent,
        },
        "load": {
            "connections": TERMINALS * warehouses,
            "threads": 1,
            "protocol": "text",
            # Half of the terminals have begun by then, wherever they are in their cycle.
            "warmup_s": seconds / 2,
            "measure_s": seconds,
        },
    }
    cpu = max(os.sched_getaffinity(0))
    run = subprocess.run(
        ["taskset", "-c", str(cpu), find_program(), "run", "-"],
        input=json.dumps(plan),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    last: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    if last["type"] != "done":
        raise SystemExit(f"the run failed: {last}")
    return last


def row(done: dict[str, Any], warehouses: int) -> list[str]:
    lag = done["lag_us"]
    orders = next(kind["events"] for kind in done["kinds"] if kind["name"] == "new_order")
    per_minute = 60 * orders / done["measured_s"]
    return [
        f"{lag['p50']:.0f}",
        f"{lag['p99']:.0f}",
        f"{lag['max']:.0f}",
        f"{done['events'] / done['measured_s']:,.0f}",
        f"{per_minute / warehouses:.2f}",
        f"{done['client_busiest_thread_share'] * 100:.1f}",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warehouses", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--waits-percent", type=int, default=100)
    arguments = parser.parse_args()
    runs = []
    for _ in range(arguments.runs):
        with NullServer() as server:
            runs.append(
                drive(
                    server.socket, arguments.warehouses, arguments.seconds, arguments.waits_percent
                )
            )
        print(row(runs[-1], arguments.warehouses), file=sys.stderr, flush=True)
    kept = all(run["lag_us"]["p99"] < LAG_US_P99_MAX for run in runs)
    head = [
        "lag p50, µs",
        f"lag p99, µs (below {LAG_US_P99_MAX:g})",
        "longest lag, µs",
        "transactions/s",
        "new orders a minute and warehouse (at most 12.86)",
        "client CPU, %",
    ]
    publish(
        "tpcc-terminals",
        f"{TERMINALS * arguments.warehouses:,} terminals with keying and think times",
        [
            "client: tpcc, text, Unix socket, one worker on one CPU; the null server answers at "
            "once and shares the CPUs with it",
            f"waits: {arguments.waits_percent} % of the specified",
            f"within the limit: {'yes, in every run' if kept else 'no'}",
        ],
        markdown_table(head, [row(run, arguments.warehouses) for run in runs]),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
