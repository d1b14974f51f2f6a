"""sysbench scripts run by contend and by sysbench: speed, client CPU per query, memory.

    python bench/scripts.py [--rounds 4] [--seconds 3] [--scripts …] [--threads …]

Both run the scripts of the same names, each its own, and the same user script. They take turns
on one server, in random order inside a round. With them contend-load's own workload of the same
statements, which runs no script at all: what of the queries is left for a script to lose.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
import shutil
import statistics
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from lab import BenchServer, fill, private_server
from peers import (
    Contend,
    Job,
    Peer,
    Sample,
    Sysbench,
    Target,
    attempt,
    paired,
    ratio_cells,
    version_of,
)
from rounds import alternate, machine, markdown_table, publish, ratio

from contend.load import find_program
from contend.servers import PrivateServer
from contend.stats import estimate

USER_SCRIPT = Path(__file__).parent / "user_script.lua"
SCRIPTS = (
    *("oltp_point_select", "select_random_points", "oltp_read_only", "oltp_read_write"),
    "user_script",
)
THREADS = (1, 8, 64, 512)
# The statements of a script as a workload of contend-load's own.
NATIVE = {
    "oltp_point_select": "point_select",
    "select_random_points": "random_points",
    "oltp_read_only": "read_only",
    "oltp_read_write": "read_write",
}
OURS, THEIRS, BARE = "contend", "sysbench", "no script"
# What the project promises: q/s at least, client CPU per query at most, times sysbench's.
QPS_AIM, QPS_AIM_FROM = 1.2, 8
CPU_AIMS = {64: 0.7, 512: 0.4}
HEAD = [
    *("script", "threads", "q/s contend", "q/s sysbench", "q/s ratio"),
    *("CPU µs/query contend", "CPU µs/query sysbench", "CPU ratio"),
    *("peak MB contend", "peak MB sysbench", "aims"),
    *("q/s ratio, no script", "CPU ratio, no script"),
]

Pair = tuple[Sample, Sample]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, nargs="+", default=THREADS)
    parser.add_argument("--scripts", nargs="+", default=SCRIPTS, choices=SCRIPTS)
    arguments = parser.parse_args()
    if shutil.which("sysbench") is None:
        raise SystemExit("sysbench is missing: make test-needs")
    print(machine(), file=sys.stderr)
    contestants: dict[str, Peer] = {
        OURS: Sysbench(program=[str(find_program()), "sysbench"]),
        THEIRS: Sysbench(),
    }
    rows: list[list[str]] = []
    with server_for(max(arguments.threads), arguments.rows) as private:
        fill(private, engine="InnoDB", rows=arguments.rows)
        server = BenchServer(private, private.variables()["version"], arguments.rows)
        for script, threads in itertools.product(arguments.scripts, arguments.threads):
            print(f"== {script}, {threads} threads", file=sys.stderr, flush=True)
            job = Job(kind=path_of(script), connections=threads, seconds=arguments.seconds)
            turns = contestants | ({BARE: Native(NATIVE[script])} if script in NATIVE else {})
            run = functools.partial(attempt, target=server.target, job=job)
            samples = alternate(turns, run, rounds=arguments.rounds, seed=threads)
            rows.append(
                row_of(script, threads, paired(samples[OURS], samples[THEIRS]))
                + ratio_cells(samples.get(BARE, samples[THEIRS]), samples[THEIRS])
            )
            print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    publish(
        "scripts",
        "sysbench scripts under contend and under sysbench",
        [
            f"server: {server.version}, InnoDB, {arguments.rows:,} rows, same host, Unix socket, "
            "innodb_flush_log_at_trx_commit=0",
            version_of("sysbench"),
            "client CPU is the whole process from start to exit, by wait4, over its queries",
            "ratios are contend over sysbench, 95 % intervals, by round",
            "no script: contend-load's own workload of the same statements, over sysbench",
            f"aims: q/s at least {QPS_AIM}x from {QPS_AIM_FROM} threads on; client CPU per query "
            + ", ".join(f"at most {aim}x at {threads}" for threads, aim in CPU_AIMS.items()),
        ],
        markdown_table(HEAD, rows),
    )
    return 0


class Native:
    """contend-load by its own workload of this kind."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._program = Contend()

    def run(self, target: Target, job: Job) -> Sample:
        return self._program.run(target, dataclasses.replace(job, kind=self._kind))


def server_for(threads: int, rows: int) -> AbstractContextManager[PrivateServer]:
    """A server whose table fits its memory, and that waits for no disk."""
    return private_server(
        {
            "innodb_buffer_pool_size": f"{max(512, rows // 2000)}M",
            "innodb_log_file_size": "512M",
            "innodb_flush_log_at_trx_commit": 0,
            "max_connections": threads + 64,
            "thread_cache_size": threads + 64,
            "table_open_cache": 2 * threads + 400,
            "max_prepared_stmt_count": 1_000_000,
            "back_log": 4096,
        }
    )


def path_of(script: str) -> str:
    """What both programs are given: a name they know, or the path of ours."""
    return str(USER_SCRIPT) if script == "user_script" else script


def row_of(script: str, threads: int, pairs: Sequence[Pair]) -> list[str]:
    """One line of the table."""
    if len(pairs) < 2:
        return [script, str(threads), *["missing: runs failed"] * (len(HEAD) - 4)]

    def of(field: str) -> tuple[list[float], list[float]]:
        values = [[dataclasses.asdict(sample)[field] for sample in pair] for pair in pairs]
        return [ours for ours, _ in values], [theirs for _, theirs in values]

    qps, cpu, rss = of("qps"), of("client_cpu_us_per_query"), of("rss_max_kb")
    return [
        *(script, str(threads)),
        *(f"{statistics.mean(side):,.0f}" for side in qps),
        ratio(*qps),
        *(f"{statistics.mean(side):.2f}" for side in cpu),
        ratio(*cpu),
        *(f"{max(side) / 1024:.0f}" for side in rss),
        verdict(threads, factor(*qps), factor(*cpu)),
    ]


def factor(values: Sequence[float], baseline: Sequence[float]) -> float:
    """The mean ratio of the rounds' pairs."""
    ratios = [value / other for value, other in zip(values, baseline, strict=True)]
    return estimate(ratios, log_scale=True).mean


def verdict(threads: int, qps: float, cpu: float) -> str:
    """Whether the aims of this number of threads are met."""
    judged = []
    if threads >= QPS_AIM_FROM:
        judged.append(("q/s", qps >= QPS_AIM))
    if threads in CPU_AIMS:
        judged.append(("CPU", cpu <= CPU_AIMS[threads]))
    return ", ".join(f"{name} {'met' if met else 'missed'}" for name, met in judged) or "none"


if __name__ == "__main__":
    sys.exit(main())
