"""What decides the gain of a divided key cache? The model server in virtual time, one thing changed
at a time: what the machine has and costs, how locks wait, what a query does besides, how many
tables there are. Deterministic: no clock, so a busy host does not touch it.

    python bench/virtual_gains.py [--seconds 0.5] [--part machine|tables]

Costs are those of `contend-load model-run` but for `query_ns`, which is set so that a query takes
as much CPU time as MariaDB 10.11's took on a virtual EPYC: 88 us with 10 points, 500 with 100.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hot_segments import CASES
from rounds import markdown_table

from contend.load import find_program

DEMANDS: Mapping[str, Any] = {"query_ns": 40_000}
NEAR = 12
"""CPUs of a socket, where there are more than two."""


@dataclass(frozen=True)
class Change:
    """What is other than in the base: of the run, of the host's costs, of the demands."""

    name: str
    run: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, Any] = field(default_factory=dict)
    demands: Mapping[str, Any] = field(default_factory=dict)


def of_cpus(cpus: int, near_cpus: int = NEAR) -> Change:
    name = f"{cpus} CPUs" if near_cpus == 0 else f"{cpus} CPUs, sockets of {near_cpus}"
    return Change(name, {"cpus": cpus}, {"near_cpus": near_cpus})


HALF = {"query_ns": 10_000, "row_ns": 350, "point_ns": 750}
TWICE = {"query_ns": 80_000, "row_ns": 1_400}

BASE = Change("base: 2 near CPUs")
CHANGES: Sequence[Change] = (
    BASE,
    Change("1 CPU", {"cpus": 1}),
    Change("2 far CPUs (220 ns a line for 45)", host={"near_cpus": 1}),
    Change("2 very far CPUs (600 ns)", host={"near_cpus": 1, "handover_far_ns": 600}),
    Change("lines cost nothing", host={"handover_near_ns": 0}),
    Change("4 CPUs, near", {"cpus": 4}),
    of_cpus(24, 0),
    of_cpus(24),
    of_cpus(96, 24),
    Change("slices of 0.4 ms for 2.8", host={"slice_ns": 400_000}),
    Change("slices of 10 ms", host={"slice_ns": 10_000_000}),
    Change("who is woken takes the CPU", host={"preempt_ns": 0}),
    Change("no spinning", {"spins": 0}),
    Change("locks in turn", {"lock": "in_turn"}),
    Change("switches cost twice", host={"switch_ns": 1_800}),
    Change("wake-ups of idle CPUs take 5 us for 25", host={"wake_sleeping_ns": 5_000}),
    Change("idle CPUs take no thread", host={"steals": False}),
    Change("half the work besides", demands=HALF),
    Change("twice the work besides", demands=TWICE),
    Change("held twice as long", demands={"find_ns": 120, "release_ns": 80}),
    Change("2 far CPUs, half the work besides", host={"near_cpus": 1}, demands=HALF),
    Change("2 far CPUs, twice the work besides", host={"near_cpus": 1}, demands=TWICE),
    *(
        Change(f"{ns} ns a line", host={"handover_near_ns": ns})
        for ns in (20, 45, 70, 100, 150, 220, 300, 400)
    ),
    *(Change(f"base, seed {seed}", {"seed": seed}) for seed in (1, 2, 3)),
)
CONNECTIONS = (8, 64)


def ran(
    seconds: float, segments: int, connections: int, points: int, *changes: Change
) -> dict[str, Any]:
    run: dict[str, Any] = {"cpus": 2}
    host: dict[str, Any] = {}
    demands = dict(DEMANDS)
    for change in changes:
        run |= change.run
        host |= change.host
        demands |= change.demands
    if run["cpus"] > 4:
        seconds /= 5  # in which as much is done
    with tempfile.NamedTemporaryFile("w", suffix=".json") as costs:
        json.dump({"host": host, "demands": demands}, costs)
        costs.flush()
        given = {
            **{"segments": segments, "connections": connections, "points": points},
            **{"seconds": seconds, "warmup": 0.02, "costs": costs.name, **run},
        }
        words = [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]
        done = subprocess.run(
            [str(find_program()), "model-run", *words], capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise SystemExit(f"contend-load model-run: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def gain(one: Mapping[str, Any], base: Mapping[str, Any]) -> str:
    return f"{one['qps'] / base['qps'] - 1:+.1%}"


def hottest(one: Mapping[str, Any]) -> float:
    requests = [segment["read_requests"] for segment in one["segments"]]
    return float(max(requests) / sum(requests))


def machine_table(seconds: float, points: int) -> str:
    lines = []
    for change in CHANGES:
        line = [change.name]
        for connections in CONNECTIONS:
            off, on = (ran(seconds, n, connections, points, change) for n in (0, 32))
            line += [f"{off['qps']:,.0f}", gain(on, off)]
            line.append(f"{off['waits_per_query']:.2f}, {on['waits_per_query']:.2f}")
        lines.append(line)
        print(line, flush=True)
    head = [f"one thing changed; {points} points"]
    for connections in CONNECTIONS:
        head += [f"q/s undivided, {connections} connections", "gain of 32"]
        head.append("waits a query, 0 and 32")
    return markdown_table(head, lines)


def tables_table(seconds: float, points: int) -> str:
    lines = []
    for machine, connections in ((BASE, 8), (of_cpus(24), 64), (of_cpus(96, 24), 192)):
        for case in CASES:
            tables = Change("", {"descriptor": ",".join(map(str, case.apart))})
            off, few, many = (
                ran(seconds, n, connections, points, machine, tables) for n in (0, 32, 64)
            )
            lines.append(
                [
                    *(machine.name, str(connections), case.name),
                    *(f"{hottest(few):.1%}", f"{hottest(many):.1%}"),
                    *(gain(few, off), gain(many, off), gain(many, few)),
                    f"{few['cpu_idle_share']:.0%}",
                ]
            )
            print(lines[-1], flush=True)
    head = ["machine", "connections", "tables", "hottest of 32", "of 64"]
    return markdown_table(
        [*head, "gain of 32", "gain of 64", "64 over 32", "CPUs idle at 32"], lines
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.5, help="of virtual time")
    parser.add_argument("--points", type=int, default=10)
    parser.add_argument("--part", choices=("machine", "tables"))
    args = parser.parse_args()
    if args.part != "tables":
        print(machine_table(args.seconds, args.points), "\n")
    if args.part != "machine":
        print(tables_table(args.seconds, args.points))


if __name__ == "__main__":
    main()
