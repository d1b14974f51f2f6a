"""`--goal` with real servers: the highest rate that a statement of known length allows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from run_lab import Lab, as_json, interrupt
from sql import Factory
from test_run_existing import Theirs

from contend.experiment import RATE
from contend.servers import ServerBinary
from contend.store import RunFolder

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time

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
