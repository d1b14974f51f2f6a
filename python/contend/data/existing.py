"""Data on a server that is not contend's own: added to its data, never overwriting them.

A table that contend makes carries a mark in its comment (`contend.servers.marks`). A table of that
name without the mark is refused before anything is changed. One with the mark may be used, replaced
and dropped. The loading process holds a lock on the server. A table with an abandoned load is
dropped and loaded again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pymysql

from contend.data.cache import dataset_key, key_inputs
from contend.data.loading import (
    FillProgress,
    LoadingDeclined,
    LoadingFailed,
    Tell,
    describe,
    estimated_bytes,
)
from contend.errors import ContendError, RequestError
from contend.experiment.settings.schemas import SCHEMAS, Schema
from contend.load import Address, FillProcess, LoadFailed
from contend.metrics.probed import DatasetRecord
from contend.servers.client import fetch, qualified
from contend.servers.dsn import DEFAULT_PORT, PASSWORD_VARIABLE, Dsn
from contend.servers.errors import TablesReplaced
from contend.servers.existing import ExistingServer
from contend.servers.hold import LoadingElsewhere, ServerHold, nobody_fills, wait_for_fill
from contend.servers.marks import (
    CHANGED,
    Mark,
    identities,
    is_our_view,
    set_key,
    table_mark,
    tables_of,
)
from contend.units import format_size

if TYPE_CHECKING:
    from pathlib import Path

    from pymysql.connections import Connection

    from contend.experiment import DataSpec


class DropDeclined(RequestError):
    """The user did not agree to drop tables on a server that is not contend's own."""


Confirm = Callable[[str], bool]

_NAMES_SHOWN = 20


def _prepare_drop(connection: Connection[Any], database: str, schema: Schema) -> None:
    """Prepares for dropping a schema's tables one by one: drops contend's views over them, and
    disables the check of foreign keys."""
    if not schema.tables:
        return
    fetch(connection, "SET SESSION foreign_key_checks = 0")
    for view in schema.views:
        if is_our_view(connection, database, view):
            fetch(connection, f"DROP VIEW IF EXISTS {qualified(database, view)}")


