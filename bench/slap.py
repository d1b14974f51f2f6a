"""contend mysqlslap against mariadb-slap: the same command lines, time and CPU.

    python bench/slap.py [--rounds 8] [--queries 20000] [--jobs points-1 points-8 …]

The time is that of the whole program, connecting included: contend-load itself reports it without
connecting. The bare loop of bench/floor.py stands beside the point selects: it shows how much of
the time is the server's. The five queries of the study need `contend-load fill --schema employees`.
"""

from __future__ import annotations

import argparse
import functools
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from floor import Floor
from lab import BenchServer, table_server
from peers import Job as FloorJob
from peers import PeerFailed, spent, version_of
from rounds import alternate, markdown_table, publish, ratio

from contend.experiment import recipe_text
from contend.files import find_program

EMPLOYEES = tuple(tomllib.loads(recipe_text("slap-concurrency"))["workload"]["statements"])
CONNECTIONS_MAX = 64


@dataclass(frozen=True)
class Seconds:
    """One run: seconds and CPU seconds of the whole client."""

    load_s: float
    cpu_s: float


@dataclass(frozen=True)
class Slap:
    """One of the two programs."""

    program: tuple[str, ...]

    def run(self, server: BenchServer, words: Sequence[str]) -> Seconds | None:
        entry = ("--no-defaults", f"--socket={server.target.socket}", "--user=root", "--skip-ssl")
        begun = time.monotonic()
        try:
            _, cpu_s, _ = spent([*self.program, *entry, *words, "--silent"])
        except PeerFailed as failure:
            print(f"lost: {failure}", file=sys.stderr)
            return None
        return Seconds(time.monotonic() - begun, cpu_s)


@dataclass(frozen=True)
class Bare:
    """The bare loop, for as many point selects as the others ask."""

    floor: Floor

    def run(self, server: BenchServer, connections: int, queries: int) -> Seconds:
        job = FloorJob(kind="point_select", connections=connections, seconds=2)
        sample = self.floor.run(server.target, job)
        cpu_s = sample.client_cpu_us_per_query * queries / 1e6
        return Seconds(queries / sample.qps, cpu_s)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--queries", type=int, default=20_000, help="point selects of a client")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--jobs", nargs="+", default=None)
    arguments = parser.parse_args()

    theirs = shutil.which("mariadb-slap")
    if theirs is None:
        sys.exit("mariadb-slap is missing: install mariadb-client")
    slaps = {
        "contend mysqlslap": Slap((str(find_program()), "mysqlslap")),
        "mariadb-slap": Slap((theirs,)),
    }
    rows = []
    with (
        table_server(rows=arguments.rows, connections_max=CONNECTIONS_MAX) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        jobs = jobs_of(server, Path(folder), arguments.rows, arguments.queries)
        wanted = arguments.jobs or list(jobs)
        has_points = any(name.startswith("points") for name in wanted)
        bare = Bare(Floor("epoll", text=True)) if has_points else None
        for name in wanted:
            words, connections = jobs[name]
            run = {
                label: functools.partial(slap.run, server, words) for label, slap in slaps.items()
            }
            if name.startswith("points") and bare is not None:
                total = arguments.queries * connections
                run["floor (epoll)"] = functools.partial(bare.run, server, connections, total)
            found = alternate(run, lambda call: call(), rounds=arguments.rounds, seed=connections)
            rows += table_rows(name, found)
        version = server.version
    publish(
        "slap",
        "contend mysqlslap and mariadb-slap",
        [
            f"server: {version}, InnoDB, {arguments.rows:,} rows, same host, Unix socket",
            version_of("mariadb-slap"),
            f"point selects: {arguments.queries:,} of each client; -a: 4,000 in all",
            "seconds and CPU (wait4) of the whole client",
            "ratios are contend over the row's program, 95 % intervals, by round",
        ],
        markdown_table(["load", "program", "seconds", "client CPU s", "time", "CPU"], rows),
    )
    return 0


def jobs_of(
    server: BenchServer, folder: Path, rows: int, queries: int
) -> dict[str, tuple[list[str], int]]:
    """Each job's words, and its clients."""
    keys = random.Random(303)
    points = folder / "points.sql"
    points.write_text(
        "".join(f"SELECT c FROM sbtest1 WHERE id={keys.randint(1, rows)}\n" for _ in range(queries))
    )
    jobs: dict[str, tuple[list[str], int]] = {}
    schema = f"--create-schema={server.target.database}"
    for clients in (1, 8, 64):
        jobs[f"points-{clients}"] = ([f"--query={points}", schema, f"-c{clients}"], clients)
    for clients in (8, 64):
        words = ["-a", f"-c{clients}", "--number-of-queries=4000"]
        jobs[f"auto-{clients}"] = (words, clients)
    if has_employees(server):
        study = folder / "employees.sql"
        study.write_text("".join(f"{sql}\n" for sql in EMPLOYEES))
        words = [f"--query={study}", "--create-schema=employees", "-c8", "--number-of-queries=80"]
        jobs["employees-8"] = (words, 8)
    return jobs


def has_employees(server: BenchServer) -> bool:
    """Fills the employees tables, if the program knows them."""
    fill = [str(find_program()), "fill", f"--socket={server.target.socket}", "--user=root"]
    done = subprocess.run(
        [
            *fill,
            "--database=employees",
            "--create-database",
            "--schema=employees",
            "--engine=InnoDB",
            "--seed=1",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        print(f"employees are left out: {done.stderr.strip()[-300:]}", file=sys.stderr)
    return done.returncode == 0


def table_rows(name: str, found: Mapping[str, Sequence[Seconds | None]]) -> list[list[str]]:
    """A row for each program."""
    ours = found["contend mysqlslap"]
    rows = []
    for label, runs in found.items():
        pairs = [(a, b) for a, b in zip(ours, runs, strict=True) if a and b]
        good = [run for run in runs if run]
        cells = [f"{sum(run.load_s for run in good) / len(good):.3f}" if good else "lost"]
        cells.append(f"{sum(run.cpu_s for run in good) / len(good):.2f}" if good else "")
        if runs is ours or len(pairs) < 2:
            cells += ["", ""]
        else:
            cells.append(ratio([a.load_s for a, _ in pairs], [b.load_s for _, b in pairs]))
            cells.append(ratio([a.cpu_s for a, _ in pairs], [b.cpu_s for _, b in pairs]))
        rows.append([name, label, *cells])
    return rows


if __name__ == "__main__":
    sys.exit(main())
