"""Copying snapshot files: whole, checked, by whichever call the filesystem has."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contend.data import cache as files
from contend.data.cache import FileEntry, SnapshotDamaged, copy_checked, describe


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    return source, target


def no_progress(_count: int) -> None:
    pass


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    contents=st.lists(st.binary(max_size=3000), max_size=5), way=st.sampled_from(["range", "send"])
)
def test_a_copy_is_equal_and_its_progress_adds_up(contents: list[bytes], way: str) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        source, target = Path(name) / "s", Path(name) / "t"
        source.mkdir()
        target.mkdir()
        patch.setattr(files, "COPY_CHUNK_BYTES", 700)
        if way == "send":
            patch.setattr(files, "_copy_range", refuse)
        names = [f"f{i}" for i in range(len(contents))]
        for path, content in zip(names, contents, strict=True):
            (source / path).write_bytes(content)
        done: list[int] = []
        copy_checked(source, describe(source, names), target, done.append)
        assert [(target / path).read_bytes() for path in names] == contents
        assert sum(done) == sum(map(len, contents))


def refuse(*_: object) -> int:
    raise OSError(errno.EXDEV, "cross-device")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        pytest.param(FileEntry("gone", 1, 0), "is missing", id="missing"),
        pytest.param(FileEntry("f", 4, 0), "3 bytes instead of 4", id="size"),
        pytest.param(FileEntry("f", 3, 0), "checksum differs", id="content"),
    ],
)
def test_damage_is_found(folders: tuple[Path, Path], entry: FileEntry, words: str) -> None:
    source, target = folders
    (source / "f").write_bytes(b"abc")
    with pytest.raises(SnapshotDamaged, match=words):
        copy_checked(source, [entry], target, no_progress)


def test_a_full_disk_is_told(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = folders
    (source / "f").write_bytes(b"abc")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "_copy_range", full)
    with pytest.raises(OSError, match="No space left"):
        copy_checked(source, describe(source, ["f"]), target, no_progress)


def test_copies_are_for_their_owner_only(folders: tuple[Path, Path]) -> None:
    source, target = folders
    (source / "f").write_bytes(b"abc")
    copy_checked(source, describe(source, ["f"]), target, no_progress)
    assert (target / "f").stat().st_mode & 0o777 == 0o600
