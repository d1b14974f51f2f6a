"""How much of each table and index is in InnoDB's buffer pool: which way the server can be asked.

- On its own host it is had to write the list of the pages that it holds, which gives the
  tablespaces, and the files say which page is of which index.
- From elsewhere MySQL has a count of pages for each index (INNODB_CACHED_INDEXES), which costs
  nothing to ask; it leaves out pages of long values, and partitions. MariaDB has no such count.
- INNODB_BUFFER_PAGE tells everything anywhere, and walks through the whole buffer pool for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pymysql
from pymysql.connections import Connection

from contend.servers.client import fetch
from contend.servers.kinds import KINDS
from contend.undo import Journal
from contend.warm import server_list
from contend.warm.model import PRIMARY, Survey
from contend.warm.page_list import Pages
from contend.warm.segments import NotReadable, Numbers, Tablespace
from contend.warm.server_list import NoList, ServerHost
from contend.warm.tablespaces import (
    CLUSTERED_WITHOUT_KEY,
    Catalogue,
    NoCatalogue,
    is_system,
    read_catalogue,
)
from contend.warm.work import set_variable


@dataclass(frozen=True, slots=True)
class Coverage:
    """What of a table or of an index is in the buffer pool.

    Args:
        table: `database.table`.
        index: None for a table of which no more is known, or of what is none of its indexes.
        resident: pages in the buffer pool.
        pages: of it in all; None if it is not known.
        why_not: why its indexes cannot be told apart; None if they can.
    """

    table: str
    index: str | None
    resident: int
    pages: int | None
    page_bytes: int
    why_not: str | None = None

    @property
    def share(self) -> float | None:
        return None if not self.pages else min(1.0, self.resident / self.pages)


_NO_INDEXES = "the server does not list the indexes of its partitions"

OTHERS = "(others)"
"""Undo logs, the server's own tables, tables that were dropped."""


def by_space(pages: Pages) -> dict[int, Numbers]:
    """The numbers of the pages of each tablespace, ascending."""
    order = np.lexsort((pages[:, 1], pages[:, 0]))
    ordered = pages[order]
    spaces, starts = np.unique(ordered[:, 0], return_index=True)
    parts = np.split(ordered[:, 1], starts[1:])
    return {int(space): part for space, part in zip(spaces, parts, strict=True)}


def pages_of_indexes(
    catalogue: Catalogue, host: ServerHost, space: int
) -> tuple[dict[int, Numbers], int]:
    """The pages of each index of a tablespace, and the size of a page.

    Raises:
        NotReadable: the file does not say.
    """
    name = catalogue.files.get(space)
    if name is None:
        raise NotReadable("its file is not known (the system tablespace, or a dropped table)")
    with Tablespace(host.file(name)) as file:
        if file.space != space:
            raise NotReadable(f"{file.path} is of tablespace {file.space}, not {space}")
        roots = {index.id: index.root for index in catalogue.by_space.get(space, ())}
        return file.of_indexes(roots), file.page_bytes


def by_index(
    pages: Pages,
    catalogue: Catalogue,
    host: ServerHost,
    page_bytes: int,
    tables: Sequence[str] | None = None,
) -> list[Coverage]:
    """The coverage of each index of the tables, partitions added up.

    Args:
        pages: all that the buffer pool holds.
        tables: those wanted; None for all that are not the server's own, and one part for the
            pages of nobody.
    """
    held = by_space(pages)
    coverage: list[Coverage] = []
    counted = 0
    for space, indexes in catalogue.by_space.items():
        here = held.get(space, np.empty(0, np.uint32))
        names = {index.table for index in indexes}
        unwanted = not names & set(tables) if tables is not None else all(map(is_system, names))
        if unwanted:
            continue
        try:
            members, size = pages_of_indexes(catalogue, host, space)
        except NotReadable as error:
            if catalogue.shared(space):
                continue
            (table,) = names
            counted += len(here)
            coverage.append(Coverage(table, None, len(here), None, page_bytes, error.message))
            continue
        for index in indexes:
            own = members[index.id]
            resident = int(np.isin(own, here, assume_unique=True).sum())
            counted += resident
            coverage.append(Coverage(index.table, index.name, resident, len(own), size))
    for space, table in catalogue.without_indexes.items():
        if is_system(table) or (tables is not None and table not in tables):
            continue
        resident = len(held.get(space, ()))
        counted += resident
        coverage.append(Coverage(table, None, resident, None, page_bytes, _NO_INDEXES))
    if tables is None and len(pages) > counted:
        coverage.append(Coverage(OTHERS, None, len(pages) - counted, None, page_bytes))
    return added(coverage)


