"""A host and a contend-load that exist only here: the program is a script that plays both sides."""

from __future__ import annotations

import stat
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from contend.load.ceilings import Ceiling, ClientHost, ClientProgram, Round, RunShape

HOST = ClientHost("0123456789ab", "Example CPU", 2, "6.1.0-example")
PROGRAM = ClientProgram("0.1.0", "ab" * 32)
POINT_SELECT = {"kind": "point_select", "distribution": {"kind": "uniform"}}

SCRIPT = """
import json, os, signal, sys, time
words = [word for word in sys.argv[1:] if not word.startswith("--die-with")]
if words == ["--version"]:
    print("contend-load 0.1.0")
elif words[0] == "null-server":
    if os.environ.get("NULL_SERVER_REFUSES"):
        sys.exit("contend-load: no room for a socket")
    print(json.dumps({"type": "listening", "socket": "s", "port": 3333}), flush=True)
    signal.pause()
elif words == ["engine", "-"]:
    plan = json.load(sys.stdin)
    wanted = plan["load"]["engine"]
    chosen = "io_uring" if wanted == "auto" else wanted
    print(json.dumps({"type": "engine", "engine": chosen}))
else:
    plan = json.load(sys.stdin)
    connections = plan["load"]["connections"]
    starved = str(connections) in os.environ.get("STARVED", "").split()
    refused = os.environ.get("REFUSED")
    queries = 0 if starved or refused else 1000 * connections
    print(json.dumps({
        "type": "hello", "version": 1, "threads": 2, "engine": plan["load"]["engine"],
        "program_version": "0.1.0",
    }))
    print(json.dumps({
        "type": "done", "queries": queries, "qps": 10000.0 * connections,
        "client": {"cpu_us": 4.0 * queries}, "latency_us": {"p50": 90.0, "p99": 120.0},
        "client_busiest_thread_share": 0.5,
        "errors": [{"message": "no such table"}] if refused else [],
    }))
"""


def shape(connections: int = 8, **changes: object) -> RunShape:
    fields = {"workload": POINT_SELECT, "protocol": "prepared", "transport": "socket"}
    fields["engine"] = "io_uring"
    return RunShape(**{**fields, "connections": connections, **changes})  # type: ignore[arg-type]


def ceiling(
    connections: int = 8, qps: float = 100_000.0, cpu_us: float = 5.0, **changes: object
) -> Ceiling:
    rounds = tuple(
        Round(qps * (1 + wobble / 100), cpu_us, 80.0, 160.0, 0.97) for wobble in (-1, 0, 1, 0)
    )
    return Ceiling(shape(connections, **changes), rounds, 0.5, 1, "2026-11-20T10:00:00+00:00")


def scripted_program(folder: Path) -> Path:
    """The program, in a folder."""
    path = folder / "contend-load"
    path.write_text(f"#!{sys.executable}\n" + textwrap.dedent(SCRIPT))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@contextmanager
def disturbed_by(*what: str) -> Iterator[list[str]]:
    """In place of `watched`: a host on which just this happens; nothing for a quiet one."""
    yield list(what)
