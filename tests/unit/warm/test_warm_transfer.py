"""A list of pages of one server for another, by the names of its tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from contend.warm.page_list import Pages
from contend.warm.tablespaces import Catalogue, TablespaceIndex
from contend.warm.transfer import (
    BadNames,
    Names,
    names_path,
    read_names,
    translate,
    write_names,
)


def index(number: int, name: str, table: str, space: int, root: int = 3) -> TablespaceIndex:
    return TablespaceIndex(number, name, table, None, space, root)


THERE = Catalogue(
    (
        index(1, "PRIMARY", "shop.a", 5),
        index(2, "k", "shop.a", 5, 4),
        index(3, "PRIMARY", "shop.gone", 6),
        index(4, "PRIMARY", "mysql.user", 1),
    ),
    {},
)
HERE = Catalogue((index(11, "PRIMARY", "shop.a", 25), index(12, "k", "shop.a", 25, 4)), {})
LIST: Pages = np.array([[5, 10], [5, 11], [6, 3], [1, 3], [99, 1]], np.uint32)
NAMES = Names(THERE, {(5, 1): (2, 4), (5, 2): (0, 7)})


def test_without_the_files_a_list_becomes_shares_of_indexes() -> None:
    found = translate(LIST, NAMES, HERE, None)
    assert len(found.pages) == 0
    assert [(one.table, one.index, one.share) for one in found.shares] == [
        ("shop.a", "PRIMARY", 0.5)
    ]
    assert found.missing == ("shop.gone",)
    assert found.unnamed == 1


def test_indexes_that_the_names_do_not_count_are_wanted_whole() -> None:
    found = translate(LIST, Names(THERE, {}), HERE, None)
    assert [(one.index, one.share) for one in found.shares] == [("PRIMARY", 1.0), ("k", 1.0)]


def test_names_are_read_as_they_were_written(tmp_path: Path) -> None:
    write_names(tmp_path / "list", NAMES)
    found = read_names(tmp_path / "list")
    assert found is not None
    assert found.catalogue.indexes == THERE.indexes
    assert found.pages == NAMES.pages
    assert read_names(tmp_path / "other") is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": 2}', '{"format": 1}', '{"format": 1, "indexes": [3]}',
             '{"format": 1, "indexes": [{"pages": null}]}']
)  # fmt: skip
def test_a_file_that_is_not_one_of_names_is_refused(tmp_path: Path, text: str) -> None:
    names_path(tmp_path / "list").write_text(text)
    with pytest.raises(BadNames, match=r"list\.names cannot be read"):
        read_names(tmp_path / "list")
