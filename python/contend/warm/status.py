"""How warm a server is: its caches, what is in them of which table, whether misses still fall."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pymysql.connections import Connection

from contend.host.page_cache import PageCacheError
from contend.servers.client import fetch
from contend.servers.kinds import KINDS
from contend.undo import Journal
from contend.warm.model import ENGINES, Cache, Survey
from contend.warm.myisam import ENDINGS, FilePart, files_held
from contend.warm.pool import Held, held
from contend.warm.server_list import NoList, ServerHost

_COUNTERS = {
    name: (engine.requests, engine.misses)
    for name, engine in ENGINES.items()
    if engine.requests is not None
}


@dataclass(frozen=True, slots=True)
class Rate:
    """What was asked of a cache over a stretch of time.

    Args:
        requests_per_s: pages asked for.
        misses_per_s: of them those that were read from a file.
    """

    requests_per_s: float
    misses_per_s: float

    @property
    def share(self) -> float | None:
        """Misses of requests; None if nothing was asked."""
        return self.misses_per_s / self.requests_per_s if self.requests_per_s else None


@dataclass(frozen=True, slots=True)
class Misses:
    """Misses of one cache over two stretches of time, one after the other."""

    engine: str
    first: Rate
    second: Rate


@dataclass(frozen=True, slots=True)
class KeyCache:
    """A key cache of MyISAM. Sizes are bytes.

    Args:
        name: `default`, or that of a named one.
        used: in use now; of MySQL the most that was, because it tells no other.
    """

    name: str
    size: int
    used: int


@dataclass(frozen=True, slots=True)
class Status:
    """How warm a server is.

    Args:
        files: of MyISAM and Aria tables, in the page cache.
        files_why_not: why nothing is known of files; None if it is.
        without_files: MyISAM and Aria tables of which no file was found, so nothing is known.
        misses: of each cache that was asked.
    """

    survey: Survey
    caches: tuple[Cache, ...]
    innodb: Held
    key_caches: tuple[KeyCache, ...]
    files: tuple[FilePart, ...]
    files_why_not: str | None
    without_files: tuple[str, ...]
    misses: tuple[Misses, ...]


def read_status(
    connection: Connection[Any],
    survey: Survey,
    journal: Journal,
    host: ServerHost | NoList,
    *,
    exact: Connection[Any] | None = None,
    database: str | None = None,
    apart_s: float = 1.0,
    sleep: Callable[[float], None] = time.sleep,
) -> Status:
    """Ask how warm a server is.

    Args:
        connection, survey, journal, host, exact, database: as of `held`.
        apart_s: of the readings of the counters of misses, of which there are three.
    """
    looks = [_look(connection)]
    for _ in range(2):
        sleep(apart_s)
        looks.append(_look(connection))
    files: list[FilePart] = []
    why_not = host.message if isinstance(host, NoList) else None
    if not isinstance(host, NoList):
        try:
            files = files_held(connection, host, database)
        except PageCacheError as error:
            why_not = error.message
    # Last, because on some servers it is work for them, which the counters would show.
    innodb = held(connection, survey, journal, host, exact=exact, database=database)
    return Status(
        survey,
        survey.caches,
        innodb,
        _key_caches(connection, survey),
        tuple(files),
        why_not,
        () if why_not is not None else _without_files(survey, files),
        _misses(looks),
    )


def _without_files(survey: Survey, files: Sequence[FilePart]) -> tuple[str, ...]:
    engines = {engine.lower() for engine, _part in ENDINGS.values()}
    seen = {file.table for file in files}
    return tuple(
        str(table)
        for table in survey.tables
        if table.engine.lower() in engines and str(table) not in seen
    )


_Look = tuple[float, dict[str, int]]


def _look(connection: Connection[Any]) -> _Look:
    names = [name for pair in _COUNTERS.values() for name in pair]
    places = ", ".join(["%s"] * len(names))
    rows = fetch(connection, f"SHOW GLOBAL STATUS WHERE Variable_name IN ({places})", names)
    return time.monotonic(), {str(name): int(value) for name, value in rows}


def _misses(looks: list[_Look]) -> tuple[Misses, ...]:
    found = []
    for engine, (requests, reads) in _COUNTERS.items():
        if requests not in looks[0][1]:
            continue
        rates = []
        for (began, before), (ended, after) in itertools.pairwise(looks):
            took = max(ended - began, 1e-9)
            asked, missed = (after[name] - before[name] for name in (requests, reads))
            rates.append(Rate(asked / took, missed / took))
        found.append(Misses(engine, *rates))
    return tuple(found)


def _key_caches(connection: Connection[Any], survey: Survey) -> tuple[KeyCache, ...]:
    if not KINDS[survey.kind].has_key_caches:
        cache = survey.cache("myisam")
        return () if cache is None else (KeyCache("default", cache.size, cache.used or 0),)
    # The row of the whole cache, not those of its segments.
    rows = fetch(
        connection,
        "SELECT KEY_CACHE_NAME, FULL_SIZE, USED_BLOCKS * BLOCK_SIZE"
        " FROM information_schema.KEY_CACHES WHERE SEGMENT_NUMBER IS NULL",
    )
    return tuple(KeyCache(str(name), int(size), int(used)) for name, size, used in rows)
