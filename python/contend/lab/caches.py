"""The caches of a server and of its host: filled, emptied, and what a record says of them."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from contend.errors import WorkError
from contend.host import page_cache
from contend.load import LoadDriver
from contend.probed import Warmed
from contend.probes import Expected
from contend.servers import Dsn
from contend.settings.model import EVERY_CACHE
from contend.undo import Journal
from contend.units import format_size
from contend.warm.by_list import ByList
from contend.warm.files import files_held
from contend.warm.model import ENGINES, FILES, Survey, WarmPlan, disturbs
from contend.warm.plan import make_plan
from contend.warm.server_list import ServerHost
from contend.warm.survey import survey
from contend.warm.warm_up import How, Listener, warm_up

if TYPE_CHECKING:
    from pymysql.connections import Connection

DROPS_MAX = 5
"""Times that the page cache is asked to let go of a file; a page that is being written stays."""


class NotCold(WorkError):
    """Files could not be brought out of the page cache."""


class Warmable(Protocol):
    """A server whose caches can be filled, as `contend.warm.warm_up` names it, and more.

    load: contend-load, which scans tables.
    """

    @property
    def dsn(self) -> Dsn: ...
    def connect(self, database: str | None = None, **more: Any) -> Connection[Any]: ...
    def connection(self) -> Connection[Any]:
        """One that is kept."""
        ...

    @property
    def load(self) -> LoadDriver: ...
    def journal(self) -> AbstractContextManager[Journal]:
        """What has to be put back there."""
        ...

    def host(self) -> ServerHost | None:
        """The server's files; None if they are not to be seen from here."""
        ...


@dataclass(frozen=True, slots=True)
class CacheContents:
    """What is in the caches.

    Args:
        engines: of the tables, in small letters.
        why_not: why not all that the queries touch is in the caches of the server; None if it is.
        files: the tables' files are in the page cache; None if that is not known, or no matter.
    """

    engines: frozenset[str]
    why_not: str | None
    files: bool | None


class Caches:
    """What is known to be in the caches of a server since it was started."""

    def __init__(self) -> None:
        self._how: str | None = None
        self._filled: CacheContents | None = None

    def disturbed(self, options: frozenset[str]) -> None:
        """These options were changed in place; `EVERY_CACHE` stands for all."""
        engines = self._filled.engines if self._filled is not None else ()
        if EVERY_CACHE in options or any(disturbs(engine, options) for engine in engines):
            self._how = None

    def fill(self, how: str, server: Warmable, database: str, tables: Collection[str]) -> None:
        """Fill them unless they are: `index`, with the tables as `contend warm` does it; `full`,
        with all of the database."""
        if self._how == how:
            return
        if tables or how == "full":
            self._filled = self._fill(server, database, tables, whole=how == "full")
        self._how = how

    def _fill(
        self, server: Warmable, database: str, tables: Collection[str], *, whole: bool
    ) -> CacheContents | None:
        connection = server.connection()
        # Files that the memory could not hold are not read again and again.
        lost = self._filled is not None and self._filled.files is False and not whole
        host = None if lost else server.host()
        seen = survey(connection, database, memory=sys.maxsize)
        ours = tuple(table for table in seen.tables if table.name in tables)
        plan = make_plan(replace(seen, tables=ours))
        plans = [make_plan(_with_room_for_all(seen))] if whole else []
        plans.append(plan if host is not None or whole else _without_files(plan))
        refused: dict[str, str] = {}
        with server.journal() as journal:
            for one in plans:
                refused = load(server, journal, one, seen.kind, host=host)
        if not ours:
            return None
        too_large = [
            f"{skipped.name}: {skipped.why}"
            for skipped in plan.left_out
            if skipped.size is not None
        ]
        of_host = {str(item) for item in plan.items if item.cache == FILES}
        wrong = [f"{name}: {why}" for name, why in refused.items() if name not in of_host]
        return CacheContents(
            frozenset(table.engine.lower() for table in ours),
            next(iter([*too_large, *wrong]), None),
            False if lost else _files_cached(connection, host, database, tables, whole=whole),
        )

    def expected(self) -> Expected:
        """What the run to come may count on. Of tables of several engines one counter of misses
        says too little."""
        filled = self._filled if self._how is not None else None
        if filled is None:
            return Expected(None, files_cached=False)
        counters = {ENGINES[engine].misses for engine in filled.engines}
        warm = filled.why_not is None and len(counters) == 1
        return Expected(counters.pop() if warm else None, files_cached=bool(filled.files))

    def record(self) -> Warmed | None:
        if self._how is None or self._filled is None:
            return None
        filled = self._filled
        return {
            "cache": filled.why_not is None,
            "why_not": filled.why_not,
            "files": filled.files,
        }


def load(
    server: Warmable,
    journal: Journal,
    plan: WarmPlan,
    kind: str,
    *,
    host: ServerHost | None = None,
    by_list: ByList | None = None,
) -> dict[str, str]:
    """Load a plan as `contend warm` does; what the server refused of it, with the reason."""
    quiet = Listener(lambda _text: None, lambda _progress: None)
    done = warm_up(
        server, plan, kind, journal, server.load, How(), quiet, by_list=by_list, host=host
    )
    return done.refused


def _with_room_for_all(seen: Survey) -> Survey:
    return replace(seen, caches=tuple(replace(cache, size=sys.maxsize) for cache in seen.caches))


def _without_files(plan: WarmPlan) -> WarmPlan:
    """What is cached by the server's host alone is left to the queries."""
    return replace(plan, items=tuple(item for item in plan.items if item.cache != FILES))


def _files_cached(
    connection: Connection[Any],
    host: ServerHost | None,
    database: str,
    tables: Collection[str],
    *,
    whole: bool,
) -> bool | None:
    """Whether the files of these tables are in the page cache, or with `whole` those of the whole
    database, which are then read."""
    if host is None:
        return None
    if whole:
        paths = list(files_of(host.data_folder / database))
        return all(page_cache.fill(path) >= path.stat().st_size for path in paths)
    names = {f"{database}.{table}" for table in tables}
    parts = [file for file in files_held(connection, host, database) if file.table in names]
    return all(part.resident >= part.size for part in parts) if parts else None


def drop_files(folder: Path) -> None:
    """Bring every file of a server that does not run out of the page cache, and see that it is.

    Raises:
        NotCold: some of it stays.
    """
    left = sum(_dropped(path) for path in files_of(folder))
    if left:
        raise NotCold(
            f"{format_size(left)} of {folder} stay in the page cache, so the server would not "
            "start cold",
            hint="A file system in memory (tmpfs) cannot be cold: put the cache of contend on a "
            "disk with XDG_CACHE_HOME.",
        )


def _dropped(path: Path) -> int:
    """Bytes of the file that are in the page cache after it was asked to let go of them."""
    left = 0
    for _ in range(DROPS_MAX):
        left = page_cache.drop(path)
        if left == 0:
            break
    return left


def files_of(folder: Path) -> Iterator[Path]:
    """Every file below a folder."""
    return (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
