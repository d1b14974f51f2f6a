"""A cluster that is not ours, as one level: what is done to one server that contend neither starts
nor stops is done to each of its members."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pymysql.connections import Connection

from contend.errors import ContendError, RequestError, WorkError
from contend.lab.borrowed import BorrowedUnderTest
from contend.lab.testbed import Ready
from contend.load import AskedMember, LoadDriver
from contend.placement import Placement
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


class BorrowedCluster:
    """Members, the first of which is asked by whoever knows of one server only.

    Args:
        places: a testbed's server for each of the members, in their order.
    """

    own = False

    def __init__(
        self,
        members: Sequence[ClusterMember],
        places: Sequence[BorrowedUnderTest],
        load: LoadDriver,
    ) -> None:
        self._members = tuple(members)
        self._places = tuple(places)
        self._entry = places[0]
        self.load = load

    def usable(self) -> bool:
        return all(place.usable() for place in self._places)

    def renew(self, cell: CellSpec, launch: Launch) -> None:
        for place in self._places:
            place.renew(cell, launch)
            if place is not self._entry:
                # What is done to the entry's tables, by us too, is done to theirs.
                place.leave_tables()
        require_rows(self._members, self._entry.database_of(cell.data))

    def restart(self, cell: CellSpec, launch: Launch) -> None:
        """They are not ours to restart: what can be is set in place."""

    def set_options(self, options: Mapping[str, Level]) -> None:
        plain = {n: v for n, v in options.items() if not normal_name(n).startswith(_OF_FRONTS)}
        for member, place in zip(self._members, self._places, strict=True):
            place.set_options(plain if member.role == BACKEND else options)

    def execute(self, statement: str) -> float:
        return self._entry.execute(statement)

    def expect_writes(self) -> None:
        self._entry.expect_writes()

    def keep_data(self) -> None:
        """They are kept anyway."""

    def remember(self, undos: Sequence[str]) -> None:
        self._entry.remember(undos)

    def place_threads(self, asked: Mapping[str, Placement]) -> Mapping[str, Mapping[str, str]]:
        return self._entry.place_threads(asked)

    def lock_files(self) -> str:
        return self._entry.lock_files()

    def unlock_files(self) -> None:
        """None are locked."""

    def warm(self, how: str, seed: int) -> None:
        for member, place in zip(self._members, self._places, strict=True):
            if member.role != FRONT:
                place.warm(how, seed)

    def unthrottled(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def tables(self) -> tuple[Connection[Any], str]:
        return self._entry.tables()

    def disturbed(self, options: frozenset[str]) -> None:
        for place in self._places:
            place.disturbed(options)

    def ready(self, cell: CellSpec) -> Ready:
        require_synced(self._members)
        every = [place.ready(cell) for place in self._places]
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
            warnings=tuple(self._warnings(every)),
        )

    def _warnings(self, every: Sequence[Ready]) -> Iterable[RunWarning]:
        for ready in every:
            yield from ready.warnings
        fronts = [member.server for member in self._members if member.role == FRONT]
        if any(front.variables().get("spider_internal_xa") == "OFF" for front in fronts):
            yield {"code": "not-atomic", "message": NOT_ATOMIC}

    def death(self) -> ContendError | None:
        for member, place in zip(self._members, self._places, strict=True):
            if (error := place.death()) is not None:
                return WorkError(f"{member.name} has gone: {error.message}", hint=error.hint)
        return None

    def close(self) -> None:
        _close_all([place.close for place in self._places])


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


def _close_all(closing: Sequence[Callable[[], None]]) -> None:
    """Close each, whatever became of the others; the first error is raised."""
    failed: list[BaseException] = []
    for close in closing:
        try:
            close()
        except BaseException as error:  # A stop that lost its patience too: the next is tried.
            failed.append(error)
    if failed:
        raise failed[0]
