"""A truth to compare with: a server that stands still 200 ms every 10 s.

    python bench/latency_truth.py [--seconds 60] [--rate 1000]

The server is stopped (SIGSTOP) and continued. Of requests that come at a steady rate the share
that waits longer than t is (200 ms - t) / 10 s, so p99.9 of response must be 190 ms. Each
contestant is asked what it believes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import threading
import time

from lab import table_server
from peers import Sysbench, Target, spent, version_of
from rounds import markdown_table, publish

from contend.load import find_program

STILL_S = 0.2
EVERY_S = 10.0
CONNECTIONS = 16


class Stalls(threading.Thread):
    """Stops a process for STILL_S every EVERY_S until told to end."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._over = threading.Event()

    def __enter__(self) -> Stalls:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        due = time.monotonic() + EVERY_S / 2
        while not self._over.wait(max(0.0, due - time.monotonic())):
            os.kill(self._pid, signal.SIGSTOP)
            time.sleep(max(0.0, due + STILL_S - time.monotonic()))
            os.kill(self._pid, signal.SIGCONT)
            due += EVERY_S


def contend(target: Target, seconds: float, rate: float | None) -> list[str]:
    """p99.9 and max of response by contend-load, ms."""
    load: dict[str, object] = {"connections": CONNECTIONS, "measure_s": seconds}
    if rate is not None:
        load["arrival"] = {"kind": "open", "stages": [{"rate": rate}], "process": "even"}
    plan = {
        "version": 1,
        "seed": 7,
        "server": {
            "socket": str(target.socket),
            "user": target.user,
            "database": target.database,
        },
        "workload": {"kind": "point_select", "table": target.table, "rows": target.rows},
        "load": load,
    }
    output, _, _ = spent([str(find_program()), "run", "-"], stdin=json.dumps(plan))
    done = json.loads(output.strip().splitlines()[-1])
    name = f"contend-load, {done['arrival']}"
    latency = done["latency_us"]
    return [
        name if rate is None else f"{name} at {rate:g}/s",
        f"{latency['p999'] / 1000:.1f}",
        f"{latency['max'] / 1000:.1f}",
        f"{latency['count']:,}",
    ]


def sysbench(target: Target, seconds: float, rate: float | None) -> list[str]:
    """What sysbench can say: it takes whole percentiles only, so its 99th, and max."""
    command = [
        *("sysbench", "oltp_point_select", *Sysbench.where(target)),
        *(f"--threads={CONNECTIONS}", f"--time={seconds:g}", "--percentile=99"),
        *(f"--table-size={target.rows}", "--rand-type=uniform"),
    ]
    if rate is not None:
        command.append(f"--rate={rate:g}")
    output, _, _ = spent([*command, "run"])

    def number(pattern: str) -> str:
        match = re.search(pattern, output)
        return match.group(1) if match else "missing"

    return [
        "sysbench, closed loop" if rate is None else f"sysbench --rate={rate:g}",
        f"not offered; p99: {number(r'99th percentile: +([0-9.]+)')}",
        number(r"max: +([0-9.]+)"),
        number(r"total number of events: +([0-9]+)"),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=float, default=1000)
    arguments = parser.parse_args()
    rows = [["the truth, at a steady rate", "190.0", "200.0", ""]]
    with table_server(rows=100_000, connections_max=64) as server:
        for ask in (contend, sysbench):
            for rate in (arguments.rate, None):
                with Stalls(server.server.pid):
                    rows.append(ask(server.target, arguments.seconds, rate))
                print(rows[-1], file=sys.stderr, flush=True)
        version = server.version
    publish(
        "latency-truth",
        "What each generator believes of a server that stands still 200 ms every 10 s",
        f"python bench/latency_truth.py --seconds {arguments.seconds:g} --rate {arguments.rate:g}",
        [f"server: {version}, {CONNECTIONS} connections, Unix socket", version_of("sysbench")],
        markdown_table(["generator", "p99.9 of response, ms", "max, ms", "events"], rows),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
