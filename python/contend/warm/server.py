"""The server that is warmed: whether it is still the one that it was, since one that was restarted
has empty caches; and its variables that a warm-up changes for its duration, if it may."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contend.servers.client import socket_peer
from contend.servers.errors import OptionRejected
from contend.servers.variables import read_global
from contend.undo import Journal
from contend.undo.variables import change

if TYPE_CHECKING:
    from pymysql.connections import Connection

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
