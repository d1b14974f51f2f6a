"""A run that is stopped: killed, interrupted, or left by its server. Nothing that ended is lost."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from run_lab import RUNS, Finished, Lab, NewLab, interrupt, wait_for

from contend.store import RunRecord

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time


def same(before: list[RunRecord], after: list[RunRecord]) -> bool:
    """Whether what was stored before is there unchanged."""
    return after[: len(before)] == before


@pytest.mark.parametrize("ended", [0, 1, 4])
def test_killed_at_any_time_and_resumed(lab: Lab, ended: int) -> None:
    lab.slow()
    process = lab.start(*lab.arguments())
    if ended:
        lab.wait_for_runs(ended, process)
    else:
        wait_for(lambda: (lab.out / "results.sqlite").exists() or process.poll() is not None)
    process.kill()
    process.communicate()
    wait_for(lambda: lab.servers_alive() == [])
    before = lab.records()
    assert ended <= len(before) < RUNS

    resumed = lab.contend("run", "--resume", lab.out)
    assert resumed.returncode == 0, resumed.stderr
    after = lab.records()
    assert same(before, after)
    assert sorted(r.run for r in after) == list(range(1, RUNS + 1))
    assert str(lab.out / "report.html") in resumed.stdout
    assert lab.left() == []


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_interrupted_it_stops_its_server_and_says_how_to_go_on(
    lab: Lab, sign: signal.Signals
) -> None:
    lab.slow()
    process = lab.start(*lab.arguments())
    lab.wait_for_runs(2, process)
    said = interrupt(process, sign)
    assert process.returncode == 1
    assert "Traceback" not in said
    assert f"of {RUNS} runs are stored" in said
    assert f"contend run --resume {lab.out}" in said
    assert lab.servers_alive() == []
    assert lab.left() == []

    before = lab.records()
    assert lab.contend("run", "--resume", lab.out).returncode == 0
    assert same(before, lab.records())
    assert len(lab.records()) == RUNS


def test_interrupted_while_loading_leaves_no_half_dataset(lab: Lab) -> None:
    lab.edit("rows = 10_000", "rows = 3_000_000")
    kept = lab.cache / "datasets"
    before = {path.name for path in kept.iterdir() if path.is_dir()} if kept.exists() else set()
    process = lab.start(*lab.arguments())
    wait_for(lambda: bool(lab.servers_alive()) or process.poll() is not None)
    interrupt(process)
    assert process.returncode == 1
    assert {path.name for path in kept.iterdir() if path.is_dir()} == before
    assert lab.servers_alive() == []


def test_a_server_that_dies_costs_its_run_alone(lab: Lab) -> None:
    lab.by_runs().slow("700ms")
    process = lab.draw().start(*lab.arguments())
    lab.wait_for_runs(2, process)
    # It is to die within a run, and at once: SIGSEGV would have it write a stack trace first.
    lab.wait_for_load(process)
    (server,) = lab.servers_alive()
    os.kill(server, signal.SIGKILL)
    _out, err = process.communicate()
    assert process.returncode == 0, err
    records = lab.records()
    assert len(records) == RUNS
    lost = [r for r in records if r.status == "lost"]
    assert len(lost) == 1
    assert {r.status for r in records} == {"ok", "lost"}
    error = lost[0].error or {}
    assert "killed by SIGKILL" in error["message"]
    assert error["detail"]
    assert records[-1].status == "ok"


def test_a_complete_run_is_shown_and_not_repeated(lab: Lab, tiny_run: Finished) -> None:
    lab.begin_from(tiny_run.lab)
    before = lab.records()
    again = lab.contend("run", "--resume", lab.out)
    assert again.returncode == 0, again.stderr
    assert "is complete" in again.stderr
    assert lab.records() == before


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory, new_lab: NewLab) -> Lab:
    """A lab that was interrupted after its first run."""
    lab = new_lab(tmp_path_factory.mktemp("begun"))
    lab.slow()
    process = lab.start(*lab.arguments())
    lab.wait_for_runs(1, process)
    interrupt(process)
    return lab


class TestRefused:
    @pytest.fixture(autouse=True)
    def mine(self, lab: Lab, begun: Lab) -> None:
        lab.begin_from(begun)

    def test_two_labs_in_one_folder(self, lab: Lab) -> None:
        first = lab.start("run", "--resume", lab.out)
        wait_for(lambda: bool(lab.servers_alive()) or first.poll() is not None)
        second = lab.contend("run", "--resume", lab.out)
        assert second.returncode == 2
        assert "is in use by another contend process" in second.stderr
        _out, err = first.communicate()
        assert first.returncode == 0, err

    def test_an_edited_experiment(self, lab: Lab) -> None:
        file: Path = lab.out / "experiment.toml"
        file.write_text(file.read_text().replace("[1, 4]", "[1, 8]"))
        refused = lab.contend("run", "--resume", lab.out)
        assert refused.returncode == 2
        assert "was edited since this run began" in refused.stderr

    def test_another_server(self, lab: Lab) -> None:
        refused = lab.contend("run", "--resume", lab.out, "--server", "mariadb@trixie")
        assert refused.returncode == 2
        assert "began with mariadb 10.11" in refused.stderr

    def test_options_that_would_change_it(self, lab: Lab) -> None:
        refused = lab.contend("run", "--resume", lab.out, "--set", "load.measure=1s")
        assert refused.returncode == 2
        assert "--set cannot be combined with --resume" in refused.stderr
