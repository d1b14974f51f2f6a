"""Data on a server that is not ours: added to what is there, never written over it.

A table that contend makes carries a mark in its comment. A table of that name without the mark
is refused before anything is changed; one with it may be used, replaced and dropped.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pymysql

from contend.datasets.cache import dataset_key, key_inputs
from contend.datasets.loading import (
    FillProgress,
    LoadingDeclined,
    LoadingFailed,
    Tell,
    describe,
    estimated_bytes,
)
from contend.errors import ContendError
from contend.load import Address, FillProcess, LoadFailed
from contend.probed import DatasetRecord
from contend.servers.client import fetch, qualified
from contend.servers.dsn import DEFAULT_PORT, PASSWORD_VARIABLE, Dsn
from contend.servers.existing import TABLE_MARK, ExistingServer, table_comment, table_key
from contend.settings.schemas import SCHEMAS, Schema
from contend.units import format_size

if TYPE_CHECKING:
    from pathlib import Path

    from pymysql.connections import Connection

    from contend.spec import DataSpec


def drop_table(connection: Connection[Any], database: str, table: str) -> None:
    """Drop the table if it exists. The caller has checked that it is contend's."""
    fetch(connection, f"DROP TABLE IF EXISTS {qualified(database, table)}")


def _let_go(connection: Connection[Any], database: str, schema: Schema) -> None:
    """Before tables of a schema are dropped one by one: views over them go, and it does not matter
    any more which table refers to which."""
    if not schema.tables:
        return
    fetch(connection, "SET SESSION foreign_key_checks = 0")
    for view in schema.views:
        fetch(connection, f"DROP VIEW IF EXISTS {qualified(database, view)}")


def set_comment(connection: Connection[Any], database: str, table: str, comment: str) -> None:
    """Give the table another comment. The caller has checked that it is contend's."""
    fetch(connection, f"ALTER TABLE {qualified(database, table)} COMMENT = %s", (comment,))


CHANGED = "changed"
"""In place of a dataset's key, once a workload may have written."""


def ensure_on(
    server: ExistingServer,
    data: DataSpec,
    *,
    program: Path,
    tell: Tell,
    confirm: Callable[[str], bool],
) -> DatasetRecord:
    """See that the server has the tables, and return what a record says of them.

    Tables that a script makes itself are not made here: the owner of the server prepares them.

    Raises:
        TableNotOurs: a table of that name exists, and contend did not make it. Nothing was touched.
        LoadingDeclined: `confirm` said no. Nothing was touched.
    """
    identity = server.identity()
    key = dataset_key(key_inputs(data, kind=identity.kind, version=identity.version, options={}))
    database = server.dsn.database or data.database
    about: DatasetRecord = {
        "key": key,
        "engine": data.engine,
        "rows": data.rows_in_all,
        "bytes": None,
    }
    names = data.table_names
    if not names:
        tell.notice(f"using the script's own tables in {database} on {server.dsn} as they are")
        return about
    between = ", …, " if data.known.tables else " to "
    shown = f"{database}.{names[0]}" + (f"{between}{names[-1]}" if len(names) > 1 else "")
    with server.connect() as connection:
        # Every name is looked at before anything is changed: one of them may not be contend's.
        there = {table_key(connection, database, name) for name in names}
        if there == {key}:
            tell.notice(f"using {shown}, which is on the server already")
            return about
        question = (
            f"Load {describe(data)}, about {format_size(estimated_bytes(data))}, into "
            f"{shown} on {server.dsn}"
            + (", in place of contend's own table there" if there != {None} else "")
            + "?"
        )
        if not confirm(question):
            raise LoadingDeclined(
                f"{server.dsn} was left as it is",
                hint="`--yes` loads without asking; leave --server out to use a private server.",
            )
        _drop_ours(connection, database, data)
    _fill(server, data, database, table_comment(key), program=program, tell=tell)
    tell.notice(
        f"{shown} stays on {server.dsn} for later runs; "
        f"`contend data drop --server {server.dsn}` removes it"
    )
    return about


def mark_changed(server: ExistingServer, data: DataSpec) -> None:
    """Say in the tables' comments that they are no longer what was loaded, so that no later run
    uses them as such. They stay contend's own."""
    database = server.dsn.database or data.database
    with server.connect() as connection:
        for name in data.table_names:
            if table_key(connection, database, name) is not None:
                set_comment(connection, database, name, table_comment(CHANGED))


def drop_on(server: ExistingServer, data: DataSpec) -> int:
    """Drop the tables that contend made; how many there were.

    Other tables of such names are left alone if there is one of contend's.

    Raises:
        TableNotOurs: the only table of such a name is not contend's.
    """
    database = server.dsn.database or data.database
    with server.connect() as connection:
        ours = _our_tables(connection, database)
        if not ours:
            table_key(connection, database, data.database)
        for schema in SCHEMAS.values():
            if set(schema.tables) & set(ours):
                _let_go(connection, database, schema)
        for name in ours:
            drop_table(connection, database, name)
    return len(ours)


def _drop(server: ExistingServer, data: DataSpec, database: str) -> None:
    with server.connect() as connection:
        _drop_ours(connection, database, data)


def _drop_ours(connection: Connection[Any], database: str, data: DataSpec) -> None:
    names = (*data.table_names, *data.known.journal)
    ours = [name for name in names if table_key(connection, database, name) is not None]
    if ours:
        _let_go(connection, database, data.known)
    for name in ours:
        drop_table(connection, database, name)


def _our_tables(connection: Connection[Any], database: str) -> list[str]:
    """Names of all tables of the database that carry contend's mark."""
    rows = fetch(
        connection,
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s"
        " AND TABLE_TYPE = 'BASE TABLE' AND LEFT(TABLE_COMMENT, %s) = %s",
        (database, len(TABLE_MARK), TABLE_MARK),
    )
    return sorted(str(row[0]) for row in rows)


def entrance(
    dsn: Dsn, database: str | None, *, variable: str = PASSWORD_VARIABLE
) -> tuple[Address, dict[str, str]]:
    """How contend-load logs in: the address, and the environment with the password, in this
    variable."""
    secret = dsn.password.reveal()
    address = Address(
        socket=str(dsn.socket) if dsn.socket is not None else None,
        host=dsn.host,
        port=dsn.port or DEFAULT_PORT,
        user=dsn.user or "root",
        password_env=variable if secret else None,
        database=database,
        guarded=dsn.security.in_plan() or None,
    )
    return address, {variable: secret} if secret else {}


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
    address, env = entrance(dsn, database)
    try:
        FillProcess(program).run(
            data, address, comment=comment, env=env, on_progress=FillProgress(tell, data)
        )
    except BaseException as error:
        # Half a table is of no use, and it is ours to drop.
        with contextlib.suppress(ContendError, pymysql.err.MySQLError):
            _drop(server, data, database)
        if isinstance(error, LoadFailed):
            raise LoadingFailed(
                f"{what} on {dsn} failed: {error.message}", hint=error.hint, detail=error.detail
            ) from error
        raise
