"""Locks between processes: `flock` on a file, which the kernel releases with its last holder, even
if that is killed.

They are descriptors, so that a server can inherit one. The holder of a lock may remove its file.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Locked(Exception):
    """A different process holds the lock."""


def lock(path: Path, *, on_wait: Callable[[], object] | None = None, mode: int = 0o600) -> int:
    """Lock a file, which is created if missing; return the lock, to be released by `os.close`.

    Args:
        path: in a folder that exists.
        on_wait: called before waiting for a different process that holds it.
        mode: of the file, if it is created.

    Raises:
        Locked: a different process holds it, and there is no `on_wait`.
        OSError: the file cannot be created or opened.
    """
    while True:
        # A link or a pipe of that name is not contend's: do not follow it or wait for it.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _FLAGS, mode)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if on_wait is None:
                    raise Locked(str(path)) from None
                on_wait()
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            # Its holder may have removed the file; a lock on a removed file guards nothing.
            if _is_at(descriptor, path):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


@contextlib.contextmanager
def locked(path: Path, *, on_wait: Callable[[], object] | None = None) -> Iterator[int]:
    """Hold a lock for a block; see `lock`."""
    descriptor = lock(path, on_wait=on_wait)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock. Does not lock or create the file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _FLAGS)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
