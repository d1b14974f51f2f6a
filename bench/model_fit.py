"""Virtual time, told what the host costs and fitted at one connection."""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model_real import CONNECTIONS, POINTS, SEGMENTS, Look, Session

from contend.load import find_program

VARIANTS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any], tuple[str, ...]]] = {
    "as fitted": ({}, {}, ()),
    "one thread of the client": ({}, {}, ("--workers=1",)),
    "wake-ups cost nothing": ({"wake_ns": 0, "kick_ns": 0}, {}, ()),
    "wake-ups of idle CPUs at once": ({"wake_sleeping_ns": 0, "wake_polling_ns": 0}, {}, ()),
    "switches cost nothing": ({"switch_ns": 0}, {}, ()),
    "switches cost twice": ({"switch_ns": 2.0}, {}, ()),
    "no spinning": ({}, {}, ("--spins=0",)),
    "who wakes takes the CPU": ({"preempt_ns": 0}, {}, ()),
    "slices of 0.4 ms": ({"slice_ns": 400_000}, {}, ()),
    "slices of 10 ms": ({"slice_ns": 10_000_000}, {}, ()),
    "locks in turn": ({}, {}, ("--lock=in_turn",)),
    "lines of cache cost nothing": ({"handover_near_ns": 0, "handover_far_ns": 0}, {}, ()),
    "twice as many lines": ({}, {"lock_lines": 4, "block_lines": 2}, ()),
    "no spread": ({}, {"spread": 0.0}, ()),
    "idle CPUs take no thread": ({"steals": False}, {}, ()),
}
"""One thing changed at a time: of the host, of the demands, of the run. "Twice" is a factor."""

FACTORS = {"switches cost twice"}


@dataclass(frozen=True)
class Virtual:
    """A host, its demands, and what a run is told besides."""

    cpus: int
    host: Mapping[str, Any]
    demands: Mapping[str, Any]
    more: tuple[str, ...] = ()

    def run(self, asked: argparse.Namespace, segments: int, connections: int, points: int) -> Any:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as costs:
            json.dump({"host": self.host, "demands": self.demands}, costs)
            costs.flush()
            command = [str(find_program()), "model-run", f"--cpus={self.cpus}"]
            command += [f"--connections={connections}", f"--points={points}"]
            command += [f"--segments={segments}", f"--rows={asked.rows}", f"--costs={costs.name}"]
            command += [f"--seconds={asked.virtual_s}", *self.more]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"contend-load model-run: {done.stderr}")
        return json.loads(done.stdout)


def host_of(looks: Sequence[Look]) -> dict[str, float]:
    """The median of the looks, as a file of costs has it."""

    def median(of: str) -> float:
        return float(statistics.median(one.calls[of] for one in looks))

    host = {
        "syscall_ns": median("syscall_ns"),
        "pause_ns": median("pause_ns"),
        # The calls by which a thread wakes and goes to sleep are counted by themselves.
        "wake_ns": max(0.0, median("wake_busy_ns") - median("syscall_ns")),
        "switch_ns": max(0.0, median("switch_ns") - median("syscall_ns")),
    }
    handovers = [one.handover_ns for one in looks if one.handover_ns is not None]
    idle = [one.calls["idle"] for one in looks if one.calls["idle"]]
    if handovers:
        host["handover_near_ns"] = statistics.median(handovers) / 2
    if idle:
        rested = {
            rest["rested_us"]: [
                next(one for one in look if one["rested_us"] == rest["rested_us"]) for look in idle
            ]
            for rest in idle[0]
        }
        usual = rested[100]
        runs_ns = statistics.median(one["runs_ns"] for one in usual)
        call_ns = statistics.median(one["call_ns"] for one in usual)
        host["wake_sleeping_ns"] = host["wake_polling_ns"] = runs_ns
        host["kick_ns"] = max(0.0, call_ns - median("wake_busy_ns"))
    return host


def host_of_session(session: Session, cpus: int) -> dict[str, float]:
    return host_of([one for one in session.looks if one.cpus == cpus])


TICKS_NS = 10.0
"""Of a visit that is timed, what looking at the time takes."""


