"""A plan as a list of pages that the server loads by itself, where its files can be read."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from contend.undo import Journal
from contend.warm import pool, server_list
from contend.warm.model import PRIMARY, Item, WarmPlan
from contend.warm.page_list import Pages, of_tablespace, runs_of
from contend.warm.pool import taken
from contend.warm.segments import NotReadable
from contend.warm.server_list import ServerHost
from contend.warm.tablespaces import (
    CLUSTERED_WITHOUT_KEY,
    Catalogue,
    TablespaceIndex,
    read_catalogue,
)
from contend.warm.work import WarmProgress, WarmUpResult

if TYPE_CHECKING:
    from pymysql.connections import Connection

LOADED = 0.98
"""Share of its pages that an index must have in the buffer pool to count as loaded: the others
were evicted meanwhile, or are gone from the index."""

NAME = "InnoDB, by a list of pages"
"""What progress is told of: the server reads the pages of all indexes in the order of the files."""


@dataclass(frozen=True)
class ByList:
    """What is loaded by a list.

    Args:
        host: the server's files.
        pages: name -> its pages; the names are those of items, or of a file.
        page_bytes: of each.
        left: items of the plan that no list can have: those of other caches, and of files that do
            not say whose their pages are.
        why_not: name -> why it is left, of those of InnoDB.
    """

    host: ServerHost
    pages: Mapping[str, Pages]
    page_bytes: int
    left: tuple[Item, ...] = ()
    why_not: Mapping[str, str] | None = None

    @property
    def runs(self) -> dict[str, list[list[int]]]:
        """The pages as a journal keeps them."""
        return {name: runs_of(pages) for name, pages in self.pages.items()}


def list_of_plan(
    connection: Connection[Any], plan: WarmPlan, kind: str, host: ServerHost
) -> ByList:
    """The pages of what a plan loads into InnoDB's buffer pool, in its order.

    Of an index that is not loaded whole the end of the file is taken, where the newest rows are.

    Args:
        connection: of a user with the privilege PROCESS.
        kind: of the server, `mariadb` or `mysql`.

    Raises:
        NoCatalogue: the server does not say which tablespaces it has.
    """
    catalogue = read_catalogue(connection, kind)
    lists: dict[str, Pages] = {}
    left: list[Item] = []
    why_not: dict[str, str] = {}
    for item in plan.items:
        if item.cache != "innodb":
            left.append(item)
            continue
        try:
            lists[str(item)] = np.concatenate(_pages_of(item, catalogue, host))
        except NotReadable as error:
            left.append(item)
            why_not[str(item)] = error.message
    page = next((cache.page for cache in plan.caches if cache.engine == "innodb"), 0)
    return ByList(host, lists, page, tuple(left), why_not)


def load_list(
    connection: Connection[Any],
    host: ServerHost,
    journal: Journal,
    pages: Mapping[str, Pages],
    page_bytes: int,
    listen: Callable[[WarmProgress], None],
) -> WarmUpResult:
    """Have the server load the pages, and see what is in the buffer pool then.

    Args:
        connection: of a user who may set global variables.
        pages: name -> its pages.
        page_bytes: of each.

    Raises:
        NoList: it does not load them.
    """
    began_s = time.monotonic()
    whole = np.concatenate(list(pages.values()))
    sizes = {NAME: len(whole) * page_bytes}

    def on_progress(done: int, _all: int) -> None:
        listen(WarmProgress({NAME: done * page_bytes}, sizes, time.monotonic() - began_s))

    before = _pages_of_data(connection)
    server_list.load(connection, host, journal, whole, on_progress)
    seconds = time.monotonic() - began_s
    refused = {}
    # A pool that was cold has grown by what was asked for. If it was not, only a look says.
    if _pages_of_data(connection) - before < LOADED * len(whole):
        refused = _too_few(pages, taken(connection, journal, host))
    return WarmUpResult(len(whole) * page_bytes, seconds, refused=refused)


def _pages_of_data(connection: Connection[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_data'")
        return int((cursor.fetchone() or ("", 0))[1])


def _too_few(asked: Mapping[str, Pages], held: Pages) -> dict[str, str]:
    """Name -> how much of it is in the buffer pool, of what is not there."""
    there = _numbers(held)
    found = {}
    for name, pages in asked.items():
        share = float(np.isin(_numbers(pages), there).mean()) if len(pages) else 1.0
        if share < LOADED:
            found[name] = (
                f"{share:.0%} of its pages are in the buffer pool after the server loaded the list"
            )
    return found


def _numbers(pages: Pages) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """One number a page."""
    return pages[:, 0].astype(np.uint64) << np.uint64(32) | pages[:, 1]


def _pages_of(item: Item, catalogue: Catalogue, host: ServerHost) -> list[Pages]:
    """Of each partition of its index.

    Raises:
        NotReadable: they are not known.
    """
    found = []
    for index in _indexes(item, catalogue.tables.get(str(item.table), ())):
        members, _ = pool.pages_of_indexes(catalogue, host, index.space)
        own = members[index.id]
        count = min(len(own), round(len(own) * item.take / max(1, item.size)))
        found.append(of_tablespace(index.space, own[len(own) - count :]))
    if not found:
        raise NotReadable("the server does not say where it is")
    return found


def _indexes(item: Item, indexes: Sequence[TablespaceIndex]) -> list[TablespaceIndex]:
    named = [index for index in indexes if index.name == item.part]
    if named or item.part != PRIMARY:
        return named
    # The rows of a table without a primary key are in its first index, whatever that is called.
    first: dict[int, TablespaceIndex] = {}
    for index in sorted(indexes, key=lambda item: item.name != CLUSTERED_WITHOUT_KEY):
        known = first.get(index.space)
        if known is None or (known.name != CLUSTERED_WITHOUT_KEY and index.id < known.id):
            first[index.space] = index
    return list(first.values())
