"""sysbench scripts as workloads of an experiment, on a real server."""

from __future__ import annotations

import hashlib
import re
import signal
import sqlite3
from pathlib import Path

import pytest
from run_lab import Lab, as_json, interrupt

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time

BOTH = """
[experiment]
name = "tiny"
question = "Does it help, whoever asks?"

[server]
change = "in_place"
options = { key_buffer_size = "16M", innodb_log_file_size = "8M", key_cache_segments = 0 }

[data]
engine = "MyISAM"
rows = 10_000

[workload]
script = "select_random_points"
options = { random_points = "$workload.points", rand_type = "uniform" }

[load]
warmup = "20ms"
measure = "100ms"
slice = "20ms"
settle = "2ms"

[factors]
"server.options.key_cache_segments" = [0, 32]
"workload.points" = [5]
"workload.kind" = ["random_points", "lua"]
"load.connections" = [1, 4]

[compare]
baseline = { "server.options.key_cache_segments" = 0 }
repeats = 2
"""
RUNS = 16

OWN = """
[experiment]
name = "own"

[server]
options = { innodb_buffer_pool_size = "32M", innodb_log_file_size = "8M" }

[workload]
kind = "lua"
script = "mine.lua"
options = { size = 50 }

[load]
warmup = "20ms"
measure = "100ms"

[factors]
"workload.options.batch" = [1, 3]

[compare]
repeats = 2
"""
MINE = """
sysbench.cmdline.options = {size = {"rows", 10}, batch = {"queries of an event", 1}}
function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE mine (id INT PRIMARY KEY, made TIMESTAMP DEFAULT CURRENT_TIMESTAMP)")
  for id = 1, sysbench.opt.size do
    con:query("INSERT INTO mine (id) VALUES (" .. id .. ")")
  end
end
function thread_init()
  con = sysbench.sql.driver():connect()
  assert(tonumber(con:query_row("SELECT COUNT(*) FROM mine")) == sysbench.opt.size)
end
function event()
  for _ = 1, sysbench.opt.batch do
    con:query("SELECT * FROM mine WHERE id = " .. sysbench.rand.uniform(1, sysbench.opt.size))
  end
end
"""


QUEUE = """
[experiment]
name = "queue"

[server]
options = { innodb_log_file_size = "8M" }

[workload]
kind = "lua"
script = "queue.lua"
options = { jobs = 400 }

[load]
connections = 2
warmup = "50ms"
measure = "100ms"

[factors]
"workload.options.lock" = ["wait", "skip"]

[compare]
baseline = { "workload.options.lock" = "wait" }
repeats = 2
"""
TAKES_JOBS = """
sysbench.cmdline.options = {jobs = {"rows", 10}, lock = {"how a job is locked", "wait"}}
function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE jobs (id INT PRIMARY KEY, taken INT NOT NULL, KEY (taken))")
  for id = 1, sysbench.opt.jobs do
    con:query("INSERT INTO jobs VALUES (" .. id .. ", 0)")
  end
end
function init()
  local con = sysbench.sql.driver():connect()
  local left = tonumber(con:query_row("SELECT COUNT(*) FROM jobs WHERE taken = 0"))
  assert(left == sysbench.opt.jobs, "jobs left: " .. left)
end
function thread_init()
  con = sysbench.sql.driver():connect()
end
function event()
  local skip = sysbench.opt.lock == "skip" and " SKIP LOCKED" or ""
  con:query("BEGIN")
  local id = con:query_row("SELECT id FROM jobs WHERE taken = 0 LIMIT 1 FOR UPDATE" .. skip)
  if id then
    con:query("UPDATE jobs SET taken = 1 WHERE id = " .. id)
  end
  con:query("COMMIT")
end
"""


@pytest.fixture
def both(lab: Lab) -> Lab:
    lab.file.write_text(BOTH)
    return lab


@pytest.fixture
def own(lab: Lab) -> Lab:
    lab.file.write_text(OWN)
    (lab.folder / "mine.lua").write_text(MINE)
    return lab


def test_native_and_script_alternate_in_one_run(both: Lab) -> None:
    done = both.draw().run()
    assert done.returncode == 0, done.stderr
    records = both.records()
    assert [r.status for r in records] == ["ok"] * RUNS
    for record in records:
        figures = record.done or {}
        assert not figures["errors"]
        # Each query of either finds some of the five keys; each event is one query.
        assert figures["events"] == figures["queries"]
        assert figures["rows"] >= 3 * figures["queries"]
        assert record.probes["status"]["Key_reads"] == 0
    assert all(both.answered().values())
    kinds = [r.cell["workload.kind"] for r in records]
    # Neither kind waits for the other to end: blocks of the two are mixed.
    assert kinds != sorted(kinds) and kinds != sorted(kinds, reverse=True)
    shown = both.contend("show", both.out, "--full").stdout
    assert "random_points and select_random_points" in shown
    assert 'id="beside"' in (both.out / "report.html").read_text(encoding="utf-8")


