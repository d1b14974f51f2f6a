"""Reading and writing files that others may have prepared, locks between processes, the user's
folders, and the path of contend-load.

A run folder may come from a stranger: contend reads only regular files in it (a pipe or a device
is refused), and never writes through a link. A new version is written next to the old file and
replaces it when it is complete.

A lock is `flock` on a file; the kernel releases it when its last holder ends, however it ends. A
server can inherit the descriptor. The holder of a lock may remove its file.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from contend.errors import RequestError

_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def read_file(path: Path) -> bytes:
    """The content of a regular file.

    Raises:
        OSError: it cannot be read, or is not a regular file (a pipe, for example).
    """
    descriptor = os.open(path, os.O_RDONLY | _FLAGS)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return file.read()


def replace_file(
    path: Path, data: str | bytes, *, mode: int | None = None, is_synced: bool = False
) -> None:
    """Write a file in a run folder: a link of that name is replaced, its target stays.

    Args:
        mode: of a new file; None keeps the mode of the old one.
        is_synced: it is on the disk under its name when this returns.

    Raises:
        OSError: it cannot be written; an existing file is unchanged.
    """
    new = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | _FLAGS
    descriptor = os.open(new, flags, _mode(path) if mode is None else mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data.encode("utf-8", "replace") if isinstance(data, str) else data)
            if is_synced:
                file.flush()
                os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink()
        raise
    if is_synced:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def append_line(descriptor: int, line: str) -> None:
    """Append a line in a single write; an incomplete line before it does not damage it.

    Raises:
        OSError: it is not in the file, or only a part of it.
    """
    size = os.lseek(descriptor, 0, os.SEEK_END)
    torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
    data = (("\n" if torn else "") + line + "\n").encode()
    if os.write(descriptor, data) != len(data):
        raise OSError(errno.ENOSPC, "the disk is full")


def write_output(path: Path, data: str | bytes) -> None:
    """Write a file that the user named: a link is followed, and a target that is not a regular
    file, such as /dev/stdout, is written to."""
    target = path.resolve()
    if target.exists() and not target.is_file():
        with target.open("wb") as stream:
            stream.write(data.encode("utf-8", "replace") if isinstance(data, str) else data)
        return
    replace_file(target, data)


def require_own_files(folder: Path) -> None:
    """Refuse a folder with anything but files and folders in it, before it is written to.

    Raises:
        OSError: it has a link, a pipe or a device, or cannot be read.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                require_own_files(Path(entry.path))
            elif not entry.is_file(follow_symlinks=False):
                what = "a symbolic link" if entry.is_symlink() else "not a regular file"
                raise OSError(errno.EINVAL, what, entry.path)


def _mode(path: Path) -> int:
    """Mode of the replaced file, if it is a regular one."""
    try:
        before = path.lstat().st_mode
    except OSError:
        return 0o666
    return stat.S_IMODE(before) if stat.S_ISREG(before) else 0o666


def default_cache() -> Path:
    """`$XDG_CACHE_HOME/contend`, or `~/.cache/contend`. A relative variable does not count."""
    return _folder("XDG_CACHE_HOME", ".cache")


def default_state() -> Path:
    """`$XDG_STATE_HOME/contend`, or `~/.local/state/contend`, likewise."""
    return _folder("XDG_STATE_HOME", ".local/state")


def _folder(variable: str, usual: str) -> Path:
    named = Path(os.environ.get(variable, ""))
    return (named if named.is_absolute() else Path.home() / usual) / "contend"


_LOCK_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


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
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _LOCK_FLAGS, mode)
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
        descriptor = os.open(path, os.O_RDONLY | _LOCK_FLAGS)
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


PROGRAM = "contend-load"


def find_program() -> Path:
    """The contend-load to use: `CONTEND_LOAD`, else next to this Python, else on PATH."""
    named = os.environ.get("CONTEND_LOAD")
    if named:
        if not os.access(named, os.X_OK):
            raise RequestError(
                f"CONTEND_LOAD={named} is not a program",
                hint="Unset it, or point it at contend-load.",
            )
        return Path(named)
    installed = Path(sys.executable).parent / PROGRAM
    if os.access(installed, os.X_OK):
        return installed
    import shutil  # costs more than the rest of this file

    on_path = shutil.which(PROGRAM)
    if on_path:
        return Path(on_path)
    raise RequestError(
        f"{PROGRAM} is neither next to {sys.executable} nor on PATH",
        hint="Install contend with `make setup` or `pip install .`, which builds it.",
    )
