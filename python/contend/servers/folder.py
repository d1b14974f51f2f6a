"""The folders of a private server: its data folder, 0700 and used by one server at a time; and the
short folder of its socket.

A marker file shows that contend made a folder. The lock is held by the server process itself, so it
lasts exactly as long as the server, even if that is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

from contend.files import Locked, is_locked, lock
from contend.servers.errors import FolderInUse, UnusableServer

MARKER = "contend-server.json"
LOCK = "contend-server.lock"


class ServerFolder:
    """`root` holds the marker, the lock, `data` and `tmp`."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def temporary(self) -> Path:
        return self.root / "tmp"

    def claim(self, kind: str, version: str) -> None:
        """Claim the folder for contend. A folder with foreign contents is refused."""
        if self.root.is_symlink() or (self.root.exists() and not self.root.is_dir()):
            raise FolderInUse(f"{self.root} is not a folder.")
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self.is_ours() and any(self.root.iterdir()):
            raise FolderInUse(
                f"{self.root} is not empty, and contend did not create it.",
                hint="Name a new folder; contend never touches the data of a different server.",
            )
        self.root.chmod(0o700)
        self.data.mkdir(exist_ok=True, mode=0o700)
        self.temporary.mkdir(exist_ok=True, mode=0o700)
        marker = {"format": 1, "kind": kind, "version": version}
        (self.root / MARKER).write_text(json.dumps(marker) + "\n", encoding="utf-8")

    def is_ours(self) -> bool:
        return (self.root / MARKER).is_file()

    def require_ours(self) -> None:
        if not self.is_ours():
            raise FolderInUse(
                f"{self.root} is not the folder of a private server.",
                hint="Initialise a server in a new folder first.",
            )

    def require_version(self, kind: str, version: str) -> None:
        """Refuse the data of a different server: it would be upgraded, or ruined."""
        try:
            marker = json.loads((self.root / MARKER).read_text(encoding="utf-8"))
            made_by = (str(marker["kind"]), str(marker["version"]))
        except (OSError, ValueError, KeyError, TypeError):
            raise FolderInUse(f"the marker of {self.root} cannot be read.") from None
        if made_by != (kind, version):
            raise FolderInUse(
                f"the data in {self.root} is from {' '.join(made_by)}, not from {kind} {version}.",
                hint="Use a new folder for this server.",
            )

    def lock(self) -> int:
        try:
            return lock(self.root / LOCK)
        except Locked:
            raise FolderInUse(
                f"a running server uses {self.root}.",
                hint="Wait until it ends, or use a different folder.",
            ) from None

    def move_redo_log(self, away: Path) -> None:
        """Move InnoDB's redo log to a different folder, through symbolic links.

        Raises:
            UnusableServer: there is no disk space for it.
        """
        for path in self._redo_log():
            try:
                shutil.move(path, away / path.name)
            except OSError as error:
                raise UnusableServer(
                    f"the redo log cannot be moved to {away.parent}: {error.strerror}.",
                    hint="Name a folder with more space in server.redo_log_folder, or lower "
                    "innodb_log_file_size (innodb_redo_log_capacity).",
                ) from None
            path.symlink_to(away / path.name)

    def bring_back_redo_log(self, away: Path) -> None:
        for path in self._redo_log():
            if path.is_symlink() and path.readlink().parent == away:
                path.unlink()
                shutil.move(away / path.name, path)

    def _redo_log(self) -> list[Path]:
        return [path for name in _REDO_LOGS for path in self.data.glob(name)]

    def empty(self) -> None:
        """Remove the data, keep the claim."""
        for folder in (self.data, self.temporary):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o700)


_REDO_LOGS = ("ib_logfile*", "#innodb_redo")

SOCKET_NAME = "s"
KEY_SOCKET_NAMES = ("r", "w")
"""Socket names of HandlerSocket, for reading and for writing."""
_LOCK_NAME = "contend-socket.lock"
_IN_MEMORY = Path("/dev/shm")
_LOG_LOCK_NAME = "contend-log.lock"
_PREFIX = "contend-"
_PATH_BYTES_MAX = 107


def new_socket_folder() -> tuple[Path, int]:
    """A new 0700 folder whose path leaves room for a socket's name, and its lock.

    The lock is an open descriptor; the folder counts as used while any process has it. Remains of
    servers that were killed with their lab are removed here.

    A socket's address holds 108 bytes with the closing zero, and data folders may have long paths.
    So the socket is in the user's runtime folder, else in the temporary one.
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
        _remove_stale(Path(base), _LOCK_NAME, remove_socket_folder)
        # An abandoned log would use memory until the next request for a log folder.
        _remove_stale(_IN_MEMORY, _LOG_LOCK_NAME, remove_log_folder)
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
        return folder, _lock(folder / _LOCK_NAME)
    raise UnusableServer(
        f"no folder for the server's socket: "
        f"none of {', '.join(candidates)} is writable and has a short path.",
        hint="Set TMPDIR to a folder with a short path.",
    )


def remove_socket_folder(folder: Path) -> None:
    """Remove a server's files there, and nothing else: the parent folder is shared."""
    for name in (SOCKET_NAME, f"{SOCKET_NAME}.lock", *KEY_SOCKET_NAMES, _LOCK_NAME):
        (folder / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


def new_log_folder(base: Path) -> tuple[Path, int]:
    """A new folder for a server's redo log, and its lock, which work like those of a socket."""
    _remove_stale(base, _LOG_LOCK_NAME, remove_log_folder)
    try:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
        return folder, _lock(folder / _LOG_LOCK_NAME)
    except OSError as error:
        raise UnusableServer(
            f"a folder for the redo log cannot be created in {base}: {error.strerror}.",
            hint="Name a different one in server.redo_log_folder.",
        ) from None


def remove_log_folder(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _lock(path: Path) -> int:
    # Locked before it has its name, so that it is never visible unlocked.
    descriptor = lock(path.with_suffix(".new"))
    path.with_suffix(".new").rename(path)
    return descriptor


def _remove_stale(base: Path, lock_name: str, remove: Callable[[Path], None]) -> None:
    for path in base.glob(f"{_PREFIX}*/{lock_name}"):
        with contextlib.suppress(OSError):
            if path.lstat().st_uid == os.geteuid() and not is_locked(path):
                remove(path.parent)


def free_port() -> int:
    """A port of 127.0.0.1 that is free at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
