"""Minutes of a load with everything that comes and goes in it: nothing grows, nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from contend.servers import PrivateServer, ServerBinary

SECONDS = float(os.environ.get("CONTEND_SOAK_S", "300"))
ROWS = 2_000
HOT_ROWS = 50
GROWTH_MAX = 0.05
SLACK_KB = 1_024


def resident_kb(pid: int) -> int:
    """Memory that a process has now."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


@pytest.mark.timeout(SECONDS + 300)
def test_a_long_load_keeps_its_memory_its_descriptors_and_its_count_of_events(
    private_server: Callable[..., PrivateServer],
    mariadb_binary: ServerBinary,
    load_program: Path,
    record_property: Callable[[str, object], None],
) -> None:
    server = private_server(mariadb_binary)
    fill = [load_program, "fill", f"--socket={server.socket}", "--create-database"]
    subprocess.run([*fill, f"--rows={ROWS}"], check=True, capture_output=True)
    plan = {
        "version": 1,
        "server": {"socket": str(server.socket), "database": "sbtest"},
        # Few rows, many writers: deadlocks are begun again all the time.
        "workload": {"kind": "read_write", "rows": HOT_ROWS},
        "load": {
            "connections": 16,
            "idle_connections": 4,
            "reconnect_every": 50,
            "warmup_s": 1.0,
            "measure_s": SECONDS,
            "interval_s": 1.0,
        },
        "seed": 3,
    }
    memory, descriptors, done = [], [], {}
    with subprocess.Popen(
        [load_program, "run", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as load:
        assert load.stdin is not None and load.stdout is not None
        load.stdin.write(json.dumps(plan))
        load.stdin.close()
        for line in load.stdout:
            done = json.loads(line)
            if done["type"] == "interval":
                memory.append(resident_kb(load.pid))
                descriptors.append(sum(1 for _ in Path(f"/proc/{load.pid}/fd").iterdir()))
    assert load.returncode == 0
    assert done["type"] == "done", done
    assert done["begun"] == done["events"] + done["failed"] + done["unfinished"]
    assert done["latency_us"]["count"] == done["events"]
    assert {error["code"] for error in done["errors"]} <= {1020, 1205, 1213}
    quarter = len(memory) // 4
    early, late = median(memory[quarter : 2 * quarter]), median(memory[-quarter:])
    record_property("seconds", SECONDS)
    record_property("events", done["events"])
    record_property("connects", done["connect_us"]["count"])
    record_property("retries", done["retries"])
    record_property("resident_kb in the second quarter and the last", [early, late])
    assert late <= early * (1 + GROWTH_MAX) + SLACK_KB
    # Connections that are being opened anew have two at most.
    assert max(descriptors) - min(descriptors) <= 2 * 16
    assert median(descriptors[-quarter:]) <= median(descriptors[quarter : 2 * quarter]) + 1
    (connected,) = ask(server, "SHOW GLOBAL STATUS LIKE 'Threads_connected'")
    assert int(connected[1]) == 1


def ask(server: PrivateServer, statement: str) -> list[tuple[str, ...]]:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())
