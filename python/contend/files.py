"""Files that may come from a stranger: only regular files are read. New files are written next to
the old one and replace it once complete.

In a stranger's run folder, contend does not wait for a pipe or a device, and writes nothing through
a link.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path

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
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | _FLAGS
    descriptor = os.open(beside, flags, _mode(path) if mode is None else mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data.encode("utf-8", "replace") if isinstance(data, str) else data)
            if is_synced:
                file.flush()
                os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
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
