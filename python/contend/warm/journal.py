"""What a warm-up must put back, and what it has done already. It outlives the process.

One JSON file a server. What is to be put back is written, and on the disk, before it is changed:
so whatever ends the process, the next one finds it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pymysql

from contend.errors import ContendError, RequestError, WorkError
from contend.servers.options import normal_name
from contend.warm import server_list
from contend.warm.server_list import FILE_NAME

if TYPE_CHECKING:
    from pymysql.connections import Connection

    from contend.warm.parts import Part

FORMAT = 2


def default_folder() -> Path:
    """`$XDG_STATE_HOME/contend/warm`, or `~/.local/state/contend/warm`."""
    named = Path(os.environ.get("XDG_STATE_HOME", ""))
    state = named if named.is_absolute() else Path.home() / ".local" / "state"
    return state / "contend" / "warm"


class JournalBroken(WorkError):
    """The journal cannot be read or written."""


@dataclass(slots=True)
class Work:
    """What a warm-up loads, and how far it is.

    Args:
        parts: as contend-load is told them.
        upto: ranges at the beginning that are done.
        total: ranges in all.
        asked: what was asked for; a resumed warm-up asks for the same.
        listed: what the server loads by a list of pages before that, by name, each as runs
            `[space, first page, count]`; empty when it is done.
    """

    parts: list[dict[str, Any]]
    total: int
    asked: dict[str, Any]
    upto: int = 0
    listed: dict[str, list[list[int]]] = field(default_factory=dict)

    @classmethod
    def of(cls, parts: Iterable[Part], asked: dict[str, Any], **more: Any) -> Self:
        """The work of these parts, none of it done."""
        work = cls([part.as_plan() for part in parts], 0, asked, **more)
        work.total = sum(work.ranges().values())
        return work

    def ranges(self) -> dict[str, int]:
        """Ranges of each item, by name."""
        found: dict[str, int] = {}
        for part in self.parts:
            count = part["keys"]["ranges"] if "keys" in part else 1
            found[part["name"]] = found.get(part["name"], 0) + count
        return found


@dataclass(slots=True)
class Journal:
    """The journal of one server; `Journal.open` gives it, and keeps it for this process alone.

    Args:
        server: the DSN, as it can be shown.
        undo: what must be put back, the latest last.
        work: what was begun and is not done.
    """

    path: Path
    server: str
    undo: list[dict[str, Any]] = field(default_factory=list)
    work: Work | None = None
    _lock: int | None = None

    @classmethod
    def open(cls, folder: Path, server: str) -> Self:
        """The journal of this server, which no other process may use until it is closed.

        Raises:
            RequestError: another process warms this server.
            JournalBroken: it cannot be read, or its folder cannot be made.
        """
        path = folder / f"{hashlib.sha256(server.encode()).hexdigest()[:16]}.json"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _broken(folder, "made", error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise RequestError(
                f"{server} is being warmed by another process.",
                hint="Wait until it is done, or stop it first.",
            ) from None
        journal = cls(path, server, _lock=lock)
        try:
            journal._read()
        except BaseException:
            journal.close()
            raise
        return journal

    def _read(self) -> None:
        try:
            said = json.loads(self.path.read_text(encoding="utf-8"))
            if said["format"] != FORMAT:
                raise ValueError(f"its format is {said['format']}, and this contend reads {FORMAT}")
            self.undo = list(said["undo"])
            self.work = Work(**said["work"]) if said["work"] else None
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise _broken(self.path, "read", error) from error

    def note_undo(self, kind: str, **facts: Any) -> None:
        """Before something is changed: what must be put back. `kind` is one of `PUT_BACK`."""
        self.undo.append({"kind": kind, **facts})
        self.write()

    def drop_undo(self, kind: str, **facts: Any) -> None:
        """What was put back already."""
        self.undo = [change for change in self.undo if change != {"kind": kind, **facts}]
        self.write()

    def put_back(self, connection: Connection[Any]) -> list[str]:
        """Put back everything, the latest first; what was, in words.

        What the server refuses stays in the journal.

        Raises:
            NotPutBack: something could not be.
        """
        told, refused, kept = [], [], []
        for change in reversed(self.undo):
            try:
                told.append(PUT_BACK[change["kind"]](connection, change))
            except (ContendError, OSError, pymysql.err.MySQLError) as error:
                refused.append(_in_words(change, error))
                kept.append(change)
        if self.undo:
            self.undo = kept[::-1]
            self.write()
        if refused:
            raise NotPutBack(
                f"not everything on {self.server} could be put back.",
                hint=f"Put it back with `contend warm --restore {self.server}`.",
                detail="\n".join(refused),
            )
        return told

    def write(self) -> None:
        """Bring it to the disk; an empty one goes away."""
        try:
            if not self.undo and self.work is None:
                self.path.unlink(missing_ok=True)
                return
            work = None if self.work is None else asdict(self.work)
            text = json.dumps(
                {"format": FORMAT, "server": self.server, "undo": self.undo, "work": work}
            )
            with tempfile.NamedTemporaryFile(
                "w", encoding="utf-8", dir=self.path.parent, delete=False
            ) as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(file.name).replace(self.path)
        except OSError as error:
            raise _broken(self.path, "written", error) from error

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class NotPutBack(WorkError):
    """The server did not take back what was changed."""


def _variable(connection: Connection[Any], change: Mapping[str, Any]) -> str:
    """A dynamic variable, whose value is a whole number."""
    name, value = normal_name(change["name"]), int(change["value"])
    with connection.cursor() as cursor:
        cursor.execute(f"SET GLOBAL {name} = {value}")
    return f"{name} = {value}"


def _page_list(_: Connection[Any], change: Mapping[str, Any]) -> str:
    """The server's own list of pages, in its data folder."""
    server_list.put_back(server_list.Host(Path(change["path"])))
    return f"{FILE_NAME} in {change['path']}"


PUT_BACK: dict[str, Callable[[Connection[Any], Mapping[str, Any]], str]] = {
    "variable": _variable,
    server_list.PAGE_LIST: _page_list,
}
"""How each kind of change is put back; each says in words what it put back."""


def _in_words(change: Mapping[str, Any], error: Exception) -> str:
    what = change.get("name") or change.get("path") or change["kind"]
    said = error.args[-1] if error.args else error
    return f"{what} = {change.get('value', '')}: {said}"


def _broken(path: Path, what: str, error: Exception) -> JournalBroken:
    said = getattr(error, "strerror", None) or error
    return JournalBroken(
        f"the journal {path} cannot be {what}: {said}.",
        hint="Name another folder with --journal.",
    )
