"""Is an open loop one queue? Response times held against the exact path of every event.

    python bench/open_loop.py [--seconds 30] [--loads 0.5 0.8 0.95] [--workers 1 2 16]

The null server serves 16 queries at a time, each for an exponential time of 10 ms on average that
follows from the query's number, and 16 connections bring it Poisson arrivals. `contend-load
arrivals` prints both series, so what each event's wait would be if one queue fed 16 servers is
known (`fifo.py`), from the begin of the load. The events that are due in the window are compared.

While an answer is on its way and the next query has not come, a real server of 16 threads serves
nothing on that connection. At load 0.95 each percent of that would make the wait a quarter longer,
and the path would be that of this host's timers and sockets. So the null server grants a
turnaround (`--turnaround-us`): a query that comes within it after the last answer on its connection
was due counts as come then. The table says how many did, and how long they took. An event that
finds its connection idle may come so soon as well, and then leaves by as much too early: with the
millisecond that is granted, this takes less than a hundredth off the mean response.

A script's threads cannot number their events, so theirs are numbered in the order of receipt; so
are those of sysbench, whose arrivals nobody knows: it stands beside Erlang C's mean alone.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fifo
from null_servers import NullServer, service_times, station
from peers import spent, version_of
from rounds import markdown_table, publish

from contend.load import find_program

CONNECTIONS = 16
SERVICE_US = 10_000.0
WARMUP_S = 1.0
PLAN_SEED, SERVICE_SEED = 8, 303
SCRIPT = Path(__file__).with_name("open_loop.lua")
WORKLOADS: dict[str, dict[str, object]] = {
    "sql": {"kind": "sql", "text": "SELECT {event:serial(0)};"},
    "script": {"kind": "lua", "script": str(SCRIPT)},
}
ALIKE_SHARE, ALIKE_US = 0.03, 50.0
HEAD = [
    *("workload", "workers", "load", "events", "mean, ms: measured / exact", "p99, ms"),
    *("mean lag, ms", "Erlang C's mean wait, ms", "turnarounds", "server late, p99, max, µs"),
    "within 3 % or 50 µs",
]


@dataclass(frozen=True)
class Cell:
    """One run: who asks, on how many workers, how much of what the server can do."""

    workload: str
    workers: int
    load: float
    seconds: float
    turnaround_us: float

    @property
    def rate(self) -> float:
        return self.load * CONNECTIONS / SERVICE_US * 1e6

    def plan(self, socket: Path | str) -> str:
        load = {
            "connections": CONNECTIONS,
            "threads": self.workers,
            "warmup_s": WARMUP_S,
            "measure_s": self.seconds,
            "interval_s": 0,
            "arrival": {"kind": "open", "process": "poisson", "stages": [{"rate": self.rate}]},
        }
        plan = {"version": 1, "seed": PLAN_SEED, "server": {"socket": str(socket)}}
        return json.dumps(plan | {"workload": WORKLOADS[self.workload], "load": load})

    def server(self) -> NullServer:
        turnaround = f"--turnaround-us={self.turnaround_us:g}"
        known = station(CONNECTIONS, SERVICE_US, "exponential", SERVICE_SEED)
        return NullServer(*known, turnaround)

    def run(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the load says at its end, and the server."""
        with self.server() as server:
            output, _, _ = spent([str(find_program()), "run", "-"], stdin=self.plan(server.socket))
        return json.loads(output.strip().splitlines()[-1]), server.served

    def exact(self) -> fifo.Path:
        """What ought to happen to the events that are due in the window."""
        command = [str(find_program()), "arrivals", "-"]
        command += service_times(SERVICE_US, "exponential", SERVICE_SEED)
        printed = subprocess.run(
            command, input=self.plan("unused"), capture_output=True, text=True, check=True
        )
        rows = list(csv.DictReader(printed.stdout.splitlines()))
        arrivals = (int(row["offset_ns"]) / 1000 for row in rows)
        services = (int(row["service_ns"]) / 1000 for row in rows)
        path = fifo.sample_path(arrivals, services, CONNECTIONS)
        return path.between(WARMUP_S * 1e6, (WARMUP_S + self.seconds) * 1e6)


