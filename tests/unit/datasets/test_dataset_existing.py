"""Data on a server that is not ours: only what is ours is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from contend.datasets import drop_on, ensure_on, existing, mark_changed
from contend.datasets.loading import LoadingDeclined, LoadingFailed
from contend.load import LoadFailed
from contend.load.ask import FillResult
from contend.servers.dsn import Dsn, Password
from contend.servers.errors import TableNotOurs
from contend.servers.existing import Identity
from contend.spec import DataSpec

DATA = DataSpec(engine="InnoDB", rows=100)


class FakeServer:
    """Knows one table by its comment."""

    def __init__(self, comment: str | None = None) -> None:
        self.dsn = Dsn(user="bench", host="db1", database="mine", password=Password("s3cret"))
        self.comment = comment
        self.statements: list[str] = []

    def identity(self) -> Identity:
        return Identity("mariadb", "10.11.19", "test")

    def connect(self) -> Any:
        return self

    def cursor(self) -> FakeServer:
        return self

    def __enter__(self) -> FakeServer:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, statement: str, parameters: Any = None) -> None:
        if "information_schema" not in statement:
            self.statements.append(statement)
        if statement.startswith("ALTER"):
            (self.comment,) = parameters
        if statement.startswith("DROP"):
            self.comment = None

    def fetchall(self) -> list[tuple[str]]:
        return [("sbtest",)] if (self.comment or "").startswith("contend:") else []

    def fetchone(self) -> tuple[str, str] | None:
        return None if self.comment is None else (self.comment, "BASE TABLE")


class FakeFill:
    error: BaseException | None = None
    calls: ClassVar[list[dict[str, Any]]] = []
    server: FakeServer

    def __init__(self, _program: Path) -> None:
        pass

    def run(self, data: DataSpec, address: Any, **more: Any) -> FillResult:
        FakeFill.calls.append({"address": address, **more})
        FakeFill.server.comment = more["comment"]
        if FakeFill.error is not None:
            raise FakeFill.error
        more["on_progress"]("done", data.rows, data.rows)
        return FillResult(data.rows, ())


class Heard:
    def __init__(self) -> None:
        self.notices: list[str] = []

    def notice(self, text: str) -> None:
        self.notices.append(text)

    def progress(self, what: str, done: int, total: int, unit: str) -> None:
        pass


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(existing, "FillProcess", FakeFill)
    FakeFill.error, FakeFill.calls = None, []


def ensure(server: FakeServer, *, agree: bool = True) -> tuple[dict[str, Any], list[str]]:
    FakeFill.server = server
    asked: list[str] = []

    def confirm(question: str) -> bool:
        asked.append(question)
        return agree

    borrowed: Any = server
    about = ensure_on(borrowed, DATA, program=Path("x"), tell=Heard(), confirm=confirm)
    return about, asked


def test_a_new_table_is_asked_for_made_and_marked() -> None:
    server = FakeServer()
    about, asked = ensure(server)
    assert "Load 100 rows (InnoDB)" in asked[0]
    (call,) = FakeFill.calls
    assert call["comment"] == f"contend:{about['key']}"
    assert call["address"].database == "mine"
    assert call["env"] == {"CONTEND_PASSWORD": "s3cret"}
    assert about["rows"] == 100


def test_the_table_of_an_earlier_run_is_used_again() -> None:
    server = FakeServer()
    about, _ = ensure(server)
    again, asked = ensure(server)
    assert again == about
    assert asked == []
    assert len(FakeFill.calls) == 1


def test_an_older_table_of_contend_s_is_replaced_after_asking() -> None:
    server = FakeServer("contend:sbtest-innodb-1k-000000000000")
    _, asked = ensure(server)
    assert "in place of contend's own table" in asked[0]
    assert any(statement.startswith("DROP TABLE") for statement in server.statements)


def test_a_table_that_a_run_may_have_written_to_is_not_used_again() -> None:
    server: Any = FakeServer()
    ensure(server)
    mark_changed(server, DATA)
    assert server.statements[-1].startswith("ALTER TABLE `mine`.`sbtest` COMMENT")
    _, asked = ensure(server)
    assert "in place of contend's own table" in asked[0]
    assert len(FakeFill.calls) == 2


def test_a_table_that_is_gone_or_somebody_s_is_not_marked() -> None:
    server: Any = FakeServer()
    mark_changed(server, DATA)
    server.comment = "our customers"
    with pytest.raises(TableNotOurs):
        mark_changed(server, DATA)
    assert not any(statement.startswith("ALTER") for statement in server.statements)


@pytest.mark.parametrize("comment", ["", "our customers"])
def test_somebody_s_table_is_refused_and_nothing_touched(comment: str) -> None:
    server = FakeServer(comment)
    with pytest.raises(TableNotOurs):
        ensure(server)
    assert server.statements == []
    assert FakeFill.calls == []


def test_who_does_not_agree_keeps_the_server_as_it_is() -> None:
    server = FakeServer()
    with pytest.raises(LoadingDeclined) as caught:
        ensure(server, agree=False)
    assert "--yes" in (caught.value.hint or "")
    assert server.statements == []


@pytest.mark.parametrize(
    ("error", "raised"),
    [(LoadFailed("table is full"), LoadingFailed), (KeyboardInterrupt(), KeyboardInterrupt)],
)
def test_half_a_table_is_dropped(error: BaseException, raised: type[BaseException]) -> None:
    FakeFill.error = error
    server = FakeServer()
    with pytest.raises(raised):
        ensure(server)
    assert server.statements[-1] == "DROP TABLE IF EXISTS `mine`.`sbtest`"


def test_numbered_tables_are_asked_for_together_and_dropped_one_by_one() -> None:
    server: Any = FakeServer("contend:sbtest-innodb-1k-000000000000")
    FakeFill.server = server
    asked: list[str] = []

    def confirm(question: str) -> bool:
        asked.append(question)
        return True

    data = DataSpec(rows=100, tables=2)
    about = ensure_on(server, data, program=Path("x"), tell=Heard(), confirm=confirm)
    assert about["rows"] == 200
    assert "Load 100 rows in each of 2 tables (InnoDB)" in asked[0]
    assert "into mine.sbtest1 to sbtest2 on" in asked[0]
    assert server.statements == [
        "DROP TABLE IF EXISTS `mine`.`sbtest1`",
        "DROP TABLE IF EXISTS `mine`.`sbtest2`",
    ]


def test_tables_of_a_script_are_not_touched() -> None:
    server: Any = FakeServer("our customers")
    heard = Heard()
    data = DataSpec(schema="script")
    ensure_on(server, data, program=Path("x"), tell=heard, confirm=lambda _: False)
    assert server.statements == []
    assert "as they are" in heard.notices[0]


class TestDrop:
    def test_ours_is_dropped(self) -> None:
        server: Any = FakeServer("contend:k")
        assert drop_on(server, DATA)
        assert server.statements == ["DROP TABLE IF EXISTS `mine`.`sbtest`"]

    def test_none_is_none(self) -> None:
        server: Any = FakeServer()
        assert not drop_on(server, DATA)

    def test_somebody_s_is_not(self) -> None:
        server: Any = FakeServer("our customers")
        with pytest.raises(TableNotOurs):
            drop_on(server, DATA)
        assert server.statements == []
