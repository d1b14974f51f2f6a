"""How much of each table and index is in the buffer pool, from a list of its pages. Plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from contend.warm.page_list import Pages
from contend.warm.segments import NotReadable, Numbers, Tablespace
from contend.warm.server_list import ServerHost
from contend.warm.tablespaces import Catalogue, is_system


@dataclass(frozen=True, slots=True)
class Coverage:
    """What of a table or of an index is in the buffer pool.

    Args:
        table: `database.table`.
        index: None for a table of which no more is known, or of what is none of its indexes.
        resident: pages in the buffer pool.
        pages: of it in all; None if it is not known.
        page_bytes: of each.
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
        catalogue: of the same server.
        host: where its files are.
        page_bytes: the server's innodb_page_size.
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
        _add(together, part)
    return list(together.values())


def _add(together: dict[tuple[str, str | None], Coverage], part: Coverage) -> None:
    key = part.table, part.index
    before = together.get(key)
    if before is None:
        together[key] = part
        return
    known = before.pages is not None and part.pages is not None
    together[key] = Coverage(
        part.table,
        part.index,
        before.resident + part.resident,
        (before.pages or 0) + (part.pages or 0) if known else None,
        part.page_bytes,
        before.why_not or part.why_not,
    )
