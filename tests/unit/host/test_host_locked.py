"""Files that are locked in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from contend.errors import RequestError
from contend.host import page_cache
from contend.host.page_cache import LockedFiles, lockable_bytes
from contend.host.tree import Tree

SIZE = 1 << 20


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    found = [tmp_path / name for name in ("t.MYD", "t.MYI", "empty.frm")]
    for path, size in zip(found, (SIZE, SIZE // 4, 0), strict=True):
        path.write_bytes(bytes(size))
    return found


def locked_here() -> int:
    """Bytes that this process has locked."""
    status = Path("/proc/self/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if "VmLck" in line)


def test_they_are_in_memory_and_stay_there_until_they_are_let_go(files: list[Path]) -> None:
    for path in files:
        page_cache.drop(path)
    before = locked_here()
    held = LockedFiles(files)
    assert held.bytes == SIZE + SIZE // 4
    assert locked_here() - before == held.bytes
    assert page_cache.drop(files[0]) == SIZE
    held.close()
    assert locked_here() == before
    assert page_cache.drop(files[0]) == 0


def test_more_than_this_process_may_lock_is_refused_before_anything_is(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = locked_here()
    monkeypatch.setattr(page_cache, "lockable_bytes", lambda: 64 << 10)
    with pytest.raises(RequestError, match=r"1.25 MiB .* may lock only 64 KiB") as caught:
        LockedFiles(files)
    assert "ulimit -l" in (caught.value.hint or "")
    assert locked_here() == before


def test_more_than_there_is_memory_is_refused(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in files:
        page_cache.drop(path)
    monkeypatch.setattr(page_cache, "memory_available_bytes", lambda: 64 << 10)
    with pytest.raises(RequestError, match="only 64 KiB is free"):
        LockedFiles(files)


def test_what_the_kernel_refuses_is_told_and_undone(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = locked_here()
    real, calls = page_cache._LIBC.mlock, []

    class Libc:
        mmap, munmap = page_cache._LIBC.mmap, page_cache._LIBC.munmap
        syscall, mincore = page_cache._LIBC.syscall, page_cache._LIBC.mincore

        @staticmethod
        def mlock(address: int, size: int) -> int:
            calls.append(size)
            return int(real(address, size)) if len(calls) == 1 else -1

    monkeypatch.setattr(page_cache, "_LIBC", Libc)
    with pytest.raises(RequestError, match=r"t\.MYI cannot be locked in memory"):
        LockedFiles(files)
    assert locked_here() == before


@pytest.mark.parametrize(("capabilities", "limited"), [("000001ffffffffff", False), ("0", True)])
def test_who_may_lock_all_memory_has_no_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capabilities: str, limited: bool
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _which: (8 << 20, 8 << 20))
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/status").write_text(f"Name:\tpython\nCapEff:\t{capabilities}\n")
    assert lockable_bytes(Tree(tmp_path)) == (8 << 20 if limited else None)
