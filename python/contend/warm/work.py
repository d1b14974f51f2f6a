"""What a warm-up loads, how far it is, and what it came to. The journal of the server keeps the
work, so that it can be gone on with after whatever ended it, unless the server was restarted: its
caches are empty then. Also variables of the server that are changed for the duration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from contend.errors import WorkError
from contend.servers.client import socket_peer
from contend.servers.errors import OptionRejected
from contend.servers.variables import read_global
from contend.undo import Journal, JournalBroken
from contend.undo.variables import change

if TYPE_CHECKING:
    from pymysql.connections import Connection

    from contend.warm.parts import Piece


class WarmingBroke(WorkError):
    """The server or the load went away before everything was loaded."""


@dataclass(frozen=True, slots=True)
class WarmProgress:
    """How far a warm-up is.

    Args:
        done: name of each item -> bytes of it that were read, in the order of the plan.
        sizes: the same, bytes that are to be read.
        elapsed_s: since the first range.
        held: why it is held back now; None if it is not.
    """

    done: Mapping[str, float]
    sizes: Mapping[str, int]
    elapsed_s: float
    held: str | None = None


@dataclass(slots=True)
class WarmUpResult:
    """What a warm-up came to.

    Args:
        size: bytes of what was read.
        held_s: how long it was held back.
        refused: item -> why it was not loaded, or not all of it.
    """

    size: float = 0.0
    seconds: float = 0.0
    held_s: float = 0.0
    refused: dict[str, str] = field(default_factory=dict)

    def __add__(self, other: WarmUpResult) -> WarmUpResult:
        return WarmUpResult(
            self.size + other.size,
            self.seconds + other.seconds,
            self.held_s + other.held_s,
            self.refused | other.refused,
        )


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
    def of(cls, parts: Iterable[Piece], asked: dict[str, Any], **more: Any) -> Self:
        """The work of these parts, none of it done."""
        work = cls([part.as_plan() for part in parts], 0, asked, **more)
        work.total = sum(work.ranges().values())
        return work

    @classmethod
    def noted(cls, journal: Journal) -> Self | None:
        """What is left of an earlier warm-up; None if nothing is. Raises JournalBroken."""
        if journal.work is None:
            return None
        try:
            return cls(**journal.work)
        except TypeError as error:
            raise JournalBroken(
                f"what the journal {journal.path} says of a warm-up cannot be read: {error}.",
                hint="Begin anew without --resume.",
            ) from error

    def note(self, journal: Journal) -> None:
        """Bring to the disk how far it is."""
        journal.work = asdict(self)
        journal.write()

    def ranges(self) -> dict[str, int]:
        """Ranges of each item, by name."""
        ranges: dict[str, int] = {}
        for part in self.parts:
            count = part["keys"]["ranges"] if "keys" in part else 1
            ranges[part["name"]] = ranges.get(part["name"], 0) + count
        return ranges


TOLERANCE_S = 2
"""Of the time at which a server started: both readings are whole seconds."""


@dataclass(frozen=True, slots=True)
class Life:
    """What tells one life of a server from the next.

    Args:
        started_at: seconds since 1970 by the server's own clock.
        connections: how many there were, a count that only grows.
        pid: of its process; None if that is not known here.
    """

    started_at: int
    connections: int
    pid: int | None


def life_of(connection: Connection[Any], socket: Path | None) -> Life:
    """The life that a server is in.

    Args:
        connection: to the server.
        socket: by which it is reached; None if it is reached over TCP.
    """
    with connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS WHERE Variable_name IN ('Uptime', 'Connections')")
        counts = {str(name): int(value) for name, value in cursor.fetchall()}
        cursor.execute("SELECT UNIX_TIMESTAMP()")
        ((now,),) = cursor.fetchall()
    pid = None if socket is None else socket_peer(socket)
    return Life(int(now) - counts["Uptime"], counts["Connections"], pid)


def was_restarted(before: Life, now: Life) -> bool:
    """Whether `now` is another life of the server than `before`."""
    if None not in (before.pid, now.pid) and before.pid != now.pid:
        return True
    if now.connections < before.connections:
        return True
    return abs(now.started_at - before.started_at) > TOLERANCE_S


OLD_BLOCKS_TIME = "innodb_old_blocks_time"


def set_old_blocks_time(connection: Connection[Any], journal: Journal) -> str | None:
    """Let pages that are read once count as used: what is scanned then stays in the buffer pool.

    Returns:
        Why it was not set; None if it is.
    """
    why_not = set_variable(connection, journal, OLD_BLOCKS_TIME, 0)
    return why_not and (
        f"{why_not}, so pages stay in the old part of the buffer pool and are the first to leave it"
    )


def set_variable(
    connection: Connection[Any], journal: Journal, name: str, value: int
) -> str | None:
    """Set a global variable that is a whole number. The value before is in the journal.

    Returns:
        Why it was not set; None if it is.
    """
    try:
        if read_global(connection, name) != value:
            change(connection, journal, name, value)
    except OptionRejected as error:
        code, *_, said = getattr(error.__cause__, "args", None) or (0, error.message)
        return f"{name} cannot be set to {value} (error {code}: {said})"
    return None
