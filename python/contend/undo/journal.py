"""What must be put back on a server, or on the host. It outlives the process.

One JSON file a server, whatever the DSN that leads there if it tells its name, and one a host. What
is to be put back is written, and on the disk, before it is changed: so whatever ends the process,
the next one finds it. A new text is written beside the old one and takes its name, so the file is
whole at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

from pymysql.connections import Connection

from contend.errors import WorkError
from contend.files import replace_file
from contend.folders import default_state
from contend.interrupts import shielded
from contend.locks import Locked, lock
from contend.servers.dsn import Dsn
from contend.servers.errors import DsnError
from contend.servers.hold import ServerHold, ServerInUse

FORMAT = 3

Entry = dict[str, Any]
"""What must be put back: its `kind` (see `back.KINDS`), and what that kind needs to know."""


def default_folder() -> Path:
    """`$XDG_STATE_HOME/contend/undo`, or `~/.local/state/contend/undo`."""
    return default_state() / "undo"


class JournalBroken(WorkError):
    """The journal cannot be read or written."""


class LockedServer(Protocol):
    """A server that is locked before it is changed."""

    @property
    def dsn(self) -> Dsn: ...

    def connect(self, database: str | None = None, **more: Any) -> Connection[Any]: ...


@dataclass(slots=True)
class Journal:
    """The journal of one server or of the host; `Journal.open` gives it, and keeps it for this
    process alone.

    Args:
        server: the DSN, as it can be shown and typed again; or `this_host()`.
        undo: what must be put back, the latest last.
        work: what a command begun here goes on with later; not looked at in this room.
        hold: the lock on the server; None for the host, and for a server of contend's own.
    """

    path: Path
    server: str
    undo: list[Entry] = field(default_factory=list)
    work: dict[str, Any] | None = None
    hold: ServerHold | None = None
    _lock: int | None = None

    @classmethod
    def open(cls, folder: Path, server: str, name: str = "") -> Self:
        """The journal of a server or of the host, which no other process may use until it is
        closed.

        Args:
            name: the server's, by whatever DSN it is reached (see `unique_name`). Without one its
                place is its name.

        Raises:
            ServerInUse: another process has it.
            JournalBroken: it cannot be read, or its folder cannot be made.
        """
        return cls.at(path_of(folder, server, name), server)

    @classmethod
    def at(cls, path: Path, server: str) -> Self:
        """The journal in this file; raises as `open` does."""
        journal = cls(path, server, _lock=_locked(path, server))
        try:
            if path.exists():
                _, journal.undo, journal.work = _read(path)
        except BaseException:
            journal.close()
            raise
        return journal

    @classmethod
    def of_server(cls, folder: Path, server: LockedServer) -> Self:
        """The journal of a server that is not contend's own, and the lock on that server.

        Raises:
            ServerInUse: another contend has it, on whatever host and by whatever DSN.
            ContendError: the server does not answer; or as of `open`.
        """
        hold = ServerHold(server.connect, str(server.dsn))
        try:
            journal = cls.open(folder, str(server.dsn), hold.take())
        except BaseException:
            hold.release()
            raise
        journal.hold = hold
        return journal

    def take(self, server: LockedServer) -> None:
        """Lock the server that this journal is of; raises as `of_server` does."""
        self.hold = ServerHold(server.connect, str(server.dsn))
        self.hold.take()

    def others_here(self) -> list[str]:
        """For each journal of another server that was at the same place: what tells of it."""
        found = []
        for path in journals_in(self.path.parent):
            with contextlib.suppress(JournalBroken):
                other = Journal(path, server_in(path))
                if path != self.path and place_of(other.server) == place_of(self.server):
                    found.append(f"{other.remedy} --dry-run")
        return found

    def is_of_held(self) -> bool:
        """Whether the server that was locked is the one whose journal this is."""
        assert self.hold is not None
        return self.path == path_of(self.path.parent, self.server, self.hold.name or "")

    def require_held(self) -> None:
        """See that the server is still ours to change; raises ContendError if it is not."""
        if self.hold is not None:
            self.hold.require()

    def note(self, kind: str, **facts: Any) -> Entry:
        """Before something is changed: what must be put back; the entry, for `drop`."""
        entry = {"kind": kind, **facts}
        self.undo.append(entry)
        try:
            self.write()
        except JournalBroken:
            self.undo.pop()  # What cannot be noted is not changed.
            raise
        return entry

    def drop(self, entry: Entry) -> None:
        """It was put back, or was not changed after all."""
        self.undo = [noted for noted in self.undo if noted is not entry]
        self.write()

    def replace(self, old: Sequence[Entry], new: Sequence[Entry]) -> None:
        """These instead of those."""
        gone = set(map(id, old))
        self.undo = [*(noted for noted in self.undo if id(noted) not in gone), *new]
        self.write()

    def forget(self) -> None:
        """Nothing is to be put back any more."""
        self.undo = []
        self.write()

    def write(self) -> None:
        """Bring it to the disk; an empty one goes away.

        Raises:
            JournalBroken: it cannot be written. What was there before still is.
        """
        said = {"format": FORMAT, "server": self.server, "undo": self.undo, "work": self.work}
        try:
            with shielded():
                if self.undo or self.work is not None:
                    replace_file(self.path, json.dumps(said), mode=0o600, is_synced=True)
                else:
                    self.path.unlink(missing_ok=True)
        except OSError as error:
            raise _broken(self.path, "written", error) from error

    @property
    def remedy(self) -> str:
        """The command that puts back what is left."""
        folder = self.path.parent
        more = "" if folder == default_folder() else f" --journal {folder}"
        what = HOST if is_host(self.server) else self.server
        return f"contend restore {what}{more}"

    def close(self) -> None:
        """Leave it to the next process. What it still has is named when the command ends badly."""
        _left.pop(self.path, None)
        if self.undo:
            _left[self.path] = self.remedy
        if self.hold is not None:
            self.hold.release()
            self.hold = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


HOST = "host"


def this_host() -> str:
    """The name of the host's journal. A home folder may be shared, and have those of others."""
    return f"{HOST} {os.uname().nodename}"


