"""Locks between processes. To the kernel, two descriptors of one process are two holders."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from contend import files


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not files.is_locked(path)
    held = files.lock(path)
    assert files.is_locked(path)
    with pytest.raises(files.Locked):
        files.lock(path)
    os.close(held)
    assert not files.is_locked(path)
    with files.locked(path):
        assert files.is_locked(path)


def test_a_waiter_gets_the_lock_when_the_holder_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    held = files.lock(path)
    events: list[str] = []

    def give_back() -> None:
        events.append("waits")
        os.close(held)

    with files.locked(path, on_wait=give_back):
        assert events == ["waits"]


def test_a_lock_on_a_removed_file_is_taken_again(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    held = files.lock(path)

    def remove() -> None:
        path.unlink()
        os.close(held)

    with files.locked(path, on_wait=remove):
        assert files.is_locked(path)
        with pytest.raises(files.Locked):
            files.lock(path)


def test_a_child_that_inherits_it_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    held = files.lock(path)
    child = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[held]
    )
    os.close(held)
    assert files.is_locked(path)
    child.communicate(b"\n", timeout=60)
    assert not files.is_locked(path)
