"""The peers, each behind one call: drive this server so, and say what it did and what it cost.

Every peer is measured by the same rule: the whole child process, from start to exit, by the
kernel's own account (`wait4`). The CPU it used over the queries it made is its cost per query.
No peer warms up and none is spared its start; runs are long enough that start-up is small.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rounds import ratio

from contend.load import find_program


@dataclass(frozen=True)
class Target:
    """Where the server is: a Unix socket, or a port on the loopback address."""

    socket: Path | None = None
    port: int | None = None
    user: str = "root"
    database: str = "contend"
    table: str = "sbtest1"
    rows: int = 1_000_000
    pid: int | None = None


@dataclass(frozen=True)
class Sample:
    """One run of one peer. Times in µs; `latency_us_p50` where the peer can say it."""

    qps: float
    client_cpu_us_per_query: float
    latency_us_p50: float | None
    rss_max_kb: int
    queries: int


@dataclass(frozen=True)
class Job:
    """What every peer is asked to do. `kind`: point_select, random_points."""

    kind: str
    connections: int
    seconds: float
    points: int = 10
    distribution: str = "uniform"
    seed: int = 303
    options: tuple[tuple[str, object], ...] = ()


class PeerFailed(Exception):
    """A peer ended badly; the message holds its last words."""


class Peer(Protocol):
    """A program that can be asked to drive a server."""

    def run(self, target: Target, job: Job) -> Sample: ...


Runs = Sequence[Sample | None]
"""What a peer did, by round; none where its run was lost."""


def attempt(peer: Peer, *, target: Target, job: Job) -> Sample | None:
    """One run of a peer; none where it is lost, which is said."""
    try:
        return peer.run(target, job)
    except PeerFailed as failure:
        print(f"lost: {failure}", file=sys.stderr)
        return None


def paired(values: Runs, baseline: Runs) -> list[tuple[Sample, Sample]]:
    """The rounds in which neither was lost."""
    return [(a, b) for a, b in zip(values, baseline, strict=True) if a and b]


def mean_cells(runs: Runs) -> list[str]:
    """Of what was not lost: q/s, client CPU a query, p50."""
    good = [sample for sample in runs if sample]
    if not good:
        return ["missing: every run failed", "", ""]
    p50 = [sample.latency_us_p50 for sample in good if sample.latency_us_p50 is not None]
    return [
        f"{statistics.mean(sample.qps for sample in good):,.0f}",
        f"{statistics.mean(sample.client_cpu_us_per_query for sample in good):.2f}",
        f"{statistics.mean(p50):.0f}" if p50 else "not given",
    ]


def ratio_cells(values: Runs, baseline: Runs) -> list[str]:
    """Values over baseline, by round: q/s, client CPU a query. Nothing over itself."""
    both = paired(values, baseline)
    if values is baseline or len(both) < 2:
        return ["", ""]
    return [
        ratio([a.qps for a, _ in both], [b.qps for _, b in both]),
        ratio(
            [a.client_cpu_us_per_query for a, _ in both],
            [b.client_cpu_us_per_query for _, b in both],
        ),
    ]


def spent(
    command: list[str], *, stdin: str | None = None, accepted: Sequence[int] = (0,)
) -> tuple[str, float, int]:
    """Run a command. Returns its output, the CPU seconds it used, and its peak memory in KiB.

    Args:
        accepted: exit codes of a command that did its work.

    The kernel's `ru_maxrss` would count this process's own pages, which a child has for a moment
    before it becomes another program; so the peak is read from the child while it runs.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    if stdin is not None:
        assert process.stdin is not None
        process.stdin.write(stdin)
        process.stdin.close()
    peak = PeakMemory(process.pid)
    output = process.stdout.read()
    peak.stop()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in accepted:
        raise PeerFailed(f"{command[0]} ended with {process.returncode}:\n{output[-2000:]}")
    return output, usage.ru_utime + usage.ru_stime, peak.kb


