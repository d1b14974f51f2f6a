"""A cluster that is not ours, as one level: what is done to one server that contend neither starts
nor stops is done to each of its members."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from contend.errors import ContendError, RequestError, WorkError
from contend.lab.borrowed import BorrowedTestbed
from contend.lab.testbed import Ready
from contend.load import AskedMember
from contend.probed import MemberServer, RunWarning
from contend.probes import ObservedMember
from contend.servers.deployment import last_keys
from contend.servers.existing import ExistingServer
from contend.servers.options import normal_name
from contend.servers.topologies.galera import status_of, why_not_synced
from contend.servers.topologies.spider import NOT_ATOMIC, has_warehouse
from contend.settings.model import Launch
from contend.settings.topology import BACKEND, FRONT, NODE
from contend.spec import CellSpec, Experiment, Level

_OF_FRONTS = "spider_"


@dataclass(frozen=True, slots=True)
class ClusterMember:
    """One server of a cluster that is not ours.

    Args:
        owns: the last of the warehouses that are its own; None if it owns none.
    """

    name: str
    role: str
    server: ExistingServer
    owns: int | None = None


def cluster_of(
    servers: Sequence[tuple[str, str, ExistingServer]], experiment: Experiment
) -> list[ClusterMember]:
    """Members by name, role and server; each that owns warehouses has as many as the others."""
    owners = [name for name, role, _ in servers if role != FRONT]
    warehouses = experiment.base["data.warehouses"] if servers else 0
    owned = dict(zip(owners, last_keys(warehouses, len(owners)), strict=True)) if owners else {}
    return [ClusterMember(name, role, server, owned.get(name)) for name, role, server in servers]


def require_as_one(members: Sequence[ClusterMember]) -> None:
    """See that all answer, are of one version and, if they are nodes, of one cluster; raises an
    error that names the one that is not."""
    versions: dict[str, str] = {}
    for member in members:
        try:
            identity = member.server.identity()
        except ContendError as error:
            raise WorkError(
                f"{member.name} of the cluster is not there: {error.message}",
                hint=error.hint or "Nothing was started or changed.",
            ) from error
        versions[member.name] = f"{identity.kind} {identity.version}"
    if len(set(versions.values())) > 1:
        said = ", ".join(f"{name} is {version}" for name, version in versions.items())
        raise RequestError(
            f"the servers of the cluster are of different versions: {said}",
            hint="Bring them to one version: what they differ by would be part of the answer.",
        )
    require_synced(members)


def require_synced(members: Sequence[ClusterMember]) -> None:
    """See that each node takes queries and sees all others; raises WorkError."""
    nodes = [member for member in members if member.role == NODE]
    for node in nodes:
        with node.server.connect() as connection:
            why = why_not_synced(status_of(connection), len(nodes))
        if why is not None:
            raise WorkError(
                f"{node.name} of the {len(nodes)} nodes of the cluster cannot be measured: {why}",
                hint="Look at its error log; contend starts and stops nothing there.",
            )


def require_rows(members: Sequence[ClusterMember], database: str) -> None:
    """See that each backend has the rows of its last warehouse, and that each front reaches them;
    raises RequestError."""
    for backend in (member for member in members if member.role == BACKEND):
        for asked in (backend, *(member for member in members if member.role == FRONT)):
            with asked.server.connect() as connection:
                found = has_warehouse(connection, database, backend.owns or 0)
            if not found:
                raise RequestError(
                    f"{asked.name} does not find warehouse {backend.owns}, which {backend.name} is "
                    f"to have, in {database}",
                    hint="contend loads nothing into backends that are not its own, and makes no "
                    "tables on their fronts: docs/guides/clusters.md says how to.",
                )


class ClusterTestbed(BorrowedTestbed):
    """Members, the first of which is asked by whoever knows of one server only.

    Args:
        others: of the members but the first, in their order.
        first: as of `BorrowedTestbed`.
    """

    def __init__(
        self,
        members: Sequence[ClusterMember],
        others: Sequence[BorrowedTestbed],
        *first: Any,
        **more: Any,
    ) -> None:
        super().__init__(*first, **more)
        self._members = tuple(members)
        self._others = tuple(others)

    def usable(self) -> bool:
        return super().usable() and all(other.usable() for other in self._others)

    def renew(self, cell: CellSpec, launch: Launch) -> None:
        super().renew(cell, launch)
        for other in self._others:
            other.renew(cell, launch)
            # What is done to the first one's tables, by us too, is done to theirs.
            other.leave_tables()
        require_rows(self._members, self.database_of(cell.data))

    def set_options(self, options: Mapping[str, Level]) -> None:
        plain = {n: v for n, v in options.items() if not normal_name(n).startswith(_OF_FRONTS)}
        wanted = [plain if member.role == BACKEND else options for member in self._members]
        super().set_options(wanted[0])
        for other, own in zip(self._others, wanted[1:], strict=True):
            other.set_options(own)

    def warm(self, how: str) -> None:
        first, *others = self._members
        if first.role != FRONT:
            super().warm(how)
        for member, other in zip(others, self._others, strict=True):
            if member.role != FRONT:
                other.warm(how)

    def disturbed(self, options: frozenset[str]) -> None:
        super().disturbed(options)
        for other in self._others:
            other.disturbed(options)

    def ready(self, cell: CellSpec) -> Ready:
        require_synced(self._members)
        every = [super().ready(cell), *(other.ready(cell) for other in self._others)]
        entry, both = every[0], list(zip(self._members, every, strict=True))
        return replace(
            entry,
            env={name: value for ready in every for name, value in ready.env.items()},
            members=tuple(_asked(member, ready) for member, ready in both),
            observed=replace(
                entry.observed,
                members=tuple(
                    ObservedMember(
                        member.name, member.role, ready.observed.connection, ready.watch_pid
                    )
                    for member, ready in both
                ),
            ),
            probes={
                **entry.probes,
                "member_servers": [_recorded(member, ready) for member, ready in both],
            },
            warnings=tuple(self._of_all(every)),
        )

    def _of_all(self, every: Sequence[Ready]) -> Iterable[RunWarning]:
        for ready in every:
            yield from ready.warnings
        fronts = [member.server for member in self._members if member.role == FRONT]
        if any(front.variables().get("spider_internal_xa") == "OFF" for front in fronts):
            yield {"code": "not-atomic", "message": NOT_ATOMIC}

    def death(self) -> ContendError | None:
        deaths = [super().death, *(other.death for other in self._others)]
        for member, death in zip(self._members, deaths, strict=True):
            if (error := death()) is not None:
                return WorkError(f"{member.name} has gone: {error.message}", hint=error.hint)
        return None

    def leave(self) -> None:
        # Each, whatever became of the others.
        with contextlib.ExitStack() as stack:
            for other in reversed(self._others):
                stack.callback(other.leave)
            stack.callback(super().leave)


def _asked(member: ClusterMember, ready: Ready) -> AskedMember:
    return AskedMember(
        member.name,
        ready.address,
        ready.watch_pid,
        member.owns,
        reaches_all=member.role != BACKEND,
    )


def _recorded(member: ClusterMember, ready: Ready) -> MemberServer:
    return {
        "name": member.name,
        "role": member.role,
        "server": ready.probes["server"],
        "variables_that_differ": ready.probes["variables_that_differ"],
    }
