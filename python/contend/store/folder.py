"""A run folder: created once, appended to run by run, readable at any time; found by its name, and
rescued if it is damaged.

A damaged file is read row by row; a row whose pages are gone is left out. A spec that cannot be
read comes from `spec.json` in the same folder.
"""

from __future__ import annotations

import difflib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Self

from contend import __version__
from contend.experiment import SPEC_FORMAT, Cell, Level, Planned
from contend.experiment.stored import require, require_moment
from contend.files import Locked, is_locked, lock, read_file, require_own_files
from contend.metrics.plan import Plan
from contend.store import schema
from contend.store.database import (
    RESULTS_NAME,
    connect,
    read_meta,
    read_sessions,
    read_spec,
    read_table,
    unreadable,
)
from contend.store.model import (
    DamagedStore,
    Ended,
    FolderExists,
    FolderLocked,
    LabSession,
    LookRecord,
    Meta,
    NotARunFolder,
    OtherFormat,
    RunRecord,
    RunStatus,
    StoreFailed,
)
from contend.store.schema import LOOKS, PLANNED, RUNS
from contend.store.shapes import require_facts

LOCK_NAME = "lab.lock"
"""Held by the one lab that appends to a folder; has its pid, and is removed when the lab ends."""


class RunFolder:
    """One run folder. Use `create` or `open`, not the constructor."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: int | None) -> None:
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
        """Create the folder with everything that is known before the first run.

        `experiment` is the frozen spec; its `source` becomes `experiment.toml`. The database gets
        its name only when it is complete, so a folder either is a run folder or is not.
        """
        if path.is_symlink() or (path.exists() and (not path.is_dir() or any(path.iterdir()))):
            raise FolderExists(
                f"{path} already exists",
                hint="Continue it with --resume, or choose a different folder with --out.",
            )
        held: int | None = None
        try:
            path.mkdir(parents=True, exist_ok=True)
            held = _lock_folder(path)
            (path / "logs").mkdir(exist_ok=True)
            source = str(experiment.get("source", ""))
            (path / "experiment.toml").write_text(source, "utf-8", "backslashreplace")
            spec = json.dumps(schema.storable(experiment), ensure_ascii=False, indent=2)
            (path / "spec.json").write_text(spec + "\n", "utf-8", "backslashreplace")
            _write_new_database(path, experiment, planned, facts)
            return cls(path, connect(path, write=True), held)
        except (OSError, sqlite3.Error) as error:
            _release(path, held)
            raise StoreFailed(
                f"cannot create the run folder {path}: {error}",
                hint="Check its space and permissions, or choose a different folder with --out.",
            ) from error

    @classmethod
    def open(cls, path: Path, *, write: bool = False) -> Self:
        """Open a run folder to read it or, with the lock held until `close`, to append to it."""
        if not (path / RESULTS_NAME).is_file():
            raise NotARunFolder(
                f"{path} is not a run folder: it has no {RESULTS_NAME}"
                if path.is_dir()
                else f"there is no run folder {path}",
                hint="Create one with `contend run EXPERIMENT`, which prints its path.",
            )
        if write:
            _require_own_files(path)
        held = _lock_folder(path) if write else None
        try:
            return cls(path, connect(path, write=write), held)
        except BaseException:
            _release(path, held)
            raise

    def append(self, *records: RunRecord) -> None:
        """Store runs that ended, all of them or none. They are on the disk when this returns."""
        self._write(
            RUNS.insert,
            *map(RUNS.row, records),
            content=" and ".join(f"run {record.run}" for record in records),
        )

    def add_looks(self, *records: LookRecord) -> None:
        """Store diagnostic passes. They are on the disk when this returns."""
        self._write(schema.LOOKS_TABLE, (), content="the table of diagnostic passes")
        self._write(LOOKS.insert, *map(LOOKS.row, records), content="a diagnostic pass")

    def looks(self) -> list[LookRecord]:
        """Every diagnostic pass, in the order in which they were taken."""
        with self._reading():
            query = self._connection.execute
            if query("SELECT 1 FROM sqlite_master WHERE name = 'looks'").fetchone() is None:
                return []
            return [LOOKS.record(row) for row in query(f"{LOOKS.select()} ORDER BY sequence")]

    def add_planned(self, planned: Sequence[Planned]) -> None:
        """Add runs to the plan; the next reader of the plan finds them there."""
        self._write(PLANNED.insert, *map(PLANNED.row, planned), content="additional planned runs")

    def drop_planned(self, planned: Sequence[Planned]) -> None:
        """Remove runs from the plan."""
        self._write(
            "DELETE FROM planned WHERE run = ?",
            *((run.run,) for run in planned),
            content="the removal of planned runs",
        )

    def finish(self, why: str) -> None:
        """Record that nothing more will be measured, and the reason."""
        self._write(
            "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)",
            ("finished", why),
            content="the end of the experiment",
        )

    def add_session(self, facts: Mapping[str, Any]) -> None:
        """Record that the lab resumed this folder, and the facts of its host."""
        self._write(
            "INSERT INTO sessions (started_at, facts) VALUES (?, ?)",
            (_now(), schema.dump_report(facts)),
            content="the start of this session",
        )

    def records(self, *, intervals: bool = True) -> list[RunRecord]:
        """Every run that ended, in the order of their ends; optionally without intervals.

        Runs with the same plan, cell or warnings share these objects, so do not modify a record.
        """
        query = RUNS.select() if intervals else RUNS.select("intervals")
        with self._reading():
            read = cache(schema.read_json)
            rows = self._connection.execute(f"{query} ORDER BY sequence")
            return [RUNS.record(row, read) for row in rows]

    def asked(self) -> list[tuple[int, Cell, Plan]]:
        """For each cell, the first measured run and its plan. Reads no outcome."""
        with self._reading():
            rows = self._connection.execute(
                "SELECT MIN(run), cell, plan FROM runs WHERE status = 'ok' GROUP BY cell"
            )
            return [
                (
                    require(run, int, "run"),
                    require(schema.read_json(cell), dict[str, Level], f"run {run}", "cell"),
                    require(schema.read_json(plan), Plan, f"run {run}", "plan"),
                )
                for run, cell, plan in rows
            ]

    def ended(self) -> list[Ended]:
        """The runs that ended, in the order of their ends. Reads no document, so it is cheap."""
        with self._reading():
            rows = self._connection.execute(
                "SELECT run, block, status, started_at, ended_at FROM runs ORDER BY sequence"
            )
            return [
                Ended(
                    require(run, int, "run"),
                    require(block, int, f"run {run}", "block"),
                    require(status, RunStatus, f"run {run}", "status"),
                    require_moment(started_at).timestamp(),
                    require_moment(ended_at).timestamp(),
                )
                for run, block, status, started_at, ended_at in rows
            ]

    def meta(self) -> Meta:
        """Spec, planned runs, sessions and versions."""
        query = self._connection.execute
        with self._reading():
            values = dict(query("SELECT key, value FROM meta"))
            planned = query(f"{PLANNED.select()} ORDER BY run")
            sessions = query("SELECT started_at, facts FROM sessions ORDER BY session")
            writer = require(values.get("contend_version"), str, "contend_version")
            document = schema.read_json(values.get("experiment"))
            experiment = require(document, dict[str, Any], "experiment")
            if (number := experiment.get("format")) != SPEC_FORMAT and isinstance(number, int):
                raise OtherFormat(self.path / "spec.json", number, SPEC_FORMAT, writer)
            return Meta(
                store_version=schema.STORE_VERSION,
                contend_version=writer,
                created_at=_moment(values.get("created_at"), "created_at"),
                experiment=experiment,
                planned=tuple(map(PLANNED.record, planned)),
                sessions=tuple(
                    LabSession(
                        _moment(at, f"session {number}", "started_at"),
                        require_facts(schema.read_json(facts), number),
                    )
                    for number, (at, facts) in enumerate(sessions, 1)
                ),
                finished=require(values.get("finished"), str | None, "finished"),
            )

    def writer_pid(self) -> int | None:
        """The lab that is appending to this folder now, if one is."""
        path = self.path / LOCK_NAME
        return _read_pid(path) if is_locked(path) else None

    def close(self) -> None:
        self._connection.close()
        _release(self.path, self._lock)
        self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
            raise unreadable(self.path, error) from error

    def _write(self, statement: str, *rows: tuple[Any, ...], content: str) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(statement, rows)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.IntegrityError):
                raise StoreFailed(f"{self.path} already has {content} ({error})") from error
            raise StoreFailed(
                f"cannot store {content} in {self.path / RESULTS_NAME}: {error}",
                hint="Everything stored before is safe. Free some space there, then continue with "
                f"--resume {self.path}.",
            ) from error


def _require_own_files(path: Path) -> None:
    """Refuse to write into a folder in which a name may point elsewhere."""
    try:
        require_own_files(path)
    except OSError as error:
        raise StoreFailed(
            f"refusing to write to {path}: {error.filename} is {error.strerror}",
            hint="Remove it; a run folder contains only files and folders.",
        ) from error


def _lock_folder(path: Path) -> int:
    """The lock of a folder; raises FolderLocked."""
    try:
        held = lock(path / LOCK_NAME, mode=0o644)
    except Locked:
        owner = _read_pid(path / LOCK_NAME)
        raise FolderLocked(
            f"{path} is in use by another contend process" + (f" (pid {owner})" if owner else ""),
            hint="Wait until it ends, stop it, or choose a different folder with --out.",
        ) from None
    os.ftruncate(held, 0)
    os.pwrite(held, f"{os.getpid()}\n".encode(), 0)
    return held


def _release(path: Path, held: int | None) -> None:
    if held is not None:
        (path / LOCK_NAME).unlink(missing_ok=True)
        os.close(held)


def _read_pid(path: Path) -> int | None:
    try:
        text = read_file(path).decode("ascii").strip()
    except (OSError, ValueError):
        return None
    return int(text) if text.isdigit() else None


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
        connection.executemany(PLANNED.insert, map(PLANNED.row, planned))
        connection.execute(
            "INSERT INTO sessions (started_at, facts) VALUES (?, ?)",
            (_now(), schema.dump_report(facts)),
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


def _moment(at: Any, *path: str) -> str:
    require_moment(at, *path)
    return str(at)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


RUNS_ROOT = Path("contend-runs")


def find_run(name: str, root: Path = RUNS_ROOT) -> Path:
    """The run folder that `name` means.

    Raises:
        NotARunFolder: neither a path nor a name is one; the message has the nearest name.
    """
    path = Path(name)
    if path.name == RESULTS_NAME and path.is_file():
        path = path.parent
    for candidate in (path, root / name):
        if (candidate / RESULTS_NAME).is_file():
            return candidate
    known = [one.name for one in runs_in(root)]
    nearest = difflib.get_close_matches(name, known, n=1)
    if path.is_dir():
        message = f"{path} is not a run folder: it has no {RESULTS_NAME}"
    else:
        message = f"there is no run folder {name}, here or under {root}"
    if nearest:
        hint = f"Did you mean {nearest[0]}?"
    elif known:
        hint = f"The runs under {root}: {', '.join(known[-5:])}."
    else:
        hint = "Create one with `contend run EXPERIMENT`, which prints its path."
    raise NotARunFolder(message, hint=hint)


def runs_in(folder: Path) -> list[Path]:
    """The run folders in a folder, by name."""
    if not folder.is_dir():
        return []
    return sorted(child for child in folder.iterdir() if (child / RESULTS_NAME).is_file())


@dataclass(frozen=True, slots=True)
class Rescued:
    """The new folder, the number of its runs, and that of the planned ones."""

    folder: Path
    runs: int
    planned: int


WITHIN = "why"
"""A run folder inside a run folder: the tried causes of its result."""

WITHIN_PROFILE = "profile"
"""The same for the functions in which its server was."""


def rescue(damaged: Path, into: Path) -> Rescued:
    """Write every run that can be read into a new run folder, which can be shown and resumed. The
    same for the run folders inside it."""
    # A different format, or a file of a different program, is refused here as everywhere.
    with suppress(DamagedStore):
        connect(damaged, write=False).close()
    records = read_table(damaged, RUNS)
    planned = read_table(damaged, PLANNED) or [
        Planned(record.run, record.block, record.repeat, record.cell) for record in records
    ]
    experiment = read_meta(damaged, "experiment") or read_spec(damaged)
    if experiment is None:
        raise DamagedStore(
            f"{damaged / RESULTS_NAME} is damaged beyond use, and {damaged / 'spec.json'} "
            "cannot be read either",
            hint="Restore the folder from a copy, or run the experiment again.",
        )
    sessions = read_sessions(damaged)
    first, *later = sessions or [{}]
    with RunFolder.create(into, experiment, planned, first) as folder:
        for facts in later:
            folder.add_session(facts)
        for record in records:
            folder.append(record)
        if looks := read_table(damaged, LOOKS):
            folder.add_looks(*looks)
    for inner in (WITHIN, WITHIN_PROFILE):
        if (damaged / inner / RESULTS_NAME).is_file():
            rescue(damaged / inner, into / inner)
    return Rescued(into, len(records), len(planned))
