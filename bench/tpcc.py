"""TPC-C natively, and by sysbench running the script of the same statements.

    python bench/tpcc.py [--warehouses 10] [--rounds 8] [--seconds 20] [--connections 1 8 64 256]

Both send text, a statement for each row, without waits, over the same tables, in turn and in random
order. Transactions that were taken back count for neither. Orders pile up from run to run, for both
alike; before each round, purge is waited for. CPU is that of the whole client process, by `wait4`.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import private_server
from peers import PeerFailed, Sysbench, Target, spent, version_of
from rounds import alternate, markdown_table, publish, ratio

from contend import experiment
from contend.load import find_program
from contend.servers import PrivateServer

DATABASE = "tpcc"
SCRIPT = Path(experiment.__file__).with_name("recipes") / "tpcc.lua"
HISTORY_MAX = 1000
PURGE_LIMIT_S = 60.0
HEAD = [
    *("connections", "program", "transactions/s", "client CPU µs a transaction"),
    *("transactions/s, ratio", "CPU, ratio", "began again, %"),
]


@dataclass(frozen=True)
class Sample:
    """One run: transactions a second, CPU of the client for each, and how many began again."""

    tps: float
    cpu_us: float
    retries_percent: float


@dataclass(frozen=True)
class Job:
    target: Target
    warehouses: int
    connections: int
    seconds: int


class Native:
    """contend-load's own workload."""

    name = "contend-load (tpcc)"

    def run(self, job: Job) -> Sample:
        plan = {
            "version": 1,
            "seed": 303,
            "server": {
                "socket": str(job.target.socket),
                "user": job.target.user,
                "database": job.target.database,
            },
            "workload": {"kind": "tpcc", "warehouses": job.warehouses, "ask": "each"},
            "load": {
                "connections": job.connections,
                "measure_s": job.seconds,
                "protocol": "text",
            },
        }
        output, cpu_s, _ = spent([str(find_program()), "run", "-"], stdin=json.dumps(plan))
        last = json.loads(output.strip().splitlines()[-1])
        if last["type"] != "done" or last["failed"]:
            raise PeerFailed(f"contend-load: {json.dumps(last)[:500]}")
        events = last["events"]
        return Sample(
            tps=events / last["measured_s"],
            cpu_us=cpu_s * 1e6 / events,
            retries_percent=100 * last["retries"] / events,
        )


class Script:
    """sysbench, by the script."""

    name = "sysbench (tpcc.lua)"

    def run(self, job: Job) -> Sample:
        command = ["sysbench", str(SCRIPT), *Sysbench.where(job.target)]
        command += [f"--threads={job.connections}", f"--time={job.seconds}", "--rand-seed=303"]
        output, cpu_s, _ = spent([*command, f"--warehouses={job.warehouses}", "run"])
        events, tps = _pair(r"transactions:\s+(\d+)\s+\(([\d.]+) per sec", output)
        errors, _ = _pair(r"ignored errors:\s+(\d+)\s+\(([\d.]+) per sec", output)
        return Sample(tps=tps, cpu_us=cpu_s * 1e6 / events, retries_percent=100 * errors / events)


Runs = Sequence[Sample | None]


def _pair(pattern: str, output: str) -> tuple[float, float]:
    match = re.search(pattern, output)
    if match is None:
        raise PeerFailed(f"sysbench printed no {pattern!r}:\n{output[-2000:]}")
    return float(match.group(1)), float(match.group(2))


def attempt(peer: Native | Script, job: Job) -> Sample | None:
    """One run; none if it is lost, which is said."""
    try:
        return peer.run(job)
    except PeerFailed as failure:
        print(f"lost: {failure}", file=sys.stderr)
        return None


def wait_for_purge(server: PrivateServer) -> None:
    """What one run deleted is not to be the next one's work."""
    end = time.monotonic() + PURGE_LIMIT_S
    query = (
        "SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'"
    )
    with server.connect() as connection, connection.cursor() as cursor:
        while time.monotonic() < end:
            cursor.execute(query)
            found = cursor.fetchone()
            if found is None or found[0] <= HISTORY_MAX:
                return
            time.sleep(0.5)


def fill(server: PrivateServer, warehouses: int, shrink: int) -> None:
    command = [str(find_program()), "fill", f"--socket={server.socket}", "--user=root"]
    command += [f"--database={DATABASE}", "--create-database", "--schema=tpcc", "--seed=1"]
    command += [f"--with=warehouses={warehouses}", f"--with=shrink={shrink}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def table_rows(connections: int, found: Mapping[str, Runs]) -> list[list[str]]:
    """A row for each program, the ratio of the native workload over the script in the first."""
    native, script = found[Native.name], found[Script.name]
    both = [(a, b) for a, b in zip(native, script, strict=True) if a and b]
    rows = []
    for name, runs in found.items():
        good = [run for run in runs if run]
        if not good:
            rows.append([str(connections), name, "missing: every run failed", "", "", "", ""])
            continue
        ratios = ["", ""]
        if runs is native and len(both) > 1:
            ratios = [
                ratio([a.tps for a, _ in both], [b.tps for _, b in both]),
                ratio([a.cpu_us for a, _ in both], [b.cpu_us for _, b in both]),
            ]
        rows.append(
            [
                *(str(connections), name),
                f"{statistics.mean(run.tps for run in good):,.0f}",
                f"{statistics.mean(run.cpu_us for run in good):.0f}",
                *ratios,
                f"{statistics.mean(run.retries_percent for run in good):.2f}",
            ]
        )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warehouses", type=int, default=10)
    parser.add_argument("--shrink", type=int, default=1, help="a trial: one row in so many")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--connections", nargs="+", type=int, default=[1, 8, 64, 256])
    arguments = parser.parse_args()
    options: dict[str, str | int] = {
        "innodb_buffer_pool_size": "2G",
        "innodb_log_file_size": "1G",
        "innodb_flush_log_at_trx_commit": 2,
        "max_connections": max(arguments.connections) + 64,
        "thread_cache_size": max(arguments.connections) + 64,
        "back_log": 4096,
    }
    peers = (Native(), Script())
    rows: list[list[str]] = []
    with private_server(options) as server:
        version = server.variables()["version"]
        fill(server, arguments.warehouses, arguments.shrink)
        target = Target(socket=server.socket, database=DATABASE)
        for connections in arguments.connections:
            job = Job(target, arguments.warehouses, connections, arguments.seconds)
            found = alternate(
                {peer.name: peer for peer in peers},
                lambda peer, job=job: attempt(peer, job),  # type: ignore[misc]
                rounds=arguments.rounds,
                seed=connections,
                before_round=lambda: wait_for_purge(server),
            )
            rows += table_rows(connections, found)
    publish(
        "tpcc",
        f"TPC-C without waits, {arguments.warehouses} warehouses: natively, and by sysbench",
        [
            f"server {version}, InnoDB, same host, Unix socket, innodb_flush_log_at_trx_commit=2",
            version_of("sysbench"),
            f"one row in {arguments.shrink}" if arguments.shrink > 1 else "tables of full size",
            f"{arguments.seconds} s a run; the same statements, text, no prepared ones",
            "ratios are the native workload over the script, 95 % intervals, by round",
            "aims: the ratio's interval reaches above 1.0 everywhere, 1.3 or more at 256 "
            "connections; CPU at most 0.35 at 64",
            "these are no tpmC, and no audited result",
        ],
        markdown_table(HEAD, rows),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
