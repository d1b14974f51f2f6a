"""Levels in slices on real servers, one for each level: from the command to the records."""

from __future__ import annotations

import itertools
import json
import os
import signal
import tomllib
from pathlib import Path

import pytest
from run_lab import RUNS, SMALL_LOG, Finished, Lab, NewLab, finish, wait_for, with_figures

from contend.servers import PrivateServer, ServerBinary
from contend.store import RunFolder, RunRecord

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time

SMALL = """
{head}
[server]
change = "in_place"
options = {{ innodb_buffer_pool_size = "32M", innodb_log_file_size = "8M", \
innodb_flush_log_at_trx_commit = 2 }}
[data]
rows = 5_000
[workload]
kind = "{workload}"
[load]
connections = 2
slice = "20ms"
settle = "5ms"
[factors]
{factors}
[compare]
by = "slices"
repeats = 2
baseline = {{ {baseline} }}
"""
"""Two blocks of half a second."""

OPTIONS = (
    'options = { innodb_buffer_pool_size = "32M", '
    f"{SMALL_LOG}innodb_flush_log_at_trx_commit = 2 }}"
)


def small(factors: str, *, workload: str = "random_points", head: str = "") -> str:
    """An experiment on one factor, whose first level is the baseline."""
    ((path, levels),) = tomllib.loads(factors).items()
    baseline = f"{json.dumps(path)} = {json.dumps(levels[0])}"
    return SMALL.format(factors=factors, workload=workload, head=head, baseline=baseline)


def run(lab: Lab, factors: str, *, workload: str = "random_points", head: str = "") -> None:
    text = small(factors, workload=workload, head=head)
    lab.file.write_text(text.replace(SMALL_LOG, "") if "mysql@" in factors else text)
    server = [] if "server.use" in factors else ["--server", lab.server]
    done = lab.contend("run", lab.file, "--out", lab.out, *server)
    assert done.returncode == 0, done.stderr
    assert lab.servers_alive() == []
    assert lab.left() == []


def blocks(lab: Lab) -> list[list[RunRecord]]:
    return [list(group) for _, group in itertools.groupby(lab.records(), lambda one: one.block)]


def in_slices(lab: Lab) -> Lab:
    """Let nothing but slices do for a lab's experiment."""
    lab.edit("[compare]\n", '[compare]\nby = "slices"\n')
    return lab


def require_slices(record: RunRecord) -> None:
    """What every run in slices has of its own."""
    assert record.done is not None
    slices = record.plan["load"]["slices"]
    assert [one["index"] for one in record.intervals] == list(range(slices["rounds"]))
    assert sum(one["queries"] for one in record.intervals) == record.done["queries"]
    assert record.done["measured_s"] == pytest.approx(
        sum(one["duration_s"] for one in record.intervals)
    )
    assert record.done["errors"] == []
    assert record.done["server"] is not None


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory, new_lab: NewLab) -> Finished:
    """The tiny experiment for some seconds."""
    return finish(in_slices(new_lab(tmp_path_factory.mktemp("timed"))), "--for", "8s")


class TestTimed:
    def test_it_ends_when_its_time_is_up(self, timed: Finished) -> None:
        with RunFolder.open(timed.lab.out) as folder:
            meta = folder.meta()
        assert str(meta.finished).startswith("time is up: ")
        assert meta.facts["way"]["by"] == "slices"
        assert [one.run for one in meta.planned] == [one.run for one in timed.lab.records()]
        assert "Does it help?" in timed.done.stdout
        assert (timed.lab.out / "report.html").exists()
        assert timed.lab.servers_alive() == []
        assert timed.lab.left() == []

    def test_every_block_has_every_level_on_a_server_of_its_own(self, timed: Finished) -> None:
        assert len(blocks(timed.lab)) >= 2
        for block in blocks(timed.lab):
            assert sorted(one.cell["server.options.key_cache_segments"] for one in block) == [0, 32]
        for record in with_figures(timed.lab.records()):
            assert len({arm["watch"]["pid"] for arm in record.plan["arms"]}) == 2
            require_slices(record)
            segments = int(str(record.cell["server.options.key_cache_segments"]))
            assert len(record.probes["key_caches"]) == max(1, segments)
            assert record.probes["warmed"]["cache"] is True
        assert all(timed.lab.answered().values())

    def test_each_server_has_a_log(self, timed: Finished) -> None:
        logs = timed.lab.out / "logs"
        assert [(logs / name).exists() for name in ("server.log", "1/server.log")] == [True, True]

    def test_it_is_complete(self, timed: Finished, lab: Lab) -> None:
        lab.begin_from(timed.lab)
        again = lab.contend("run", "--resume", lab.out)
        assert again.returncode == 0, again.stderr
        assert "is complete" in again.stderr
        assert len(lab.records()) == len(timed.lab.records())


