"""Statements as a process list shows them, and what EXPLAIN says of them."""

from __future__ import annotations

from typing import Any

import pymysql
import pytest
from fake_connection import FakeConnection, FakeCursor, Rows
from hypothesis import given
from hypothesis import strategies as st

from contend.servers.plans import StatementWatch, explained, indexes, shape_of


@pytest.mark.parametrize(
    ("statement", "shape"),
    [
        ("SELECT c FROM sbtest1 WHERE id = 17", "SELECT c FROM sbtest1 WHERE id = ?"),
        ("SELECT c FROM t WHERE k IN (1, 2,3)", "SELECT c FROM t WHERE k IN (?, ...)"),
        ("UPDATE t SET c = 'it''s \\' 5'\n WHERE id=0x1F", "UPDATE t SET c = ? WHERE id=?"),
        ('SELECT "a""b", 1.5e3 FROM t2', "SELECT ?, ? FROM t2"),
        ("SELECT f(1) FROM t", "SELECT f(?) FROM t"),
    ],
)
def test_what_changes_from_one_statement_to_the_next_is_left_out(
    statement: str, shape: str
) -> None:
    assert shape_of(statement) == shape


@given(st.lists(st.integers(0, 2**63), min_size=2))
def test_lists_of_any_length_have_one_shape(numbers: list[int]) -> None:
    asked = f"SELECT c FROM t WHERE k IN ({', '.join(map(str, numbers))})"
    assert shape_of(asked) == "SELECT c FROM t WHERE k IN (?, ...)"


@given(st.text())
def test_no_statement_is_too_odd(text: str) -> None:
    assert shape_of(shape_of(text)) == shape_of(text)


def test_the_most_seen_shape_is_first_and_what_has_no_plan_is_left_out() -> None:
    connection: Any = FakeConnection()
    watch = StatementWatch(connection, "sbtest")
    long = f"SELECT {'1 + ' * 1000} 1"
    watch.see(["COMMIT", "SELECT 1", "SELECT c FROM t WHERE id = 3", long, "CALL made(1)"])
    watch.see(["SELECT c FROM t WHERE id = 4", "DELETE FROM t WHERE id = 5"])
    assert watch.seen() == [
        ("SELECT c FROM t WHERE id = ?", "SELECT c FROM t WHERE id = 3", 2),
        ("SELECT ?", "SELECT 1", 1),
        ("DELETE FROM t WHERE id = ?", "DELETE FROM t WHERE id = 5", 1),
    ]


def test_a_watch_looks_as_long_as_it_is_let_and_at_one_database_alone() -> None:
    class Once(FakeConnection):
        def answer(self, statement: str) -> Rows:
            if len(self.statements) > 1:
                raise pymysql.err.OperationalError(2013, "Lost connection")
            return [("SELECT 7",)]

    connection: Any = Once()
    with StatementWatch(connection, "sbtest") as watch:
        watch._thread.join(10)  # the server is gone at its second look
    assert watch.seen() == [("SELECT ?", "SELECT 7", 1)]
    assert connection.parameters == ("sbtest",)


class Explains(FakeConnection):
    def __init__(self, columns: str, rows: Rows) -> None:
        super().__init__({"EXPLAIN": rows})
        self._columns = columns

    def cursor(self) -> FakeCursor:
        cursor = super().cursor()
        cursor.description = tuple((name,) for name in self._columns.split())
        return cursor


def test_a_plan_is_read_by_the_names_of_its_columns() -> None:
    """MySQL has more of them than MariaDB."""
    mariadb: Any = Explains(
        "id select_type table type possible_keys key key_len ref rows Extra",
        [(1, "SIMPLE", "t", "range", "k_1", "k_1", "4", None, "10", "Using where")],
    )
    mysql: Any = Explains(
        "id select_type table partitions type possible_keys key key_len ref rows filtered Extra",
        [(1, "SIMPLE", "t", None, "range", "k_1", "k_1", "4", None, 10, 100.0, None)],
    )
    for connection, extra in ((mariadb, "Using where"), (mysql, "")):
        (table,) = explained(connection, "SELECT 1").tables
        assert (table["table"], table["type"], table["key"]) == ("t", "range", "k_1")
        assert (int(table["rows"]), table["extra"]) == (10, extra)
        assert connection.statements == ["EXPLAIN FORMAT=TRADITIONAL SELECT 1"]


def test_a_statement_that_cannot_be_explained_has_a_reason() -> None:
    class Refuses(FakeConnection):
        def answer(self, statement: str) -> Rows:
            raise pymysql.err.ProgrammingError(1064, "You have an error in your SQL syntax")

    connection: Any = Refuses()
    found = explained(connection, "SELECT ?")
    assert not found.tables and found.why_not == "You have an error in your SQL syntax"


def test_indexes_are_told_as_a_definition_names_their_columns() -> None:
    connection: Any = FakeConnection(
        {
            "STATISTICS": [
                ("t", "PRIMARY", "id", None),
                ("t", "k_1", "k", None),
                ("t", "k_1", "c", 10),
                ("t", "by_expression", None, None),
            ]
        }
    )
    assert indexes(connection, "d") == {"t": {"PRIMARY": ["`id`"], "k_1": ["`k`", "`c`(10)"]}}
