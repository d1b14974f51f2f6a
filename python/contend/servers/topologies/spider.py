"""Private servers as one database by MariaDB's Spider: fronts whose tables have their rows on
backends, each backend with a range of keys of its own. All are on this machine, and a front reaches
the backends by their Unix sockets.

The same tables are on every backend. A front gets their columns and keys, without foreign keys,
which Spider does not have. Tables without an owner are complete on every server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection

from contend.experiment import DataSpec
from contend.experiment.settings.model import Values
from contend.servers.client import fetch
from contend.servers.deployment import Deployment, LineMaker, Member, all_or_none, last_keys
from contend.servers.error_log import Truncated
from contend.servers.errors import ServerFailed
from contend.servers.options import Value, normal_name
from contend.servers.private import USER, PrivateServer

PLUGIN = "ha_spider"

_OPTIONS = "spider_"
"""For fronts alone: a backend has no such plugin."""


class Spider(Deployment):
    """Fronts that reach the rows of all backends."""

    def data_of(self, member: Member, data: DataSpec) -> DataSpec | None:
        """A backend's share. A front gets that of the first backend, for the tables without an
        owner; its other tables are replaced."""
        backends = self._of_role("backend")
        place = backends.index(member) if member in backends else 0
        first = (backends[place - 1].owns or 0) + 1 if place else 1
        share = {"first_warehouse": first, "last_warehouse": backends[place].owns}
        return replace(data, own={**data.own, **share})

    def start(
        self, options: Mapping[str, Value], data: DataSpec, between: LineMaker | None = None
    ) -> list[Truncated]:
        """Start the backends, then the fronts, whose tables are made again.

        Raises:
            ServerFailed: a server did not start, or a front did not accept the tables; none runs
                then.
        """
        fronts, backends = (self._of_role(role) for role in ("front", "backend"))
        plain = {n: v for n, v in options.items() if not normal_name(n).startswith(_OPTIONS)}
        truncated: list[Truncated] = []
        with all_or_none(self.members):
            for backend in backends:
                backend.server.start(plain)
            sockets = [backend.server.socket for backend in backends]
            if between is not None:
                sockets = [between.before_socket(socket) for socket in sockets]
            for front in fronts:
                changed = front.server.start(options)
                truncated = truncated or changed
                share_tables(
                    front.server,
                    [backend.server for backend in backends],
                    data.database,
                    data.known.owned_by,
                    [backend.owns for backend in backends[:-1] if backend.owns is not None],
                    sockets,
                )
                _forget_share(front.server, data)
        return truncated

    def require_healthy(self, data: DataSpec) -> None:
        backends = [backend.server for backend in self._of_role("backend")]
        for front in self._of_role("front"):
            table = next(iter(data.known.owned_by))
            require_reachable(front.server, backends, data.database, table)

    def unsafe(self) -> str | None:
        fronts, backends = (self._of_role(role) for role in ("front", "backend"))
        if len(backends) < 2 or all(_is_atomic(front.server) for front in fronts):
            return None
        return NOT_ATOMIC

    def _of_role(self, role: str) -> list[Member]:
        return [member for member in self.members if member.role == role]


NOT_ATOMIC = (
    "a transaction over several backends is committed on one after the other (spider_internal_xa "
    "is off): if a backend ends between two commits, only part of the transaction remains"
)


def _is_atomic(front: PrivateServer) -> bool:
    return front.variables().get("spider_internal_xa") == "ON"


def deployment(cell: Values, make: Callable[[str], PrivateServer]) -> Deployment:
    """The number of fronts and backends that the cell wants; backends are without the plugin."""
    fronts = [f"front-{number}" for number in range(1, cell["server.fronts"] + 1)]
    lasts = last_keys(cell["data.warehouses"], cell["server.backends"])
    members = [Member(name, "front", make(name)) for name in fronts]
    for number, last in enumerate(lasts, 1):
        server = make(f"backend-{number}")
        argv = tuple(word for word in server.binary.argv if PLUGIN not in word)
        server.binary = replace(server.binary, argv=argv)
        members.append(Member(f"backend-{number}", "backend", server, last))
    return Spider(members)


def _forget_share(front: PrivateServer, data: DataSpec) -> None:
    """The front has all warehouses, regardless of the share in its folder."""
    for journal in data.known.journal:
        with front.connect(data.database) as connection:
            fetch(connection, f"DELETE FROM `{journal}` WHERE name LIKE '%\\_warehouse'")
            connection.commit()


def share_tables(
    front: PrivateServer,
    backends: Sequence[PrivateServer],
    database: str,
    columns: Mapping[str, str],
    lasts: Sequence[int],
    sockets: Sequence[Path] | None = None,
) -> None:
    """Make tables on the front whose rows are on the backends; drops existing ones of that name.

    Args:
        front: it has Spider (`mariadb+spider`) and runs, like the backends.
        columns: the column by which a table is divided, by the table's name.
        lasts: the last key of each backend but the last one, which has all others; they rise.
        sockets: where the front queries each backend, if that is not the backend's own socket.

    Raises:
        ServerFailed: a backend has no such table, or the front did not accept it.
    """
    if len(lasts) != len(backends) - 1 or list(lasts) != sorted(set(lasts)):
        raise ValueError(f"{len(backends)} backends have {len(backends) - 1} rising last keys")
    if sockets is None:
        sockets = [backend.socket for backend in backends]
    places = [(_name(number), socket) for number, socket in enumerate(sockets, 1)]
    ends = [f"({last + 1})" for last in lasts] + ["MAXVALUE"]
    parts = ", ".join(
        f"PARTITION {name} VALUES LESS THAN {end} COMMENT = 'srv \"{name}\"'"
        for (name, _), end in zip(places, ends, strict=True)
    )
    try:
        with backends[0].connect(database) as connection:
            made = {
                name: _columns_of(fetch(connection, f"SHOW CREATE TABLE `{name}`")[0][1])
                for name in columns
            }
        with front.connect() as connection:
            for name, socket in places:
                fetch(
                    connection,
                    f"CREATE OR REPLACE SERVER {name} FOREIGN DATA WRAPPER mysql OPTIONS (SOCKET "
                    f"'{socket}', USER '{USER}', DATABASE '{database}')",
                )
            # This key identifies members of a two-phase commit. With their hosts alone, which are
            # all this one, the second would be taken for the first.
            fetch(
                connection,
                "ALTER TABLE mysql.spider_xa_member DROP KEY idx1, "
                "ADD KEY idx1 (data, format_id, gtrid_length, host, socket(107))",
            )
            fetch(connection, f"CREATE DATABASE IF NOT EXISTS `{database}`")
            for table, column in columns.items():
                fetch(connection, f"DROP TABLE IF EXISTS `{database}`.`{table}`")
                fetch(
                    connection,
                    f"CREATE TABLE `{database}`.`{table}` {made[table]}) ENGINE=SPIDER COMMENT="
                    f'\'wrapper "mysql", table "{table}"\' '
                    f"PARTITION BY RANGE (`{column}`) ({parts})",
                )
    except pymysql.err.MySQLError as error:
        raise ServerFailed(f"Spider's tables could not be created: {error.args[-1]}.") from error


def require_reachable(
    front: PrivateServer, backends: Sequence[PrivateServer], database: str, table: str
) -> None:
    """Check that each backend answers through the front; raises ServerFailed with the name of one
    that does not."""
    for number, backend in enumerate(backends, 1):
        try:
            # A connection for each: one that had a failure may remember it.
            with front.connect(database) as connection:
                fetch(connection, f"SELECT 1 FROM `{table}` PARTITION ({_name(number)}) LIMIT 1")
        except pymysql.err.MySQLError as error:
            raise ServerFailed(
                f"backend {number} of {len(backends)} does not answer through the front: "
                f"{error.args[-1]}.",
                hint=f"Its log is {backend.log_path}.",
            ) from error


def has_warehouse(connection: Connection[Any], database: str, number: int) -> bool:
    """Whether the server finds that warehouse, among its own rows or through a front."""
    try:
        return bool(
            fetch(connection, f"SELECT 1 FROM `{database}`.warehouse WHERE w_id = {number}")
        )
    except pymysql.err.MySQLError:
        return False  # there is no such table


def _name(number: int) -> str:
    return f"backend_{number}"


def _columns_of(definition: str) -> str:
    inside = definition[definition.index("(\n") : definition.rindex("\n) ENGINE=")]
    first, *lines = inside.split("\n")
    kept = [line.rstrip(",") for line in lines if not line.lstrip().startswith("CONSTRAINT ")]
    return first + ",".join(kept)
