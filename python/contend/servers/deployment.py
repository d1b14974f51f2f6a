"""The private servers that are one level: members with a role each, started, looked after and ended
together. One server alone is the plain case, and takes nothing more than it did by itself.

How members belong together is a topology, one file in `contend.servers.topologies`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from contend.servers.error_log import Truncated
from contend.servers.errors import ServerDied
from contend.servers.options import Value
from contend.servers.private import PrivateServer
from contend.spec import DataSpec

Role = Literal["server", "front", "backend", "node"]


@dataclass(frozen=True, slots=True)
class Member:
    """One server of a deployment.

    Args:
        name: in records and messages, such as `backend-2`.
        role: a `server` is alone; a `front` reaches all rows, which `backends` have; each `node`
            has all rows.
        owns: the last of the keys that are its own, which begin behind those of the member before
            it; None if it owns none.
    """

    name: str
    role: Role
    server: PrivateServer
    owns: int | None = None


class LineMaker(Protocol):
    """What stands between the members of a deployment, so that they are apart: a delay line before
    each of those that others ask."""

    def before_socket(self, server: Path) -> Path:
        """Where a server is asked by way of a line, in place of its own socket."""

    def before_port(self, host: str, port: int) -> None:
        """Put a line at that port of 127.0.0.1, before the server at that port of `host`."""


class Deployment:
    """Members, of which the first is where whoever knows of one server only goes. This one has a
    single member; a topology says how several belong together."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = tuple(members)

    @property
    def entry(self) -> PrivateServer:
        return self.members[0].server

    @property
    def others(self) -> tuple[Member, ...]:
        return self.members[1:]

    @property
    def running(self) -> bool:
        return all(member.server.running for member in self.members)

    def claim(self) -> None:
        for member in self.members:
            member.server.claim()

    def data_of(self, member: Member, data: DataSpec) -> DataSpec | None:
        """The tables that are put into the folder of a member; None if it gets them otherwise."""
        del member
        return data

    def start(
        self, options: Mapping[str, Value], data: DataSpec, between: LineMaker | None = None
    ) -> list[Truncated]:
        """Start all of them as one; none runs if that fails. Those of the options that were not
        taken as requested.

        Args:
            between: what they ask one another by way of; None if they are not apart.
        """
        del data, between
        return self.entry.start(options)

    def require_healthy(self, data: DataSpec) -> None:
        """Raises ServerFailed, which names the member, if they are not as one."""

    def unsafe(self) -> str | None:
        """What a transaction on them may lose if one ends; None if it is whole or not at all."""
        return None

    def stop(self) -> None:
        # The last of a cluster to stop is the first to start.
        for member in reversed(self.members):
            member.server.stop()

    def kill(self) -> None:
        for member in reversed(self.members):
            member.server.kill()

    def check(self) -> None:
        """Raise ServerDied if a member ended although contend did not stop it."""
        for member in self.members:
            try:
                member.server.check()
            except ServerDied as error:
                if not self.others:
                    raise
                raise ServerDied(
                    f"{member.name}, one of {len(self.members)} servers, ended: {error.message}",
                    hint=error.hint,
                    detail=error.detail,
                ) from error

    def set_global(self, changes: Mapping[str, Value]) -> list[Truncated]:
        """Those of the first member that were not taken as requested."""
        truncated = [member.server.set_global(changes) for member in self.members]
        return truncated[0]


def alone(server: PrivateServer) -> Deployment:
    return Deployment([Member("server", "server", server)])


def last_keys(keys: int, owners: int) -> list[int]:
    """The last key of each of so many owners, which have as many keys as the others, in order."""
    return [keys * place // owners for place in range(1, owners + 1)]


@contextlib.contextmanager
def all_or_none(members: Sequence[Member]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        for member in members:
            member.server.kill()
        raise
