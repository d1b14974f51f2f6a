"""Private servers as one database by MariaDB's Spider: a front whose tables have their rows on
backends, each backend with a range of keys of its own. All are on this machine, and the front
reaches the backends by their Unix sockets.

The same tables are on every backend. The front gets their columns and keys, without foreign keys,
which Spider has none of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pymysql

from contend.servers.client import fetch
from contend.servers.errors import ServerFailed
from contend.servers.private import USER, PrivateServer


def share_tables(
    front: PrivateServer,
    backends: Sequence[PrivateServer],
    database: str,
    columns: Mapping[str, str],
    lasts: Sequence[int],
) -> None:
    """Make tables on the front whose rows are on the backends; ones of that name there are dropped.

    Args:
        front: it has Spider (`mariadb+spider`) and runs, as the backends do.
        columns: the column by which a table is divided, by the table's name.
        lasts: the last key of each backend but the last one, which has all others; they rise.

    Raises:
        ServerFailed: a backend has no such table, or the front did not take it.
    """
    if len(lasts) != len(backends) - 1 or list(lasts) != sorted(set(lasts)):
        raise ValueError(f"{len(backends)} backends have {len(backends) - 1} rising last keys")
    places = [(_name(number), each) for number, each in enumerate(backends, 1)]
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
            for name, backend in places:
                fetch(
                    connection,
                    f"CREATE OR REPLACE SERVER {name} FOREIGN DATA WRAPPER mysql OPTIONS (SOCKET "
                    f"'{backend.socket}', USER '{USER}', DATABASE '{database}')",
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
        raise ServerFailed(f"no tables of Spider could be made: {error.args[-1]}.") from error


def require_reachable(
    front: PrivateServer, backends: Sequence[PrivateServer], database: str, table: str
) -> None:
    """See that each backend answers through the front; raises ServerFailed, which names the one
    that does not."""
    for number, backend in enumerate(backends, 1):
        try:
            # A connection for each: one that met a failure may remember it.
            with front.connect(database) as connection:
                fetch(connection, f"SELECT 1 FROM `{table}` PARTITION ({_name(number)}) LIMIT 1")
        except pymysql.err.MySQLError as error:
            raise ServerFailed(
                f"backend {number} of {len(backends)} does not answer through the front: "
                f"{error.args[-1]}.",
                hint=f"Its log is {backend.log_path}.",
            ) from error


def _name(number: int) -> str:
    return f"backend_{number}"


def _columns_of(definition: str) -> str:
    """Columns and keys of what SHOW CREATE TABLE says, without the closing bracket."""
    inside = definition[definition.index("(\n") : definition.rindex("\n) ENGINE=")]
    first, *lines = inside.split("\n")
    kept = [line.rstrip(",") for line in lines if not line.lstrip().startswith("CONSTRAINT ")]
    return first + ",".join(kept)