class PeakMemory(threading.Thread):
    """Reads the peak resident memory of a process ten times a second until it is stopped."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.kb = 0
        self._status = Path(f"/proc/{pid}/status")
        self._over = threading.Event()
        self.start()

    def run(self) -> None:
        while not self._over.wait(0.1):
            try:
                match = re.search(r"VmHWM:\s+(\d+)", self._status.read_text())
            except OSError:
                return
            self.kb = int(match.group(1)) if match else self.kb

    def stop(self) -> None:
        self._over.set()
        self.join()


class Contend:
    """contend-load by its native workloads."""

    def __init__(
        self, protocol: str = "prepared", engine: str | None = None, threads: int | None = None
    ) -> None:
        self.name = f"contend-load ({protocol})" if engine is None else f"contend-load ({engine})"
        self.protocol = protocol
        self.engine = engine
        self.threads = threads

    def run(self, target: Target, job: Job) -> Sample:
        server: dict[str, object] = {"user": target.user, "database": target.database}
        if target.socket is not None:
            server["socket"] = str(target.socket)
        else:
            server |= {"host": "127.0.0.1", "port": target.port}
        workload: dict[str, object] = {
            "kind": job.kind,
            "table": target.table,
            "rows": target.rows,
            "distribution": {"kind": job.distribution},
        }
        if job.kind == "random_points":
            workload["points"] = job.points
        load: dict[str, object] = {
            "connections": job.connections,
            "measure_s": job.seconds,
            "protocol": self.protocol,
        }
        if self.engine is not None:
            load["engine"] = self.engine
        if self.threads is not None:
            load["threads"] = self.threads
        plan = {
            "version": 1,
            "seed": job.seed,
            "server": server,
            "workload": workload,
            "load": load,
        }
        output, cpu_s, rss = spent([str(find_program()), "run", "-"], stdin=json.dumps(plan))
        last = json.loads(output.strip().splitlines()[-1])
        if last["type"] != "done" or last["errors"]:
            raise PeerFailed(f"contend-load: {json.dumps(last)[:500]}")
        return Sample(
            qps=last["qps"],
            client_cpu_us_per_query=cpu_s * 1e6 / last["queries"],
            latency_us_p50=last["latency_us"]["p50"],
            rss_max_kb=rss,
            queries=last["queries"],
        )


class Sysbench:
    """The sysbench of the system, or ours under its name, by its bundled scripts."""

    def __init__(self, ps_mode: str = "auto", program: list[str] | None = None) -> None:
        self.program = program or ["sysbench"]
        self.ps_mode = ps_mode
        mode = "prepared" if ps_mode == "auto" else "text"
        self.name = f"sysbench ({mode})" if program is None else f"contend sysbench ({mode})"

    def run(self, target: Target, job: Job) -> Sample:
        # Our own script: the bundled one asks for other keys than the other peers do.
        points = str(Path(__file__).with_name("random_points.lua"))
        scripts = {"point_select": "oltp_point_select", "random_points": points}
        command = [
            *self.program,
            scripts.get(job.kind, job.kind),
            *self.where(target),
            f"--threads={job.connections}",
            f"--time={max(1, round(job.seconds))}",
            "--percentile=50",
            f"--rand-type={job.distribution}",
            f"--rand-seed={job.seed}",
            f"--db-ps-mode={self.ps_mode}",
            f"--table-size={target.rows}",
        ]
        if job.kind == "random_points":
            command.append(f"--random-points={job.points}")
        command += [f"--{name.replace('_', '-')}={value}" for name, value in job.options]
        output, cpu_s, rss = spent([*command, "run"])
        queries = int(self._number(r"queries:\s+(\d+)\s+\(", output))
        return Sample(
            qps=self._number(r"queries:\s+\d+\s+\(([\d.]+) per sec", output),
            client_cpu_us_per_query=cpu_s * 1e6 / queries,
            latency_us_p50=self._number(r"50th percentile:\s+([\d.]+)", output) * 1000,
            rss_max_kb=rss,
            queries=queries,
        )

    @staticmethod
    def where(target: Target) -> list[str]:
        """The options that lead to the server."""
        at = (
            [f"--mysql-socket={target.socket}"]
            if target.socket is not None
            else ["--mysql-host=127.0.0.1", f"--mysql-port={target.port}"]
        )
        return [*at, f"--mysql-user={target.user}", f"--mysql-db={target.database}"]

    @staticmethod
    def _number(pattern: str, output: str) -> float:
        match = re.search(pattern, output)
        if match is None:
            raise PeerFailed(f"sysbench printed no {pattern!r}:\n{output[-2000:]}")
        return float(match.group(1))


class Slap:
    """mariadb-slap: a fixed list of statements, so the run is counted and not timed."""

    def __init__(self, queries_per_s_guess: float = 50_000) -> None:
        self.name = "mariadb-slap"
        self.program = shutil.which("mariadb-slap") or "mysqlslap"
        self.guess = queries_per_s_guess

    def run(self, target: Target, job: Job) -> Sample:
        import random

        keys = random.Random(job.seed)
        each = max(100, int(self.guess * job.seconds / job.connections))
        statements = [self._statement(target, job, keys) for _ in range(min(each, 2000))]
        at = (
            [f"--socket={target.socket}"]
            if target.socket is not None
            else ["--host=127.0.0.1", f"--port={target.port}", "--protocol=tcp"]
        )
        list_file = Path(os.environ.get("TMPDIR", "/tmp")) / f"contend-slap-{os.getpid()}.sql"
        list_file.write_text("\n".join(statements) + "\n")
        try:
            output, cpu_s, rss = spent(
                [
                    *(self.program, "--no-defaults", *at, f"--user={target.user}"),
                    *(f"--create-schema={target.database}", f"--concurrency={job.connections}"),
                    *(f"--number-of-queries={each * job.connections}", f"--query={list_file}"),
                    *("--iterations=1", "--csv", "--skip-ssl"),
                ]
            )
        finally:
            list_file.unlink()
        fields = output.strip().splitlines()[-1].split(",")
        queries = each * job.connections
        return Sample(
            qps=queries / float(fields[2]),
            client_cpu_us_per_query=cpu_s * 1e6 / queries,
            latency_us_p50=None,
            rss_max_kb=rss,
            queries=queries,
        )

    @staticmethod
    def _statement(target: Target, job: Job, keys: object) -> str:
        import random

        assert isinstance(keys, random.Random)
        if job.kind == "point_select":
            return f"SELECT c FROM {target.table} WHERE id={keys.randint(1, target.rows)}"
        points = ", ".join(str(keys.randint(1, target.rows)) for _ in range(job.points))
        return f"SELECT id, k, c, pad FROM {target.table} WHERE k IN ({points})"


def version_of(program: str) -> str:
    """First line that a program prints of its version, or `missing`."""
    if shutil.which(program) is None:
        return f"{program}: missing"
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return (shown.stdout or shown.stderr).strip().splitlines()[0]


if __name__ == "__main__":
    sys.exit("this file is read by the benchmarks beside it; see bench/README.md")
