"""The entry of a run folder in a list, made without reading the measurements.

Opening a folder checks the whole of its file, which takes too long for a list of a thousand. Here
one connection reads a few values; a file that has not changed since is not read again.
An unreadable folder is listed with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from contend.files import is_locked
from contend.store import schema
from contend.store.database import READ_FAULTS, RESULTS_NAME, raw_connection
from contend.store.folder import LOCK_NAME


@dataclass(frozen=True, slots=True)
class Glance:
    """A run folder in a list.

    state: complete, under way, unfinished, or unreadable; `why` gives the problem of the last.
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


_QUERY = """SELECT
  (SELECT json_extract(value, '$.name') FROM meta WHERE key = 'experiment'),
  (SELECT json_extract(value, '$.question') FROM meta WHERE key = 'experiment'),
  (SELECT value FROM meta WHERE key = 'created_at'),
  (SELECT COUNT(*) FROM meta WHERE key = 'finished'),
  (SELECT COUNT(*) FROM planned),
  (SELECT COUNT(DISTINCT run) FROM runs),
  (SELECT COUNT(*) FROM runs WHERE status = 'ok')"""


def glance(path: Path) -> Glance:
    """Look at one run folder; its content never raises an error."""
    return _with_lock(_read(path))


def _read(path: Path) -> Glance:
    try:
        connection = raw_connection(path, write=False)
    except READ_FAULTS as error:
        return _unreadable(path, str(error))
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != schema.STORE_VERSION:
            return _unreadable(path, f"this contend cannot read its format {version}")
        name, question, began, finished, planned, ended, measured = connection.execute(
            _QUERY
        ).fetchone()
    except READ_FAULTS as error:
        return _unreadable(path, str(error) or type(error).__name__)
    finally:
        connection.close()
    if name is None or began is None:
        return _unreadable(path, "its experiment or its start time is missing")
    state = "complete" if finished or ended >= planned else "unfinished"
    return Glance(
        path.name, path, state, str(name), str(question or ""), str(began), planned, measured
    )


def _unreadable(path: Path, why: str) -> Glance:
    return Glance(path.name, path, "unreadable", why=why)


def _with_lock(one: Glance) -> Glance:
    """Whether a lab writes to it, which its file does not show."""
    if one.why or not is_locked(one.path / LOCK_NAME):
        return one
    return replace(one, state="under way")


Kept = dict[str, tuple[tuple[int, int, int], Glance]]
"""By folder name, the entry read from its file, and the file's inode, size, and time of its last
change in ns. Each commit changes one of them."""


def glances(folder: Path, kept: Kept | None = None) -> list[Glance]:
    """All run folders in a folder, the newest first; unreadable ones at the end.

    Args:
        kept: the result of an earlier call, which is updated.

    Raises:
        OSError: the folder cannot be listed.
    """
    kept = {} if kept is None else kept
    found: Kept = {}
    for path in sorted(folder.iterdir()):
        try:
            status = (path / RESULTS_NAME).stat()
        except OSError:
            continue
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
        before = kept.get(path.name)
        found[path.name] = before if before and before[0] == stamp else (stamp, _read(path))
    kept.clear()
    kept.update(found)
    listed = (_with_lock(one) for _, one in found.values())
    return sorted(listed, key=lambda one: one.began, reverse=True)
