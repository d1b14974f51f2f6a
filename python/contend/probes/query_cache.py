"""The wait for the query cache's one lock: looked at again and again while a run lasts.

Each SELECT takes the lock to look its text up, each answer to be stored takes it, and each write
to throw answers away. The server counts hits, and no waits; but a thread that waits says so in the
process list.
"""

from __future__ import annotations

import threading
from typing import Self

import pymysql

from contend.probed import Probes, QueryCacheWaits
from contend.probes.counters import Observed
from contend.servers.errors import ConnectionLost

PERIOD_S = 0.2
"""The look itself takes about a millisecond of the server's time among 500 connections."""

WAITS = "Waiting for query cache lock"

# With SQL_NO_CACHE the look does not ask for the lock itself.
_LOOK = (
    "SELECT SQL_NO_CACHE COUNT(*), SUM(STATE = %s) FROM information_schema.PROCESSLIST "
    "WHERE COMMAND IN ('Query', 'Execute') AND ID <> CONNECTION_ID()"
)


class QueryCacheWatch:
    """Looks from entering it to leaving it, if the server has a query cache that is on.

    The control connection is its own meanwhile: nobody else uses it while load is driven.
    """

    def __init__(self, observed: Observed) -> None:
        self._observed = observed
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._seen: QueryCacheWaits = {"looks": 0, "running": 0, "waiting": 0}

    def __enter__(self) -> Self:
        if _is_on(self._observed):
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    @property
    def is_looking(self) -> bool:
        """Whether it still looks: the server has a query cache that is on, and is there."""
        return self._thread is not None and self._thread.is_alive()

    def seen(self) -> Probes:
        """For the record of the run; nothing if nothing was looked at."""
        return {"query_cache_waits": self._seen} if self._seen["looks"] else {}

    def _watch(self) -> None:
        while not self._over.wait(PERIOD_S):
            try:
                with self._observed.connection.cursor() as cursor:
                    cursor.execute(_LOOK, (WAITS,))
                    row = cursor.fetchone()
            except (ConnectionLost, OSError, pymysql.err.MySQLError):
                return  # That the server died, others tell.
            running, waiting = row or (0, 0)
            self._seen["looks"] += 1
            self._seen["running"] += int(running or 0)
            self._seen["waiting"] += int(waiting or 0)


def _is_on(observed: Observed) -> bool:
    if observed.kind != "mariadb":
        return False
    with observed.connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL VARIABLES LIKE 'query_cache%'")
        variables = {str(name): str(value) for name, value in cursor.fetchall()}
    size = variables.get("query_cache_size", "0")
    return variables.get("query_cache_type", "OFF") != "OFF" and size != "0"
