"""Recordings under their names."""

from __future__ import annotations

import os
import threading
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


@pytest.mark.parametrize("format", ["slow", "general", "table", "audit", "tiproxy"])
def test_a_log_without_any_entry_makes_no_recording(
    load_program: Path, tmp_path: Path, format: str
) -> None:
    log = tmp_path / "other.log"
    log.write_text("hello\nworld\n")
    with pytest.raises(RequestError):
        import_recording(
            load_program, [str(log)], "a", cache=tmp_path, options=[f"--format={format}"]
        )
    assert list_recordings(tmp_path) == []


def test_a_log_that_is_cut_off_gives_its_whole_entries(load_program: Path, tmp_path: Path) -> None:
    whole = SLOW.read_bytes()
    cut = tmp_path / "cut.log"
    # Within the statement that sleeps, the sixth that can be sent again.
    cut.write_bytes(whole[: whole.index(b"SLEEP")])
    recording, done = import_recording(load_program, [str(cut)], "a", cache=tmp_path)
    assert recording.statements == 5
    assert done["left_out"]["truncated"] == 1


def test_a_pipe_is_read_like_a_file(load_program: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(SLOW.read_bytes(),))
    writer.start()
    piped = read(load_program, pipe, "a", tmp_path)
    writer.join()
    assert piped.digest == read(load_program, SLOW, "b", tmp_path).digest


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
