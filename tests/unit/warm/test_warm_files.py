"""The files of MyISAM and Aria tables: found by the names of their tables, and read through; which
options empty the cache of an engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fake_connection import FakeConnection

from contend.host import page_cache
from contend.warm.myisam import FilePart, files_held, read_through, reloading
from contend.warm.plan import KEYS, ROWS, disturbs
from contend.warm.server_list import ServerHost

SIZE = 10_000


@pytest.fixture
def host(tmp_path: Path) -> ServerHost:
    for name in ("shop/t.MYD", "shop/t.MYI", "shop/p#P#one.MAD", "shop/p#P#two.MAD",
                 "shop/t@002dx.MYD", "shop/t.frm", "mysql/db.MAD"):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x" * SIZE)
    return ServerHost(tmp_path)


def connection() -> Any:
    return FakeConnection()


def test_files_go_by_the_names_of_their_tables_with_partitions_added_up(host: ServerHost) -> None:
    held = {(one.table, one.part): (one.engine, one.size) for one in files_held(connection(), host)}
    assert held == {
        ("shop.t", ROWS): ("MyISAM", SIZE),
        ("shop.t", KEYS): ("MyISAM", SIZE),
        ("shop.t-x", ROWS): ("MyISAM", SIZE),
        ("shop.p", ROWS): ("Aria", 2 * SIZE),
    }
    assert files_held(connection(), host, "other") == []


def test_requested_files_are_read_whole(host: ServerHost) -> None:
    for path in host.data_folder.glob("shop/*"):
        page_cache.drop(path)
    found = read_through(
        connection(), host, {("shop.t", ROWS), ("shop.p", ROWS), ("shop.no", ROWS)}
    )
    assert sorted((one.table, one.part, one.share) for one in found) == [
        ("shop.p", ROWS, 1.0),
        ("shop.t", ROWS, 1.0),
    ]


def test_cached_files_are_not_read_again(host: ServerHost, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(page_cache, "resident_bytes", lambda path: SIZE * (path.suffix == ".MYI"))
    monkeypatch.setattr(page_cache, "warm", lambda path: read.append(path.name) or 1)
    found = read_through(connection(), host, {("shop.t", ROWS), ("shop.t", KEYS)})
    assert read == ["t.MYD"]
    assert found == [
        FilePart("shop.t", "MyISAM", ROWS, 1, SIZE),
        FilePart("shop.t", "MyISAM", KEYS, SIZE, SIZE),
    ]


def test_a_table_whose_file_cannot_be_read_is_left_out(
    host: ServerHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> int:
        raise page_cache.PageCacheError(f"{path} cannot be opened")

    monkeypatch.setattr(page_cache, "fill", refuse)
    assert read_through(connection(), host, {("shop.t", ROWS)}) == []


@pytest.mark.parametrize(
    ("engine", "option", "empties"),
    [
        ("MyISAM", "key_cache_segments", True),
        ("MyISAM", "key_buffer_size", True),
        ("MyISAM", "max_connections", False),
        ("InnoDB", "innodb_buffer_pool_size", True),
        ("InnoDB", "key_buffer_size", False),
        ("RocksDB", "rocksdb_block_cache_size", True),
        ("MEMORY", "key_buffer_size", False),
    ],
)
def test_which_options_empty_the_cache(engine: str, option: str, empties: bool) -> None:
    assert disturbs(engine, ["other", option]) is empties


def test_a_key_cache_alone_is_filled_again_within_moments() -> None:
    assert reloading("MyISAM", ["a", "b`c"]) == (
        "LOAD INDEX INTO CACHE `a`",
        "LOAD INDEX INTO CACHE `b``c`",
    )
    assert reloading("InnoDB", ["a"]) is None
