"""A list of pages of one server for another: whose pages they are, and which they are here.

A list has ids of tablespaces alone, and another server gives the same tables other ids. So
`contend warm --save` writes a second file beside the list, with the names: `FILE.names`. Without
it the server that the list is of, or one with the same ids, is asked for them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from contend.errors import RequestError
from contend.warm import pool
from contend.warm.page_list import Pages, of_tablespace
from contend.warm.segments import NotReadable, Numbers
from contend.warm.server_list import ServerHost
from contend.warm.tablespaces import Catalogue, TablespaceIndex, is_system

FORMAT = 1
AGREE = 0.98
"""Share of the pages listed of a table that its file here must have in use, to be the same file."""
INDEXES_AGREE = 0.05
"""By how much of the pages listed the counts of an index may differ, in the same file."""


class BadNames(RequestError):
    """The file of names is not one, or is of another list."""


@dataclass(frozen=True)
class Names:
    """Whose pages a list has.

    Args:
        catalogue: of the server that the list is of.
        pages: (space, index id) → pages in the list, and pages of the index in all. Empty if the
            files of that server were not read.
    """

    catalogue: Catalogue
    pages: Mapping[tuple[int, int], tuple[int, int]]


def names_path(path: Path) -> Path:
    """Where the names of a list are kept."""
    return path.with_name(f"{path.name}.names")


def names_of(pages: Pages, catalogue: Catalogue, host: ServerHost) -> Names:
    """The names of a list that this server has just written."""
    held = pool.by_space(pages)
    counts: dict[tuple[int, int], tuple[int, int]] = {}
    for space, here in held.items():
        if not _of_users(catalogue, space):
            continue
        try:
            members, _ = pool.pages_of_indexes(catalogue, host, space)
        except NotReadable:
            continue
        for index, own in members.items():
            listed = int(np.isin(own, here, assume_unique=True).sum())
            counts[space, index] = listed, len(own)
    kept = tuple(index for index in catalogue.indexes if index.space in held)
    return Names(Catalogue(kept, {}), counts)


def write_names(path: Path, names: Names) -> None:
    """Write the names beside the list `path`."""
    document = {
        "format": FORMAT,
        "indexes": [
            asdict(index) | {"pages": names.pages.get((index.space, index.id))}
            for index in names.catalogue.indexes
        ],
    }
    names_path(path).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def read_names(path: Path) -> Names | None:
    """The names beside the list `path`; None if there are none.

    Raises:
        BadNames: the file is not one of names.
    """
    file = names_path(path)
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        if document["format"] != FORMAT:
            raise ValueError(
                f"its format is {document['format']}, and this version of contend reads {FORMAT}"
            )
        counts, indexes = {}, []
        for entry in document["indexes"]:
            known = entry.pop("pages")
            index = TablespaceIndex(**entry)
            indexes.append(index)
            if known is not None:
                listed, whole = known
                counts[index.space, index.id] = int(listed), int(whole)
        return Names(Catalogue(tuple(indexes), {}), counts)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadNames(
            f"{file} cannot be read as the names of a list of pages: {error}.",
            hint="`contend warm --save` writes it beside the list; copy both.",
        ) from error


@dataclass(frozen=True, slots=True)
class Share:
    """A part of an index, of which it is not known which pages were in use elsewhere.

    Args:
        table: `database.table`.
        index: of it.
        share: of its pages, between 0 and 1.
        is_listed: whether these pages are in the list; if not, the file here does not say which
            they are.
    """

    table: str
    index: str
    share: float
    is_listed: bool = False


@dataclass(frozen=True)
class Translated:
    """A list for this server.

    Args:
        pages: what is to be loaded, in the order of the list.
        same: tables whose very pages are loaded.
        shares: of indexes whose file here is another one, as much as the other server held.
        missing: tables that this server does not have.
        unnamed: pages of the list that no name is known of.
    """

    pages: Pages
    same: tuple[str, ...]
    shares: tuple[Share, ...]
    missing: tuple[str, ...]
    unnamed: int


def translate(pages: Pages, names: Names, here: Catalogue, host: ServerHost | None) -> Translated:
    """The list of another server as one for this.

    Args:
        pages: of the other server.
        names: of them.
        here: what this server has.
        host: the files of this server; None if they cannot be reached, and then all are shares.
    """
    target = {(index.table, index.partition): index.space for index in here.indexes}
    moved = np.full(len(pages), -1, np.int64)
    same: list[str] = []
    shares: list[Share] = []
    missing: list[str] = []
    held = pool.by_space(pages)
    unnamed = 0
    extra: list[Pages] = []
    for space, listed in held.items():
        if not _of_users(names.catalogue, space):
            # What is the server's own warms itself; the rest is of dropped tables, or undo logs.
            unnamed += 0 if space in names.catalogue.by_space else len(listed)
            continue
        for key in {(index.table, index.partition) for index in names.catalogue.by_space[space]}:
            if key not in target:
                missing.append(key[0])
                continue
            members = None if host is None else _members(here, host, target[key])
            alone = not names.catalogue.shared(space) and not here.shared(target[key])
            if members is not None and alone and _same(space, listed, names, here, members):
                moved[pages[:, 0] == space] = target[key]
                same.append(key[0])
                continue
            parts = _shares(space, key, listed, names, members, here)
            if members is not None:
                extra += [_part(members[index.id], target[key], share) for index, share in parts]
            is_listed = members is not None
            shares += [Share(index.table, index.name, share, is_listed) for index, share in parts]
    known = moved >= 0
    translated = pages[known].copy()
    translated[:, 0] = moved[known].astype(np.uint32)
    return Translated(
        np.concatenate([translated, *extra]),
        tuple(dict.fromkeys(same)),
        tuple(shares),
        tuple(dict.fromkeys(missing)),
        unnamed,
    )


def _of_users(catalogue: Catalogue, space: int) -> bool:
    return any(not is_system(index.table) for index in catalogue.by_space.get(space, ()))


_Members = dict[int, Numbers]


def _members(here: Catalogue, host: ServerHost, space: int) -> _Members | None:
    try:
        return pool.pages_of_indexes(here, host, space)[0]
    except NotReadable:
        return None


def _by_name(catalogue: Catalogue, space: int) -> dict[str, TablespaceIndex]:
    return {index.name: index for index in catalogue.by_space.get(space, ())}


def _same(space: int, listed: Numbers, names: Names, here: Catalogue, members: _Members) -> bool:
    """Whether the file here has the pages listed in the same places: all of them in use, and as
    many of each index as there."""
    used = np.concatenate(list(members.values()))
    if np.isin(listed, used).mean() < AGREE:
        return False
    ours = {
        index.name: index
        for indexes in here.by_space.values()
        for index in indexes
        if index.id in members
    }
    for name, index in _by_name(names.catalogue, space).items():
        if name not in ours or ours[name].root != index.root:
            return False
        count = names.pages.get((space, index.id))
        held = np.isin(members[ours[name].id], listed, assume_unique=True).sum()
        if count is not None and abs(int(held) - count[0]) > INDEXES_AGREE * len(listed):
            return False
    return True


def _shares(
    space: int,
    key: tuple[str, str | None],
    listed: Numbers,
    names: Names,
    members: _Members | None,
    here: Catalogue,
) -> list[tuple[TablespaceIndex, float]]:
    """How much of each index of a table here is wanted. If the list does not tell the indexes
    apart, as much of each as of all."""
    theirs = {
        index.name: index
        for index in names.catalogue.by_space[space]
        if (index.table, index.partition) == key
    }
    ours = [index for index in here.indexes if (index.table, index.partition) == key]
    whole = sum(len(members[index.id]) for index in ours) if members else 0
    overall = min(1.0, len(listed) / whole) if whole else 1.0
    found = []
    for index in ours:
        other = theirs.get(index.name)
        count = names.pages.get((space, other.id)) if other is not None else None
        if other is None:
            continue
        share = overall if count is None else (count[0] / count[1] if count[1] else 0.0)
        if share > 0:
            found.append((index, min(1.0, share)))
    return found


def _part(own: Numbers, space: int, share: float) -> Pages:
    """So much of an index, from the end of its file: there are the rows that came last."""
    count = round(len(own) * share)
    return of_tablespace(space, own[len(own) - count :])
