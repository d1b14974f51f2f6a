"""The model server in the lab: nothing to get, nothing to load, and the truth beside every run."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from run_lab import Lab, alive, as_json, wait_for, with_figures

from contend.store import RunFolder

pytestmark = pytest.mark.timeout(600)  # a busy machine may take its time

KNOB = """
[factors]
"server.knobs.{knob}" = {levels}

[compare]
baseline = {{ "server.knobs.{knob}" = {rest} }}
repeats = 2
"""


@pytest.fixture
def model_lab(tmp_path: Path, load_program: Path) -> Lab:
    """A lab whose cache is empty, on a machine on which no server is to be found."""
    cache = tmp_path / "empty-cache"
    cache.mkdir()
    lab = Lab(tmp_path, cache, load_program, "model")
    # Neither a server on PATH nor a mirror that could be asked for one.
    lab.environment["PATH"] = str(tmp_path / "no-programs")
    return lab


@pytest.fixture
def knob(model_lab: Lab) -> Callable[[str, str, str], Lab]:
    """The tiny experiment with two settings of a knob in the place of its factors."""

    def turned(name: str, rest: str, size: str) -> Lab:
        text = model_lab.file.read_text().partition("[factors]")[0]
        levels = f"[{rest}, {size}]"
        model_lab.file.write_text(text + KNOB.format(knob=name, rest=rest, levels=levels))
        return model_lab

    return turned


def servers_of(lab: Lab) -> list[int]:
    """The model servers that its run started."""
    return alive(os.fsencode(lab.out / "logs"))


def test_the_study_runs_where_there_is_no_server(model_lab: Lab) -> None:
    done = model_lab.contend(
        *("run", "segmented-key-cache", "--server", "model", "--quick", "--out", "out"),
        *("--set", "compare.at_most=6s"),
    )
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "This is a model, not a server" in said
    assert "on it: open_files_limit, query_" in said
    assert not (model_lab.cache / "servers").exists()
    assert not (model_lab.cache / "datasets").exists()
    with RunFolder.open(model_lab.folder / "out") as folder:
        records = folder.records()
        assert {server["kind"] for server in folder.meta().facts["servers"].values()} == {"model"}
    for record in with_figures(records):
        assert record.done is not None and record.done["errors"] == []
        locks = record.probes["model"]["segments"]
        segments = record.cell["server.options.key_cache_segments"]
        assert len(locks) == (segments or 1)
        visits = record.probes["key_caches"]
        asked = sum(row["read_requests"] for row in visits)
        # A request of a page takes its segment's lock twice.
        assert sum(lock["visits"] for lock in locks) >= 2 * asked > 0
        assert sum(lock["held_ns"] for lock in locks) > 0
    full = model_lab.contend("show", "out", "--full").stdout
    assert "Visits waited most often" in full and "The most visited segment is" in full
    assert "The most visited of 32 segments" in full
    assert (model_lab.folder / "out" / "logs" / "truth.jsonl").exists()
    told = as_json(model_lab.contend("show", "out", "--json"))
    assert str(told["about_server"]).startswith("This is a model, not a server")
    assert "This is a model, not a server" in (model_lab.folder / "out" / "report.html").read_text()


def test_a_knob_does_what_the_server_counts(knob: Callable[[str, str, str], Lab]) -> None:
    lab = knob("delay_us", "0", "2000")
    done = lab.contend("run", lab.file, "--out", "out", "--server", "model")
    assert done.returncode == 0, done.stderr
    for record in with_figures(lab.records()):
        counted = record.probes["model"]
        slept_us = counted["delays"]["ns"] / 1000 / max(1, counted["queries"])
        # A sleep is never too short.
        assert slept_us >= 2000 if record.cell["server.knobs.delay_us"] else slept_us == 0


def test_a_run_goes_on_with_the_same_server(model_lab: Lab) -> None:
    model_lab.by_runs()
    with model_lab.start(*model_lab.arguments("--set", "load.measure=400ms")) as process:
        model_lab.wait_for_runs(2, process)
        process.send_signal(signal.SIGINT)
        process.communicate()
    done = model_lab.contend("run", "--resume", "out")
    assert done.returncode == 0, done.stderr
    assert all(record.status == "ok" for record in model_lab.records()[2:])
    assert not servers_of(model_lab) and not model_lab.left()


def test_the_server_dies_with_the_lab(model_lab: Lab) -> None:
    model_lab.by_runs()
    with model_lab.start(*model_lab.arguments("--set", "load.measure=5s")) as process:
        log = model_lab.out / "logs" / "server.log"
        wait_for(lambda: log.exists() and '"listening"' in log.read_text())
        assert servers_of(model_lab)
        process.kill()
        process.communicate()
    wait_for(lambda: not servers_of(model_lab))


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (["data.engine=InnoDB"], "the model server does not support data.engine"),
        (["workload.kind=read_write"], "the model server does not support workload.kind"),
        (["server.options.query_cach_type=0"], 'Did you mean "query_cache_type"'),
        (["server.options.innodb_flush_log_at_trx_commit=1"], "has no option innodb_flush_log"),
        (["server.knobs.delay_ms=1"], 'Did you mean "server.knobs.delay_us"'),
        (["server.options.key_cache_segments=[0, 65]"], "65"),
        (["server.options.key_buffer_size=100K"], "key_buffer_size"),
        (['setup=[{ do = "DELETE FROM sbtest", undo = "SELECT 1" }]'], "DELETE FROM sbtest"),
        (["server.use=mariadb"], "server.use"),
    ],
)
def test_what_it_cannot_do_is_refused_before_anything_is_made(
    model_lab: Lab, sets: list[str], said: str
) -> None:
    options = [part for one in sets for part in ("--set", one)]
    done = model_lab.run(*options)
    assert done.returncode == 2, done.stderr
    assert said in " ".join(done.stderr.split())
    assert not model_lab.out.exists()


def test_try_takes_it_as_a_server(model_lab: Lab) -> None:
    done = model_lab.contend(
        *("try", "key_cache_segments=0,32", "--server", "model", "--engine", "MyISAM"),
        *("--workload", "random_points", "--data", "10000", "--for", "4s", "--json"),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["about_server"].startswith("This is a model")
