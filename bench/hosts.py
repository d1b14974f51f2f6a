"""Do several hosts that share a load measure what one measures, and what do they cost the leader?

    python bench/hosts.py [--parts closed open merge connections leader] [--rounds 4] [--seconds 2]

Hosts are local workers of a real Dask cluster. "closed" and "open" set 2 and 4 of them beside one,
with as many connections in all, in random order inside a round. They ask contend-load's null server
that serves one query at a time, 100 us in the mean: it is what is short, and not the CPUs that all
of them share. "merge" adds up the lines of 100 made-up workers, copies of what one told of 60
statement classes. "connections" is one run of 10,000 over 4 workers. "leader" computes what 100
workers and 100,000 connections cost from measured parts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from null_servers import NullServer, station
from peers import PeakMemory
from rounds import alternate, markdown_table, publish, ratio

from contend.load import find_program
from contend.load.hosts import Fleet, fleet
from contend.load.hosts.cluster import Cluster, LoadHost
from contend.load.process import LoadProcess

CONNECTIONS = 16
MANY_CONNECTIONS = 10_000
WORKERS = 100
CLASSES = 60
INTERVALS = 10
STATION = station(1, 100, "exponential", 7)
HEARS = 400
PARTS = ("closed", "open", "merge", "connections", "leader")


def plan_of(socket: Path, hosts: int, seconds: float, **load: Any) -> Any:
    return {
        "version": 1,
        "seed": 7,
        "server": {"socket": str(socket)},
        "workload": {"kind": "point_select", "rows": 1_000_000},
        "load": {
            **{"connections": CONNECTIONS, "hosts": hosts, "warmup_s": 0.5},
            **{"measure_s": seconds, **load},
        },
    }


def measured(made: Fleet, plan: Any) -> dict[str, float]:
    done = made.run(plan, env={}, on_event=lambda _event: None)
    told = {name: done["latency_us"][name] for name in ("p50", "p95", "p99")}  # type: ignore[literal-required]
    return {"qps": done["qps"], **told}


def beside_one(made: Fleet, seconds: float, rounds: int, rate: float | None) -> str:
    """2 and 4 hosts over one, each figure with its interval."""
    load = {} if rate is None else {"arrival": {"kind": "open", "stages": [{"rate": rate}]}}
    with NullServer(*STATION) as server:
        found = alternate(
            {str(hosts): hosts for hosts in (1, 2, 4)},
            lambda hosts: measured(made, plan_of(server.socket, hosts, seconds, **load)),
            rounds=rounds,
            seed=11,
        )
    rows = []
    for name in ("qps", "p50", "p95", "p99"):
        values = {hosts: [one[name] for one in each] for hosts, each in found.items()}
        mean = sum(values["1"]) / len(values["1"])
        rows.append([name, f"{mean:,.0f}", *(ratio(values[n], values["1"]) for n in ("2", "4"))])
    return markdown_table(["figure", "one process", "2 hosts over it", "4 hosts over it"], rows)


def told_by_a_worker() -> tuple[Any, list[str]]:
    """The plan of 60 statement classes for 100 hosts, and the lines that one of them told."""
    statements = "\n".join(
        f"SELECT c{number} FROM t WHERE id = {{id:uniform(1, 1000)}};" for number in range(CLASSES)
    )
    with NullServer("--threads=1") as server:
        plan = plan_of(server.socket, WORKERS, INTERVALS * 0.1, interval_s=0.1)
        plan["workload"] = {"kind": "sql", "text": statements}
        plan["load"] |= {"connections": 10 * WORKERS, "protocol": "text", "warmup_s": 0.0}
        with subprocess.Popen(
            [str(find_program()), "part", "--host=0"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as part:
            assert part.stdin is not None and part.stdout is not None
            part.stdin.write(json.dumps(plan) + "\n")
            part.stdin.flush()
            lines = [part.stdout.readline().rstrip("\n")]
            part.stdin.write(f"begin {time.monotonic_ns() + 500_000_000}\n")
            part.stdin.flush()
            lines += [line.rstrip("\n") for line in part.stdout]
    return plan, lines


def merge_of(plan: Any, lines: list[str]) -> dict[str, float]:
    """What it takes to add up the lines as those of 100 workers: times in s, memory in MB."""
    offset = json.dumps({"steady_us": 0.0, "wall_us": 0.0, "error_us": 9.0})
    clock = f'{{"type":"clock","before":{offset},"after":{offset}}}'
    names = [f"host{number}" for number in range(WORKERS)]
    text = json.dumps({"plan": plan, "hosts": names}) + "\n"
    text += "".join(f"{number}\t{line}\n" for line in [*lines, clock] for number in range(WORKERS))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    with subprocess.Popen(
        [str(find_program()), "merge"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as merge:
        peak = PeakMemory(merge.pid)
        out, _ = merge.communicate(text)
        peak.stop()
    took_s = time.monotonic() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = json.loads(out.splitlines()[-1])
    one = json.loads(lines[-1])
    if done["type"] != "done" or len(done["hosts"]) != WORKERS:
        raise SystemExit(f"merge told {out[-500:]}")
    events = [host["events"] for host in done["hosts"]]
    if sum(events) != done["events"] or len(set(events)) != 1 or one["type"] != "part":
        raise SystemExit("merge lost events")
    return {
        "took_s": took_s,
        "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "resident_mb": peak.kb / 1024,
        "input_mb": len(text) / 1e6,
    }


def merging(rounds: int) -> str:
    plan, lines = told_by_a_worker()
    whole = [merge_of(plan, lines) for _ in range(rounds)]
    # Without the intervals, which are added up while the load runs.
    ends = [line for line in lines if not line.startswith('{"type":"interval"')]
    last = [merge_of(plan, ends) for _ in range(rounds)]
    rows = []
    for name, each in ((f"all, with {INTERVALS} intervals", whole), ("the results alone", last)):
        best = min(each, key=lambda one: one["cpu_s"])
        took_s = min(one["took_s"] for one in each)
        cells = [f"{best['input_mb']:.1f}", f"{best['cpu_s']:.2f}", f"{took_s:.2f}"]
        rows.append([name, *cells, f"{best['resident_mb']:.0f}"])
    head = ["what is added up", "read, MB", "CPU, s", "took, s", "memory, MB"]
    return markdown_table(head, rows)


def many_connections(made: Fleet, seconds: float) -> str:
    with NullServer("--threads=1") as server:
        plan = plan_of(server.socket, 4, seconds, connections=MANY_CONNECTIONS)
        begun = time.monotonic()
        ready: list[float] = []

        def on_event(event: Any) -> None:
            if event["type"] == "hello":
                ready.append(time.monotonic() - begun)

        done = made.run(plan, env={}, on_event=on_event)
    errors = sum(error["count"] for error in done["errors"])
    head = ["connections", "ready after, s", "q/s", "fairness", "fewest to most", "errors"]
    row = [f"{done['connections']:,}", f"{ready[0]:.1f}", f"{done['qps']:,.0f}"]
    row += [f"{done['fairness']:.4f}", f"{done['least_served']:,} to {done['most_served']:,}"]
    return markdown_table(head, [[*row, str(errors)]])


def leader(made: Fleet) -> str:
    """From what one question to a worker costs here, and what one of its lines has."""
    host: LoadHost = made.hosts(2)[0]
    host.ask("hear")
    cpu_s, wall_s = time.process_time(), time.monotonic()
    for _ in range(HEARS):
        host.ask("hear")
    cpu_ms = (time.process_time() - cpu_s) / HEARS * 1e3
    wall_ms = (time.monotonic() - wall_s) / HEARS * 1e3
    _, lines = told_by_a_worker()
    interval = next(len(line) for line in lines if line.startswith('{"type":"interval"'))
    part = len(lines[-1])
    rest_s = max(fleet.LOADED_TICK_S, WORKERS * fleet.PAUSE_A_HOST_S)
    asked = WORKERS / rest_s
    rows = [
        ["a question to a worker (`hear`), CPU here", f"{cpu_ms:.2f} ms", "measured"],
        ["the same, from question to answer", f"{wall_ms:.2f} ms", "measured"],
        [f"a line of an interval, {CLASSES} classes", f"{interval / 1e3:.0f} kB", "measured"],
        [f"the result of a worker, {CLASSES} classes", f"{part / 1e3:.0f} kB", "measured"],
        [
            f"questions a second to {WORKERS} workers, one each {rest_s * 1e3:.0f} ms",
            f"{asked:,.0f}",
            "computed",
        ],
        ["CPUs that these would take", f"{asked * cpu_ms / 1e3:.2f}", "computed"],
        ["read each interval", f"{WORKERS * interval / 1e6:.1f} MB", "computed"],
        [
            "more in the results for 100,000 connections (a count of each)",
            f"{100_000 * 6 / 1e6:.1f} MB",
            "computed, 6 bytes a connection",
        ],
    ]
    return markdown_table(["of the leader", "", ""], rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=2.0)
    arguments = parser.parse_args()
    load_before = os.getloadavg()[0]
    program = find_program()
    made = Fleet(LoadProcess(program), Cluster(program, None))
    seconds, rounds = arguments.seconds, arguments.rounds

    def open_loop() -> str:
        with NullServer(*STATION) as server:
            rate = measured(made, plan_of(server.socket, 1, seconds))["qps"] / 2
        said = f"At {rate:,.0f} events a second, half of what one process had just reached."
        return f"{said}\n\n{beside_one(made, seconds, rounds, rate)}"

    parts: dict[str, tuple[str, Callable[[], str]]] = {
        "closed": (
            f"Closed loop, {CONNECTIONS} connections in all",
            lambda: beside_one(made, seconds, rounds, None),
        ),
        "open": ("Open loop at half of the capacity", open_loop),
        "merge": (
            f"Adding up {WORKERS} workers, {CLASSES} classes",
            lambda: merging(2),
        ),
        "connections": (
            f"{MANY_CONNECTIONS:,} connections over 4 workers",
            lambda: many_connections(made, seconds),
        ),
        "leader": (
            f"What {WORKERS} workers and 100,000 connections cost the leader",
            lambda: leader(made),
        ),
    }
    try:
        if set(arguments.parts) - {"merge"}:
            made.hosts(4)
        body = []
        for name in arguments.parts:
            title, run = parts[name]
            print(f"{name} …", file=sys.stderr, flush=True)
            body.append(f"## {title}\n\n{run()}")
    finally:
        made.close()
    loads = f"load of the host (1 min) {load_before:.1f} before, {os.getloadavg()[0]:.1f} after"
    publish("hosts", "Several hosts beside one", [loads], "\n\n".join(body))
    return 0


if __name__ == "__main__":
    sys.exit(main())
