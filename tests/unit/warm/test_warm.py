"""Warming: which statements an engine gets, and what may be expected afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contend.warm import WARMERS, Table, disturbs, warmer_of


class Connection:
    def __init__(self, size: tuple[int, int], room: int) -> None:
        self.size, self.room = size, room
        self.statements: list[str] = []

    def cursor(self) -> Connection:
        return self

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, statement: str, _parameters: object = None) -> None:
        self.statements.append(statement)

    def fetchall(self) -> list[Any]:
        return []

    def fetchone(self) -> tuple[int, ...]:
        return self.size if "TABLES" in self.statements[-1] else (self.room,)


TABLE = Table("sbtest", "sb`test", None)


def connection(size: tuple[int, int], room: int) -> Any:
    return Connection(size, room)


@pytest.mark.parametrize("engine", ["MyISAM", "Aria", "InnoDB", "RocksDB"])
def test_every_engine_has_a_warmer(engine: str) -> None:
    assert warmer_of(engine) is WARMERS[engine.lower()]


def test_an_engine_without_caches_has_none() -> None:
    assert warmer_of("MEMORY") is None


def test_myisam_loads_the_index_and_needs_room_for_it_alone() -> None:
    talk = connection((10**9, 100), 1000)
    assert WARMERS["myisam"].warm(talk, [TABLE]).cache
    assert talk.statements[0] == "LOAD INDEX INTO CACHE `sbtest`.`sb``test`"
    assert not any("SUM" in statement for statement in talk.statements)


def test_innodb_needs_room_for_all_and_scans_only_what_fits() -> None:
    talk = connection((800, 100), 1000)
    assert WARMERS["innodb"].warm(talk, [TABLE]).cache
    assert sum("SUM" in statement for statement in talk.statements) == 2
    talk = connection((800, 300), 1000)
    warmed = WARMERS["innodb"].warm(talk, [TABLE])
    assert not warmed.cache
    assert "1.07 KiB do not fit innodb_buffer_pool_size" in (warmed.why_not or "")
    assert not any("SUM" in statement for statement in talk.statements)


@pytest.mark.parametrize(
    ("engine", "option", "empties"),
    [
        ("myisam", "key_cache_segments", True),
        ("myisam", "key_buffer_size", True),
        ("myisam", "max_connections", False),
        ("innodb", "innodb_buffer_pool_size", True),
        ("innodb", "key_buffer_size", False),
    ],
)
def test_which_options_empty_the_cache(engine: str, option: str, empties: bool) -> None:
    assert disturbs(WARMERS[engine], ["other", option]) is empties


class TestFiles:
    def test_files_elsewhere_cannot_be_warmed(self) -> None:
        assert not WARMERS["myisam"].warm_files(TABLE)

    def test_files_of_the_table_are_read_into_the_page_cache(self, tmp_path: Path) -> None:
        (tmp_path / "sbtest").mkdir()
        for ending in (".MYD", ".MYI"):
            (tmp_path / "sbtest" / f"t{ending}").write_bytes(b"x" * 10_000)
        assert WARMERS["myisam"].warm_files(Table("sbtest", "t", tmp_path))
