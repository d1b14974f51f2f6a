"""The floor as a peer: bare loops that send the same bytes and only find the answer's end."""

from __future__ import annotations

import functools
import json
import subprocess
from pathlib import Path

from peers import Job, Sample, Target, spent

ROOT = Path(__file__).resolve().parents[1]


class Floor:
    """One of the loops of load/benches/floor: epoll, uring, uring-single, runtime.

    `threads` of None: as many as contend-load has workers. `text`: statements as text, else they
    are prepared. Made before anything is measured, for it builds the program.
    """

    def __init__(self, kind: str, threads: int | None = None, *, text: bool = False) -> None:
        program()
        self.kind = kind
        self.more = [] if threads is None else [f"--threads={threads}"]
        if text:
            self.more.append("--text")
        self.name = f"floor ({kind})"

    def run(self, target: Target, job: Job) -> Sample:
        points = job.points if job.kind == "random_points" else 0
        at = (
            [f"--socket={target.socket}"]
            if target.socket is not None
            else ["--host=127.0.0.1", f"--port={target.port}"]
        )
        output, cpu_s, rss = spent(
            [
                *(str(program()), f"--loop={self.kind}", *at, f"--user={target.user}"),
                *(f"--database={target.database}", f"--table={target.table}"),
                *(f"--rows={target.rows}", f"--points={points}"),
                *(f"--connections={job.connections}", f"--seconds={job.seconds}"),
                *self.more,
            ]
        )
        line = json.loads(output.strip().splitlines()[-1])
        return Sample(
            qps=line["qps"],
            client_cpu_us_per_query=cpu_s * 1e6 / line["queries"],
            latency_us_p50=None,
            rss_max_kb=rss,
            queries=line["queries"],
        )


@functools.cache
def program() -> Path:
    """The floor's program, built for release."""
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "--locked", "--example", "floor"],
        cwd=ROOT,
        check=True,
    )
    return ROOT / "target" / "release" / "examples" / "floor"