def is_host(server: str) -> bool:
    """Whether a journal is a host's, and no server's."""
    return server.startswith(f"{HOST} ")


def place_of(server: str) -> str:
    """Where the server of a DSN is; any other text stands for itself."""
    try:
        return Dsn.parse(server).place
    except DsnError:
        return server


def path_of(folder: Path, server: str, name: str = "") -> Path:
    """Where the journal of a server is, whether it is there or not; arguments as of `open`."""
    text = name or place_of(server)
    return folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


def journals_in(folder: Path) -> list[Path]:
    """The journals of all servers that have something left."""
    return sorted(folder.glob("*.json"))


_left: dict[Path, str] = {}
"""The journals that this command had and that still have something, with their remedies."""


def remedies_left() -> list[str]:
    """What puts back that which this command found or changed, and left; each is told once."""
    told = list(_left.values())
    _left.clear()
    return told


def server_in(path: Path) -> str:
    """Of which server a journal is; raises JournalBroken."""
    return _read(path)[0]


def _locked(path: Path, server: str) -> int:
    file = path.with_suffix(".lock")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = lock(file)
        with contextlib.suppress(OSError):  # What is to be put back needs no room on a disk.
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"process {os.getpid()} of {os.uname().nodename}".encode())
        return descriptor
    except Locked:
        raise ServerInUse(
            f"another contend process is at work on {server}: {_holder(file)}. It puts back itself "
            "what it changes there.",
            hint="Wait until it is done, or stop it first.",
        ) from None
    except OSError as error:
        raise _broken(path.parent, "made", error) from error


def _holder(file: Path) -> str:
    """Who holds a lock, as it wrote it there."""
    try:
        return file.read_text(encoding="utf-8") or "one that just began"
    except (OSError, ValueError):
        return "one that is not known"


def _read(path: Path) -> tuple[str, list[Entry], dict[str, Any] | None]:
    """Server, what must be put back, work."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        if said["format"] != FORMAT:
            raise ValueError(
                f"its format is {said['format']}, and this version of contend reads {FORMAT}"
            )
        undo = [_entry(entry) for entry in said["undo"]]
        work = said["work"]
        if not isinstance(said["server"], str) or not isinstance(work, dict | None):
            raise ValueError("it was not written by contend")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _broken(path, "read", error) from error
    return said["server"], undo, work


def _entry(said: Any) -> Entry:
    if not isinstance(said, dict) or not isinstance(said.get("kind"), str):
        raise ValueError("it was not written by contend")
    return said


def _broken(path: Path, what: str, error: Exception) -> JournalBroken:
    said = getattr(error, "strerror", None) or error
    hint = "Name another folder with XDG_STATE_HOME, or with --journal if the command takes it."
    if what == "read":
        hint = (
            "It says what a command of contend changed on a server. Put that back by what can be "
            "read of it, then remove the file."
        )
    why = f"{type(error).__name__} {said}" if isinstance(error, KeyError) else said
    return JournalBroken(f"the journal {path} cannot be {what}: {why}.", hint=hint)
