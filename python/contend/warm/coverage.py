"""The warmth of a server: the share of each table and index in InnoDB's buffer pool, and of the
files of MyISAM and Aria in the page cache. Also the pages that a plan needs.

If contend runs on the server's host, it has the server write a list of its cached pages. The list
names tablespaces; their files show which index each page belongs to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pymysql.connections import Connection

from contend.host.page_cache import PageCacheError
from contend.servers.undo import Journal
from contend.warm.myisam import FilePart, files_held
from contend.warm.plan import PRIMARY, Item, Survey, WarmPlan
from contend.warm.server_list import NoList, Pages, ServerHost, of_tablespace, take
from contend.warm.tablespaces import (
    CLUSTERED_WITHOUT_KEY,
    Catalogue,
    NoCatalogue,
    NotReadable,
    Numbers,
    Tablespace,
    TablespaceIndex,
    is_system,
    read_catalogue,
)

LIST = "the server's list of pages"
"""The source of the share of each table in the buffer pool."""

OTHERS = "(others)"
"""Pages of undo logs, the server's own tables and dropped tables."""

LOADED = 0.98
"""Share of its pages that an index must have in the buffer pool to count as loaded. The rest were
evicted meanwhile, or have left the index."""

_NO_INDEXES = "the server does not list the indexes of its partitions"


