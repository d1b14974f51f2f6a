"""Every native workload in an experiment, on a real server, each run with the same rows."""

from __future__ import annotations

import re

import pytest
from run_lab import Lab

from contend.experiment.settings.plan_keys import SCRIPT, WORKLOAD
from contend.experiment.settings.workload import may_write
from contend.servers import PrivateServer, ServerBinary

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time

ROWS = 2_000
TEXT = "SELECT c FROM sbtest WHERE id = {id:uniform(1, 2000)};"
# TPC-C has tables of its own, and so have lookups by string and recordings.
_APART = (SCRIPT, "scan", "string_lookup", "tpcc", "twins", "recorded")
KINDS = [kind for kind in WORKLOAD.kinds if kind not in _APART]
EVERY = f"""
[experiment]
name = "every"

[server]
options = {{ innodb_buffer_pool_size = "32M", innodb_log_file_size = "8M", \
innodb_flush_log_at_trx_commit = 0 }}

[data]
rows = {ROWS}

[workload]
auto_increment = false
batch = 10
text = "{TEXT}"
statements = ["SELECT c FROM sbtest WHERE id = 1", "SELECT c FROM sbtest WHERE id = 2"]

[load]
warmup = "20ms"
measure = "100ms"
connections = 2

[factors]
"workload.kind" = {KINDS}

[compare]
repeats = 2
"""

STATEMENTS = """
[experiment]
name = "statements"

[server]
options = { innodb_buffer_pool_size = "32M", innodb_log_file_size = "8M" }

[data]
rows = 2_000

[workload]
kind = "sql"
text = '''
@read weight 3
SELECT c FROM sbtest WHERE id = {id:uniform(1, 2000)};
@move
BEGIN;
UPDATE sbtest SET k = k + 1 WHERE id = {from:uniform(1, 2000)};
COMMIT;
'''

[load]
warmup = "20ms"
measure = "300ms"

[factors]
"load.connections" = [1, 2]

[compare]
repeats = 2
"""


def test_every_native_kind_runs_and_each_run_finds_the_same_rows(lab: Lab) -> None:
    lab.file.write_text(EVERY)
    done = lab.draw().run()
    assert done.returncode == 0, done.stderr
    records = lab.records()
    assert sorted(str(r.cell["workload.kind"]) for r in records) == sorted(2 * KINDS)
    for record in records:
        kind = str(record.cell["workload.kind"])
        figures = record.done or {}
        assert figures["queries"] >= figures["events"], kind
        # A second run of `insert` over the rows of the first would ask for the same ids again.
        assert [e for e in figures["errors"] if e["code"] not in (1205, 1213)] == [], kind
        text = {"text": TEXT}
        assert record.probes["dataset"]["fresh"] == may_write(kind, text), kind
    assert all(lab.answered().values())
    assert {w["code"] for r in records for w in r.warnings}.isdisjoint({"data-changed"})


def test_statements_of_one_s_own(lab: Lab) -> None:
    lab.file.write_text(STATEMENTS)
    done = lab.run()
    assert done.returncode == 0, done.stderr
    for record in lab.records():
        names = {one["name"] for one in (record.done or {})["classes"]}
        assert names == {"read", "move.1", "move.2", "move.3"}
        assert "calibration" not in record.probes


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{id:uniform(1, 2000)}", "{id:unform(1, 2000)}", "workload.text: line 2, column"),
        ("COMMIT;", "COMMIT", "workload.text: line"),
    ],
)
def test_statements_that_are_wrong_start_nothing(lab: Lab, old: str, new: str, said: str) -> None:
    lab.file.write_text(STATEMENTS.replace(old, new))
    done = lab.run()
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert not lab.out.exists()


def test_on_a_server_of_theirs_the_runs_after_a_write_are_marked(
    lab: Lab, private_server: object, mariadb_binary: ServerBinary
) -> None:
    assert callable(private_server)
    theirs: PrivateServer = private_server(mariadb_binary)
    dsn = f"mysql://root@/mine?socket={theirs.socket}"
    text = re.sub(r"\[server\]\noptions = .*\n", "", STATEMENTS)
    lab.file.write_text(text)
    done = lab.run("--server", dsn, "--yes")
    assert done.returncode == 0, done.stderr
    assert [r.error for r in lab.records()] == [None] * 4
    marks = [{w["code"] for w in r.warnings} & {"data-changed"} for r in lab.records()]
    assert marks == [set(), *[{"data-changed"}] * 3]
    assert "data-changed" in done.stdout
    # The next experiment does not take the tables for what they were.
    again = lab.contend("run", lab.file, "--out", lab.folder / "again", "--server", dsn)
    assert again.returncode == 2
    assert "--yes" in again.stderr
