"""Files held in memory: the kernel may not take their pages out, whatever it does with pages that
nobody has touched for a while."""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Iterable
from pathlib import Path

from contend.errors import RequestError
from contend.host.kernel import memory_available_bytes
from contend.host.page_cache import resident_bytes
from contend.host.tree import Tree
from contend.units import format_size

_PROT_READ, _MAP_SHARED = 1, 1
_CAP_IPC_LOCK = 14
_FAILED = ctypes.c_void_p(-1).value

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int),
    *(ctypes.c_int, ctypes.c_int, ctypes.c_int64),
]
_LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_LIBC.mlock.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def lockable_bytes(tree: Tree | None = None) -> int | None:
    """What this process may lock in memory; None if there is no limit."""
    status = (tree or Tree(Path("/"))).text("proc/self/status") or ""
    held = next((line.split()[1] for line in status.splitlines() if line[:7] == "CapEff:"), "0")
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if int(held, 16) >> _CAP_IPC_LOCK & 1 or soft == resource.RLIM_INFINITY:
        return None
    return soft


class LockedFiles:
    """Files that stay in memory, as large as they were, until `close` or the end of this process.

    Raises:
        RequestError: this process may not lock so much, or there is not so much memory.
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
        """Let go of them: they stay in memory as long as the kernel likes."""
        for address, size in self._maps:
            _LIBC.munmap(address, size)
        self._maps, self.bytes = [], 0


def _require_room(files: list[tuple[Path, int]]) -> None:
    wanted = sum(size for _, size in files)
    limit = lockable_bytes()
    if limit is not None and wanted > limit:
        raise RequestError(
            f"{format_size(wanted)} of files are to be locked in memory, and this process may "
            f"lock {format_size(limit)}",
            hint="Raise the limit (`ulimit -l`), run as root, or leave server.lock_files out.",
        )
    more = wanted - sum(resident_bytes(path) for path, _ in files)
    free = memory_available_bytes()
    if free and more > free:
        raise RequestError(
            f"{format_size(wanted)} of files are to be locked in memory, and {format_size(free)} "
            "of it are free",
            hint="Take fewer rows, or leave server.lock_files out.",
        )


def _refused(path: Path) -> RequestError:
    return RequestError(
        f"{path} cannot be locked in memory: {os.strerror(ctypes.get_errno())}",
        hint="Raise the limit (`ulimit -l`), or leave server.lock_files out.",
    )
