"""The caches of a server and of its host: filling, emptying, and their state for a record; the
content of a private server's caches after a cold start and one of several ways to warm it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pymysql.connections import Connection

from contend.errors import WorkError
from contend.experiment.settings.before_run import COLD
from contend.experiment.settings.model import EVERY_CACHE
from contend.host import page_cache
from contend.lab.probes import Expected
from contend.load import LoadDriver
from contend.metrics.probed import Warmed, Warming
from contend.servers.undo import Journal, put_back
from contend.units import format_size
from contend.warm import server_list
from contend.warm.coverage import OTHERS, ByList, held, list_of_plan
from contend.warm.myisam import files_held, reloading
from contend.warm.plan import FILES, MISSES, WarmPlan, disturbs, make_plan
from contend.warm.scan import count_keyed_columns
from contend.warm.server_list import ServerHost
from contend.warm.survey import survey
from contend.warm.throttle import Limits
from contend.warm.warm_up import Listener, ServerToWarm, warm_up

if TYPE_CHECKING:
    from contend.lab.private import PrivateTestbed

DROPS_MAX = 5
"""Number of attempts to drop a file from the page cache; a page being written stays."""


class Warmable(ServerToWarm, Protocol):
    """A server whose caches can be filled. load: contend-load, which scans tables."""

    def connection(self) -> Connection[Any]:
        """A connection that is kept."""
        ...

    @property
    def load(self) -> LoadDriver: ...
    def journal(self) -> AbstractContextManager[Journal]:
        """The journal for changes there."""
        ...

    def host(self) -> ServerHost | None:
        """The server's files; None if they are not visible from here."""
        ...


@dataclass(frozen=True, slots=True)
class CacheContents:
    """The content of the caches.

    Args:
        engines: of the tables, in lower case.
        why_not: why some data for the queries are not in the server's caches; None if all are.
        files: the tables' files are in the page cache; None if unknown or irrelevant.
    """

    engines: frozenset[str]
    why_not: str | None
    files: bool | None


class Caches:
    """The known content of a server's caches since its start."""

    def __init__(self) -> None:
        self._how: str | None = None
        self._filled: CacheContents | None = None

    def disturbed(self, options: frozenset[str]) -> None:
        """Record that these options were changed in place; `EVERY_CACHE` stands for all."""
        engines = self._filled.engines if self._filled is not None else ()
        if EVERY_CACHE in options or any(disturbs(engine, options) for engine in engines):
            self._how = None

    def fill(self, how: str, server: Warmable, database: str, tables: Collection[str]) -> None:
        """Fill them unless they are full: `index`, with the tables as `contend warm` does it;
        `full`, with all of the database."""
        if self._how == how:
            return
        if tables or how == "full":
            self._filled = self._fill(server, database, tables, whole=how == "full")
        self._how = how

    def load_indexes(self, tables: Sequence[str], execute: Callable[[str], object]) -> None:
        """Fill a key cache by its own statement alone: for a server that reports nothing about its
        tables, and has no files."""
        if self._how is not None:
            return
        for statement in reloading("myisam", tables) or ():
            execute(statement)
        self._filled = CacheContents(frozenset({"myisam"}), None, None)
        self._how = "index"

    def _fill(
        self, server: Warmable, database: str, tables: Collection[str], *, whole: bool
    ) -> CacheContents | None:
        connection = server.connection()
        # Files that did not fit in memory are not read again.
        lost = self._filled is not None and self._filled.files is False and not whole
        host = None if lost else server.host()
        seen = survey(connection, database, memory=sys.maxsize)
        ours = tuple(table for table in seen.tables if table.name in tables)
        plan = make_plan(replace(seen, tables=ours))
        plans = []
        if whole:
            room = tuple(replace(cache, size=sys.maxsize) for cache in seen.caches)
            plans.append(make_plan(replace(seen, caches=room)))
        elif host is None:
            # Queries fill the caches of the server's host.
            plan = replace(plan, items=tuple(item for item in plan.items if item.cache != FILES))
        plans.append(plan)
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
        """The cache state that the next run may rely on. For tables of several engines, one counter
        of misses is insufficient."""
        filled = self._filled if self._how is not None else None
        if filled is None:
            return Expected(None, files_cached=False)
        counters = {MISSES[engine] for engine in filled.engines}
        warm = filled.why_not is None and len(counters) == 1
        return Expected(counters.pop() if warm else None, files_cached=bool(filled.files))

    def record(self) -> Warmed | None:
        if self._how is None or self._filled is None:
            return None
        filled = self._filled
        return {"cache": filled.why_not is None, "why_not": filled.why_not, "files": filled.files}


def load(
    server: Warmable,
    journal: Journal,
    plan: WarmPlan,
    kind: str,
    *,
    host: ServerHost | None = None,
    by_list: ByList | None = None,
) -> dict[str, str]:
    """Load a plan as `contend warm` does; returns the parts that were refused, with the reason."""
    done = warm_up(
        server, plan, kind, journal, server.load, Limits(), Listener(), by_list=by_list, host=host
    )
    return done.refused