def added(parts: Iterable[Coverage]) -> list[Coverage]:
    """Parts of the same table and index, such as partitions, as one."""
    together: dict[tuple[str, str | None], Coverage] = {}
    for part in parts:
        before = together.setdefault((part.table, part.index), part)
        if before is not part:
            known = before.pages is not None and part.pages is not None
            together[part.table, part.index] = replace(
                part,
                resident=before.resident + part.resident,
                pages=(before.pages or 0) + (part.pages or 0) if known else None,
                why_not=before.why_not or part.why_not,
            )
    return list(together.values())


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
        journal: has what must be put back while the list is written.
        host: the server's files, or why they cannot be reached.
        exact: read INNODB_BUFFER_PAGE over this connection, which may take long.
        database: tell of its tables alone.
    """
    pool = _held(connection, survey, journal, host, exact)
    if database is None:
        return pool
    wanted = tuple(part for part in pool.parts if part.table.startswith(f"{database}."))
    return replace(pool, parts=wanted)


def _held(
    connection: Connection[Any],
    survey: Survey,
    journal: Journal,
    host: ServerHost | NoList,
    exact: Connection[Any] | None,
) -> Held:
    pool = survey.cache("innodb")
    if pool is None:
        return Held((), None, "the server runs without InnoDB")
    try:
        if exact is not None:
            return Held(_exact(exact, survey, pool.page), EXACT)
        catalogue = read_catalogue(connection, survey.kind)
        if isinstance(host, NoList) and KINDS[survey.kind].counts_cached_pages:
            return Held(_counted(connection, catalogue, survey, pool.page), COUNTS, NOT_COUNTED)
        if isinstance(host, NoList):
            return Held((), None, host.message)
        pages = taken(connection, journal, host)
    except (NoCatalogue, NoList) as error:
        return Held((), None, error.message)
    return Held(tuple(by_index(pages, catalogue, host, pool.page)), LIST)


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
    connection: Connection[Any], catalogue: Catalogue, survey: Survey, page_bytes: int
) -> tuple[Coverage, ...]:
    cached = "SELECT INDEX_ID, N_CACHED_PAGES FROM information_schema.INNODB_CACHED_INDEXES"
    counts = {int(index): int(pages) for index, pages in fetch(connection, cached)}
    sizes = _surveyed(survey)
    parts: list[Coverage] = []
    for index in catalogue.indexes:
        if is_system(index.table):
            continue
        key = index.table, index.name
        parts.append(Coverage(*key, counts.get(index.id, 0), None, page_bytes))
    return _sized(added(parts), sizes)


def _exact(connection: Connection[Any], survey: Survey, page_bytes: int) -> tuple[Coverage, ...]:
    try:
        rows = fetch(
            connection,
            "SELECT TABLE_NAME, INDEX_NAME, COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE"
            " WHERE PAGE_STATE = 'FILE_PAGE' GROUP BY TABLE_NAME, INDEX_NAME",
        )
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
    shown = [part for part in added(parts) if not is_system(part.table)]
    # What has no page in the pool is not in it.
    seen = {(part.table, part.index) for part in shown}
    sizes = _surveyed(survey)
    none = [Coverage(*key, 0, None, page_bytes) for key in sizes if key not in seen]
    clustered = {part.table for part in shown if part.index == CLUSTERED_WITHOUT_KEY}
    none = [part for part in none if not (part.index == PRIMARY and part.table in clustered)]
    return _sized([*shown, *none], sizes)


def _sized(
    parts: Sequence[Coverage], sizes: Mapping[tuple[str, str | None], int]
) -> tuple[Coverage, ...]:
    """With the pages of each index by the server's statistics."""
    keys = [
        (part.table, PRIMARY if part.index == CLUSTERED_WITHOUT_KEY else part.index)
        for part in parts
    ]
    return tuple(replace(part, pages=sizes.get(key)) for part, key in zip(parts, keys, strict=True))


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