def test_engines_are_levels_whose_tables_are_written_to(lab: Lab) -> None:
    run(lab, '"data.engine" = ["MyISAM", "InnoDB"]', workload="update_index")
    assert [len(block) for block in blocks(lab)] == [2, 2]
    for record in with_figures(lab.records()):
        require_slices(record)
        assert record.probes["dataset"]["engine"] == record.cell["data.engine"]
        assert record.probes["status"]["Handler_update"] > 0


def test_statements_are_levels_and_leave_nothing_for_the_other(lab: Lab) -> None:
    head = """
setup = [{ name = "extra", do = "CREATE TABLE extra (id INT)", undo = "DROP TABLE extra" }]
"""
    run(lab, '"setup.extra" = [false, true]', head=head)
    assert len(blocks(lab)) == 2
    for record in with_figures(lab.records()):
        require_slices(record)
        steps = record.probes["settings"].get("setup", [])
        done = [step for step in steps if step.get("on", True)]
        assert len(done) == int(bool(record.cell["setup.extra"]))


def test_servers_of_two_kinds_are_levels(lab: Lab, mariadb_binary: ServerBinary) -> None:
    run(lab, f'"server.use" = ["{mariadb_binary.name}", "mysql@sid"]')
    assert len(blocks(lab)) == 2
    records = with_figures(lab.records())
    kinds = {one.cell["server.use"]: one.probes["server"]["kind"] for one in records}
    assert kinds == {mariadb_binary.name: "mariadb", "mysql@sid": "mysql"}
    for record in records:
        require_slices(record)


def test_a_server_that_is_killed_costs_its_block_and_is_started_anew(lab: Lab) -> None:
    process = in_slices(lab).start(*lab.arguments())
    lab.wait_for_runs(2, process)
    # It is to die within a block.
    lab.wait_for_load(process)
    os.kill(lab.servers_alive()[-1], signal.SIGKILL)
    _out, err = process.communicate()
    assert process.returncode == 0, err
    statuses = [{one.status for one in block} for block in blocks(lab)]
    assert len(statuses) == RUNS // 2
    assert statuses.count({"lost"}) == 1 and statuses.count({"ok"}) == RUNS // 2 - 1
    assert statuses[-1] == {"ok"}
    for record in lab.records():
        if record.status == "lost":
            assert record.error is not None
            assert "killed by SIGKILL" in record.error["message"]


def test_killed_itself_it_goes_on_in_slices(lab: Lab) -> None:
    process = in_slices(lab).start(*lab.arguments())
    lab.wait_for_runs(2, process)
    process.kill()
    process.communicate()
    wait_for(lambda: lab.servers_alive() == [])
    before = lab.records()
    assert 2 <= len(before) < RUNS and len(before) % 2 == 0, "blocks are whole"
    resumed = lab.contend("run", "--resume", lab.out)
    assert resumed.returncode == 0, resumed.stderr
    after = lab.records()
    assert after[: len(before)] == before
    assert [one.run for one in after] == list(range(1, RUNS + 1))
    for record in with_figures(after):
        require_slices(record)
    assert lab.left() == []


def test_a_time_that_is_too_short_is_refused(lab: Lab) -> None:
    done = in_slices(lab).run("--for", "100ms")
    assert done.returncode == 2
    assert "100 ms is too short" in done.stderr
    assert not lab.out.exists()


def test_slices_on_a_server_that_is_not_ours_take_more_than_it(
    lab: Lab, private_server: object, mariadb_binary: ServerBinary
) -> None:
    """It has one engine at a time for the table, and contend starts no other beside it."""
    assert callable(private_server)
    theirs: PrivateServer = private_server(mariadb_binary)
    factors = '"data.engine" = ["MyISAM", "InnoDB"]'
    text = small(factors)
    lab.file.write_text(text.replace(OPTIONS, ""))
    done = lab.run("--server", f"mysql://root@/mine?socket={theirs.socket}", "--yes")
    assert done.returncode == 2, done.stderr
    assert 'compare.by = "slices" is not possible' in done.stderr
    assert not Path(lab.out).exists()