def _files_cached(
    connection: Connection[Any],
    host: ServerHost | None,
    database: str,
    tables: Collection[str],
    *,
    whole: bool,
) -> bool | None:
    """Whether the page cache holds the files of these tables. With `whole`, the files of the whole
    database are checked, after reading them."""
    if host is None:
        return None
    if whole:
        paths = list(files_of(host.data_folder / database))
        return all(page_cache.fill(path) >= path.stat().st_size for path in paths)
    names = {f"{database}.{table}" for table in tables}
    parts = [file for file in files_held(connection, host, database) if file.table in names]
    return all(part.resident >= part.size for part in parts) if parts else None


def drop_files(folder: Path) -> None:
    """Drop every file of a stopped server from the page cache, and check that it is gone.

    Raises:
        WorkError: some of it stays.
    """
    left = sum(_dropped(path) for path in files_of(folder))
    if left:
        raise WorkError(
            f"the server cannot start cold: {format_size(left)} of {folder} stay in the page cache",
            hint="If this is a filesystem in memory (tmpfs), put contend's cache on a disk with "
            "XDG_CACHE_HOME.",
        )


def _dropped(path: Path) -> int:
    """Bytes of the file that stay in the page cache after the request to drop them."""
    left = 0
    for _ in range(DROPS_MAX):
        left = page_cache.drop(path)
        if left == 0:
            break
    return left


def files_of(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


_OTHER_SEED = 1
"""Added to the seed of a run for the same kind of traffic on different rows."""


class ColdStart:
    """Warms a server after a cold start, in one of several ways.

    Args:
        server: it has just been started cold.
    """

    def __init__(self, server: PrivateTestbed, seed: int) -> None:
        self._server, self._seed = server, seed
        self._seconds = 0.0

    def warm(self, how: str) -> Warming:
        """Warm it; the record has the time it took and the content of the pool afterwards.

        Raises:
            ContendError: this server cannot be warmed this way.
        """
        if how == COLD:
            # Reading the pool's content would load some of the table.
            return {"how": how, "seconds": 0.0}
        with self._server.journal() as journal:
            self._journal = journal
            _WAYS[how](self)
            pool = held(
                self._server.connection(),
                survey(self._server.connection(), self._server.database),
                journal,
                self._server.host(),
                database=self._server.database,
            )
            put_back(journal, self._server)
        parts = [part for part in pool.parts if part.table != OTHERS and part.pages]
        whole = sum(part.pages or 0 for part in parts)
        return {
            "how": how,
            "seconds": self._seconds,
            "resident_share": sum(part.resident for part in parts) / whole if whole else None,
            "parts": [
                {
                    "table": part.table,
                    "index": part.index,
                    "resident_pages": part.resident,
                    "pages": part.pages,
                }
                for part in parts
            ],
        }

    def timed(self, action: Callable[[], object]) -> None:
        began = time.monotonic()
        action()
        self._seconds += time.monotonic() - began

    # --- the ways ---

    def rehearsal(self) -> None:
        self.timed(lambda: self._server.rehearse(self._seed))

    def queries(self) -> None:
        connection = self._server.connection()
        self.timed(lambda: count_keyed_columns(connection, self._server.database))

    def queries_and_rehearsal(self) -> None:
        self.queries()
        self.rehearsal()

    def scan(self) -> None:
        self.timed(lambda: load(self._server, self._journal, self._plan(), self._server.kind))

    def list_of_contend(self) -> None:
        connection, kind = self._server.connection(), self._server.kind

        def load_all() -> None:
            plan = self._plan()
            by_list = list_of_plan(connection, plan, kind, self._server.host())
            load(self._server, self._journal, plan, kind, by_list=by_list)

        self.timed(load_all)

    def _plan(self) -> WarmPlan:
        return make_plan(survey(self._server.connection(), self._server.database))

    def list_of(self, percent: int, seed: int = 0) -> None:
        """The server's own list of pages, with this innodb_buffer_pool_dump_pct, after the same
        queries; with `seed`, after different queries of the same kind."""
        self._server.rehearse(self._seed + seed)
        connection, host = self._server.connection(), self._server.host()
        pages = server_list.take(connection, host, self._journal, percent=percent)
        self._server.start_cold()
        # The variables in the journal ended with the process.
        self._journal.forget()
        host, connection = self._server.host(), self._server.connection()
        self.timed(lambda: server_list.load(connection, host, self._journal, pages))


_WAYS: dict[str, Callable[[ColdStart], None]] = {
    "repeated": ColdStart.rehearsal,
    "queries": ColdStart.queries,
    "queries-repeated": ColdStart.queries_and_rehearsal,
    "scan": ColdStart.scan,
    "list": ColdStart.list_of_contend,
    "list-25": lambda start: start.list_of(25),
    "list-100": lambda start: start.list_of(100),
    "primary": lambda start: start.list_of(100, _OTHER_SEED),
}
