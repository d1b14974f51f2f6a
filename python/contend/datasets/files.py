"""Copying the files of a stopped server: as fast as the filesystem can, checked on the way.

A file is cloned if the filesystem can share blocks, else copied inside the kernel. Its checksum
is computed by a second thread over the same pages while the first one copies, so checking costs no
second pass over the disk. CRC-32 finds what disks and interrupted copies do; it is not a defence
against tampering.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from contend.errors import WorkError


class SnapshotDamaged(WorkError):
    """A kept dataset is not what was stored."""


OnBytes = Callable[[int], None]
"""Called with the number of bytes done since the last call."""

FICLONE = 0x40049409
COPY_CHUNK_BYTES = 64 * 1024 * 1024
READ_CHUNK_BYTES = 1024 * 1024

_CANNOT_CLONE = {errno.EOPNOTSUPP, errno.EXDEV, errno.ENOTTY, errno.EINVAL, errno.ENOSYS}


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of a snapshot: where it is in the folder, how long, and its CRC-32."""

    path: str
    size: int
    crc32: int


def describe(folder: Path, paths: Iterable[str]) -> tuple[FileEntry, ...]:
    """Size and checksum of the files at `paths` under `folder`."""
    return tuple(
        FileEntry(path, (folder / path).stat().st_size, checksum(folder / path)) for path in paths
    )


def checksum(path: Path) -> int:
    crc = 0
    buffer = bytearray(READ_CHUNK_BYTES)
    view = memoryview(buffer)
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(buffer):
            crc = zlib.crc32(view[:count], crc)
    return crc


def copy_checked(source: Path, entries: Iterable[FileEntry], into: Path, on_bytes: OnBytes) -> None:
    """Copy `entries` of `source` into the existing folders of `into`.

    The copies are on the disk when this returns, so that writing them back does not disturb what
    is measured next.

    Raises:
        SnapshotDamaged: a file is missing, or its size or content is not what the entry says.
    """
    with ThreadPoolExecutor(max_workers=1) as checker:
        for entry in entries:
            origin = source / entry.path
            try:
                size = origin.stat().st_size
            except FileNotFoundError:
                raise SnapshotDamaged(f"{origin} is missing") from None
            if size != entry.size:
                raise SnapshotDamaged(f"{origin} has {size} bytes instead of {entry.size}")
            content = checker.submit(checksum, origin)
            copy_file(origin, into / entry.path, on_bytes)
            if content.result() != entry.crc32:
                raise SnapshotDamaged(f"{origin} is not what was stored (its checksum differs)")


def copy_file(source: Path, target: Path, on_bytes: OnBytes) -> None:
    """Copy one file, which the target must not be, to the disk."""
    with (
        _descriptor(source, os.O_RDONLY) as origin,
        _descriptor(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as copy,
    ):
        if _clone(origin, copy):
            on_bytes(os.fstat(origin).st_size)
        else:
            _copy_content(origin, copy, on_bytes)
            os.fdatasync(copy)


def _clone(origin: int, copy: int) -> bool:
    try:
        fcntl.ioctl(copy, FICLONE, origin)
    except OSError as error:
        if error.errno in _CANNOT_CLONE:
            return False
        raise
    return True


def _copy_content(origin: int, copy: int, on_bytes: OnBytes) -> None:
    left = os.fstat(origin).st_size
    move = _copy_range
    while left > 0:
        try:
            count = move(origin, copy, min(left, COPY_CHUNK_BYTES))
        except OSError as error:
            # Between two filesystems, or on one that lacks the call, the older way still works.
            if move is _copy_range and error.errno in _CANNOT_CLONE:
                move = _send
                continue
            raise
        if count == 0:
            raise SnapshotDamaged("a file became shorter while it was copied")
        left -= count
        on_bytes(count)


def _copy_range(origin: int, copy: int, count: int) -> int:
    return os.copy_file_range(origin, copy, count)


def _send(origin: int, copy: int, count: int) -> int:
    return os.sendfile(copy, origin, None, count)


@contextlib.contextmanager
def _descriptor(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
