"""A truth to compare with: a server that stands still 200 ms every 10 s.

    python bench/latency_truth.py [--seconds 60] [--rate 1000]

The server is stopped (SIGSTOP) and continued. Of requests that come at a steady rate the share
that waits longer than t is (200 ms - t) / 10 s, so p99.9 of response must be 190 ms. Each
contestant is asked what it believes, and compared with the truth of its own run: the stops are
timed, for a busy host makes them longer, and a run whose length is no multiple of 10 s has more or
fewer of them.

What the truth leaves out is the queue that a stop leaves behind, which is served faster than it
grew: a request that comes s before the end of a stop waits s, and then for those before it. At a
tenth of the server's capacity that adds a tenth of the 10 ms between 190 ms and 200 ms at most.
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
from dataclasses import dataclass

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
        self.lengths_s: list[float] = []

    def __enter__(self) -> Stalls:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        due = time.monotonic() + EVERY_S / 2
        while not self._over.wait(max(0.0, due - time.monotonic())):
            stopped = time.monotonic()
            os.kill(self._pid, signal.SIGSTOP)
            time.sleep(max(0.0, stopped + STILL_S - time.monotonic()))
            os.kill(self._pid, signal.SIGCONT)
            self.lengths_s.append(time.monotonic() - stopped)
            due += EVERY_S


def truth_ms(lengths_s: list[float], seconds: float, above: float = 0.001) -> float:
    """What this share of all moments of a run waits longer than, were each wait the rest of a
    stop."""
    low, high = 0.0, max(lengths_s)
    for _ in range(60):
        middle = (low + high) / 2
        longer = sum(max(0.0, length - middle) for length in lengths_s) / seconds
        low, high = (middle, high) if longer > above else (low, middle)
    return high * 1000


@dataclass(frozen=True)
class Belief:
    """What a generator says of a run; times in ms."""

    name: str
    p999: float
    max: float
    events: int

    def row(self, truth: float) -> list[str]:
        off = 100 * (self.p999 / truth - 1)
        return [
            self.name,
            f"{self.p999:.1f}",
            f"{truth:.1f}",
            f"{off:+.1f} %",
            f"{self.max:.1f}",
            f"{self.events:,}",
        ]


def contend(target: Target, seconds: float, rate: float | None) -> Belief:
    """By contend-load's own percentiles."""
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
    return Belief(
        name if rate is None else f"{name} at {rate:g}/s",
        latency["p999"] / 1000,
        latency["max"] / 1000,
        latency["count"],
    )


def sysbench(target: Target, seconds: float, rate: float | None) -> Belief:
    """By sysbench's histogram, for it prints whole percentiles only."""
    command = [
        *("sysbench", "oltp_point_select", *Sysbench.where(target)),
        *(f"--threads={CONNECTIONS}", f"--time={seconds:g}", "--histogram=on"),
        *(f"--table-size={target.rows}", "--rand-type=uniform"),
    ]
    if rate is not None:
        command.append(f"--rate={rate:g}")
    output, _, _ = spent([*command, "run"])

    buckets = [
        (float(value), int(count))
        for value, count in re.findall(r"^ +([0-9.]+) \|[* ]+ ([0-9]+)$", output, re.MULTILINE)
    ]
    longest = re.search(r"max: +([0-9.]+)", output)
    if not buckets or longest is None:
        raise SystemExit(f"sysbench printed no histogram:\n{output[-2000:]}")
    return Belief(
        "sysbench, closed loop" if rate is None else f"sysbench --rate={rate:g}",
        quantile(buckets, 0.999),
        float(longest.group(1)),
        sum(count for _, count in buckets),
    )


def quantile(buckets: list[tuple[float, int]], share: float) -> float:
    """The value that this share of all does not exceed, of buckets in order."""
    wanted = share * sum(count for _, count in buckets)
    seen = 0
    for value, count in buckets:
        seen += count
        if seen >= wanted:
            return value
    raise AssertionError("a share is at most 1")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=float, default=1000)
    arguments = parser.parse_args()
    rows = []
    with table_server(rows=100_000, connections_max=64) as server:
        for ask in (contend, sysbench):
            for rate in (arguments.rate, None):
                with Stalls(server.server.pid) as stalls:
                    believed = ask(server.target, arguments.seconds, rate)
                rows.append(believed.row(truth_ms(stalls.lengths_s, arguments.seconds)))
                print(rows[-1], file=sys.stderr, flush=True)
        version = server.version
    publish(
        "latency-truth",
        "What each generator believes of a server that stands still 200 ms every 10 s",
        [
            f"server: {version}, {CONNECTIONS} connections, Unix socket",
            f"peer: {version_of('sysbench')}; its p99.9 is read off its histogram",
            "truth: p99.9 of requests at a steady rate, by the timed stops of the same run; 190 ms "
            "where each takes 200 ms and comes every 10 s",
            "a closed loop asks less while the server stands still, and its p99.9 shows it",
        ],
        markdown_table(
            ["generator", "p99.9 of response, ms", "truth, ms", "off by", "max, ms", "events"],
            rows,
        ),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
