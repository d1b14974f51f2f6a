"""The probes: read counters before and after a run, keep the difference. A probe is two functions
and one entry of `PROBES`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import pymysql
from pymysql.connections import Connection

from contend import host
from contend.metrics import probed
from contend.metrics.counters import COST_COUNTERS, GAUGES
from contend.metrics.probed import DelayLine, MemberUse, ModelCounters, Probes
from contend.servers.client import fetch
from contend.servers.kinds import KINDS

Counters = dict[str, int]


@dataclass(frozen=True, slots=True)
class ObservedMember:
    """One of several servers that form a level.

    Args:
        pid: of its process; None if it cannot be seen.
        throttled_s: returns for how long its CPU quota has throttled it; None without a quota.
    """

    name: str
    role: str
    connection: Connection[Any]
    pid: int | None
    throttled_s: Callable[[], float | None] = lambda: None


@dataclass(frozen=True, slots=True)
class Observed:
    """The objects that a probe may read.

    Args:
        pid: the server's process; None if it does not run on this host.
        others: other servers of the experiment that are loaded at the same time.
        line: returns the traffic of the delay line before the server since the last call.
        member_line: likewise for the lines between the servers that form the level.
        locks: returns a private server's counters since its start that no statement shows.
        throttled_s: returns for how long the CPU quota of a private server has throttled it so far;
            None without a quota.
        members: the servers that form the level, if there are several.
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


class Probe(NamedTuple):
    """One kind of observation.

    name: key of its result in the record's `probes`.
    look: the counters now; None if this server does not have them.
    change: the difference between two looks, as JSON.
    """

    name: str
    look: Callable[[Observed], Any]
    change: Callable[[Any, Any], Any]


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
"""Counters whose 0 is informative: a cache without misses was warm."""


def _status(connection: Connection[Any]) -> Counters:
    """The whole numbers in SHOW GLOBAL STATUS."""
    rows = fetch(connection, "SHOW GLOBAL STATUS")
    return {name: int(value) for name, value in rows if value.removeprefix("-").isdecimal()}


def look_at_status(observed: Observed) -> Counters:
    return {n: value for n, value in _status(observed.connection).items() if n not in GAUGES}


def status_change(before: Counters, after: Counters) -> Counters:
    """The increase of each counter; a few are kept even without an increase."""
    return {
        name: value - before.get(name, 0)
        for name, value in after.items()
        if value != before.get(name, 0) or name in TOLD_EVEN_AT_REST
    }


def look_at_costs(observed: Observed) -> Counters:
    """The counters of what a statement costs; empty if the server does not list its status."""
    names = ", ".join(f"'{name}'" for name in COST_COUNTERS)
    try:
        rows = fetch(observed.connection, f"SHOW GLOBAL STATUS WHERE Variable_name IN ({names})")
    except pymysql.err.MySQLError:
        return {}
    return {str(name): int(value) for name, value in rows}


def costs_change(before: Counters, after: Counters) -> Counters:
    """The increase of each of them, even of those that did not change."""
    return {name: value - before.get(name, 0) for name, value in after.items()}


def look_at_gauges(observed: Observed) -> Counters:
    """Values of gauges (connections open, pages free); their increase would be meaningless."""
    return {n: value for n, value in _status(observed.connection).items() if n in GAUGES}


MAY_NOT_LOOK = 1227
"""A server's code for a login without the PROCESS privilege."""

_COPIES = ("status_counter", "value")
"""Types of INNODB_METRICS that are also in SHOW GLOBAL STATUS: counters and gauges."""

_MISTYPED = {"lock_deadlocks": True, "lock_timeouts": True} | dict.fromkeys(
    ("os_pending_reads", "os_pending_writes"), False
)
"""Counters (True) and gauges (False) whose type is wrong (MariaDB 10.11 and 11.8)."""


def look_at_innodb(observed: Observed) -> Counters | None:
    """information_schema.INNODB_METRICS: counters that are enabled and are not in SHOW GLOBAL
    STATUS; `innodb_monitor_enable` enables more of them."""
    if not (on := KINDS[observed.kind].metrics_on):
        return None
    statement = f"SELECT NAME, TYPE, `COUNT` FROM information_schema.INNODB_METRICS WHERE {on}"
    try:
        rows = fetch(observed.connection, statement)
    except pymysql.err.MySQLError as error:
        if error.args and error.args[0] == MAY_NOT_LOOK:
            return None
        raise
    return {
        name: int(count) for name, kind, count in rows if _MISTYPED.get(name, kind not in _COPIES)
    }


def innodb_change(before: Counters, after: Counters) -> Counters:
    """A counter enabled meanwhile has no initial value."""
    return {name: value - before[name] for name, value in after.items() if name in before}


COUNTERS = ("read_requests", "reads", "write_requests", "writes")
COLUMNS = ", ".join(f"`{counter}`" for counter in COUNTERS)
"""Quoted, because `reads` is an SQL keyword."""

Visits = dict[tuple[str, int | None], tuple[int, ...]]


def look_at_key_caches(observed: Observed) -> Visits | None:
    """information_schema.KEY_CACHES: visits and misses of each segment of the key cache.

    MariaDB and the model server have the table, MySQL does not. An unsegmented cache is one row
    without a segment number.
    """
    if not KINDS[observed.kind].has_key_caches:
        return None
    rows = fetch(
        observed.connection,
        f"SELECT KEY_CACHE_NAME, SEGMENT_NUMBER, {COLUMNS} FROM information_schema.KEY_CACHES",
    )
    visits: Visits = {
        (str(name), None if segment is None else int(segment)): tuple(map(int, counters))
        for name, segment, *counters in rows
    }
    # A segmented cache has a row for each segment and one for the total, which is redundant.
    parted = {name for name, segment in visits if segment is not None}
    return {at: one for at, one in visits.items() if at[1] is not None or at[0] not in parted}


