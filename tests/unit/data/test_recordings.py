"""Recordings under their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from contend.data.recordings import (
    Recording,
    UnknownRecording,
    drop_recording,
    find_recording,
    import_recording,
    list_recordings,
)
from contend.errors import RequestError

SAMPLES = Path(__file__).parents[3] / "load" / "crates" / "recording" / "tests" / "samples"
SLOW, GENERAL = (SAMPLES / f"mysql-8.4-{kind}.log" for kind in ("slow", "general"))


def read(program: Path, log: Path, name: str, cache: Path, *, replace: bool = False) -> Recording:
    recording, _ = import_recording(program, [str(log)], name, cache=cache, replace=replace)
    return recording


def test_equal_logs_are_one_file_until_the_last_name_is_gone(
    load_program: Path, tmp_path: Path
) -> None:
    one = read(load_program, SLOW, "one", tmp_path)
    two = read(load_program, SLOW, "two", tmp_path)
    assert one.path == two.path
    assert [each.name for each in list_recordings(tmp_path)] == ["one", "two"]
    assert drop_recording(tmp_path, "one") == 0
    assert find_recording(tmp_path, "two").path.exists()
    assert drop_recording(tmp_path, "two") > 0
    assert not list(two.folder.glob("*.rec"))


def test_a_name_keeps_its_recording_unless_it_is_to_be_replaced(
    load_program: Path, tmp_path: Path
) -> None:
    first = read(load_program, SLOW, "a", tmp_path)
    with pytest.raises(RequestError):
        read(load_program, GENERAL, "a", tmp_path)
    assert find_recording(tmp_path, "a") == first
    second = read(load_program, GENERAL, "a", tmp_path, replace=True)
    assert find_recording(tmp_path, "a") == second
    # Nothing refers to the first one any more, and nothing of the attempts is left.
    assert {path.name for path in second.folder.iterdir()} == {
        ".lock",
        "a.json",
        second.path.name,
    }


def test_what_is_damaged_or_gone_is_unknown(load_program: Path, tmp_path: Path) -> None:
    recording = read(load_program, SLOW, "a", tmp_path)
    recording.path.unlink()
    with pytest.raises(UnknownRecording):
        find_recording(tmp_path, "a")
    (recording.folder / "a.json").write_text("[")
    with pytest.raises(UnknownRecording):
        find_recording(tmp_path, "a")
    assert list_recordings(tmp_path) == []
