"""Run folders: records come back unchanged, and readers and the lab do not disturb each other."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from child_python import import_path
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contend import __version__
from contend.experiment import SPEC_FORMAT, Planned
from contend.store import (
    STORE_VERSION,
    FolderExists,
    FolderLocked,
    NotARunFolder,
    OtherFormat,
    RunFolder,
    RunRecord,
    StoreFailed,
    find_run,
    schema,
)

json_scalars = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(-1e30, 1e30) | st.text()
)
# Keys of a later contend, whose values this one does not know.
json_keys = st.text().map(lambda key: f"later {key}")
json_documents = st.dictionaries(
    json_keys,
    st.recursive(
        json_scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(json_keys, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)
levels = st.text(max_size=8) | st.integers(-(2**63), 2**63) | st.booleans() | st.floats(0, 1e12)
DONE = {"qps": 1.0, "queries": 1, "measured_s": 1.0, "latency_us": {}}
INTERVAL = {"index": 0, "start_s": 0.0, "duration_s": 1.0, "qps": 1.0}


def with_more(known: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return json_documents.map(lambda more: {**known, **more})


records = st.builds(
    RunRecord,
    run=st.integers(0, 2**40),
    block=st.integers(0, 10_000),
    repeat=st.integers(0, 10_000),
    cell=st.dictionaries(st.text(max_size=12), levels, max_size=3),
    status=st.sampled_from(["failed", "lost"]),
    started_at=st.just("2026-03-01T10:00:00.000+00:00"),
    ended_at=st.just("2026-03-01T10:00:07.000+00:00"),
    plan=json_documents,
    done=st.none() | with_more(DONE),
    intervals=st.lists(with_more(INTERVAL), max_size=2),
    probes=json_documents,
    warnings=st.lists(with_more({"code": "x", "message": "y"}), max_size=2),
    error=st.none() | with_more({"message": "gone"}),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(batch=st.lists(records, max_size=5))
def test_records_come_back_as_they_went_in(
    batch: list[RunRecord], tmp_path_factory: pytest.TempPathFactory
) -> None:
    # No text with `://user:secret@` in it: reported texts lose the password.
    where = tmp_path_factory.mktemp("round") / "run"
    with RunFolder.create(where, {}, [], {}) as folder:
        for record in batch:
            folder.append(record)
    with RunFolder.open(where) as again:
        assert again.records() == batch


def test_a_folder_keeps_spec_source_plan_and_facts(folder: RunFolder) -> None:
    folder.add_session({"cpus": 4})
    meta = folder.meta()
    assert meta.store_version == STORE_VERSION
    assert meta.experiment["name"] == "tiny"
    assert [one.run for one in meta.planned] == list(range(10))
    assert meta.facts == {"cpus": 2}
    assert [session.facts for session in meta.sessions] == [{"cpus": 2}, {"cpus": 4}]
    assert (folder.path / "experiment.toml").read_text() == '[experiment]\nname = "tiny"\n'
    assert json.loads((folder.path / "spec.json").read_text())["name"] == "tiny"


def test_a_reader_sees_each_run_while_the_lab_writes(
    folder: RunFolder, record: Callable[..., RunRecord]
) -> None:
    with RunFolder.open(folder.path) as reader:
        for run in range(3):
            folder.append(record(run))
            assert len(reader.records()) == run + 1
        assert reader.writer_pid() == os.getpid()


def test_a_copy_made_between_two_runs_is_whole(
    folder: RunFolder, record: Callable[..., RunRecord], tmp_path: Path
) -> None:
    folder.append(record(0))
    shutil.copytree(folder.path, tmp_path / "copy")
    folder.append(record(1))
    with RunFolder.open(tmp_path / "copy", write=True) as copy:
        copy.append(record(1))
        assert len(copy.records()) == 2


def test_a_closed_folder_is_one_database_file_and_no_lock(folder: RunFolder) -> None:
    folder.close()
    assert sorted(child.name for child in folder.path.iterdir()) == [
        "experiment.toml",
        "logs",
        "results.sqlite",
        "spec.json",
    ]


def test_a_run_is_measured_once_but_may_fail_before(
    folder: RunFolder, record: Callable[..., RunRecord]
) -> None:
    folder.append(record(3, "failed", done=None, error={"message": "server has gone away"}))
    folder.append(record(3))
    with pytest.raises(StoreFailed, match=r"already has .*run 3"):
        folder.append(record(3))
    assert [one.status for one in folder.records()] == ["failed", "ok"]


def test_a_second_lab_is_refused_with_the_pid(folder: RunFolder) -> None:
    with pytest.raises(FolderLocked, match=rf"pid {os.getpid()}") as caught:
        RunFolder.open(folder.path, write=True)
    assert caught.value.exit_code == 2
    folder.close()
    RunFolder.open(folder.path, write=True).close()


def test_the_lock_goes_with_a_killed_lab(folder: RunFolder) -> None:
    folder.close()
    program = (
        "import os, signal, sys; from pathlib import Path; from contend.store import RunFolder;"
        "folder = RunFolder.open(Path(sys.argv[1]), write=True);"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = os.environ | import_path()
    subprocess.run([sys.executable, "-c", program, str(folder.path)], env=environment, check=False)
    with RunFolder.open(folder.path) as reader:
        assert reader.writer_pid() is None
    RunFolder.open(folder.path, write=True).close()


@pytest.mark.parametrize("number", [STORE_VERSION - 1, STORE_VERSION + 1])
def test_a_different_format_is_refused_untouched(folder: RunFolder, number: int) -> None:
    folder.close()
    database = folder.path / "results.sqlite"
    connection = sqlite3.connect(database)
    connection.execute(f"PRAGMA user_version = {number}")
    connection.close()
    before = database.read_bytes()
    with pytest.raises(OtherFormat, match=f"{database} has format {number}") as caught:
        RunFolder.open(folder.path, write=True)
    assert caught.value.exit_code == 2
    assert f"contend {__version__}" in (caught.value.hint or "")
    assert database.read_bytes() == before


@pytest.mark.parametrize("number", [SPEC_FORMAT - 1, SPEC_FORMAT + 1])
def test_a_different_format_of_its_experiment_is_refused(tmp_path: Path, number: int) -> None:
    with (
        RunFolder.create(tmp_path / "run", {"format": number}, [], {}) as folder,
        pytest.raises(OtherFormat, match=f"has format {number}") as caught,
    ):
        folder.meta()
    assert f"contend {__version__}" in (caught.value.hint or "")


def test_an_existing_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "precious.txt").write_text("mine")
    with pytest.raises(FolderExists, match="already exists"):
        RunFolder.create(tmp_path / "run", {}, [], {})
    assert [child.name for child in (tmp_path / "run").iterdir()] == ["precious.txt"]


@pytest.mark.parametrize("content", [None, "folder", "foreign"])
def test_a_folder_that_is_not_a_run_folder_is_refused(tmp_path: Path, content: str | None) -> None:
    where = tmp_path / "thing"
    if content is not None:
        where.mkdir()
    if content == "foreign":
        other = sqlite3.connect(where / "results.sqlite")
        other.execute("CREATE TABLE groceries (name TEXT)")
        other.close()
    with pytest.raises(NotARunFolder) as caught:
        RunFolder.open(where)
    assert caught.value.exit_code == 2


def test_passwords_never_reach_the_disk(
    folder: RunFolder, record: Callable[..., RunRecord]
) -> None:
    leak = "hunter2"
    folder.append(
        record(
            0,
            plan={"server": {"user": "root", "password": leak, "password_env": "PW"}},
            error={"message": f"cannot reach mysql://root:{leak}@db.example:3306/test"},
        )
    )
    folder.close()
    for file in folder.path.rglob("*"):
        assert not file.is_file() or leak.encode() not in file.read_bytes()
    with RunFolder.open(folder.path) as again:
        (stored,) = again.records()
    assert stored.plan["server"]["password_env"] == "PW"
    assert "//root:***@db.example:3306/test" in str(stored.error)


SAID = "SELECT 1 AS n HAVING password = 'x1' AND url <> 'mysql://a:x1@h'"


def test_a_plan_is_stored_unchanged(tmp_path: Path, record: Callable[..., RunRecord]) -> None:
    """A resume sends it again: a statement with a hidden part would be a different one."""
    workload = {"kind": "sql", "text": SAID, "options": {"password": "x1"}}
    experiment = {"base": {"workload": workload}, "source": SAID, "overrides": [SAID]}
    cell = {"workload.text": SAID}
    with RunFolder.create(tmp_path / "run", experiment, [Planned(0, 0, 1, cell)], {}) as folder:
        plan = {"version": 1, "workload": workload, "server": {"password": "x1"}}
        folder.append(record(0, cell=cell, plan=plan))
        (stored,), meta = folder.records(), folder.meta()
    assert meta.experiment == experiment and meta.planned[0].cell == cell
    assert stored.plan["workload"] == workload and stored.cell == cell
    assert stored.plan["server"] == {"password": "***"}
    assert (tmp_path / "run" / "experiment.toml").read_text() == SAID
    assert json.loads((tmp_path / "run" / "spec.json").read_text()) == experiment


def test_counting_ended_runs_reads_no_document(
    folder: RunFolder, record: Callable[..., RunRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.append(record(0))
    folder.append(record(1, "failed", done=None, error={"message": "gone"}))
    folder.append(record(3))
    folder.close()
    read = documents_read(monkeypatch)
    with RunFolder.open(folder.path, write=True) as again:
        ended = again.ended()
        assert [(one.run, one.block, one.status) for one in ended] == [
            (0, 0, "ok"),
            (1, 0, "failed"),
            (3, 1, "ok"),
        ]
        assert read == []
        again.records()
        assert sum("latency_us" in text for text in read) == 2


def test_records_can_be_read_without_intervals(
    folder: RunFolder, record: Callable[..., RunRecord]
) -> None:
    folder.append(record(0))
    (whole,) = folder.records()
    assert whole.intervals
    assert folder.records(intervals=False) == [replace(whole, intervals=[])]


def documents_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Fills with the text of every JSON document that is parsed from here on."""
    read: list[str] = []
    loads = schema.read_json

    def noted(text: str) -> object:
        read.append(text)
        return loads(text)

    monkeypatch.setattr(schema, "read_json", noted)
    return read


def test_a_number_that_json_lacks_does_not_lose_the_run(
    folder: RunFolder, record: Callable[..., RunRecord]
) -> None:
    folder.append(record(0, done={**DONE, "qps": float("nan")}))
    assert folder.records()[0].done == {**DONE, "qps": None}


def test_a_run_is_found_by_path_or_by_name(folder: RunFolder, tmp_path: Path) -> None:
    folder.close()
    assert find_run(str(folder.path)) == folder.path
    assert find_run(str(folder.path / "results.sqlite")) == folder.path
    assert find_run("run", root=tmp_path) == folder.path
    with pytest.raises(NotARunFolder) as caught:
        find_run("rnu", root=tmp_path)
    assert caught.value.hint == "Did you mean run?"
