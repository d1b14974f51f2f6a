"""One lab a folder: an advisory lock that the kernel drops with its owner, however it dies.

The lock is `flock` on `lab.lock`; the file holds the owner's pid for the message to whoever comes
second. The owner removes the file when it closes, so a finished folder has no trace of it.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from contend.store.model import FolderLocked

LOCK_NAME = "lab.lock"


class FolderLock:
    """Held from construction to `release`."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK_NAME
        self._descriptor = self._acquire()

    def _acquire(self) -> int:
        while True:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = _read_pid(descriptor)
                os.close(descriptor)
                raise FolderLocked(
                    f"{self._path.parent} is in use by another contend"
                    + (f" (pid {owner})" if owner else ""),
                    hint="Wait until it ends, stop it, or give another folder with --out.",
                ) from None
            except BaseException:
                os.close(descriptor)
                raise
            # The former owner may have removed the file between our open and our lock; a lock on
            # a removed file guards nothing.
            if _is_same_file(descriptor, self._path):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
                return descriptor
            os.close(descriptor)

    def release(self) -> None:
        if self._descriptor >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = -1


def owner_pid(folder: Path) -> int | None:
    """The process that writes to the folder now, or None. Takes nothing, changes nothing."""
    try:
        descriptor = os.open(folder / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_pid(descriptor)
    else:
        return None
    finally:
        os.close(descriptor)


def _read_pid(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
    return int(text) if text.isdigit() else None


def _is_same_file(descriptor: int, path: Path) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    here = os.fstat(descriptor)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)
