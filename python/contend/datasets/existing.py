"""Data on a server that is not ours: beside what is there, never over it.

A table that contend makes carries a mark in its comment. A table of that name without the mark
is refused before anything is changed; one with it may be used, replaced and dropped.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pymysql

from contend.datasets.engines import describe, estimated_bytes
from contend.datasets.errors import LoadingDeclined, LoadingFailed
from contend.datasets.key import dataset_key, key_inputs
from contend.datasets.sql import drop_table
from contend.datasets.telling import FillTelling, Tell
from contend.errors import ContendError
from contend.load import Address, FillProcess, LoadFailed
from contend.servers.dsn import DEFAULT_PORT, PASSWORD_VARIABLE
from contend.servers.existing import ExistingServer, table_comment, table_key
from contend.units import format_size

if TYPE_CHECKING:
    from pathlib import Path

    from contend.spec import DataSpec

TABLE = "sbtest"
"""The table of the schema `sbtest`."""


def ensure_on(
    server: ExistingServer,
    data: DataSpec,
    *,
    program: Path,
    tell: Tell,
    confirm: Callable[[str], bool],
) -> dict[str, Any]:
    """See that the server has the table, and return what a record says of it.

    Args:
        confirm: asked before rows are loaded.

    Raises:
        TableNotOurs: a table of that name is there and is somebody's. Nothing was touched.
        LoadingDeclined: `confirm` said no. Nothing was touched.
    """
    found = server.identity()
    key = dataset_key(key_inputs(data, kind=found.kind, version=found.version, options={}))
    database = server.dsn.database or data.schema
    about = {"key": key, "engine": data.engine, "rows": data.rows, "bytes": None}
    with server.connect() as connection:
        there = table_key(connection, database, TABLE)
        if there == key:
            tell.notice(f"using the table {database}.{TABLE} that is on the server already")
            return about
        question = (
            f"Load {describe(data)}, about {format_size(estimated_bytes(data))}, into "
            f"{database}.{TABLE} on {server.dsn}"
            + (", in place of contend's own table there" if there else "")
            + "?"
        )
        if not confirm(question):
            raise LoadingDeclined(
                f"{server.dsn} was left as it is",
                hint="`--yes` loads without asking; leave --server out to use a private server.",
            )
        drop_table(connection, database, TABLE)
    _fill(server, data, database, table_comment(key), program=program, tell=tell)
    tell.notice(
        f"{database}.{TABLE} stays on {server.dsn} for later runs; "
        f"`contend data drop --server {server.dsn}` removes it"
    )
    return about


def drop_on(server: ExistingServer, schema: str) -> bool:
    """Drop the table that contend made; False where there is none.

    Raises:
        TableNotOurs: the table of that name is somebody's.
    """
    database = server.dsn.database or schema
    with server.connect() as connection:
        if table_key(connection, database, TABLE) is None:
            return False
        drop_table(connection, database, TABLE)
    return True


def _fill(
    server: ExistingServer,
    data: DataSpec,
    database: str,
    comment: str,
    *,
    program: Path,
    tell: Tell,
) -> None:
    dsn, what = server.dsn, f"loading {describe(data)}"
    secret = dsn.password.reveal()
    address = Address(
        socket=str(dsn.socket) if dsn.socket is not None else None,
        host=dsn.host,
        port=dsn.port or DEFAULT_PORT,
        user=dsn.user or "root",
        password_env=PASSWORD_VARIABLE if secret else None,
        database=database,
    )
    try:
        FillProcess(program).run(
            data,
            address,
            comment=comment,
            env={PASSWORD_VARIABLE: secret} if secret else {},
            on_progress=FillTelling(tell, data),
        )
    except BaseException as error:
        # Half a table is of no use, and it is ours to drop.
        with contextlib.suppress(ContendError, pymysql.err.MySQLError):
            drop_on(server, data.schema)
        if isinstance(error, LoadFailed):
            raise LoadingFailed(
                f"{what} on {dsn} failed: {error.message}", hint=error.hint, detail=error.detail
            ) from error
        raise
