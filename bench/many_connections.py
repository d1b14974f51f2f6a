"""What ten thousand connections cost, and whether all of them are served.

    python bench/many_connections.py [--connections 10000] [--seconds 10] [--runs 3]

The server is contend-load's own null server on a Unix socket, so that nothing but the client and
the kernel can be short of anything.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from null_servers import NullServer
from peers import PeakMemory
from rounds import markdown_table, publish

from contend.load import find_program

RESIDENT_MB_MAX = 40
START_S_MAX = 5.0


def drive(socket: Path, connections: int, seconds: float) -> dict[str, Any]:
    """One run: its last line, with its start-up in seconds and its memory in MB."""
    plan = {
        "version": 1,
        "seed": 7,
        "server": {"socket": str(socket)},
        "workload": {"kind": "point_select", "rows": 1_000_000},
        "load": {"connections": connections, "warmup_s": 1, "measure_s": seconds},
    }
    begun = time.monotonic()
    started, last = 0.0, {"type": "nothing"}
    with subprocess.Popen(
        [find_program(), "run", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as load:
        assert load.stdin is not None and load.stdout is not None
        load.stdin.write(json.dumps(plan))
        load.stdin.close()
        peak = PeakMemory(load.pid)
        for line in load.stdout:
            last = json.loads(line)
            if last["type"] == "hello":
                # The first line is written when every connection stands and has prepared.
                started = time.monotonic() - begun
        peak.stop()
    if last["type"] != "done":
        raise SystemExit(f"the run failed: {last}")
    return last | {"start_s": started, "resident_mb": peak.kb / 1024}


def row(done: dict[str, Any]) -> list[str]:
    return [
        f"{done['resident_mb']:.1f}",
        f"{done['start_s']:.2f}",
        f"{done['fairness']:.4f}",
        f"{done['least_served']:,} to {done['most_served']:,}",
        f"{done['qps']:,.0f}",
        str(sum(error["count"] for error in done["errors"]) + done["unanswered"]),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    runs = []
    for _ in range(arguments.runs):
        with NullServer() as server:
            runs.append(drive(server.socket, arguments.connections, arguments.seconds))
        print(row(runs[-1]), file=sys.stderr, flush=True)
    head = [
        f"resident, MB (at most {RESIDENT_MB_MAX})",
        f"start-up, s (at most {START_S_MAX:g})",
        "Jain's index",
        "queries of a connection",
        "q/s",
        "errors and unanswered",
    ]
    kept = all(
        run["resident_mb"] <= RESIDENT_MB_MAX
        and run["start_s"] <= START_S_MAX
        and run["least_served"] > 0
        for run in runs
    )
    publish(
        "many-connections",
        f"{arguments.connections:,} connections to the null server",
        [
            "client: point_select, prepared, Unix socket; memory is the client's, the most that "
            "was ever resident",
            "start-up: from starting the program until every connection stands and has prepared",
            f"within the limits: {'yes, in every run' if kept else 'no'}",
        ],
        markdown_table(head, [row(run) for run in runs]),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