@dataclass(frozen=True, slots=True)
class Coverage:
    """The part of a table or index that is in the buffer pool, summed over its partitions.

    Args:
        table: `database.table`.
        index: None if not known, or if the pages belong to none of the table's indexes.
        resident: pages in the buffer pool.
        pages: total pages; None if not known.
        why_not: the reason if the table's indexes cannot be distinguished.
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


@dataclass(frozen=True, slots=True)
class Status:
    """The warmth of a server.

    Args:
        parts: each index with pages in InnoDB's buffer pool, or each table if its indexes cannot be
            distinguished. Empty if nothing is known.
        why_not: the reason if nothing is known about the parts.
        files: MyISAM and Aria files in the page cache.
        files_why_not: the reason if nothing is known about the files.
    """

    survey: Survey
    parts: tuple[Coverage, ...] = ()
    why_not: str | None = None
    files: tuple[FilePart, ...] = ()
    files_why_not: str | None = None


def read_status(
    connection: Connection[Any],
    survey: Survey,
    journal: Journal,
    host: ServerHost | NoList,
    database: str | None = None,
) -> Status:
    """Query the warmth of a server; the arguments are those of `held`."""
    status = held(connection, survey, journal, host, database)
    if isinstance(host, NoList):
        return replace(status, files_why_not=host.message)
    try:
        return replace(status, files=tuple(files_held(connection, host, database)))
    except PageCacheError as error:
        return replace(status, files_why_not=error.message)


def held(
    connection: Connection[Any],
    survey: Survey,
    journal: Journal,
    host: ServerHost | NoList,
    database: str | None = None,
) -> Status:
    """Query which parts of a server's tables are in the buffer pool.

    Args:
        connection: its user needs PROCESS and the right to set global variables.
        journal: records what must be restored while the list is written.
        host: the server's files, or the reason why they are not accessible.
        database: report only its tables.
    """
    pool = survey.cache("innodb")
    if pool is None:
        return Status(survey, why_not="the server runs without InnoDB")
    if isinstance(host, NoList):
        return Status(survey, why_not=host.message)
    try:
        catalogue = read_catalogue(connection, survey.kind)
        pages = take(connection, host, journal)
    except (NoCatalogue, NoList) as error:
        return Status(survey, why_not=error.message)
    parts = by_index(pages, catalogue, host, pool.page)
    whose = f"{database}." if database is not None else ""
    return Status(survey, tuple(part for part in parts if part.table.startswith(whose)))


def by_index(
    pages: Pages, catalogue: Catalogue, host: ServerHost, page_bytes: int
) -> list[Coverage]:
    """The coverage of each index of all tables but the server's own, and the pages without owner.

    Args:
        pages: all pages in the buffer pool.
    """
    here = _by_space(pages)
    nothing = np.empty(0, np.uint32)
    together: dict[tuple[str, str | None], Coverage] = {}

    def add(
        table: str, index: str | None, resident: int, whole: int | None, why: str | None
    ) -> None:
        key, size = (table, index), whole
        before = together.get(key)
        if before is not None:
            resident += before.resident
            size = None if before.pages is None or whole is None else before.pages + whole
            why = before.why_not or why
        together[key] = Coverage(table, index, resident, size, page_bytes, why)

    for space, indexes in catalogue.indexes.items():
        tables = {index.table for index in indexes}
        found = here.get(space, nothing)
        if all(map(is_system, tables)):
            continue
        try:
            members = pages_of_indexes(catalogue, host, space)
        except NotReadable as error:
            if len(tables) == 1:
                add(tables.pop(), None, len(found), None, error.message)
            continue
        for index in indexes:
            own = members[index.id]
            resident = int(np.isin(own, found, assume_unique=True).sum())
            add(index.table, index.name, resident, len(own), None)
    for space, table in catalogue.without_indexes.items():
        if not is_system(table):
            add(table, None, len(here.get(space, nothing)), None, _NO_INDEXES)
    others = len(pages) - sum(part.resident for part in together.values())
    if others > 0:
        add(OTHERS, None, others, None, None)
    return list(together.values())


def pages_of_indexes(catalogue: Catalogue, host: ServerHost, space: int) -> dict[int, Numbers]:
    """Index id -> its pages, for each index of a tablespace.

    Raises:
        NotReadable: the file does not contain this information.
    """
    name = catalogue.files.get(space)
    if name is None:
        raise NotReadable("its file is unknown (the system tablespace, or a dropped table)")
    with Tablespace(host.file(name)) as file:
        if file.space != space:
            raise NotReadable(f"{file.path} belongs to tablespace {file.space}, not {space}")
        return file.of_indexes({index.id: index.root for index in catalogue.indexes[space]})


def _by_space(pages: Pages) -> dict[int, Numbers]:
    """The page numbers of each tablespace, ascending."""
    ordered = pages[np.lexsort((pages[:, 1], pages[:, 0]))]
    spaces, starts = np.unique(ordered[:, 0], return_index=True)
    parts = np.split(ordered[:, 1], starts[1:])
    return {int(space): part for space, part in zip(spaces, parts, strict=True)}


@dataclass(frozen=True)
class ByList:
    """The part of a plan that is loaded by a list of pages.

    Args:
        pages: name of an item -> its pages.
        left: items of the plan that cannot be in a list: those of other caches, and of files that
            do not show which index their pages belong to.
        why_not: name -> reason why it is left, for InnoDB items.
    """

    host: ServerHost
    pages: Mapping[str, Pages]
    page_bytes: int
    left: tuple[Item, ...] = ()
    why_not: Mapping[str, str] | None = None


def list_of_plan(
    connection: Connection[Any], plan: WarmPlan, kind: str, host: ServerHost
) -> ByList:
    """The pages that a plan loads into InnoDB's buffer pool, in the plan's order.

    An index that does not fit is loaded from the end of its file: its newest rows.

    Args:
        connection: its user needs the privilege PROCESS.

    Raises:
        NoCatalogue: the server does not list its tablespaces.
    """
    catalogue = read_catalogue(connection, kind)
    tables: dict[str, list[TablespaceIndex]] = defaultdict(list)
    for indexes in catalogue.indexes.values():
        for index in indexes:
            tables[index.table].append(index)
    lists: dict[str, Pages] = {}
    left: list[Item] = []
    why_not: dict[str, str] = {}
    for item in plan.items:
        if item.cache != "innodb":
            left.append(item)
            continue
        try:
            lists[str(item)] = _pages_of(item, tables[str(item.table)], catalogue, host)
        except NotReadable as error:
            left.append(item)
            why_not[str(item)] = error.message
    page = next((cache.page for cache in plan.caches if cache.engine == "innodb"), 0)
    return ByList(host, lists, page, tuple(left), why_not)


def _pages_of(
    item: Item, indexes: Sequence[TablespaceIndex], catalogue: Catalogue, host: ServerHost
) -> Pages:
    """The item's pages in each partition of its index.

    Raises:
        NotReadable: they are unknown.
    """
    found = []
    for index in _partitions(item.part, indexes):
        own = pages_of_indexes(catalogue, host, index.space)[index.id]
        count = min(len(own), round(len(own) * item.take / max(1, item.size)))
        found.append(of_tablespace(index.space, own[len(own) - count :]))
    if not found:
        raise NotReadable("the server does not report its location")
    return np.concatenate(found)


def _partitions(part: str, indexes: Sequence[TablespaceIndex]) -> list[TablespaceIndex]:
    named = [index for index in indexes if index.name == part]
    if named or part != PRIMARY:
        return named
    # The rows of a table without a primary key are in its first index, under any name.
    first: dict[int, TablespaceIndex] = {}
    for index in sorted(indexes, key=lambda one: (one.name != CLUSTERED_WITHOUT_KEY, one.id)):
        first.setdefault(index.space, index)
    return list(first.values())


def too_few(requested: Mapping[str, Pages], resident: Pages) -> dict[str, str]:
    """Name -> text on the share in the buffer pool, for each item that is not loaded."""
    held_pages = _numbers(resident)
    found = {}
    for name, pages in requested.items():
        share = float(np.isin(_numbers(pages), held_pages).mean()) if len(pages) else 1.0
        if share < LOADED:
            found[name] = (
                f"only {share:.0%} of its pages are in the buffer pool after loading the list"
            )
    return found


def _numbers(pages: Pages) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """One number per page."""
    return pages[:, 0].astype(np.uint64) << np.uint64(32) | pages[:, 1]
