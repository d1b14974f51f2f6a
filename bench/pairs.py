"""Freshly started servers over copies of one data folder, loaded in turn in slices."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab import DATABASE, STUDY_OPTIONS, TABLE, fill
from scipy import stats

from contend.load import find_program
from contend.servers import PrivateServer
from contend.servers.find import find_server

SLICE_S = 0.1
SETTLE_S = 0.02


@dataclass(frozen=True)
class Layout:
    """How the two processes of a pair are started. Both get the same."""

    name: str
    wrap: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    padding_max: int = 0
    """Bytes of environment, drawn anew for each pair: they move the stack."""
    server_cpus: str | None = None
    client_cpus: str | None = None

    def of_pair(self, padding: float) -> tuple[tuple[str, ...], dict[str, str]]:
        """Wrapper and environment of both processes; `padding` from 0 to 1."""
        environment = dict(self.environment)
        if self.padding_max:
            environment["PADDING"] = "x" * (1 + int(padding * self.padding_max))
        wrap = self.wrap
        if self.server_cpus is not None:
            wrap = (program("taskset"), "-c", self.server_cpus, *wrap)
        return wrap, environment


def program(name: str) -> str:
    """The path of a program of the system."""
    found = shutil.which(name)
    if found is None:
        raise SystemExit(f"contend: {name} is missing: install it (Debian: util-linux)")
    return found


FIXED = (program("setarch"), os.uname().machine, "-R")
"""Starts a program without address space randomisation."""

SYSTEM = Layout("system")


@dataclass(frozen=True)
class Arm:
    """One arm of a run in slices: which server of the pair, and what is run on entering."""

    name: str
    server: int
    enter: tuple[str, ...] = ()


@dataclass(frozen=True)
class Estimate:
    """A log ratio with its standard error, from the rounds of one run."""

    log_ratio: float
    error: float
    rounds: int


def segments(number: int) -> tuple[str, ...]:
    """The statements that split the key cache and load the index into it."""
    return (f"SET GLOBAL key_cache_segments = {number}", f"LOAD INDEX INTO CACHE {TABLE}")


class Pair:
    """Two running servers, or more, over their own copies of the data."""

    def __init__(self, servers: Sequence[PrivateServer], layout: Layout, rows: int) -> None:
        self.servers = servers
        self.layout = layout
        self.rows = rows

    def set_segments(self, *numbers: int) -> None:
        for server, number in zip(self.servers, numbers, strict=True):
            with server.connect(DATABASE) as connection, connection.cursor() as cursor:
                for statement in segments(number):
                    cursor.execute(statement)
                    cursor.fetchall()

    def _plan(self, connections: int, points: int, seed: int) -> dict[str, Any]:
        return {
            "version": 1,
            "seed": seed,
            "server": self._server(0),
            "workload": {
                "kind": "random_points",
                "table": TABLE,
                "rows": self.rows,
                "points": points,
                "distribution": {"kind": "special"},
            },
            "load": {"connections": connections, "interval_s": 0},
        }

    def _server(self, place: int) -> dict[str, object]:
        return {"socket": str(self.servers[place].socket), "database": DATABASE}

    def run(self, plan: Mapping[str, Any]) -> list[dict[str, Any]]:
        command = [str(find_program()), "run", "-"]
        if self.layout.client_cpus is not None:
            command = [program("taskset"), "-c", self.layout.client_cpus, *command]
        done = subprocess.run(
            command, input=json.dumps(plan), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"contend-load failed: {done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def slices(
        self, arms: tuple[Arm, Arm], *, connections: int, points: int, rounds: int, seed: int
    ) -> Estimate:
        """The second arm over the first, in slices."""
        by_round = self.rounds(
            arms, connections=connections, points=points, rounds=rounds, seed=seed
        )
        return estimate([math.log(both[1]["qps"] / both[0]["qps"]) for both in by_round])

    def rounds(
        self,
        arms: Sequence[Arm],
        *,
        connections: int,
        points: int,
        rounds: int,
        seed: int,
        threads: int | None = None,
    ) -> list[dict[int, dict[str, Any]]]:
        """What contend-load says of each slice, by the arm's index, round by round; with so many
        threads, or as many as it takes by itself."""
        plan = self._plan(connections, points, seed)
        plan["arms"] = [
            {
                "name": arm.name,
                "server": self._server(arm.server),
                "enter": list(arm.enter),
                "watch": {"pid": self.servers[arm.server].pid},
            }
            for arm in arms
        ]
        plan["load"] |= {
            "warmup_s": 0.3,
            "slices": {"slice_s": SLICE_S, "settle_s": SETTLE_S, "rounds": rounds},
        }
        if threads is not None:
            plan["load"]["threads"] = threads
        found: dict[int, dict[int, dict[str, Any]]] = {}
        for line in self.run(plan):
            if line["type"] == "slice":
                found.setdefault(line["round"], {})[line["arm_index"]] = line
        return [found[number] for number in sorted(found)]

    def one_run(
        self, server: int, *, connections: int, points: int, seconds: float, seed: int
    ) -> dict[str, Any]:
        """What contend-load says at the end of one run of its own."""
        plan = self._plan(connections, points, seed)
        plan["server"] = self._server(server)
        plan["load"] |= {"warmup_s": 0.3, "measure_s": seconds}
        return self.run(plan)[-1]


def estimate(logs: Sequence[float]) -> Estimate:
    """The mean of the log ratios of rounds."""
    error = statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else math.nan
    return Estimate(statistics.mean(logs), error, len(logs))


@dataclass(frozen=True)
class Spread:
    """What several pairs say together."""

    mean: float
    half: float
    """Half of the 95 % interval, pairs drawn anew."""
    sd: float
    """Between the pairs, in log units."""
    noise: float
    """What the slices' own noise would make of it."""
    n: int

    @property
    def beyond(self) -> float:
        """The standard deviation that is not the slices'."""
        return math.sqrt(max(0.0, self.sd**2 - self.noise**2))


