"""Where a private server listens: a socket in a short folder, perhaps a loopback port."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import tempfile
from pathlib import Path

from contend.servers.errors import UnusableServer

SOCKET_NAME = "s"
_LOCK_NAME = "contend-socket.lock"
_PREFIX = "contend-"
_PATH_BYTES_MAX = 107


def new_socket_folder() -> tuple[Path, int]:
    """A new 0700 folder whose path leaves room for a socket's name, and its lock.

    The lock is an open descriptor; the folder counts as used as long as some process has it. What
    servers left behind that were killed with their lab is removed on the way.

    A socket's address holds 108 bytes with the closing zero, and data folders may lie deep. So
    the socket lives under the user's runtime folder, else under the temporary one.
    """
    named = os.environ.get("XDG_RUNTIME_DIR", "")
    candidates = [named] if named else []
    candidates += [tempfile.gettempdir(), "/tmp"]
    for base in candidates:
        if not (Path(base).is_absolute() and os.access(base, os.W_OK | os.X_OK)):
            continue
        # The name mkdtemp adds has 8 letters.
        longest = Path(base) / f"{_PREFIX}12345678" / SOCKET_NAME
        if len(os.fsencode(longest)) > _PATH_BYTES_MAX:
            continue
        _remove_stale(Path(base))
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
        return folder, _lock(folder / _LOCK_NAME)
    raise UnusableServer(
        f"no folder for the server's socket: "
        f"none of {', '.join(candidates)} is writable and short.",
        hint="Set TMPDIR to a folder whose path is short.",
    )


def remove_socket_folder(folder: Path) -> None:
    """Remove what a server has there, and nothing else: its parent is everyone's."""
    for name in (SOCKET_NAME, f"{SOCKET_NAME}.lock", _LOCK_NAME):
        (folder / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


def _lock(path: Path) -> int:
    # Locked before it has its name, so that nobody can find it unlocked.
    descriptor = os.open(path.with_suffix(".new"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    path.with_suffix(".new").rename(path)
    return descriptor


def _remove_stale(base: Path) -> None:
    for path in base.glob(f"{_PREFIX}*/{_LOCK_NAME}"):
        try:
            if path.stat().st_uid != os.geteuid():
                continue
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_socket_folder(path.parent)
        except BlockingIOError:
            continue
        finally:
            os.close(descriptor)


def free_port() -> int:
    """A port of 127.0.0.1 that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
