"""How much of a file is in the page cache, and how to load all of it and keep it there: locked,
even if the kernel evicts idle pages.

MyISAM does not cache rows itself: the page cache decides whether a row is read from memory or from
the disk. So a warm run must be able to prove that it was warm.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from contend.errors import RequestError, WorkError
from contend.host.kernel import memory_available_bytes
from contend.host.tree import Tree
from contend.units import format_size

_CACHESTAT = 451
"""Number of the system call on every architecture that contend supports (Linux 6.5)."""

_MAP_SHARED, _PROT_NONE, _PROT_READ = 1, 0, 1
_MAPPED_AT_ONCE = 1 << 30
_READ_AT_ONCE = 1 << 20
_FAILED = ctypes.c_void_p(-1).value
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int64,
]
_LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_LIBC.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
_LIBC.mlock.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class PageCacheError(WorkError):
    """A file whose residency is not visible, or that cannot be read through."""


class _Range(ctypes.Structure):
    _fields_ = (("offset", ctypes.c_uint64), ("length", ctypes.c_uint64))


class _Counts(ctypes.Structure):
    _fields_ = (
        ("cached", ctypes.c_uint64),
        ("dirty", ctypes.c_uint64),
        ("writeback", ctypes.c_uint64),
        ("evicted", ctypes.c_uint64),
        ("recently_evicted", ctypes.c_uint64),
    )


def resident_bytes(path: Path) -> int:
    """Bytes of the file that are in the page cache, in whole pages but at most its size.

    This does not read or move any page.
    """
    with _opened(path, "seen") as descriptor:
        size = os.fstat(descriptor).st_size
        pages = _cachestat(descriptor)
        if pages is None:
            pages = _mincore(descriptor, size, path)
        return min(pages * mmap.PAGESIZE, size)


@contextmanager
def _opened(path: Path, done: str) -> Iterator[int]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise PageCacheError(f"{path} cannot be opened: {error.strerror}") from error
    try:
        yield descriptor
    except OSError as error:
        raise PageCacheError(f"{path} cannot be {done}: {error.strerror}") from error
    finally:
        os.close(descriptor)


def warm(path: Path) -> int:
    """Read the whole file once, in order; returns the bytes resident afterwards.

    Less than the size means that the memory cannot hold the file.
    """
    with _opened(path, "read") as descriptor:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_SEQUENTIAL)
        buffer = bytearray(_READ_AT_ONCE)
        while os.readv(descriptor, [buffer]) > 0:
            pass
    return resident_bytes(path)


def fill(path: Path) -> int:
    """Ensure that the whole file is cached, reading it if needed; returns the resident bytes."""
    resident = resident_bytes(path)
    return resident if resident >= path.stat().st_size else warm(path)


def drop(path: Path) -> int:
    """Write the file back and release its pages; returns the bytes that stay resident."""
    with _opened(path, "written back") as descriptor:
        os.fdatasync(descriptor)  # A page that is not on the disk yet is kept.
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    return resident_bytes(path)


def _cachestat(descriptor: int) -> int | None:
    """Cached pages, by the cheap system call; None if this kernel lacks it."""
    whole, counts = _Range(0, 0), _Counts()
    failed = _LIBC.syscall(
        ctypes.c_long(_CACHESTAT),
        ctypes.c_uint(descriptor),
        ctypes.byref(whole),
        ctypes.byref(counts),
        ctypes.c_uint(0),
    )
    return None if failed else int(counts.cached)


def _mincore(descriptor: int, size: int, path: Path) -> int:
    """Cached pages, by inspecting a mapping that is never touched."""
    pages = 0
    for offset in range(0, size, _MAPPED_AT_ONCE):
        length = min(_MAPPED_AT_ONCE, size - offset)
        address = _LIBC.mmap(None, length, _PROT_NONE, _MAP_SHARED, descriptor, offset)
        if address is None or address == _FAILED:
            raise PageCacheError(f"{path} cannot be mapped: {os.strerror(ctypes.get_errno())}")
        try:
            seen = (ctypes.c_ubyte * -(-length // mmap.PAGESIZE))()
            if _LIBC.mincore(address, length, ctypes.byref(seen)) != 0:
                reason = os.strerror(ctypes.get_errno())
                raise PageCacheError(f"the page cache of {path} cannot be read: {reason}")
            pages += sum(byte & 1 for byte in bytes(seen))
        finally:
            _LIBC.munmap(address, length)
    return pages


_CAP_IPC_LOCK = 14


def lockable_bytes(tree: Tree | None = None) -> int | None:
    """Bytes that this process may lock in memory; None if there is no limit."""
    status = (tree or Tree(Path("/"))).text("proc/self/status") or ""
    held = next((line.split()[1] for line in status.splitlines() if line[:7] == "CapEff:"), "0")
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if int(held, 16) >> _CAP_IPC_LOCK & 1 or soft == resource.RLIM_INFINITY:
        return None
    return soft


class LockedFiles:
    """Files locked in memory at their present size, until `close` or the end of this process.

    Raises:
        RequestError: this process may not lock that amount, or there is too little memory.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self._maps: list[tuple[int, int]] = []
        self.bytes = 0
        files = [(path, size) for path in paths if (size := path.stat().st_size)]
        _require_room(files)
        try:
            for path, size in files:
                self._lock(path, size)
        except BaseException:
            self.close()
            raise

    def _lock(self, path: Path, size: int) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            address = _LIBC.mmap(None, size, _PROT_READ, _MAP_SHARED, descriptor, 0)
        finally:
            os.close(descriptor)
        if address is None or address == _FAILED:
            raise _refused(path)
        self._maps.append((address, size))
        if _LIBC.mlock(address, size) != 0:
            raise _refused(path)
        self.bytes += size

    def close(self) -> None:
        """Unlock them: the kernel may evict them from now on."""
        for address, size in self._maps:
            _LIBC.munmap(address, size)
        self._maps, self.bytes = [], 0


def _require_room(files: list[tuple[Path, int]]) -> None:
    wanted = sum(size for _, size in files)
    limit = lockable_bytes()
    if limit is not None and wanted > limit:
        raise RequestError(
            f"server.lock_files needs {format_size(wanted)} of locked memory, but this process may "
            f"lock only {format_size(limit)}",
            hint="Raise the limit (`ulimit -l`), run as root, or remove server.lock_files.",
        )
    more = wanted - sum(resident_bytes(path) for path, _ in files)
    free = memory_available_bytes()
    if free and more > free:
        raise RequestError(
            f"server.lock_files needs {format_size(wanted)} of memory, but only "
            f"{format_size(free)} is free",
            hint="Use fewer rows, or remove server.lock_files.",
        )


def _refused(path: Path) -> RequestError:
    return RequestError(
        f"{path} cannot be locked in memory: {os.strerror(ctypes.get_errno())}",
        hint="Raise the limit (`ulimit -l`), or remove server.lock_files.",
    )
