"""A run folder: created once, appended to run by run, read by anyone at any time."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from contend import __version__
from contend.spec import Planned
from contend.store import schema
from contend.store.checked import connect, unreadable
from contend.store.connection import RESULTS_NAME
from contend.store.errors import FolderExists, NotARunFolder, StoreFailed
from contend.store.lock import FolderLock, owner_pid
from contend.store.model import Meta, RunRecord, Session
from contend.store.redact import clean


class RunFolder:
    """One run folder. Use `create` or `open`, not the constructor."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: FolderLock | None) -> None:
        self.path = path
        self._connection = connection
        self._lock = lock

    @classmethod
    def create(
        cls,
        path: Path,
        experiment: Mapping[str, Any],
        planned: Iterable[Planned],
        facts: Mapping[str, Any],
    ) -> Self:
        """Make the folder and everything that is known before the first run.

        `experiment` is the frozen spec; its `source` becomes `experiment.toml`. The database gets
        its name only when it is complete, so a folder either is a run folder or is not.
        """
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise FolderExists(
                f"{path} exists already",
                hint="Continue it with --resume, or give another folder with --out.",
            )
        lock: FolderLock | None = None
        try:
            path.mkdir(parents=True, exist_ok=True)
            lock = FolderLock(path)
            (path / "logs").mkdir(exist_ok=True)
            source = str(experiment.get("source", ""))
            (path / "experiment.toml").write_text(source, encoding="utf-8")
            spec = json.dumps(clean(experiment), ensure_ascii=False, indent=2)
            (path / "spec.json").write_text(spec + "\n", encoding="utf-8")
            _write_new_database(path, experiment, planned, facts)
            return cls(path, connect(path, write=True), lock)
        except (OSError, sqlite3.Error) as error:
            if lock is not None:
                lock.release()
            raise StoreFailed(
                f"cannot create the run folder {path}: {error}",
                hint="Check the space and the permissions there, or give another with --out.",
            ) from error

    @classmethod
    def open(cls, path: Path, *, write: bool = False) -> Self:
        """Open a run folder to read it or, with the lock held until `close`, to append to it."""
        if not (path / RESULTS_NAME).is_file():
            raise NotARunFolder(
                f"{path} is not a run folder: it has no {RESULTS_NAME}"
                if path.is_dir()
                else f"there is no run folder {path}",
                hint="`contend run EXPERIMENT` makes one and prints its path.",
            )
        lock = FolderLock(path) if write else None
        try:
            return cls(path, connect(path, write=write), lock)
        except BaseException:
            if lock is not None:
                lock.release()
            raise

    def append(self, record: RunRecord) -> None:
        """Store a run that ended. It is on the disk when this returns."""
        marks = ", ".join("?" * len(schema.RUN_COLUMNS.split(",")))
        self._write(
            f"INSERT INTO runs ({schema.RUN_COLUMNS}) VALUES ({marks})",
            schema.run_row(record),
            what=f"run {record.run}",
        )

    def add_planned(self, planned: Planned) -> None:
        """One more run that is to be made; who looks at the plan next finds it there."""
        self._write(
            "INSERT INTO planned (run, block, repeat, cell) VALUES (?, ?, ?, ?)",
            schema.planned_row(planned),
            what=f"the plan of run {planned.run}",
        )

    def add_session(self, facts: Mapping[str, Any]) -> None:
        """Note that the lab took up this folder again, and on what host."""
        self._write(
            "INSERT INTO sessions (started_at, facts) VALUES (?, ?)",
            (_now(), schema.dump(facts)),
            what="the start of this session",
        )

    def records(self) -> list[RunRecord]:
        """Every run that ended, in the order they ended."""
        query = f"SELECT {schema.RUN_COLUMNS} FROM runs ORDER BY sequence"
        with self._reading():
            return [schema.run_from_row(row) for row in self._connection.execute(query)]

    def meta(self) -> Meta:
        """Spec, planned runs, sessions and versions."""
        ask = self._connection.execute
        with self._reading():
            values = dict(ask("SELECT key, value FROM meta"))
            planned = ask("SELECT run, block, repeat, cell FROM planned ORDER BY run")
            sessions = ask("SELECT started_at, facts FROM sessions ORDER BY session")
            return Meta(
                store_version=schema.STORE_VERSION,
                contend_version=values["contend_version"],
                created_at=values["created_at"],
                experiment=json.loads(values["experiment"]),
                planned=tuple(schema.planned_from_row(row) for row in planned),
                sessions=tuple(Session(at, json.loads(facts)) for at, facts in sessions),
            )

    def writer_pid(self) -> int | None:
        """The lab that is appending to this folder now, if one is."""
        return owner_pid(self.path)

    def close(self) -> None:
        self._connection.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
            raise unreadable(self.path, error) from error

    def _write(self, statement: str, row: tuple[Any, ...], *, what: str) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute(statement, row)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.IntegrityError):
                raise StoreFailed(f"{what} is in {self.path} already ({error})") from error
            raise StoreFailed(
                f"cannot store {what} in {self.path / RESULTS_NAME}: {error}",
                hint="All that was stored before is safe. Free some space there, then continue "
                f"with --resume {self.path}.",
            ) from error


def _write_new_database(
    folder: Path,
    experiment: Mapping[str, Any],
    planned: Iterable[Planned],
    facts: Mapping[str, Any],
) -> None:
    unfinished = folder / f"{RESULTS_NAME}.new"
    connection = sqlite3.connect(unfinished, isolation_level=None)
    try:
        schema.settings(connection)
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {schema.STORE_VERSION}")
        connection.executescript(f"BEGIN IMMEDIATE; {schema.TABLES}")
        connection.executemany(
            "INSERT INTO meta (key, value) VALUES (?, ?)",
            [
                ("created_at", _now()),
                ("contend_version", __version__),
                ("experiment", schema.dump(experiment)),
            ],
        )
        connection.executemany(
            "INSERT INTO planned (run, block, repeat, cell) VALUES (?, ?, ?, ?)",
            [schema.planned_row(one) for one in planned],
        )
        connection.execute(
            "INSERT INTO sessions (started_at, facts) VALUES (?, ?)", (_now(), schema.dump(facts))
        )
        connection.execute("COMMIT")
    finally:
        connection.close()
    unfinished.rename(folder / RESULTS_NAME)
    _sync_directory(folder)


def _sync_directory(folder: Path) -> None:
    """Make a rename in the folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
