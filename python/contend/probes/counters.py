"""The probes: look before a run, look after it, keep the difference. A probe is one class and one
entry of `PROBES`. Beside them the wait for the query cache's one lock, which is looked at again and
again while a run lasts.

Each SELECT takes the lock to look its text up, each answer to be stored takes it, and each write
to throw answers away. The server counts hits, and no waits; but a thread that waits says so in the
process list.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, cast

import pymysql
from pymysql.connections import Connection

from contend import host, probed
from contend.metrics.counters import GAUGES
from contend.probed import DelayLine, ModelCounters, Probes, QueryCacheWaits
from contend.probes.members import MembersProbe, ObservedMember
from contend.probes.status import Counters, whole_numbers
from contend.servers.client import fetch
from contend.servers.errors import ConnectionLost
from contend.settings.server import MODEL


@dataclass(frozen=True, slots=True)
class Observed:
    """What a probe may look at.

    Args:
        pid: the server's process; None if it does not run on this host.
        others: other servers of the experiment that are loaded at the same time.
        line: asks the delay line before the server what passed since it was last asked.
        member_line: asks those between the servers that are the level, likewise.
        locks: asks a private server what it counted since it started that no statement shows.
        throttled_s: asks how long the CPU quota of a private server has held it back so far; None
            without a quota.
        members: the servers that are the level, if it is several.
    """

    connection: Connection[Any]
    kind: str
    pid: int | None = None
    others: tuple[int, ...] = ()
    line: Callable[[], DelayLine] | None = None
    member_line: Callable[[], DelayLine | None] | None = None
    locks: Callable[[], ModelCounters | None] | None = None
    throttled_s: Callable[[], float | None] = lambda: None
    members: tuple[ObservedMember, ...] = ()


class Probe(Protocol):
    """One thing that is looked at."""

    @property
    def name(self) -> str:
        """Where its result stands in the record's `probes`."""
        ...

    def look(self, observed: Observed) -> Any:
        """The counters now; None if this server does not have them."""
        ...

    def change(self, before: Any, after: Any) -> Any:
        """What happened between two looks, as JSON."""
        ...


TOLD_EVEN_AT_REST = frozenset(
    {
        "Aria_pagecache_read_requests",
        "Aria_pagecache_reads",
        "Com_select",
        "Innodb_buffer_pool_read_requests",
        "Innodb_buffer_pool_reads",
        "Key_read_requests",
        "Key_reads",
        "Qcache_hits",
        "Questions",
    }
)
"""Counters whose 0 is an answer: a cache that missed nothing was warm."""


class StatusProbe:
    """SHOW GLOBAL STATUS: by how much each whole-number counter rose; a few are kept even if they
    did not."""

    name = "status"

    def look(self, observed: Observed) -> Counters:
        return _whole_numbers(observed, gauges=False)

    def change(self, before: Counters, after: Counters) -> Counters:
        return {
            name: value - before.get(name, 0)
            for name, value in after.items()
            if value != before.get(name, 0) or name in TOLD_EVEN_AT_REST
        }


class GaugesProbe:
    """SHOW GLOBAL STATUS: what its gauges (connections open, pages free) say when the run is over.
    What one rose by would say nothing of the run."""

    name = "gauges"

    def look(self, observed: Observed) -> Counters:
        return _whole_numbers(observed, gauges=True)

    def change(self, before: Counters, after: Counters) -> Counters:
        del before
        return after


def _whole_numbers(observed: Observed, *, gauges: bool) -> Counters:
    found = whole_numbers(observed.connection)
    return {name: value for name, value in found.items() if (name in GAUGES) == gauges}


MAY_NOT_LOOK = 1227
"""A server's code for a login without the PROCESS privilege."""

_COPIES = ("status_counter", "value")
"""Types of INNODB_METRICS that SHOW GLOBAL STATUS has too: its counters and its gauges."""