def test_what_was_interrupted_goes_on(both: Lab) -> None:
    process = both.start(*both.arguments())
    both.wait_for_runs(3, process)
    interrupt(process, signal.SIGINT)
    before = both.ended()
    assert 3 <= before < RUNS
    done = both.contend("run", "--resume", both.out)
    assert done.returncode == 0, done.stderr
    assert [r.run for r in both.records()] == list(range(1, RUNS + 1))
    assert {r.status for r in both.records()} == {"ok"}


def test_a_script_prepares_its_own_tables_once(own: Lab) -> None:
    done = own.run("--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("the script makes its tables") == 1
    for record in own.records():
        figures = record.done or {}
        batch = int(record.cell["workload.options.batch"])
        # One event may be cut by each edge of the window.
        assert figures["queries"] == pytest.approx(batch * figures["events"], abs=2 * batch)
        assert record.probes["dataset"]["prepared"]["options"] == {"size": 50}
    assert len(as_json(done)["cells"]) == 2
    assert all(own.answered().values())
    kept = own.out / "scripts" / "mine.lua"
    assert kept.read_text() == MINE


@pytest.fixture
def queue(lab: Lab) -> Lab:
    lab.file.write_text(QUEUE)
    (lab.folder / "queue.lua").write_text(TAKES_JOBS)
    return lab


def test_each_run_of_a_queue_finds_it_full_and_says_how_much_it_took(queue: Lab) -> None:
    done = queue.run()
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("the script makes its tables") == 1
    assert "with its default lock" in done.stderr
    shown = queue.contend("show", queue.out, "--full").stdout
    assert "for all runs with its default lock" in " ".join(shown.split())
    records = queue.records()
    # Each asserts in its init() that all jobs are left.
    assert [record.status for record in records] == ["ok"] * 4
    for record in records:
        assert record.probes["dataset"]["rows"] == 400
        assert record.probes["dataset"]["fresh"]
        (mark,) = [mark for mark in record.warnings if mark["code"] == "data-drifts"]
        assert "of the 400" in mark["message"]
    assert "data-drifts (4 of 4 runs)" in shown
    assert queue.servers_alive() == []


def test_a_table_in_memory_is_no_table_to_copy(queue: Lab) -> None:
    text = TAKES_JOBS.replace("KEY (taken))", "KEY (taken)) ENGINE = MEMORY")
    (queue.folder / "queue.lua").write_text(text)
    done = queue.run()
    assert done.returncode == 1, done.stderr
    assert "made jobs with the engine MEMORY" in done.stderr


def test_an_edited_script_is_no_resumed_run(own: Lab) -> None:
    assert own.run().returncode == 0
    (own.folder / "mine.lua").write_text(MINE + "-- edited\n")
    lack_a_run(own)
    done = own.contend("run", "--resume", own.out)
    assert done.returncode == 2
    assert "mine.lua has changed" in done.stderr


HELPER = "return {select = 'SELECT * FROM mine WHERE id = '}\n"


def with_helper(lab: Lab, *, late: bool) -> Path:
    """A module beside the script, loaded by its body or by its event."""
    load = 'require("help")'
    text = MINE.replace('"SELECT * FROM mine WHERE id = "', f"{load}.select")
    (lab.folder / "mine.lua").write_text(text if late else f"{load}\n{text}")
    helper = lab.folder / "help.lua"
    helper.write_text(HELPER)
    return helper


def lack_a_run(lab: Lab) -> None:
    """A complete run has nothing to go on with."""
    with sqlite3.connect(lab.out / "results.sqlite") as results:
        results.execute("DELETE FROM runs WHERE run = (SELECT MAX(run) FROM runs)")
        results.execute("DELETE FROM meta WHERE key = 'finished'")


@pytest.mark.parametrize("late", [False, True], ids=["of the body", "of an event"])
def test_a_module_is_named_and_with_another_no_run_is_resumed(own: Lab, *, late: bool) -> None:
    helper = with_helper(own, late=late)
    done = own.run()
    assert done.returncode == 0, done.stderr
    shown = own.contend("show", own.out, "--full").stdout
    digest = hashlib.sha256(HELPER.encode()).hexdigest()
    assert digest in re.sub(r"\s", "", shown)
    lack_a_run(own)
    helper.write_text(HELPER + "-- edited\n")
    done = own.contend("run", "--resume", own.out)
    assert done.returncode == 2
    assert "help.lua has changed" in done.stderr
    if not late:
        assert (own.out / "scripts" / "help.lua").read_text() == HELPER
    helper.write_text(HELPER)
    assert own.contend("run", "--resume", own.out).returncode == 0


def test_a_module_that_comes_before_the_one_of_the_run_is_no_resumed_run(own: Lab) -> None:
    helper = with_helper(own, late=False)
    (own.folder / "help").mkdir()
    helper.rename(own.folder / "help" / "init.lua")
    assert own.run().returncode == 0
    lack_a_run(own)
    helper.write_text(HELPER)
    done = own.contend("run", "--resume", own.out)
    assert done.returncode == 2
    assert "help.lua was not loaded when" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("function event()", "function evnt()", "has no function event()"),
        ("function prepare()", "function prepar()", "has no prepare"),
        ('{"rows", 10}', '"rows"', "option 'size'"),
        ("local con", "locl con", "mine.lua:4:"),
    ],
)
def test_a_script_that_is_wrong_starts_nothing(own: Lab, old: str, new: str, said: str) -> None:
    (own.folder / "mine.lua").write_text(MINE.replace(old, new, 1))
    done = own.run()
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert not own.out.exists()


