"""Repeated observations during a run: the wait for the query cache's one lock, and the server's
active functions, if the cell requests a profiler.

Each SELECT takes the lock of the query cache to look up its text; each answer to be stored takes
it; each write takes it to discard answers. The server counts hits but not waits; the process list
shows threads that wait.
"""

from __future__ import annotations

import threading
from typing import Self

import pymysql

from contend.errors import WorkError
from contend.host.profiler import Profiler
from contend.lab.probes.counters import Observed
from contend.metrics.probed import Probes, ProfileRecord, QueryCacheWaits
from contend.servers.client import fetch
from contend.servers.errors import ConnectionLost
from contend.servers.kinds import KINDS

PERIOD_S = 0.2
"""One sample takes about a millisecond of the server's time at 500 connections."""

WAITS = "Waiting for query cache lock"

# With SQL_NO_CACHE the sample does not request the lock itself.
_LOOK = (
    "SELECT SQL_NO_CACHE COUNT(*), SUM(STATE = %s) FROM information_schema.PROCESSLIST "
    "WHERE COMMAND IN ('Query', 'Execute') AND ID <> CONNECTION_ID()"
)


class QueryCacheWatch:
    """Samples while its context is active, if the server has an enabled query cache.

    It has the control connection to itself: nothing else uses it while load is driven.
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
        """Whether it still samples: the server is up and has an enabled query cache."""
        return self._thread is not None and self._thread.is_alive()

    def seen(self) -> Probes:
        """For the record of the run; empty without samples."""
        return {"query_cache_waits": self._seen} if self._seen["looks"] else {}

    def _watch(self) -> None:
        while not self._over.wait(PERIOD_S):
            try:
                ((running, waiting),) = fetch(self._observed.connection, _LOOK, (WAITS,))
            except (ConnectionLost, OSError, pymysql.err.MySQLError):
                return  # Other code reports that the server died.
            self._seen["looks"] += 1
            self._seen["running"] += int(running or 0)
            self._seen["waiting"] += int(waiting or 0)


def _is_on(observed: Observed) -> bool:
    if not KINDS[observed.kind].has_query_cache:
        return False
    rows = fetch(observed.connection, "SHOW GLOBAL VARIABLES LIKE 'query_cache%'")
    variables = {str(name): str(value) for name, value in rows}
    size = variables.get("query_cache_size", "0")
    return variables.get("query_cache_type", "OFF") != "OFF" and size != "0"


_ELSEWHERE = "the server does not run on this host"
_SHARED = "the levels shared one server, so its samples cannot be separated by level"


class ProfileWatch:
    """Profiles the server while its context is active. If it cannot, its result says so, and the
    run still counts.

    Args:
        hz: samples per second of CPU time; 0: none.
        shared: other levels use this server too.
    """

    def __init__(self, observed: Observed, hz: int, *, shared: bool = False) -> None:
        self._hz = hz
        self._profiler: Profiler | None = None
        self._why_not: str | None = None
        if not hz:
            return
        if shared or observed.pid is None:
            self._why_not = _SHARED if shared else _ELSEWHERE
        else:
            self._profiler = Profiler(observed.pid, hz)

    def __enter__(self) -> Self:
        if self._profiler is not None:
            try:
                self._profiler.__enter__()
            except WorkError as error:
                self._give_up(error)
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        if self._profiler is not None:
            try:
                self._profiler.__exit__(kind, *rest)
            except WorkError as error:
                self._give_up(error)

    def _give_up(self, error: WorkError) -> None:
        self._why_not = error.message + (f": {error.detail}" if error.detail else "")
        self._profiler = None

    def seen(self) -> Probes:
        """For the record of the run; empty if no profiler was requested."""
        if not self._hz:
            return {}
        stacks = self._profiler.stacks if self._profiler is not None else {}
        profile: ProfileRecord = {"hz": self._hz, "stacks": stacks, "why_not": self._why_not}
        return {"profile": profile}
