"""The servers that are one level together, each looked at by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from pymysql.connections import Connection

from contend import host
from contend.metrics.counters import GAUGES
from contend.probed import MemberUse
from contend.probes.status import Counters, whole_numbers


@dataclass(frozen=True, slots=True)
class ObservedMember:
    """One of several servers that are a level.

    Args:
        pid: of its process; None if it cannot be seen.
        throttled_s: asks how long its CPU quota has held it back; None without a quota.
    """

    name: str
    role: str
    connection: Connection[Any]
    pid: int | None
    throttled_s: Callable[[], float | None] = lambda: None


class _Members(Protocol):
    @property
    def members(self) -> tuple[ObservedMember, ...]: ...


OF_MEMBERS = ("Com_", "Questions", "Bytes_", "Innodb_row_lock", "Innodb_rows", "wsrep_", "Spider_")
"""Names of counters of a member begin so: its statements, rows and bytes, and what its topology
counts."""


class MembersProbe:
    """Each of several servers: its CPU time, and what its counters rose by."""

    name = "members"

    def look(self, observed: _Members) -> list[MemberUse] | None:
        if not observed.members:
            return None
        return [
            {
                "name": member.name,
                "role": member.role,
                "cpu_s": None if member.pid is None else host.process_cpu_s(member.pid),
                "throttled_s": member.throttled_s(),
                "status": _counted(member.connection),
            }
            for member in observed.members
        ]

    def change(self, before: list[MemberUse], after: list[MemberUse]) -> list[MemberUse]:
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


def _counted(connection: Connection[Any]) -> Counters:
    found = whole_numbers(connection)
    return {n: value for n, value in found.items() if n.startswith(OF_MEMBERS) and n not in GAUGES}


def _grown(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before