def measure(cell: Cell, runs: int) -> list[str]:
    """One line of the table: of so many runs the middle one by its mean response."""
    by_mean = sorted((cell.run() for _ in range(runs)), key=lambda run: mean_response(run[0]))
    (done, served), exact = by_mean[runs // 2], cell.exact()
    found = done["latency_us"]
    mean = (found["mean"], float(exact.response.mean()))
    p99 = (found["p99"], fifo.quantile(exact.response, 0.99))
    lag = (done["open"]["lag_us"]["mean"], float(exact.wait.mean()))
    return [
        *(cell.workload, str(cell.workers), f"{cell.load:g}"),
        f"{found['count']:,} / {len(exact.arrival):,}",
        *(beside(*mean), beside(*p99), beside(*lag), erlang_ms(cell)),
        *(turnarounds(served), late(served)),
        "yes" if alike(*mean) and alike(*p99) else "no",
    ]


def mean_response(done: dict[str, Any]) -> float:
    return float(done["latency_us"]["mean"])


def erlang_ms(cell: Cell) -> str:
    return f"{fifo.mean_wait(CONNECTIONS, cell.load, SERVICE_US) / 1000:.3f}"


def turnarounds(served: dict[str, Any]) -> str:
    """`34 % of 143 µs`: how many queries were served from before they came, and by how much."""
    granted = served["turnarounds"]
    share = granted["queries"] / served["queries"]
    return f"{share:.0%} of {granted['mean_us']:.0f} µs".replace("%", " %")


def late(served: dict[str, Any]) -> str:
    """How late the server's answers left: p99 and maximum. A long stall is the host's."""
    return f"{served['late_us']['p99']:.0f}, {served['late_us']['max']:.0f}"


def beside(measured: float, exact: float) -> str:
    """`12.31 / 12.05: +260 µs, +2.2 %`, of two times in µs."""
    off = measured - exact
    # Of a time that is next to nothing a share says nothing.
    share = f", {off / exact:+.1%}".replace("%", " %") if exact > ALIKE_US else ""
    return f"{measured / 1000:.2f} / {exact / 1000:.2f}: {off:+,.0f} µs{share}"


def alike(measured: float, exact: float) -> bool:
    """Whether two times in µs are the same as far as is asked."""
    return abs(measured - exact) <= max(ALIKE_US, ALIKE_SHARE * exact)


def sysbench(cell: Cell) -> list[str]:
    """sysbench against the same server, at the same rate; its own seed decides its arrivals."""
    with cell.server() as server:
        output, _, _ = spent(
            [
                *("sysbench", str(SCRIPT), f"--mysql-socket={server.socket}"),
                *("--mysql-user=root", f"--threads={CONNECTIONS}", f"--rate={cell.rate:g}"),
                *(f"--time={cell.seconds:g}", "--percentile=99", "run"),
            ]
        )
    said = dict.fromkeys(("avg", "99th percentile", "total number of events"), "not given")
    for name in said:
        if match := re.search(rf"^ +{name}: +([0-9.]+)$", output, re.MULTILINE):
            said[name] = match.group(1)
    mean, p99, events = said.values()
    return [
        *("sysbench --rate", str(CONNECTIONS), f"{cell.load:g}", events, mean, p99, "not given"),
        *(erlang_ms(cell), turnarounds(server.served), late(server.served), ""),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30, help="of a cell")
    parser.add_argument("--runs", type=int, default=1, help="of a cell; the middle one is shown")
    parser.add_argument("--loads", type=float, nargs="+", default=[0.5, 0.8, 0.95])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 16])
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument("--turnaround-us", type=float, default=1000.0, help="0 grants none")
    arguments = parser.parse_args()
    has_sysbench = shutil.which("sysbench") is not None
    rows = []
    for load in arguments.loads:
        common = (load, arguments.seconds, arguments.turnaround_us)
        cells = [Cell(a, b, *common) for a in arguments.workloads for b in arguments.workers]
        for cell in cells:
            rows.append(measure(cell, arguments.runs))
            print(rows[-1], file=sys.stderr, flush=True)
        if has_sysbench:
            rows.append(sysbench(Cell("sysbench", CONNECTIONS, *common)))
            print(rows[-1], file=sys.stderr, flush=True)
    publish(
        "open-loop",
        "Response times of an open loop, and the exact path of every event",
        [
            f"server: contend-load's null server, {CONNECTIONS} servers, exponential service of "
            f"{SERVICE_US / 1000:g} ms; {CONNECTIONS} connections, Poisson arrivals, seed "
            f"{PLAN_SEED} of the arrivals and {SERVICE_SEED} of the services",
            "exact: one queue in front of 16 servers, event by event on the same arrivals and "
            "services, of the events that were due in the window",
            f"turnarounds: queries that came within {arguments.turnaround_us:g} µs after the last "
            "answer on their connection was due, and were served as if they had come then",
            f"peer: {version_of('sysbench') if has_sysbench else 'sysbench is missing'}; its "
            "arrivals are its own, so only Erlang C can stand beside it",
        ],
        markdown_table(HEAD, rows),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
