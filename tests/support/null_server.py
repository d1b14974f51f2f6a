"""contend-load against its own null server: runs that need no database."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def null_server(program: Path, folder: Path, *options: str) -> Iterator[Path]:
    """A null server on a socket in `folder`; gives the socket."""
    socket = folder / "null.sock"
    with subprocess.Popen(
        [program, "null-server", "--socket", socket, *options], stdout=subprocess.PIPE
    ) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline(), "the null server did not start"
            yield socket
        finally:
            server.terminate()
            server.communicate()


def connections(socket: Path) -> int:
    """How many there are to a server that listens on a socket."""
    lines = Path("/proc/net/unix").read_text().splitlines()
    found = [line.split(maxsplit=7) for line in lines if line.endswith(f" {socket}")]
    return sum(state == "03" for *_, state, _inode, _path in found)


def run_plan(
    program: Path, plan: dict[str, Any], *options: str, env: dict[str, str] | None = None
) -> tuple[list[dict[str, Any]], int, str]:
    """Run a plan: its lines, the exit code, and what was said to people."""
    ran = subprocess.run(
        [program, "run", "-", *options],
        input=json.dumps(plan),
        capture_output=True,
        text=True,
        check=False,
        env=env,
    )
    return [json.loads(line) for line in ran.stdout.splitlines()], ran.returncode, ran.stderr
