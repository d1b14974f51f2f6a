"""The private servers that form one level: members with a role each, started, checked and ended
together. A single server is the plain case, and needs no additional work.

A topology defines how members belong together: one file in `contend.servers.topologies`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from contend.experiment import DataSpec
from contend.servers.error_log import Truncated
from contend.servers.errors import ServerDied
from contend.servers.options import Value
from contend.servers.private import PrivateServer

Role = Literal["server", "front", "backend", "node"]


@dataclass(frozen=True, slots=True)
class Member:
    """One server of a deployment.

    Args:
        name: in records and messages, such as `backend-2`.
        role: a `server` is alone; a `front` reaches all rows, which `backends` have; each `node`
            has all rows.
        owns: the last of its own keys, which begin after those of the previous member; None if it
            owns none.
    """

    name: str
    role: Role
    server: PrivateServer
    owns: int | None = None


class LineMaker(Protocol):
    """Makes the delay lines between the members of a deployment: one in front of each member that
    others query."""

    def before_socket(self, server: Path) -> Path:
        """The socket of a line in front of a server, to use in place of its own."""

    def before_port(self, host: str, port: int) -> None:
        """Put a line at that port of 127.0.0.1, in front of the server at that port of `host`."""


class Deployment:
    """Members; the first one serves callers that know only one server. This class has a single
    member; a topology defines several."""

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
        """The tables to put into the folder of a member; None if it receives them otherwise."""
        del member
        return data

    def start(
        self, options: Mapping[str, Value], data: DataSpec, between: LineMaker | None = None
    ) -> list[Truncated]:
        """Start all of them as one; none runs if that fails. Returns options that were not accepted
        as requested.

        Args:
            between: the lines through which they query one another; None if they are not apart.
        """
        del data, between
        return self.entry.start(options)

    def require_healthy(self, data: DataSpec) -> None:
        """Raises ServerFailed, which names the member, if they do not work together."""

    def unsafe(self) -> str | None:
        """The possible loss of a transaction if a member ends; None if transactions are atomic."""
        return None

    def stop(self) -> None:
        # The last member of a cluster to stop is the first to start.
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
        """Returns options that the first member did not accept as requested."""
        truncated = [member.server.set_global(changes) for member in self.members]
        return truncated[0]


def alone(server: PrivateServer) -> Deployment:
    return Deployment([Member("server", "server", server)])


def last_keys(keys: int, owners: int) -> list[int]:
    """The last key of each of the owners, who share the keys evenly, in order."""
    return [keys * place // owners for place in range(1, owners + 1)]


@contextlib.contextmanager
def all_or_none(members: Sequence[Member]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        for member in members:
            member.server.kill()
        raise
