"""Remaining differences between servers, by their variables."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from contend.experiment import Factor, Level
from contend.findings import Study
from contend.sections.servers import differences_of

OURS = {
    "sync_binlog": "0",
    "autocommit": "ON",
    "innodb_io_capacity": "200",
    "long_query_time": "10.000000",
    "optimizer_switch": "index_merge=on,mrr=off,derived_merge=on,rowid_filter=on",
    "hostname": "a",
    "version": "10.11",
    "datadir": "/a/",
    "aria_block_size": "8192",
    "init_connect": "",
    "performance_schema": "OFF",
    "performance_schema_users_size": "-1",
}
THEIRS = {
    "sync_binlog": "1",
    "autocommit": "1",
    "innodb_io_capacity": "10000",
    "long_query_time": "10",
    "optimizer_switch": "index_merge=on,mrr=on,derived_merge=on,hash_join=on",
    "hostname": "b",
    "version": "9.7",
    "datadir": "/b/",
    "innodb_redo_log_capacity": "1",
    "innodb_dedicated_server": "OFF",
    "init_connect": "SET NAMES utf8mb4",
    "performance_schema": "OFF",
    "performance_schema_users_size": "0",
}


def study(reported: list[tuple[dict[str, Level], dict[str, str]]]) -> Study:
    used = Factor("server.use", ("mariadb", "mysql@sid"))
    records = [
        SimpleNamespace(cell=cell, probes={"variables": variables} if variables else {})
        for cell, variables in reported
    ]
    made: Any = SimpleNamespace(experiment=SimpleNamespace(factors=(used,)), records=records)
    return cast(Study, made)


def test_equal_names_with_other_values_are_listed_and_the_rest_is_counted() -> None:
    found = differences_of(
        study(
            [
                ({"server.use": "mysql@sid"}, THEIRS),
                ({"server.use": "mariadb"}, OURS),
                ({"server.use": "mariadb"}, {}),
            ]
        )
    )
    assert found is not None
    (table,) = found.tables
    assert table.columns == ("variable", "mariadb", "mysql@sid")
    assert table.rows == (
        ("init_connect", '""', "SET NAMES utf8mb4"),
        ("innodb_io_capacity", "200", "10000"),
        ("optimizer_switch", "mrr=off, rowid_filter=on", "mrr=on, hash_join=on"),
        ("sync_binlog", "0", "1"),
    )
    assert found.lead.startswith("4 variables differ.")
    assert found.lead.endswith("mariadb 1, mysql@sid 2.")


def test_each_profile_has_its_own_table() -> None:
    found = differences_of(
        study(
            [
                ({"server.use": "mariadb", "server.profile": "own"}, {"a": "1", "b": "1"}),
                ({"server.use": "mysql@sid", "server.profile": "own"}, {"a": "2", "b": "2"}),
                ({"server.use": "mariadb", "server.profile": "same"}, {"a": "1", "b": "1"}),
                ({"server.use": "mysql@sid", "server.profile": "same"}, {"a": "1", "b": "2"}),
            ]
        )
    )
    assert found is not None
    assert [len(table.rows) for table in found.tables] == [2, 1]
    assert "own" in found.tables[0].caption


def test_one_server_differs_from_none() -> None:
    assert differences_of(study([({"server.use": "mariadb"}, OURS)])) is None
    assert differences_of(study([])) is None
