"""What a list says of a run folder, without reading what was measured.

Opening a folder checks the whole of its file, which a list of a thousand cannot wait for. Here one
connection asks for a few values. What cannot be read is listed with the reason.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from contend.locks import is_locked
from contend.store import schema
from contend.store.database import READ_FAULTS, RESULTS_NAME, raw_connection
from contend.store.folder import LOCK_NAME


@dataclass(frozen=True, slots=True)
class Glance:
    """A run folder in a list.

    state: complete, under way, unfinished, or unreadable; `why` says what is wrong with the last.
    began: when it was made, ISO 8601 in UTC.
    planned, measured: runs.
    """

    name: str
    path: Path
    state: str
    experiment: str = ""
    question: str = ""
    began: str = ""
    planned: int = 0
    measured: int = 0
    why: str = ""


def glance(path: Path) -> Glance:
    """Look at one run folder; never raises for what is in it."""
    try:
        connection = raw_connection(path, write=False)
    except READ_FAULTS as error:
        return Glance(path.name, path, "unreadable", why=str(error))
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > schema.STORE_VERSION:
            why = f"a newer contend wrote it (format {version})"
            return Glance(path.name, path, "unreadable", why=why)
        values = dict(connection.execute("SELECT key, value FROM meta"))
        (planned,) = connection.execute("SELECT COUNT(*) FROM planned").fetchone()
        counts = connection.execute("SELECT COUNT(*), COUNT(DISTINCT run) FROM runs")
        _, ended = counts.fetchone()
        measured_of = connection.execute("SELECT COUNT(*) FROM runs WHERE status = 'ok'")
        (measured,) = measured_of.fetchone()
        experiment = json.loads(values["experiment"])
        is_over = "finished" in values or ended >= planned
        return Glance(
            name=path.name,
            path=path,
            state=_state(path, is_over=is_over),
            experiment=str(experiment.get("name", "")),
            question=str(experiment.get("question", "")),
            began=values["created_at"],
            planned=planned,
            measured=measured,
        )
    except (*READ_FAULTS, ValueError, KeyError, TypeError, AttributeError) as error:
        return Glance(path.name, path, "unreadable", why=str(error) or type(error).__name__)
    finally:
        connection.close()


def _state(path: Path, *, is_over: bool) -> str:
    if is_locked(path / LOCK_NAME):
        return "under way"
    return "complete" if is_over else "unfinished"


def glances(folder: Path) -> list[Glance]:
    """All run folders that lie in a folder, the newest first; what cannot be read at the end.

    Raises:
        OSError: the folder cannot be listed.
    """
    found = [glance(child) for child in folder.iterdir() if (child / RESULTS_NAME).is_file()]
    by_name = sorted(found, key=lambda one: one.name)
    return sorted(by_name, key=lambda one: one.began, reverse=True)
