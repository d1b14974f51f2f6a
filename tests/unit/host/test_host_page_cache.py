"""Residency and warming of real files: both ways of asking agree."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest

from contend.host import page_cache
from contend.host.page_cache import PageCacheError, _cachestat, _mincore

SIZE = 3 * (1 << 20) + 1


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "table.MYD"
    path.write_bytes(b"x" * SIZE)
    return path


def drop(path: Path) -> bool:
    """Ask the kernel to forget the file's pages; False where the file system keeps them."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fdatasync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
    return page_cache.resident_bytes(path) == 0


def test_what_was_just_written_is_resident(file: Path) -> None:
    assert page_cache.resident_bytes(file) == SIZE


def test_warming_brings_all_of_it(file: Path) -> None:
    if not drop(file):
        assert page_cache.warm(file) == SIZE
        return
    assert page_cache.warm(file) == SIZE
    assert page_cache.resident_bytes(file) == SIZE


def test_both_ways_of_asking_agree(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        pages = _mincore(descriptor, SIZE, file)
        assert pages == -(-SIZE // mmap.PAGESIZE)
        assert _cachestat(descriptor) in (None, pages)
    finally:
        os.close(descriptor)


def test_files_larger_than_one_mapping(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "_cachestat", lambda _descriptor: None)
    monkeypatch.setattr(page_cache, "_MAPPED_AT_ONCE", 1 << 20)
    assert page_cache.resident_bytes(file) == SIZE


def test_an_empty_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "empty"
    path.touch()
    assert page_cache.warm(path) == 0
    monkeypatch.setattr(page_cache, "_cachestat", lambda _descriptor: None)
    assert page_cache.resident_bytes(path) == 0


@pytest.mark.parametrize("ask", [page_cache.resident_bytes, page_cache.warm])
def test_a_file_that_is_not_there(tmp_path: Path, ask: object) -> None:
    with pytest.raises(PageCacheError, match="cannot be opened: No such file"):
        ask(tmp_path / "gone")  # type: ignore[operator]


def test_a_folder_cannot_be_warmed(tmp_path: Path) -> None:
    with pytest.raises(PageCacheError, match="cannot be read: Is a directory"):
        page_cache.warm(tmp_path)