def key_caches_change(before: Visits, after: Visits) -> list[probed.Segment]:
    segments = []
    for cache, segment in sorted(after, key=lambda key: (key[0], key[1] or 0)):
        then = before.get((cache, segment), (0,) * len(COUNTERS))
        grown = (there - here for here, there in zip(then, after[cache, segment], strict=True))
        counted = dict(zip(COUNTERS, grown, strict=True))
        segments.append({"cache": cache, "segment": segment, **counted})
    return cast(list[probed.Segment], segments)


@dataclass(frozen=True, slots=True)
class HostLook:
    """Counters of the host, and CPU seconds of the experiment's own processes, if all are visible:
    the servers, the lab, and the processes that the lab started (load generators, delay lines)."""

    pressure: host.Pressure
    own_cpu_s: float | None


def look_at_host(observed: Observed) -> HostLook:
    pids = {observed.pid, *observed.others, *(member.pid for member in observed.members)}
    seen = [pid for pid in pids if pid is not None]
    own_cpu_s = host.own_cpu_s(sorted(seen)) if len(seen) == len(pids) else None
    return HostLook(host.pressure(), own_cpu_s)


def host_change(before: HostLook, after: HostLook) -> probed.HostUse:
    """Stolen time, stalls, swapping, heat and neighbours."""
    change = host.change(before.pressure, after.pressure)
    own_cpu_s = _grown(before.own_cpu_s, after.own_cpu_s)
    disturbances = host.disturbances(change, own_cpu_s=own_cpu_s)
    return {**change, "own_cpu_s": own_cpu_s, "disturbances": disturbances}


OF_MEMBERS = ("Com_", "Questions", "Bytes_", "Innodb_row_lock", "Innodb_rows", "wsrep_", "Spider_")
"""Prefixes of a member's counters: its statements, rows and bytes, and the counters of its
topology."""


def look_at_members(observed: Observed) -> list[MemberUse] | None:
    """Each of several servers that form one level: its CPU time and its counters."""
    members: list[MemberUse] = [
        {
            "name": member.name,
            "role": member.role,
            "cpu_s": None if member.pid is None else host.process_cpu_s(member.pid),
            "throttled_s": member.throttled_s(),
            "status": {
                name: value
                for name, value in _status(member.connection).items()
                if name.startswith(OF_MEMBERS) and name not in GAUGES
            },
        }
        for member in observed.members
    ]
    return members or None


def members_change(before: list[MemberUse], after: list[MemberUse]) -> list[MemberUse]:
    return [
        {
            "name": now["name"],
            "role": now["role"],
            "cpu_s": _grown(then["cpu_s"], now["cpu_s"]),
            "throttled_s": _grown(then["throttled_s"], now["throttled_s"]),
            "status": {
                name: value - then["status"].get(name, 0)
                for name, value in now["status"].items()
                if value != then["status"].get(name, 0)
            },
        }
        for then, now in zip(before, after, strict=True)
    ]


def _grown(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def locks_change(before: ModelCounters, after: ModelCounters) -> ModelCounters:
    """A model server's counters of its locks and of its own work."""
    then = dict(before)
    if before.get("epoch") != after.get("epoch"):
        del then["segments"]
    risen = {name: _risen(then.get(name), value) for name, value in after.items()}
    return cast(ModelCounters, {**risen, "epoch": after.get("epoch", 0)})


_NUMBER = "segment"
"""An identifier, not a counter."""


def _risen(before: Any, after: Any) -> Any:
    """The same document with increases instead of its counters; missing counters start at 0."""
    if isinstance(after, dict):
        was = before or {}
        return {n: one if n == _NUMBER else _risen(was.get(n), one) for n, one in after.items()}
    if isinstance(after, list):
        return list(map(_risen, before or [None] * len(after), after))
    return after - (before or 0)


def look_at_memory(observed: Observed) -> int | None:
    """Resident memory of the server's process; of several that form a level, none."""
    if observed.pid is None or observed.members:
        return None
    return host.process_memory_bytes(observed.pid)


def _latest(before: Any, after: Any) -> Any:
    del before
    return after


PROBES = (
    Probe("status", look_at_status, status_change),
    Probe("gauges", look_at_gauges, _latest),
    Probe("innodb_metrics", look_at_innodb, innodb_change),
    Probe("key_caches", look_at_key_caches, key_caches_change),
    Probe("host", look_at_host, host_change),
    Probe("memory_bytes", look_at_memory, _latest),
    # All delay lines at one place, combined: they count from one look to the next.
    Probe("line", lambda observed: observed.line and observed.line(), _latest),
    Probe("member_line", lambda seen: seen.member_line and seen.member_line(), _latest),
    Probe("members", look_at_members, members_change),
    Probe("throttled_s", lambda seen: None if seen.members else seen.throttled_s(), _grown),
    Probe("model", lambda observed: observed.locks and observed.locks(), locks_change),
)


def look(observed: Observed, *, begins: bool = False) -> dict[str, Any]:
    """Every probe's counters now. The status is read last before a run (`begins`) and first after
    it, so that the run does not include the queries of the other probes."""
    order = reversed(PROBES) if begins else PROBES
    return {probe.name: probe.look(observed) for probe in order}


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Probes:
    """The differences between two looks per probe, without probes that this server lacks."""
    seen = {
        probe.name: probe.change(before[probe.name], after[probe.name])
        for probe in PROBES
        if before[probe.name] is not None and after[probe.name] is not None
    }
    return cast("Probes", seen)
