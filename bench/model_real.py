"""The model server as it is, or MariaDB in its place: q/s and CPU time of a query at each number of
connections, on one CPU and on two, with the host's costs beside each round."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lab import DATABASE, TABLE, key_cache_server

from contend.load import find_program

CONNECTIONS = (2, 4, 8, 16, 32, 64, 128)
SEGMENTS = (0, 32)
POINTS = 10
CPU_SETS = ((0,), (0, 1))


@dataclass(frozen=True)
class Sample:
    """Slices of one measurement with one number of segments."""

    cpus: int
    round: int
    connections: int
    points: int
    segments: int
    place: int
    """In the order in which the measurements of a round were made."""
    qps: float
    server_us: float
    """CPU time of a query."""
    client_us: float


@dataclass(frozen=True)
class Look:
    """The host's costs beside a round, in nanoseconds."""

    cpus: int
    calls: dict[str, Any]
    handover_ns: float | None
    """There and back."""


@dataclass
class Session:
    """All that was measured."""

    server: str
    load: tuple[float, float]
    """Load average before and after."""
    held_ns: dict[str, float] = field(default_factory=dict)
    """By the number of segments: how long a visit holds its lock, at one connection."""
    samples: list[Sample] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)


def keep(session: Session, file: Path | None) -> None:
    """Write what was measured so far."""
    if file is not None:
        file.write_text(json.dumps(asdict(session)))


def read(file: Path) -> Session:
    kept = json.loads(file.read_text())
    return Session(
        server=kept["server"],
        load=tuple(kept["load"]),
        held_ns=kept["held_ns"],
        samples=[Sample(**one) for one in kept["samples"]],
        looks=[Look(**one) for one in kept["looks"]],
    )


@dataclass(frozen=True)
class RealServer:
    name: str
    pid: int
    socket: Path
    truth: Path | None

    def counted(self) -> dict[str, Any] | None:
        """What it has counted until now, if it says so."""
        if self.truth is None:
            return None
        lines = len(self.truth.read_text().splitlines()) if self.truth.exists() else 0
        os.kill(self.pid, signal.SIGUSR1)
        until = time.monotonic() + 5
        while time.monotonic() < until:
            told = self.truth.read_text().splitlines() if self.truth.exists() else []
            if len(told) > lines:
                return dict(json.loads(told[-1]))
            time.sleep(0.01)
        raise SystemExit(f"the model server (process {self.pid}) tells no truth")