_MISTYPED = {"lock_deadlocks": True, "lock_timeouts": True} | dict.fromkeys(
    ("os_pending_reads", "os_pending_writes"), False
)
"""Those that count, and those that do not, whatever their type says (MariaDB 10.11 and 11.8)."""


class InnodbMetricsProbe:
    """information_schema.INNODB_METRICS: by how much each counter rose that is switched on and is
    not in SHOW GLOBAL STATUS; `innodb_monitor_enable` switches on more of them."""

    name = "innodb_metrics"

    def look(self, observed: Observed) -> Counters | None:
        if observed.kind == MODEL:
            return None
        on = "STATUS = 'enabled'" if observed.kind == "mysql" else "ENABLED = 1"
        statement = f"SELECT NAME, TYPE, `COUNT` FROM information_schema.INNODB_METRICS WHERE {on}"
        try:
            rows = fetch(observed.connection, statement)
        except pymysql.err.MySQLError as error:
            if error.args and error.args[0] == MAY_NOT_LOOK:
                return None
            raise
        return {
            name: int(count)
            for name, kind, count in rows
            if _MISTYPED.get(name, kind not in _COPIES)
        }

    def change(self, before: Counters, after: Counters) -> Counters:
        """One that was switched on meanwhile has no beginning."""
        return {name: value - before[name] for name, value in after.items() if name in before}


COUNTERS = ("read_requests", "reads", "write_requests", "writes")
COLUMNS = ", ".join(f"`{counter}`" for counter in COUNTERS)
"""Quoted, because `reads` is a word of SQL."""

Segment = tuple[str, int | None]
Visits = dict[Segment, tuple[int, ...]]


class KeyCachesProbe:
    """information_schema.KEY_CACHES: visits and misses of each segment of the key cache.

    MariaDB and the model server have the table, MySQL does not. An unsegmented cache is one row
    without a segment number.
    """

    name = "key_caches"

    def look(self, observed: Observed) -> Visits | None:
        if observed.kind not in ("mariadb", MODEL):
            return None
        rows = fetch(
            observed.connection,
            f"SELECT KEY_CACHE_NAME, SEGMENT_NUMBER, {COLUMNS} FROM information_schema.KEY_CACHES",
        )
        changes = {
            (str(name), None if segment is None else int(segment)): tuple(map(int, counters))
            for name, segment, *counters in rows
        }
        # A segmented cache has a row for each segment and one for all together, which says
        # nothing that its parts do not.
        parted = {name for name, segment in changes if segment is not None}
        return {
            (name, segment): counters
            for (name, segment), counters in changes.items()
            if segment is not None or name not in parted
        }

    def change(self, before: Visits, after: Visits) -> list[probed.Segment]:
        segments = []
        for cache, segment in sorted(after, key=lambda key: (key[0], key[1] or 0)):
            then = before.get((cache, segment), (0,) * len(COUNTERS))
            grown = (there - here for here, there in zip(then, after[cache, segment], strict=True))
            counted = dict(zip(COUNTERS, grown, strict=True))
            segments.append({"cache": cache, "segment": segment, **counted})
        return cast(list[probed.Segment], segments)


@dataclass(frozen=True, slots=True)
class HostLook:
    """Counters of the host, and CPU seconds of the experiment's own processes, if all of them can
    be seen: the servers, the lab, and what the lab started (load generators, delay lines)."""

    pressure: host.Pressure
    own_cpu_s: float | None


class HostProbe:
    """Stolen time, stalls, swapping, heat and neighbours."""

    name = "host"

    def look(self, observed: Observed) -> HostLook:
        pids = {observed.pid, *observed.others, *(member.pid for member in observed.members)}
        seen = [pid for pid in pids if pid is not None]
        own_cpu_s = host.own_cpu_s(sorted(seen)) if len(seen) == len(pids) else None
        return HostLook(host.pressure(), own_cpu_s)

    def change(self, before: HostLook, after: HostLook) -> probed.HostUse:
        change = host.change(before.pressure, after.pressure)
        own_cpu_s = (
            after.own_cpu_s - before.own_cpu_s
            if after.own_cpu_s is not None and before.own_cpu_s is not None
            else None
        )
        disturbances = host.disturbances(change, own_cpu_s=own_cpu_s)
        return {**change, "own_cpu_s": own_cpu_s, "disturbances": disturbances}


