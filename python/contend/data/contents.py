"""A dump in a server: the settings of the server that loads it, and its contents afterwards."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pymysql.connections import Connection

from contend.data.cache import TableEntry
from contend.data.dump import DumpFailed, DumpRefused
from contend.data.dump.load import Rules, load_into
from contend.data.loading import (
    DISK_FULL_CODES,
    FIXED_BYTES,
    ROOM_HINT,
    LoadingFailed,
    NoRoomForDataset,
    Tell,
    loading_options,
    require_engine,
    require_room,
)
from contend.experiment import DataSpec, Level
from contend.servers import PrivateServer, ServerBinary
from contend.servers.client import LONG_S, VERSIONED, fetch, qualified
from contend.units import format_size

_PACKED = (".gz", ".bz2", ".xz")
_PACKED_RATIO = 5
"""Approximate ratio of the unpacked size of a dump to its packed size."""

_BYTES_PER_ROW = 100
"""Approximate figures of a dump, to size the caches of the server that loads it."""

_OPTIONS: Mapping[str, Level] = {
    "max_allowed_packet": "1G",
    "net_read_timeout": 3600,
    "local_infile": 0,
}

_NEW_ENGINE = "innodb"
"""The engine of a table without an engine in the dump or in a rule."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The result of loading a dump.

    Args:
        tables: all of them, with the rows that the server counts.
        digest: SHA-256 over names and contents of its files.
        left_out: number of statements left out, by subject.
        events: number of events. A private server runs them only on request.
    """

    database: str
    tables: tuple[TableEntry, ...]
    digest: str
    statements: int
    left_out: Mapping[str, int]
    events: int

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)


def files_bytes(files: Iterable[Path]) -> int:
    """Total size of a dump's files on the disk."""
    return sum(file.stat().st_size for file in files)


def dump_options(
    binary: ServerBinary, files: Sequence[Path], rules: Rules, cache: Path
) -> dict[str, Level]:
    """Options of a server that only loads these files of a dump.

    Raises:
        EngineMissing: the server has no such engine.
        NoRoomForDataset: there is no disk space for it.
    """
    size = files_bytes(files) * (_PACKED_RATIO if files[0].suffix in _PACKED else 1)
    require_room(cache, 2 * size + FIXED_BYTES, f"the tables of {files[0].name}")
    engine = rules.engine or _NEW_ENGINE
    require_engine(binary, engine)
    about = DataSpec(engine=engine, rows=max(1, size // _BYTES_PER_ROW))
    # A different engine may not support what the dump requests for a table's rows.
    lenient: dict[str, Level] = {} if rules.engine is None else {"innodb_strict_mode": 0}
    return {**loading_options(binary.kind, about), **_OPTIONS, **lenient}


def load_dump(
    server: PrivateServer, files: Sequence[Path], rules: Rules, name: str, tell: Tell
) -> Contents:
    """Load a dump into a confined server that was started with `dump_options`.

    Args:
        files: of the dump, itself first: see `dump_files`.

    Raises:
        DumpRefused: it is damaged, cut off, or would reach beyond its database.
        DumpFailed: the server refuses a statement of it.
        LoadingFailed: the server ended.
        NoRoomForDataset: the disk is full.
    """
    path, total = files[0], files_bytes(files)
    label = f"importing {path.name} ({format_size(path.stat().st_size)})"

    def on_bytes(count: int) -> None:
        # The last part is reported at the end: the server still has to count the rows.
        tell.progress(label, min(count, total * 98 // 100), total, "bytes")

    try:
        loaded = load_into(server, path, rules, name, on_bytes)
    except DumpFailed as error:
        raise _explained(server, error) from error
    with server.connect(read_timeout=LONG_S, write_timeout=LONG_S) as connection:
        tables = tuple(counted_tables(connection, loaded.database))
        events = _events(connection, loaded.database)
    tell.progress(label, total, total, "bytes")
    if not tables:
        raise DumpRefused(f"{path} makes no table in {loaded.database}")
    digest = hashlib.sha256(repr(loaded.files).encode()).hexdigest()
    left_out = dict(loaded.left_out)
    return Contents(loaded.database, tables, digest, loaded.statements, left_out, events)


def counted_tables(connection: Connection[Any], database: str) -> Iterable[TableEntry]:
    """Every table with its counted rows and newly made statistics, so that the optimizer's
    decisions do not depend on the age of its statistics."""
    tables = fetch(
        connection,
        "SELECT TABLE_NAME, ENGINE, TABLE_TYPE FROM information_schema.TABLES"
        " WHERE TABLE_SCHEMA = %s AND TABLE_TYPE IN ('BASE TABLE', %s) ORDER BY TABLE_NAME",
        (database, VERSIONED),
    )
    for name, engine, kind in tables:
        table = qualified(database, str(name))
        fetch(connection, f"ANALYZE TABLE {table}")
        ((rows,),) = fetch(connection, f"SELECT COUNT(*) FROM {table}")
        every = rows
        if kind == VERSIONED:
            ((every,),) = fetch(connection, f"SELECT COUNT(*) FROM {table} FOR SYSTEM_TIME ALL")
        yield TableEntry(str(name), str(engine), int(rows), int(every) - int(rows))


def _events(connection: Connection[Any], database: str) -> int:
    ((count,),) = fetch(
        connection,
        "SELECT COUNT(*) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = %s",
        (database,),
    )
    return int(count)


def _explained(
    server: PrivateServer, error: DumpFailed
) -> DumpFailed | LoadingFailed | NoRoomForDataset:
    cause = error.__cause__
    code = cause.args[0] if cause is not None and cause.args else 0
    if code in DISK_FULL_CODES:
        return NoRoomForDataset(error.message, hint=ROOM_HINT)
    if server.running:
        return error
    return LoadingFailed(
        f"the server ended while it loaded the dump: {error.message}",
        detail="\n".join(server.log().splitlines()[-12:]) or None,
    )
