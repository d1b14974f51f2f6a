"""Whether a server is still the one that it was: one that was restarted has empty caches."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contend.servers.client import socket_peer

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