@contextlib.contextmanager
def real_server(asked: argparse.Namespace) -> Iterator[RealServer]:
    if asked.server == "mariadb":
        with key_cache_server(rows=asked.rows) as bench:
            name = f"MariaDB {bench.version}, MyISAM"
            yield RealServer(name, bench.server.pid, bench.server.socket, None)
        return
    with tempfile.TemporaryDirectory(prefix="contend-bench-") as place:
        socket, truth = Path(place) / "socket", Path(place) / "truth"
        command = [str(find_program()), "model-server", f"--socket={socket}", f"--truth={truth}"]
        command += [f"--rows={asked.rows}", "--variable=key_buffer_size=512M"]
        command += ["--variable=max_connections=512"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise SystemExit("contend-load model-server has not begun to listen")
            try:
                yield RealServer("the model server", process.pid, socket, truth)
            finally:
                process.terminate()


def measure(asked: argparse.Namespace) -> Session:
    program, order = str(find_program()), random.Random(303)
    rounds, slice_s = (3, 0.08) if asked.quick else (asked.rounds, 0.15)
    before = os.getloadavg()[0]
    with real_server(asked) as server:
        session = Session(server.name, (before, before))
        for cpus in CPU_SETS:
            wrap = on_cpus(cpus)
            for number in range(rounds):
                session.looks.append(look(program, wrap, len(cpus)))
                order_of_round = list(CONNECTIONS)
                order.shuffle(order_of_round)
                # One connection before, between and after all others.
                steps = [(1, POINTS), (1, 1)]
                steps += [(one, POINTS) for n in order_of_round for one in (n, 1)]
                for place, (connections, points) in enumerate(steps):
                    plan = plan_of(server, asked, connections, points, slice_s)
                    # Left alone at one connection, the scheduler decides at each waking whether a
                    # query crosses CPUs, and q/s has one of two values.
                    keep_to(cpus[:1] if connections == 1 else cpus, server.pid)
                    client = on_cpus(cpus[-1:] if connections == 1 else cpus)
                    for segments, slices in slices_of(program, client, plan).items():
                        figures = figures_of(slices)
                        about = (len(cpus), number, connections, points, segments, place)
                        session.samples.append(Sample(*about, *figures))
                keep(session, asked.keep)
                said = f"{len(cpus)} CPUs, round {number + 1} of {rounds}"
                print(said, file=sys.stderr, flush=True)
            if len(cpus) == 1:
                session.held_ns = held(program, wrap, server, asked)
    session.load = (before, os.getloadavg()[0])
    keep(session, asked.keep)
    return session


def on_cpus(cpus: Sequence[int]) -> tuple[str, ...]:
    """What a command is run by to stay on these CPUs."""
    return ("taskset", "-c", ",".join(map(str, cpus)))


def keep_to(cpus: Sequence[int], pid: int) -> None:
    """Threads that are made later go where those that make them are."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        # Threads of connections that have just been closed are about to end.
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(task.name), set(cpus))


def look(program: str, wrap: Sequence[str], cpus: int) -> Look:
    def ask(*words: str) -> dict[str, Any]:
        command = [*wrap, program, "cpus", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return dict(json.loads(done.stdout))

    pairs = ask("--state")["pairs"] if cpus > 1 else []
    return Look(cpus, ask("--calls"), pairs[0]["handover_ns"] if pairs else None)


def plan_of(
    server: RealServer, asked: argparse.Namespace, connections: int, points: int, slice_s: float
) -> dict[str, Any]:
    at = {"socket": str(server.socket), "database": DATABASE, "user": "root"}
    workload = {"kind": "random_points", "rows": asked.rows, "points": points, "table": TABLE}
    if server.truth is not None:
        at, workload["table"] = {**at, "database": "sbtest"}, "sbtest"
    table = workload["table"]
    enter = "SET GLOBAL key_cache_segments = {}"
    return {
        "version": 1,
        "server": at,
        "workload": workload,
        "load": {
            "connections": connections,
            "warmup_s": 0.05,
            "engine": "epoll",
            "slices": {"slice_s": slice_s, "settle_s": 0.03, "rounds": 3},
        },
        "arms": [
            {
                "name": str(segments),
                "enter": [enter.format(segments), f"LOAD INDEX INTO CACHE {table}"],
                "watch": {"pid": server.pid},
            }
            for segments in SEGMENTS
        ],
        "seed": 303,
    }


def slices_of(
    program: str, wrap: Sequence[str], plan: Mapping[str, Any]
) -> dict[int, list[dict[str, Any]]]:
    command = [*wrap, program, "run", "-"]
    ran = subprocess.run(
        command, input=json.dumps(plan), capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise SystemExit(f"contend-load run: {ran.stderr}")
    found: dict[int, list[dict[str, Any]]] = {}
    for line in map(json.loads, ran.stdout.splitlines()):
        if line["type"] == "slice":
            found.setdefault(int(line["arm"]), []).append(line)
    return found


def figures_of(slices: Sequence[Mapping[str, Any]]) -> tuple[float, float, float]:
    answered = sum(one["answered"] for one in slices)
    seconds = sum(one["duration_s"] for one in slices)
    server_us = sum(one["watched_cpu_us"][0] for one in slices)
    client_us = sum(one["client_cpu_us"] for one in slices)
    return answered / seconds, server_us / answered, client_us / answered


def held(
    program: str, wrap: Sequence[str], server: RealServer, asked: argparse.Namespace
) -> dict[str, float]:
    """How long a visit holds its lock if nobody else is there."""
    if server.truth is None:
        if asked.held_ns is None:
            raise SystemExit("--held-ns: this server does not say how long locks are held")
        return {str(segments): asked.held_ns for segments in SEGMENTS}
    found = {}
    for segments in SEGMENTS:
        plan = plan_of(server, asked, 1, POINTS, 0.5)
        plan["arms"] = [one for one in plan["arms"] if one["name"] == str(segments)]
        # A run needs two arms to hop between: the same twice.
        plan["arms"].append({**plan["arms"][0], "name": f"{segments}0", "enter": []})
        slices_of(program, wrap, plan)
        told = server.counted()
        assert told is not None
        parts = told["segments"]
        sampled = sum(one["sampled"] for one in parts)
        found[str(segments)] = sum(one["held_ns"] for one in parts) / sampled
    return found
