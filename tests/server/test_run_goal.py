"""`--goal` with real servers: the highest rate that a statement of known length allows."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import time
from pathlib import Path

import pytest
from run_lab import Lab, alive, as_json, interrupt
from sql import Factory
from test_run_existing import Theirs

from contend.experiment import RATE
from contend.servers import ServerBinary
from contend.store import RunFolder

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time

LEVELS = "server.options.long_query_time"
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "goal.md"

SLEEPS = """
[experiment]
name = "sleeps"

[data]
rows = 100

[workload]
kind = "sql"
text = "SELECT SLEEP(@@global.long_query_time);"

[load]
connections = 2
warmup = "100ms"
measure = "600ms"

[factors]
"server.options.long_query_time" = [0.004, 0.016]

[compare]
baseline = { "server.options.long_query_time" = 0.004 }
repeats = 2

[goal]
hold = "p99<50ms"
"""
"""Two connections that sleep 4 ms at least can do 500 events per second, and 125 with 16 ms."""


def test_a_private_server_for_each_level(lab: Lab) -> None:
    lab.file.write_text(SLEEPS)
    process = lab.start("run", lab.file, "--server", lab.server, "--out", lab.out)
    lab.wait_for_runs(5, process)
    assert f"`contend run --resume {lab.out}`" in interrupt(process)
    assert "The search is not finished" in lab.contend("show", lab.out).stdout
    done = lab.contend("run", "--resume", lab.out, "--json")
    assert done.returncode == 0, done.stderr
    first, other = as_json(done)["goal"]["levels"]
    assert {first["result"], other["result"]} == {"found"}
    # The limits are those of the sleeps; a busy machine may hold less.
    assert 60 < first["rate"]["mean"] < 550
    assert 20 < other["rate"]["mean"] < 150
    assert other["times"]["mean"] < 1
    with RunFolder.open(lab.out) as folder:
        assert folder.meta().facts["way"]["servers"] == 2
        assert folder.meta().finished == "2 repeats after the search"
    records = lab.records()
    assert {record.repeat for record in records} == {1, 2, 3}
    shown = lab.contend("show", lab.out).stdout
    assert "With long_query_time = 0.004 it holds" in shown.replace("\n", " ")
    assert lab.contend("run", "--resume", lab.out).returncode == 0


def test_a_server_of_ones_own(
    lab: Lab, shared_server: Factory, mariadb_binary: ServerBinary
) -> None:
    theirs = Theirs(shared_server(mariadb_binary, {}, tcp=True))
    theirs.takes_password(lab)
    lab.file.write_text(
        re.sub(r"(?s)\[factors\].*(?=\[goal\])", "[compare]\nrepeats = 2\n", SLEEPS)
    )
    lab.edit("SELECT SLEEP(@@global.long_query_time)", "SELECT SLEEP(0.004) FROM sbtest LIMIT 1")
    run = ("run", lab.file, "--server", theirs.dsn, "--out", lab.out)
    refused = lab.contend(*run)
    assert refused.returncode == 2, refused.stderr
    assert "needs your consent" in refused.stderr and not lab.out.exists()
    done = lab.contend(*run, "--yes", "--set", "goal.highest=300")
    assert done.returncode == 0, done.stderr
    assert "It holds" in done.stdout
    assert max(float(record.cell[RATE]) for record in lab.records()) <= 300


def test_the_experiment_of_the_guide(lab: Lab) -> None:
    (example,) = re.findall(r"^```toml\n(.*?)^```$", GUIDE.read_text(), re.S | re.M)
    lab.file.write_text(example)
    sets = ("load.warmup=100ms", "load.measure=300ms", "compare.repeats=2", "data.rows=100")
    more = [part for one in (*sets, "goal.highest=800") for part in ("--set", one)]
    done = lab.contend("run", lab.file, "--server", lab.server, "--out", lab.out, *more)
    assert done.returncode == 0, done.stderr
    assert "The highest rate that holds the goal" in done.stdout


def test_a_server_that_dies_at_a_rate(lab: Lab) -> None:
    """A server that ends whenever more than 100 events per second are offered."""
    lab.file.write_text(
        re.sub(r"(?s)\[factors\].*(?=\[goal\])", "[compare]\nrepeats = 2\n", SLEEPS)
    )
    lab.edit("SELECT SLEEP(@@global.long_query_time)", "SELECT 1")
    process = lab.start("run", lab.file, "--server", lab.server, "--out", lab.out)
    load = os.fsencode(f"--die-with={process.pid}\0run\0")
    while process.poll() is None:
        if _rate_now(lab) > 100 and set(alive(load)) - set(alive(b"\0--check\0")):
            for pid in lab.servers_alive():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    _, err = process.communicate()
    assert process.returncode == 0, err
    (level,) = as_json(lab.contend("show", lab.out, "--json"))["goal"]["levels"]
    # A busy machine may hold less than the rate that ends the server.
    assert level["result"] == "found" and 20 < level["rate"]["mean"] < 130
    assert {record.status for record in lab.records() if float(record.cell[RATE]) > 130} <= {
        "lost",
        "failed",
    }
    assert lab.servers_alive() == []


def _rate_now(lab: Lab) -> float:
    if not (lab.out / "results.sqlite").exists():
        return 0.0
    with RunFolder.open(lab.out) as folder:
        ended = {run.run for run in folder.ended()}
        left = [run for run in folder.meta().planned if run.run not in ended]
    return float(left[0].cell[RATE]) if left else 0.0


def test_servers_of_ones_own_are_levels(
    lab: Lab, private_server: Factory, mariadb_binary: ServerBinary
) -> None:
    one, other = (Theirs(private_server(mariadb_binary, {}, tcp=True)) for _ in range(2))
    one.takes_password(lab)
    lab.file.write_text(SLEEPS)
    lab.edit("SELECT SLEEP(@@global.long_query_time)", "SELECT SLEEP(0.004) FROM sbtest LIMIT 1")
    lab.edit(
        '"server.options.long_query_time" = [0.004, 0.016]',
        f'"server.use" = ["{one.dsn}", "{other.dsn}"]',
    )
    lab.edit('"server.options.long_query_time" = 0.004', f'"server.use" = "{one.dsn}"')
    done = lab.contend(
        "run", lab.file, "--out", lab.out, "--yes", "--set", "goal.highest=300", "--json"
    )
    assert done.returncode == 0, done.stderr
    levels = as_json(done)["goal"]["levels"]
    assert [level["level"] for level in levels] == [one.dsn, other.dsn]
    assert all(level["rate"]["mean"] <= 300 for level in levels)
    for record in lab.records():
        assert record.probes["server"]["source"] == record.cell["server.use"]


def test_the_command_of_the_guide(lab: Lab) -> None:
    (command,) = re.findall(r"\A.*?^```\n(contend try .*?)^```$", GUIDE.read_text(), re.S | re.M)
    _, *words = shlex.split(command.replace("\\\n", " "))
    short = ("--for", "8s", "--server", lab.server, "--out", str(lab.out))
    done = lab.contend(*words, *short)
    assert done.returncode == 0, done.stderr
    assert "it holds" in done.stdout
    assert {record.cell[LEVELS] for record in lab.records()} == {0.002, 0.004}
