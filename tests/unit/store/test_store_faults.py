"""Killed, truncated, scribbled on, out of space: clear errors, and nothing stored is lost."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from child_python import import_path
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contend.errors import ContendError
from contend.store import DamagedStore, RunFolder, RunRecord, StoreFailed, rescue

AT = "2026-03-01T10:00:00+00:00"
DONE: dict[str, Any] = {"qps": 1.0, "queries": 1, "measured_s": 1.0, "latency_us": {}}


def fill(folder: RunFolder, record: Callable[..., RunRecord], runs: int = 10) -> bytes:
    """Store runs big enough that their pages spread over the file, and close the folder."""
    for run in range(runs):
        folder.append(record(run, done={**DONE, "latency_hdr_ns": f"{run}" * 9000}))
    folder.close()
    return (folder.path / "results.sqlite").read_bytes()


def test_a_run_stored_before_a_kill_is_there_after_it(folder: RunFolder) -> None:
    folder.close()
    program = """
import sys
from pathlib import Path
from contend.store import RunFolder, RunRecord
folder = RunFolder.open(Path(sys.argv[1]), write=True)
at = "2026-03-01T10:00:00+00:00"
done = {"qps": 1.0, "queries": 1, "measured_s": 1.0, "latency_us": {}, "text": "x" * 20_000}
for run in range(100_000):
    folder.append(RunRecord(run, run, run, {"load.connections": 1}, "ok", at, at, done=done))
    print(run, flush=True)
"""
    environment = os.environ | import_path()
    lab = subprocess.Popen(
        [sys.executable, "-c", program, str(folder.path)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert lab.stdout is not None
    reported = [int(next(lab.stdout)) for _ in range(25)]
    lab.send_signal(signal.SIGKILL)
    reported += [int(line) for line in lab.stdout if line.endswith("\n")]
    lab.stdout.close()
    lab.wait()
    with RunFolder.open(folder.path, write=True) as again:
        stored = [one.run for one in again.records()]
    assert stored[: len(reported)] == reported
    assert len(stored) - len(reported) in (0, 1)  # the last may not be reported yet


@pytest.mark.parametrize("kept_share", [0.9, 0.5, 0.2, 0.0])
def test_a_truncated_file_is_named_with_the_readable_runs(
    folder: RunFolder, record: Callable[..., RunRecord], kept_share: float
) -> None:
    whole = fill(folder, record)
    database = folder.path / "results.sqlite"
    database.write_bytes(whole[: int(len(whole) * kept_share)])
    with pytest.raises(DamagedStore) as caught:
        RunFolder.open(folder.path)
    assert str(database) in caught.value.message
    assert "can still be read" in caught.value.message or "no run" in caught.value.message
    assert caught.value.exit_code == 1


def test_readable_runs_are_rescued_and_can_be_resumed(
    folder: RunFolder, record: Callable[..., RunRecord], tmp_path: Path
) -> None:
    whole = fill(folder, record)
    (folder.path / "results.sqlite").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DamagedStore, match=r"(\d+) runs in it can still be read") as caught:
        RunFolder.open(folder.path)
    assert caught.value.hint is not None and "--format folder" in caught.value.hint
    saved = rescue(folder.path, tmp_path / "saved")
    assert 0 < saved.runs < 10
    assert saved.planned == 10
    with RunFolder.open(saved.folder, write=True) as again:
        assert len(again.records()) == saved.runs
        assert again.meta().experiment["name"] == "tiny"
        assert len(again.meta().planned) == 10


def test_a_healthy_folder_is_rescued_whole(
    folder: RunFolder, record: Callable[..., RunRecord], tmp_path: Path
) -> None:
    fill(folder, record)
    saved = rescue(folder.path, tmp_path / "copy")
    assert (saved.runs, saved.planned) == (10, 10)
    with RunFolder.open(folder.path) as one, RunFolder.open(saved.folder) as other:
        assert one.records() == other.records()
        assert one.meta().planned == other.meta().planned


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_no_scribble_on_the_file_ends_in_a_traceback(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    where = tmp_path_factory.mktemp("scribble") / "run"
    with RunFolder.create(where, {"name": "tiny"}, [], {"cpus": 2}) as folder:
        for run in range(4):
            done = {**DONE, "latency_hdr_ns": "x" * 5000}
            folder.append(RunRecord(run, 0, 0, {"a": run}, "ok", AT, AT, done=done))
    database = where / "results.sqlite"
    content = bytearray(database.read_bytes())
    for _ in range(data.draw(st.integers(1, 12))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    database.write_bytes(content)
    with suppress(ContendError), RunFolder.open(where) as folder:
        folder.meta()
        folder.records()
    with suppress(ContendError):
        rescue(where, where.parent / "saved")


def test_a_full_disk_keeps_stored_runs(folder: RunFolder, record: Callable[..., RunRecord]) -> None:
    folder.append(record(0))
    size = (folder.path / "results.sqlite").stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 4096, hard))
    try:
        with pytest.raises(StoreFailed) as caught:
            folder.append(record(1, done={**DONE, "text": "x" * 1_000_000}))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "cannot store run 1" in caught.value.message
    assert str(folder.path / "results.sqlite") in caught.value.message
    assert caught.value.hint is not None and "--resume" in caught.value.hint
    folder.append(record(1))
    assert [one.run for one in folder.records()] == [0, 1]
