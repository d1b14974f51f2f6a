"""A folder for the data of one private server, removed when its owner ends, however it ends.

It lies beside the kept datasets, so that both share a filesystem and a restore can clone. The
owner holds a lock on it; the kernel drops the lock with the owner, and whoever makes the next
workspace removes those that nobody holds.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from contend.datasets.cache import remove_tree

LOCK_NAME = "lock"


@contextlib.contextmanager
def workspace(cache: Path) -> Iterator[Path]:
    """A new empty folder of mode 0700, gone when the block ends."""
    root = cache / "work"
    root.mkdir(parents=True, exist_ok=True)
    with _only_one_sweeper(root):
        remove_abandoned(root)
        # A Unix socket below must stay within the 107 bytes that the kernel allows.
        folder = root / secrets.token_hex(3)
        folder.mkdir(mode=0o700)
        descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        remove_tree(folder)
        os.close(descriptor)


def remove_abandoned(root: Path) -> None:
    """Remove the workspaces whose owner is dead."""
    for folder in root.iterdir():
        if folder.is_dir() and not _is_held(folder):
            # A server that is just dying may still write there; the next sweep gets the rest.
            with contextlib.suppress(OSError):
                remove_tree(folder)


def _is_held(folder: Path) -> bool:
    try:
        descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextlib.contextmanager
def _only_one_sweeper(root: Path) -> Iterator[None]:
    # Between making a workspace and locking it, another sweeper would take it for abandoned.
    descriptor = os.open(root / "sweep.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