def test_an_option_that_the_script_has_not_starts_nothing(own: Lab) -> None:
    own.edit("size = 50", "siz = 50")
    done = own.run()
    assert done.returncode == 2
    assert 'did you mean "size"?' in done.stderr
    assert not own.out.exists()


def test_a_prepare_that_fails_is_told_with_its_place(own: Lab) -> None:
    (own.folder / "mine.lua").write_text(MINE.replace("INSERT INTO mine", "INSERT INTO min"))
    done = own.run()
    assert done.returncode == 1, done.stderr
    assert "the script's prepare failed" in done.stderr
    assert "mine.lua:7:" in done.stderr
    assert own.servers_alive() == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SELECT * FROM mine", "SELECT * FROM his"),
        ('con:query("SELECT * FROM mine', 'con:prepare("SELECT * FROM his'),
    ],
    ids=["asked", "prepared"],
)
def test_an_event_that_fails_is_a_failed_run_with_the_servers_words(
    own: Lab, old: str, new: str
) -> None:
    (own.folder / "mine.lua").write_text(MINE.replace(old, new))
    done = own.run()
    assert {record.status for record in own.records()} == {"failed"}
    error = own.records()[0].error or {}
    assert "mine.lua:16:" in error["message"]
    assert "'sbtest.his' doesn't exist" in error["message"]
    assert (error["code"], error["sqlstate"]) == (1146, "42S02")
    assert error["statement"].startswith("SELECT * FROM his")
    assert "; fill the table first" in " ".join(done.stdout.split())


def test_scripts_ask_several_tables(both: Lab) -> None:
    text = BOTH.replace("rows = 10_000", "rows = 2_000\ntables = 3")
    text = text.replace('"select_random_points"', '"oltp_read_only"')
    text = text.replace('random_points = "$workload.points"', "range_size = 5")
    text = text.replace('["random_points", "lua"]', '["lua"]').replace(
        '"workload.points" = [5]\n', ""
    )
    # An event has sixteen answers, which take a crowded host longer than a slice of the others.
    text = text.replace('measure = "100ms"', 'measure = "400ms"').replace('"20ms"', '"100ms"')
    both.file.write_text(text)
    done = both.run()
    assert done.returncode == 0, done.stderr
    for record in both.records():
        assert record.done is not None, record.error
        figures = record.done
        assert not figures["errors"]
        # BEGIN, ten points, four ranges, COMMIT.
        assert figures["queries"] == pytest.approx(16 * figures["events"], abs=16 * 4)
        assert [c["name"] for c in figures["classes"]] == ["read", "write", "other"]
        assert record.probes["dataset"]["rows"] == 6_000


def test_a_file_beside_the_experiment_is_found_from_anywhere(own: Lab) -> None:
    elsewhere = own.folder / "elsewhere"
    elsewhere.mkdir()
    with_helper(own, late=True)
    there = own.beside(elsewhere)
    done = there.contend("run", own.file, "--out", own.out, "--server", own.server)
    assert done.returncode == 0, done.stderr