def ensure_on(
    server: ExistingServer,
    data: DataSpec,
    *,
    program: Path,
    tell: Tell,
    confirm: Confirm,
    writes: bool = True,
) -> DatasetRecord:
    """Make sure that the server has the tables, and return the facts for a record.

    Tables that a script makes are not made here: the server's owner prepares them. The caller holds
    the lock on the server (`hold`), so that no second lab works there.

    Args:
        writes: the workload may write into tables that contend does not make.

    Raises:
        TableNotOurs: a table of that name exists, and contend did not make it. Nothing was touched.
        LoadingDeclined: `confirm` said no. Nothing was touched.
        LoadingElsewhere: another process loads there, and did not end.
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
        written = ""
        if writes:
            written = _confirm_writes(server, data, database, confirm=confirm)
            # contend's own tables among them no longer hold the data that were loaded.
            mark_changed(server, data)
        tell.notice(
            f"using the existing tables in {database} on {server.dsn}"
            + (f"; the workload may write to {written}, which contend did not make" * bool(written))
        )
        return about
    between = ", …, " if data.known.tables else " to "
    shown = f"{database}.{names[0]}" + (f"{between}{names[-1]}" if len(names) > 1 else "")
    on = f"{shown} on {server.dsn}"

    def is_there() -> bool:
        with server.connect() as connection:
            there = _keys(connection, database, names)
        if there != {key}:
            return False
        tell.notice(f"using {shown}, which is already on the server")
        return True

    def on_wait(who: str) -> None:
        tell.notice(f"waiting for {who}, which loads tables into {database} on {server.dsn}")

    if is_there():
        return about
    wait_for_fill(server, database, on_wait)
    if is_there():
        return about
    with server.connect() as connection:
        there = _keys(connection, database, names)
        question = (
            f"Load {describe(data)}, about {format_size(estimated_bytes(data))}, into {on}"
            + (", replacing contend's own table there" if there != {""} else "")
            + "?"
        )
        if not confirm(question):
            raise LoadingDeclined(
                f"nothing was loaded into {server.dsn}",
                hint="`--yes` loads without asking; leave --server out to use a private server.",
            )
        if None in there:
            tell.notice(f"an earlier load of {on} was interrupted, so it is loaded again")
        with nobody_fills(server, database):
            _drop_ours(connection, database, data)
    _fill(server, data, database, key, program=program, tell=tell)
    tell.notice(
        f"{shown} stays on {server.dsn} for later runs; "
        f"`contend data drop --server {server.dsn}` removes it"
    )
    return about


def _keys(connection: Connection[Any], database: str, names: tuple[str, ...]) -> set[str | None]:
    """The keys in the tables' marks: None for half-filled tables, empty for missing ones.

    Every name is checked before anything is changed: one of the tables may not be contend's.
    """
    marks = [table_mark(connection, database, name) for name in names]
    return {"" if mark is None else mark.key for mark in marks}


def _confirm_writes(
    server: ExistingServer, data: DataSpec, database: str, *, confirm: Confirm
) -> str:
    """Ask the owner's consent to write to tables that contend did not make; returns their names.
    The tables that a script will write to are unknown beforehand.

    Raises:
        LoadingDeclined: `confirm` said no. Nothing was touched.
    """
    with server.connect() as connection:
        theirs = [name for name, mark in tables_of(connection, database).items() if mark is None]
    if not theirs:
        return ""
    where, listed = f"{database} on {server.dsn}", _listed(theirs)
    question = (
        f"Let the workload ({data.schema}) change these tables in {where} permanently, although "
        f"contend did not make them: {listed}?"
    )
    if not confirm(question):
        raise LoadingDeclined(
            f"the workload may write to tables in {where} that contend did not make: {listed}",
            hint="Allow it with `--yes`, or name a database in the DSN that holds nothing else.",
        )
    return listed


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def mark_changed(server: ExistingServer, data: DataSpec) -> None:
    """Mark the tables, in their comments, as changed since loading, so that no later run uses them
    as loaded. They stay contend's own. For a script these are all tables that contend made in its
    database.

    Raises:
        TableNotOurs: a foreign table has replaced one; it is not touched.
    """
    database = server.dsn.database or data.database
    with server.connect() as connection:
        marks: dict[str, Mark | None]
        if data.table_names:
            marks = {name: table_mark(connection, database, name) for name in data.table_names}
        else:
            marks = tables_of(connection, database)
        for name, mark in marks.items():
            if mark is not None and mark.key not in (CHANGED, None):
                set_key(connection, database, name, CHANGED)


class TablesSeen:
    """The tables of a run, which others may replace while it goes on."""

    def __init__(self, server: ExistingServer, data: DataSpec) -> None:
        self._server = server
        self._names = data.table_names
        self._database = server.dsn.database or data.database
        self._seen: dict[str, tuple[str, str]] = {}

    def look(self) -> None:
        """Remember these tables."""
        self._seen = self._now()

    def look_again(self) -> None:
        """contend's own statement may have altered them; other changes are someone else's."""
        for name, there in self._now().items():
            seen = self._seen.get(name)
            if seen is not None and there[:1] == seen[:1]:
                self._seen[name] = there

    def replaced(self, *, written: bool) -> TablesReplaced | None:
        """Changes to them since; None if they are the same.

        Args:
            written: statements of the run may have altered them, so their age proves nothing.
        """
        now = self._now()
        for name, seen in self._seen.items():
            there = now.get(name)
            if there is not None and there[:1] == seen[:1] and (written or there == seen):
                continue
            done = "dropped" if there is None else "replaced"
            return TablesReplaced(
                f"another client has {done} {self._database}.{name} on {self._server.dsn} since it "
                "was loaded, so the last measurement is invalid",
                hint="contend did not touch the current tables. Use a separate database.",
            )
        return None

    def _now(self) -> dict[str, tuple[str, str]]:
        with self._server.connect() as connection:
            return identities(connection, self._database, self._names)


def drop_on(server: ExistingServer, data: DataSpec, confirm: Confirm) -> list[str]:
    """Drop the tables that contend made; returns their names.

    Tables of such names that contend did not make are left alone if one is contend's.

    Raises:
        TableNotOurs: the only table of such a name is not contend's.
        DropDeclined: `confirm` said no. Nothing was touched.
        LoadingElsewhere: another process is loading there now.
        ServerInUse: another contend is working on the server.
    """
    database = server.dsn.database or data.database
    with (
        ServerHold.of(server.connect, str(server.dsn)),
        nobody_fills(server, database),
        server.connect() as connection,
    ):
        ours = [name for name, mark in tables_of(connection, database).items() if mark is not None]
        if not ours:
            table_mark(connection, database, data.database)
            return ours
        question = f"Drop these tables in {database} on {server.dsn}: {', '.join(ours)}?"
        if not confirm(question):
            raise DropDeclined(
                f"nothing was dropped. contend made these tables in {database} on {server.dsn}: "
                f"{', '.join(ours)}",
                hint="`--yes` drops them without asking.",
            )
        for schema in SCHEMAS.values():
            if set(schema.tables) & set(ours):
                _prepare_drop(connection, database, schema)
        for name in ours:
            _drop_table(connection, database, name)
    return ours


def _drop_table(connection: Connection[Any], database: str, table: str) -> None:
    """Drop a table if it is still contend's at this moment."""
    if table_mark(connection, database, table) is not None:
        fetch(connection, f"DROP TABLE IF EXISTS {qualified(database, table)}")


def _drop_left(server: ExistingServer, data: DataSpec, database: str) -> None:
    """Drop the remains of contend's own load, unless another load has begun."""
    with (
        contextlib.suppress(LoadingElsewhere),
        nobody_fills(server, database),
        server.connect() as connection,
    ):
        _drop_ours(connection, database, data)


def _drop_ours(connection: Connection[Any], database: str, data: DataSpec) -> None:
    names = (*data.table_names, *data.known.journal)
    ours = [name for name in names if table_mark(connection, database, name) is not None]
    if ours:
        _prepare_drop(connection, database, data.known)
    for name in ours:
        _drop_table(connection, database, name)


def entrance(
    dsn: Dsn, database: str | None, *, variable: str = PASSWORD_VARIABLE
) -> tuple[Address, dict[str, str]]:
    """The login of contend-load: the address, and the environment with the password, in this
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
    key: str,
    *,
    program: Path,
    tell: Tell,
) -> None:
    dsn = server.dsn
    address, env = entrance(dsn, database)
    try:
        FillProcess(program).run(
            data, address, mark=key, env=env, on_progress=FillProgress(tell, data)
        )
    except BaseException as error:
        # Half a table is useless, and contend may drop it.
        with contextlib.suppress(ContendError, pymysql.err.MySQLError):
            _drop_left(server, data, database)
        if isinstance(error, LoadFailed):
            raise LoadingFailed(
                f"loading {describe(data)} on {dsn} failed: {error.message}",
                hint=error.hint,
                detail=error.detail,
            ) from error
        raise