@dataclass(slots=True)
class LineProbe:
    """The delay lines at one place, as one. They count from look to look by themselves."""

    name: str
    line_of: Callable[[Observed], Callable[[], DelayLine | None] | None]

    def look(self, observed: Observed) -> DelayLine | None:
        line = self.line_of(observed)
        return None if line is None else line()

    def change(self, before: DelayLine, after: DelayLine) -> DelayLine:
        del before
        return after


class QuotaProbe:
    """How long the CPU quota of the one private server held it back."""

    name = "throttled_s"

    def look(self, observed: Observed) -> float | None:
        return None if observed.members else observed.throttled_s()

    def change(self, before: float, after: float) -> float:
        return after - before


class LocksProbe:
    """What a model server counted of its locks and of its own work."""

    name = "model"

    def look(self, observed: Observed) -> ModelCounters | None:
        return None if observed.locks is None else observed.locks()

    def change(self, before: ModelCounters, after: ModelCounters) -> ModelCounters:
        then = dict(before)
        if before.get("epoch") != after.get("epoch"):
            del then["segments"]
        risen = {name: _risen(then.get(name), value) for name, value in after.items()}
        return cast(ModelCounters, {**risen, "epoch": after.get("epoch", 0)})


_NUMBER = "segment"
"""Which one it is, and no count."""


def _risen(before: Any, after: Any) -> Any:
    """The same document with differences in place of its counts, which begin at nothing."""
    if isinstance(after, dict):
        was = before or {}
        return {n: one if n == _NUMBER else _risen(was.get(n), one) for n, one in after.items()}
    if isinstance(after, list):
        return list(map(_risen, before or [None] * len(after), after))
    return after - (before or 0)


PROBES: tuple[Probe, ...] = (
    StatusProbe(),
    GaugesProbe(),
    InnodbMetricsProbe(),
    KeyCachesProbe(),
    HostProbe(),
    LineProbe("line", lambda observed: observed.line),  # before the server
    LineProbe("member_line", lambda observed: observed.member_line),  # between servers of a level
    MembersProbe(),
    QuotaProbe(),
    LocksProbe(),
)


def look(observed: Observed, *, begins: bool = False) -> dict[str, Any]:
    """Every probe's counters now. Before a run (`begins`) the status is looked at last, and after
    it first, so that what the other looks ask does not count as the run's."""
    order = reversed(PROBES) if begins else PROBES
    return {probe.name: probe.look(observed) for probe in order}


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Probes:
    """What each probe counted between two looks, without those that this server does not have."""
    seen = {
        probe.name: probe.change(before[probe.name], after[probe.name])
        for probe in PROBES
        if before[probe.name] is not None and after[probe.name] is not None
    }
    return cast("Probes", seen)


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
                ((running, waiting),) = fetch(self._observed.connection, _LOOK, (WAITS,))
            except (ConnectionLost, OSError, pymysql.err.MySQLError):
                return  # That the server died, others tell.
            self._seen["looks"] += 1
            self._seen["running"] += int(running or 0)
            self._seen["waiting"] += int(waiting or 0)


def _is_on(observed: Observed) -> bool:
    if observed.kind != "mariadb":
        return False
    rows = fetch(observed.connection, "SHOW GLOBAL VARIABLES LIKE 'query_cache%'")
    variables = {str(name): str(value) for name, value in rows}
    size = variables.get("query_cache_size", "0")
    return variables.get("query_cache_type", "OFF") != "OFF" and size != "0"
