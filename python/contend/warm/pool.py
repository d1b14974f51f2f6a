"""How much of each table and index is in InnoDB's buffer pool: which way the server can be asked.

- On its own host it is had to write the list of the pages that it holds, which gives the
  tablespaces, and the files say which page is of which index.
- From elsewhere MySQL has a count of pages for each index (INNODB_CACHED_INDEXES), which costs
  nothing to ask; it leaves out pages of long values, and partitions. MariaDB has no such count.
- INNODB_BUFFER_PAGE tells everything anywhere, and walks through the whole buffer pool for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pymysql

from contend.undo import Journal
from contend.warm import coverage, server_list
from contend.warm.coverage import OTHERS, Coverage
from contend.warm.model import PRIMARY, Survey
from contend.warm.server import set_variable
from contend.warm.server_list import NoList, ServerHost
from contend.warm.tablespaces import (
    CLUSTERED_WITHOUT_KEY,
    Catalogue,
    NoCatalogue,
    is_system,
    read_catalogue,
)

if TYPE_CHECKING:
    from pymysql.connections import Connection

    from contend.warm.page_list import Pages

COUNTS = "INNODB_CACHED_INDEXES"
NOT_COUNTED = (
    "pages of long values and of partitions are not in that count, and the sizes beside it have "
    "reserved pages too"
)

LIST = "the server's list of pages"
EXACT = "INNODB_BUFFER_PAGE"

_QUOTED = re.compile(r"^`((?:[^`]|``)+)`\.`((?:[^`]|``)+)`")


@dataclass(frozen=True, slots=True)
class Held:
    """What the buffer pool holds.

    Args:
        parts: of each index, or of each table if the indexes cannot be told apart. Empty if
            nothing is known.
        how: what said so: `COUNTS`, `LIST` or `EXACT`; None if nothing did.
        why_not: why no more is known; None if there is no more.
    """

    parts: tuple[Coverage, ...]
    how: str | None
    why_not: str | None = None


def held(
    connection: Connection[Any],
    survey: Survey,
    journal: Journal,
    host: ServerHost | NoList,
    *,
    exact: Connection[Any] | None = None,
    database: str | None = None,
) -> Held:
    """Ask a server which parts of its tables are in the buffer pool.

    Args:
        connection: of a user with the privilege PROCESS; to have MariaDB write its list, also one
            that may set global variables.
        survey: of the same server.
        journal: has what must be put back while the list is written.
        host: the server's files, or why they cannot be reached.
        exact: read INNODB_BUFFER_PAGE over this connection, which may take long.
        database: tell of its tables alone.
    """
    pool = _held(connection, survey, journal, host, exact=exact)
    if database is None:
        return pool
    wanted = tuple(part for part in pool.parts if part.table.startswith(f"{database}."))
    return replace(pool, parts=wanted)


def _held(
    connection: Connection[Any],
    survey: Survey,
    journal: Journal,
    host: ServerHost | NoList,
    *,
    exact: Connection[Any] | None,
) -> Held:
    pool = survey.cache("innodb")
    if pool is None:
        return Held((), None, "the server runs without InnoDB")
    try:
        if exact is not None:
            return Held(_exact(exact, survey, pool.page), EXACT)
        catalogue = read_catalogue(connection, survey.kind)
        if isinstance(host, NoList) and survey.kind == "mysql":
            return Held(_counted(connection, catalogue, survey, pool.page), COUNTS, NOT_COUNTED)
        if isinstance(host, NoList):
            return Held((), None, host.message)
        pages = taken(connection, journal, host)
    except (NoCatalogue, NoList) as error:
        return Held((), None, error.message)
    return Held(tuple(coverage.by_index(pages, catalogue, host, pool.page)), LIST)


def taken(
    connection: Connection[Any], journal: Journal, host: ServerHost, *, percent: int = 100
) -> Pages:
    """The list of the pages that the buffer pool holds, those used last first.

    Args:
        percent: as the server understands it: no more than so much of the pool's size, on MySQL
            of the pages in it.

    Raises:
        NoList: the server does not write it, or not for this user.
    """
    why_not = set_variable(connection, journal, "innodb_buffer_pool_dump_pct", percent)
    if why_not is not None:
        raise NoList(why_not)
    return server_list.take(connection, host, journal)


def _counted(
    connection: Connection[Any],
    catalogue: Catalogue,
    survey: Survey,
    page_bytes: int,
) -> tuple[Coverage, ...]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT INDEX_ID, N_CACHED_PAGES FROM information_schema.INNODB_CACHED_INDEXES"
        )
        counts = {int(index): int(pages) for index, pages in cursor.fetchall()}
    sizes = _surveyed(survey)
    parts: list[Coverage] = []
    for index in catalogue.indexes:
        if is_system(index.table):
            continue
        key = index.table, index.name
        parts.append(Coverage(*key, counts.get(index.id, 0), None, page_bytes))
    return _sized(coverage.added(parts), lambda part: _surveyed_pages(part, sizes))


def _exact(connection: Connection[Any], survey: Survey, page_bytes: int) -> tuple[Coverage, ...]:
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT TABLE_NAME, INDEX_NAME, COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE"
                " WHERE PAGE_STATE = 'FILE_PAGE' GROUP BY TABLE_NAME, INDEX_NAME"
            )
            rows = cursor.fetchall()
    except pymysql.err.MySQLError as error:
        raise NoCatalogue(f"INNODB_BUFFER_PAGE cannot be read: {error.args[-1]}") from error
    parts = []
    for table, index, pages in rows:
        quoted = _QUOTED.match(str(table or ""))
        if quoted is None:
            parts.append(Coverage(OTHERS, None, int(pages), None, page_bytes))
        else:
            database, name = (word.replace("``", "`") for word in quoted.groups())
            parts.append(Coverage(f"{database}.{name}", str(index), int(pages), None, page_bytes))
    shown = [part for part in coverage.added(parts) if not is_system(part.table)]
    # What has no page in the pool is not in it.
    seen = {(part.table, part.index) for part in shown}
    sizes = _surveyed(survey)
    none = [Coverage(*key, 0, None, page_bytes) for key in sizes if key not in seen]
    clustered = {part.table for part in shown if part.index == CLUSTERED_WITHOUT_KEY}
    none = [part for part in none if not (part.index == PRIMARY and part.table in clustered)]
    return _sized([*shown, *none], lambda part: _surveyed_pages(part, sizes))


_PagesOf = Callable[[Coverage], int | None]


def _sized(parts: Sequence[Coverage], pages_of: _PagesOf) -> tuple[Coverage, ...]:
    return tuple(replace(part, pages=pages_of(part)) for part in parts)


def _surveyed(survey: Survey) -> dict[tuple[str, str | None], int]:
    """Pages of each index by the server's statistics."""
    pool = survey.cache("innodb")
    page = pool.page if pool is not None else 16384
    return {
        (str(table), index.name): index.size // page
        for table in survey.tables
        if table.engine.lower() == "innodb"
        for index in table.indexes
    }


def _surveyed_pages(part: Coverage, sizes: Mapping[tuple[str, str | None], int]) -> int | None:
    name = PRIMARY if part.index == CLUSTERED_WITHOUT_KEY else part.index
    return sizes.get((part.table, name))
