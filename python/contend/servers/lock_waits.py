"""What threads of a server waited for inside it, as its performance_schema counts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pymysql
from pymysql.connections import Connection

from contend.servers.client import fetch
from contend.servers.variables import status

_PS_IN_US = 1_000_000


@dataclass(frozen=True, slots=True)
class LockWaits:
    """So far, by the name of the lock: how often it was asked for, and for how long, in
    microseconds. Taking a lock that is free counts too."""

    queries: int
    counts: Mapping[str, int]
    waits_us: Mapping[str, float]


_ASK = (
    "SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT "
    "FROM performance_schema.events_waits_summary_global_by_event_name "
    "WHERE EVENT_NAME LIKE 'wait/synch/%' AND COUNT_STAR > 0"
)


def lock_waits(connection: Connection[Any]) -> LockWaits | None:
    """None if performance_schema is off, may not be read, or counts no locks."""
    try:
        rows = fetch(connection, _ASK)
    except pymysql.err.MySQLError:
        return None
    if not rows:
        return None
    return LockWaits(
        queries=int(status(connection)["Questions"]),
        counts={str(name): int(count) for name, count, _ in rows},
        waits_us={str(name): int(time) / _PS_IN_US for name, _, time in rows},
    )