def fit(session: Session, cpus: int, asked: argparse.Namespace) -> Virtual:
    """All that is fitted, at one connection: CPU time of a query."""
    host = host_of_session(session, cpus)

    def seen(points: int, segments: int, of: str) -> float:
        values = (
            getattr(one, of)
            for one in session.samples
            if (one.cpus, one.connections) == (cpus, 1)
            and (one.points, one.segments) == (points, segments)
        )
        return float(statistics.median(values))

    atomic_ns = 6.0
    held_ns = max(2.0, session.held_ns["0"] - TICKS_NS)
    demands = {
        "lock_ns": atomic_ns,
        "unlock_ns": atomic_ns,
        "find_ns": held_ns,
        "release_ns": held_ns,
        "enter_ns": 10.0,
        "leave_ns": 10.0,
        "copy_ns": 20.0,
        "search_ns": 0.0,
        "point_ns": 0.0,
        "row_ns": 300.0,
        "query_ns": 0.0,
        "segment_ns": 0.0,
        "client_ask_ns": 0.0,
        "client_answer_ns": 0.0,
        "client_wait_ns": 300.0,
    }

    def missing_ns(of: str, points: int = POINTS, segments: int = 0) -> tuple[float, Any]:
        """What virtual time lacks of a query's CPU time."""
        ran = Virtual(cpus, host, demands).run(asked, segments, 1, points)
        return 1e3 * (seen(points, segments, f"{of}_us") - ran[f"{of}_cpu_us_per_query"]), ran

    one_ns, ran_one = missing_ns("server", 1)
    all_ns, ran_all = missing_ns("server")
    requests = (ran_all["visits_per_query"] - ran_one["visits_per_query"]) / 2
    set_to(demands, "search_ns", (all_ns - one_ns) / requests)
    set_to(demands, "query_ns", missing_ns("server")[0])
    divided_ns, ran = missing_ns("server", POINTS, 32)
    set_to(demands, "segment_ns", divided_ns / ran["visits_per_query"])
    client_ns = missing_ns("client")[0]
    set_to(demands, "client_ask_ns", client_ns / 2)
    set_to(demands, "client_answer_ns", client_ns / 2)
    return Virtual(cpus, host, demands)


def set_to(demands: dict[str, float], name: str, ns: float) -> None:
    """A demand as fitted, but not below 0; that is said, as the costs measured apart are then more
    than a query takes."""
    if ns < 0:
        print(f"{name} is fitted as {ns:.1f}, which is taken for 0", file=sys.stderr)
    demands[name] = max(0.0, ns)


def changed(virtual: Virtual, name: str) -> Virtual:
    """A variant: one thing is other than fitted."""
    host, demands, more = VARIANTS[name]
    if name in FACTORS:
        host = {key: virtual.host[key] * factor for key, factor in host.items()}
    return Virtual(virtual.cpus, {**virtual.host, **host}, {**virtual.demands, **demands}, more)


def fit_on_one_cpu(session: Session, cpus: int, asked: argparse.Namespace) -> Virtual:
    """Demands as they are on one CPU, on a host of so many.

    A query's work is the same wherever it runs. On two CPUs with one connection, though, half of
    the CPU time that is counted is that of going to sleep and of waking a CPU that is idle, and
    the scheduler decides for each waking whether a query crosses CPUs.
    """
    demands = fit(session, 1, asked).demands
    return Virtual(cpus, host_of_session(session, cpus), demands)


Key = tuple[int, int, int]
"""CPUs, connections, segments."""


def predicted(virtual: Virtual, asked: argparse.Namespace) -> dict[Key, float]:
    """ln q/s at each number of connections over that at one, and at one itself."""
    found = {}
    for segments in SEGMENTS:
        alone = virtual.run(asked, segments, 1, POINTS)["qps"]
        found[virtual.cpus, 1, segments] = math.log(alone)
        for connections in CONNECTIONS:
            qps = virtual.run(asked, segments, connections, POINTS)["qps"]
            found[virtual.cpus, connections, segments] = math.log(qps / alone)
    return found
