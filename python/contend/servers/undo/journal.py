"""The pending reverts of a server, or of the host. They outlive the process.

There is one JSON file per host, and one per server, by its unique name if it has one and else by
its DSN. Each entry is on the disk before its change is made, so the next process finds it after any
crash. New text is written to a second file and then renamed, so the file is always complete.
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

from contend.errors import WorkError, shielded
from contend.files import Locked, default_state, lock, replace_file
from contend.servers.dsn import Dsn
from contend.servers.errors import DsnError
from contend.servers.hold import ServerHold, ServerInUse

FORMAT = 3

Entry = dict[str, Any]
"""A pending revert: its `kind` (see `back.KINDS`), and the data that this kind needs."""


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
    """The journal of one server or of the host; `Journal.open` returns it and keeps it for this
    process alone.

    Args:
        server: the DSN, as it can be shown and typed again; or `this_host()`.
        undo: pending reverts, the latest last.
        work: state that a command begun here continues from later; not read in this package.
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
        """The journal of a server or of the host, which no second process may use until it is
        closed.

        Args:
            name: the server's, the same for every DSN (see `unique_name`). Without one its place is
                its name.

        Raises:
            ServerInUse: another process has it.
            JournalBroken: it cannot be read, or its folder cannot be made.
        """
        return cls.at(path_of(folder, server, name), server)

    @classmethod
    def at(cls, path: Path, server: str) -> Self:
        """The journal in this file; raises like `open`."""
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
            ServerInUse: another contend has it, from any host and through any DSN.
            ContendError: the server does not answer; or like `open`.
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
        """Lock the server of this journal; raises like `of_server`."""
        self.hold = ServerHold(server.connect, str(server.dsn))
        self.hold.take()

    def others_here(self) -> list[str]:
        """Returns a text about each journal of a different server at the same place."""
        found = []
        for path in journals_in(self.path.parent):
            with contextlib.suppress(JournalBroken):
                other = Journal(path, server_in(path))
                if path != self.path and place_of(other.server) == place_of(self.server):
                    found.append(f"{other.remedy} --dry-run")
        return found

    def is_of_held(self) -> bool:
        """Whether this journal belongs to the server that was locked."""
        assert self.hold is not None
        return self.path == path_of(self.path.parent, self.server, self.hold.name or "")

    def require_held(self) -> None:
        """Check that contend may still change the server; raises ContendError if not."""
        if self.hold is not None:
            self.hold.require()

    def note(self, kind: str, **facts: Any) -> Entry:
        """Record a pending revert before the change; returns the entry, for `drop`."""
        entry = {"kind": kind, **facts}
        self.undo.append(entry)
        try:
            self.write()
        except JournalBroken:
            self.undo.pop()  # If it cannot be recorded, the change is not made.
            raise
        return entry

    def drop(self, entry: Entry) -> None:
        """Remove an entry that was reverted, or whose change was not made."""
        self.undo = [noted for noted in self.undo if noted is not entry]
        self.write()

    def replace(self, old: Sequence[Entry], new: Sequence[Entry]) -> None:
        """Replace entries by new ones."""
        gone = set(map(id, old))
        self.undo = [*(noted for noted in self.undo if id(noted) not in gone), *new]
        self.write()

    def forget(self) -> None:
        """Drop all entries."""
        self.undo = []
        self.write()

    def write(self) -> None:
        """Write it to the disk; an empty journal is removed.

        Raises:
            JournalBroken: it cannot be written. The earlier file remains.
        """
        content = {"format": FORMAT, "server": self.server, "undo": self.undo, "work": self.work}
        try:
            with shielded():
                if self.undo or self.work is not None:
                    replace_file(self.path, json.dumps(content), mode=0o600, is_synced=True)
                else:
                    self.path.unlink(missing_ok=True)
        except OSError as error:
            raise _broken(self.path, "written", error) from error

    @property
    def remedy(self) -> str:
        """The command that reverts the remaining changes."""
        folder = self.path.parent
        more = "" if folder == default_folder() else f" --journal {folder}"
        target = HOST if is_host(self.server) else self.server
        return f"contend restore {target}{more}"

    def close(self) -> None:
        """Leave it to the next process. Remaining entries are named when the command ends badly."""
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
    """The name of the host's journal. A shared home folder may hold journals of other hosts."""
    return f"{HOST} {os.uname().nodename}"


def is_host(server: str) -> bool:
    """Whether a journal belongs to a host, not to a server."""
    return server.startswith(f"{HOST} ")


def place_of(server: str) -> str:
    """The address of a server's DSN; any other text is returned unchanged."""
    try:
        return Dsn.parse(server).place
    except DsnError:
        return server


def path_of(folder: Path, server: str, name: str = "") -> Path:
    """The path of a server's journal, which need not exist; arguments like `open`."""
    text = name or place_of(server)
    return folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


def journals_in(folder: Path) -> list[Path]:
    """The journals of all servers with pending reverts."""
    return sorted(folder.glob("*.json"))


_left: dict[Path, str] = {}
"""The journals that this command used and that still have entries, with their remedies."""


def remedies_left() -> list[str]:
    """Commands that revert the changes left by this command; each is reported once."""
    remedies = list(_left.values())
    _left.clear()
    return remedies


def server_in(path: Path) -> str:
    """The server of a journal; raises JournalBroken."""
    return _read(path)[0]


def _locked(path: Path, server: str) -> int:
    file = path.with_suffix(".lock")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = lock(file)
        with contextlib.suppress(OSError):  # Reverting must work on a full disk.
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"process {os.getpid()} of {os.uname().nodename}".encode())
        return descriptor
    except Locked:
        raise ServerInUse(
            f"another contend process is using {server}: {_holder(file)}. It reverts its own "
            "changes.",
            hint="Wait until it ends, or stop it.",
        ) from None
    except OSError as error:
        raise _broken(path.parent, "created", error) from error


def _holder(file: Path) -> str:
    """The holder of a lock, from the text it wrote there."""
    try:
        return file.read_text(encoding="utf-8") or "one that has just started"
    except (OSError, ValueError):
        return "an unknown one"


def _read(path: Path) -> tuple[str, list[Entry], dict[str, Any] | None]:
    """Server, pending reverts, work."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise ValueError(
                f"its format is {content['format']}, but this version of contend reads {FORMAT}"
            )
        undo = [_entry(entry) for entry in content["undo"]]
        work = content["work"]
        if not isinstance(content["server"], str) or not isinstance(work, dict | None):
            raise ValueError("it was not written by contend")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _broken(path, "read", error) from error
    return content["server"], undo, work


def _entry(entry: Any) -> Entry:
    if not isinstance(entry, dict) or not isinstance(entry.get("kind"), str):
        raise ValueError("it was not written by contend")
    return entry


def _broken(path: Path, action: str, error: Exception) -> JournalBroken:
    reason = getattr(error, "strerror", None) or error
    hint = "Name a different folder with XDG_STATE_HOME, or --journal if the command has it."
    if action == "read":
        hint = (
            "It lists changes that contend made on a server. Revert the readable ones by hand, "
            "then remove the file."
        )
    why = f"{type(error).__name__} {reason}" if isinstance(error, KeyError) else reason
    return JournalBroken(f"the journal {path} cannot be {action}: {why}.", hint=hint)