def spread(estimates: Sequence[Estimate]) -> Spread:
    logs = [each.log_ratio for each in estimates]
    n = len(logs)
    sd = statistics.stdev(logs)
    half = float(stats.t.ppf(0.975, n - 1)) * sd / math.sqrt(n)
    noise = math.sqrt(statistics.mean(each.error**2 for each in estimates))
    return Spread(statistics.mean(logs), half, sd, noise, n)


def percent(log_ratio: float) -> str:
    return f"{100 * math.expm1(log_ratio):+.1f}"


class Copies:
    """Copies of the study's data, from which pairs of servers are started, or more at a time."""

    def __init__(self, folder: Path, rows: int, number: int) -> None:
        self.folder = folder
        self.number = number
        self.rows = rows
        self.binary = find_server("mariadb")
        self.version = ""

    def make(self) -> None:
        first = PrivateServer(self.binary, self.folder / "0")
        with first:
            first.initialise()
            first.start(STUDY_OPTIONS)
            with first.connect() as connection, connection.cursor() as cursor:
                cursor.execute(f"CREATE DATABASE {DATABASE}")
            fill(first, engine="MyISAM", rows=self.rows)
            self.version = first.variables()["version"]
        for place in range(1, self.number):
            shutil.copytree(self.folder / "0", self.folder / str(place), symlinks=True)

    @contextlib.contextmanager
    def pair(self, layout: Layout, *, padding: float, segments: Sequence[int]) -> Iterator[Pair]:
        """A server for each copy, started together; they end with the block."""
        wrap, environment = layout.of_pair(padding)
        with contextlib.ExitStack() as stack:
            servers = []
            for place in range(self.number):
                server = PrivateServer(self.binary, self.folder / str(place))
                server.wrap, server.environment = tuple(wrap), environment
                stack.enter_context(server)
                server.start(STUDY_OPTIONS)
                servers.append(server)
            pair = Pair(servers, layout, self.rows)
            pair.set_segments(*segments)
            # Each reads its own copy once, so that no first query waits for the disk.
            for server in servers:
                with server.connect(DATABASE) as connection, connection.cursor() as cursor:
                    cursor.execute(f"SELECT SUM(LENGTH(c)) FROM {TABLE}")
                    cursor.fetchall()
            yield pair


@contextlib.contextmanager
def copies(*, rows: int, number: int = 2) -> Iterator[Copies]:
    folder = Path(tempfile.mkdtemp(prefix="contend-pairs-"))
    try:
        made = Copies(folder, rows, number)
        made.make()
        yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)
