"""A load that several workers of a Dask cluster share, from the command to the report; and a lab
that is killed in the middle of it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import needs
import pytest
from run_lab import Lab, alive, wait_for

needs.module("distributed")
pytestmark = pytest.mark.timeout(900)  # a busy machine may take its time

HOSTS = ("--set", "load.hosts=2", "--set", "load.connections=4")


def of_session(number: int) -> list[int]:
    """Processes of a session of the terminal: those that the first of them started, and theirs."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _parent, _group, session = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(session) == number and state != "Z":
            found.append(int(stat.parent.name))
    return found


def test_a_lab_that_was_killed_goes_on_with_its_hosts(tmp_path: Path, load_program: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    lab = Lab(tmp_path, cache, load_program, "model").slow()
    lab.file.write_text(lab.file.read_text().partition("[factors]")[0] + "[compare]\nrepeats = 2")
    process = lab.start(*lab.arguments(*HOSTS))
    lab.wait_for_runs(1, process)
    wait_for(lambda: bool({*alive(b"\0part\0--host=1")} & {*of_session(process.pid)}))
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    # Its workers, their loads and its server end with it.
    wait_for(lambda: not of_session(process.pid))

    done = lab.contend("run", "--resume", lab.out)
    assert done.returncode == 0, done.stderr
    records = lab.records()
    assert {record.run for record in records if record.status == "ok"} == {1, 2}
    for record in records:
        measured = record.done
        assert measured is not None
        assert [host["connections"] for host in measured["hosts"]] == [2, 2]
        assert sum(host["queries"] for host in measured["hosts"]) == measured["queries"]
        assert measured["server"] is not None, "the first host sees the server's process"
    assert "2 hosts shared the load of each run." in (lab.out / "report.html").read_text()
