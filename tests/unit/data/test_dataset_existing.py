"""Data on a server that is not ours: only what is ours is touched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from contend.data import TablesSeen, drop_on, ensure_on, existing, mark_changed
from contend.data.existing import DropDeclined
from contend.data.loading import LoadingDeclined, LoadingFailed
from contend.experiment import DataSpec
from contend.load import LoadFailed
from contend.load.ask import FillResult
from contend.servers import hold, marks
from contend.servers.dsn import Dsn, Password
from contend.servers.errors import TableNotOurs
from contend.servers.existing import Identity
from contend.servers.hold import LOCK, LoadingElsewhere

DATA = DataSpec(engine="InnoDB", rows=100)


KEY_BEFORE = "sbtest-innodb-1k-000000000000"
OURS = f"contend:{KEY_BEFORE} mine.sbtest"
HALF = "contend:loading mine.sbtest key=k rows=100 by=bench%40db2%237"


class FakeServer:
    """Knows tables by their comments, and views by their definitions."""

    def __init__(self, comment: str | None = None, **more: str) -> None:
        self.dsn = Dsn(user="bench", host="db1", database="mine", password=Password("s3cret"))
        self.comments = dict(more) if comment is None else {"sbtest": comment, **more}
        self.views: dict[str, str] = {}
        self.made = "2026-01-01 00:00:00"
        self.busy: list[str] = []
        self.engine = "InnoDB"
        self.statements: list[str] = []
        self._rows: list[tuple[Any, ...]] = []

    def identity(self) -> Identity:
        return Identity("mariadb", "10.11.19", "test")

    def connect(self, **_: Any) -> Any:
        return self

    def cursor(self) -> FakeServer:
        return self

    def __enter__(self) -> FakeServer:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def close(self) -> None:
        pass

    def execute(self, statement: str, parameters: Any = None) -> None:
        self._rows = list(self._answer(statement, parameters))
        words = ("ALTER", "DROP", "CREATE", "SET SESSION rocksdb")
        if statement.startswith(words):
            self.statements.append(statement)

    def _answer(self, statement: str, values: Any) -> Iterator[tuple[Any, ...]]:
        if "GET_LOCK" in statement and values == (LOCK, 2):
            yield (1,)
        elif "GET_LOCK" in statement:
            # Each try but the last finds somebody.
            yield (0 if self.busy and self.busy.pop() else 1,)
        elif "IS_USED_LOCK" in statement:
            yield (7,)
        elif "PROCESSLIST" in statement:
            yield ("other", "db2")
        elif "information_schema.VIEWS" in statement and values[1] in self.views:
            yield ("mine", values[1], self.views[values[1]])
        elif "CREATE_TIME" in statement:
            if values[1] in self.comments:
                yield (self.comments[values[1]], self.made)
        elif "SELECT TABLE_SCHEMA, ENGINE FROM" in statement:
            yield ("mine", self.engine)
        elif "information_schema.TABLES" in statement:
            asked = values[1:] if "TABLE_NAME = %s" in statement else ()
            for name, comment in self.comments.items():
                if not asked or name.lower() == asked[0].lower():
                    yield ("mine", name, comment, "BASE TABLE")
        elif statement.startswith("ALTER"):
            self.comments[statement.split("`")[3]] = values[0]
        elif statement.startswith("DROP TABLE"):
            self.comments.pop(statement.split("`")[3], None)

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._rows


class FakeFill:
    error: BaseException | None = None
    calls: ClassVar[list[dict[str, Any]]] = []
    server: FakeServer

    def __init__(self, _program: Path) -> None:
        pass

    def run(self, data: DataSpec, address: Any, **more: Any) -> FillResult:
        FakeFill.calls.append({"address": address, **more})
        for name in data.table_names:
            FakeFill.server.comments[name] = f"contend:loading mine.{name} key=k rows=1 by=x"
        if FakeFill.error is not None:
            raise FakeFill.error
        for name in data.table_names:
            FakeFill.server.comments[name] = f"contend:{more['mark']} mine.{name}"
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
    assert call["mark"] == about["key"]
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
    server = FakeServer(OURS)
    _, asked = ensure(server)
    assert "replacing contend's own table" in asked[0]
    assert any(statement.startswith("DROP TABLE") for statement in server.statements)


def test_a_table_that_a_run_may_have_written_to_is_not_used_again() -> None:
    server: Any = FakeServer()
    ensure(server)
    mark_changed(server, DATA)
    assert server.statements[-1].startswith("ALTER TABLE `mine`.`sbtest` COMMENT")
    _, asked = ensure(server)
    assert "replacing contend's own table" in asked[0]
    assert len(FakeFill.calls) == 2


def test_one_of_rocksdb_is_marked_in_a_bulk_load() -> None:
    server: Any = FakeServer(OURS)
    server.engine = "ROCKSDB"
    mark_changed(server, DATA)
    assert [statement.split()[-1] for statement in server.statements] == ["1", "%s", "0"]


def test_a_table_that_is_gone_or_somebody_s_is_not_marked() -> None:
    server: Any = FakeServer()
    mark_changed(server, DATA)
    server.comments["sbtest"] = "our customers"
    with pytest.raises(TableNotOurs):
        mark_changed(server, DATA)
    assert not any(statement.startswith("ALTER") for statement in server.statements)


@pytest.mark.parametrize(
    "comment",
    [
        "",
        "our customers",
        "contend:",
        OURS.upper(),
        f" {OURS}",
        f"{OURS} ",
        f"{OURS}1",
        # Of a copy, a table that was renamed, and one restored in another database.
        OURS.replace("sbtest", "SBTEST"),
        f"contend:{KEY_BEFORE} mine.sbtest2",
        f"contend:{KEY_BEFORE} theirs.sbtest",
        f"contend:{KEY_BEFORE}",
        HALF.replace("mine.sbtest", "theirs.sbtest"),
        HALF.replace("rows=100", "rows=all"),
        f"{HALF} and more",
    ],
)
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
    ours = {name: f"contend:{KEY_BEFORE} mine.{name}" for name in ("sbtest1", "sbtest2")}
    server: Any = FakeServer(**ours)
    FakeFill.server = server
    asked: list[str] = []

    def confirm(question: str) -> bool:
        asked.append(question)
        return True

    data = DataSpec(rows=100, tables=2)
    about = ensure_on(server, data, program=Path("x"), tell=Heard(), confirm=confirm)
    assert about["rows"] == 200
    assert "100 rows in each of 2 tables (InnoDB)" in asked[0]
    assert "into mine.sbtest1 to sbtest2 on" in asked[0]
    assert server.statements == [
        "DROP TABLE IF EXISTS `mine`.`sbtest1`",
        "DROP TABLE IF EXISTS `mine`.`sbtest2`",
    ]


def test_a_table_left_half_filled_is_loaded_anew() -> None:
    server = FakeServer(HALF)
    about, asked = ensure(server)
    assert "replacing contend's own table" in asked[0]
    assert server.statements == ["DROP TABLE IF EXISTS `mine`.`sbtest`"]
    assert server.comments == {"sbtest": f"contend:{about['key']} mine.sbtest"}


def test_who_loads_is_waited_for_and_the_table_used() -> None:
    finished, _ = ensure(FakeServer())
    server: Any = FakeServer(HALF)
    server.busy = ["another"] * 3
    heard = Heard()

    def told(text: str) -> None:
        heard.notices.append(text)
        server.comments["sbtest"] = f"contend:{finished['key']} mine.sbtest"

    heard.notice = told  # type: ignore[method-assign]
    about = ensure_on(server, DATA, program=Path("x"), tell=heard, confirm=lambda _: False)
    assert about == finished
    assert "connection 7, of user other from db2" in heard.notices[0]
    assert "already on the server" in heard.notices[1]
    assert server.statements == []


def test_who_loads_for_too_long_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hold, "WAITED_S", -1.0)
    server = FakeServer(HALF)
    server.busy = ["another"] * 9
    with pytest.raises(LoadingElsewhere, match="connection 7, of user other from db2"):
        ensure(server)
    assert server.statements == []


def test_what_another_loader_makes_is_not_dropped_when_ours_fails() -> None:
    server = FakeServer()

    class Overtaken(FakeFill):
        def run(self, data: DataSpec, address: Any, **more: Any) -> FillResult:
            server.comments["sbtest"] = HALF
            server.busy = ["another"] * 9
            raise LoadFailed("another contend-load is filling this database")

    with pytest.MonkeyPatch.context() as patch, pytest.raises(LoadingFailed):
        patch.setattr(existing, "FillProcess", Overtaken)
        ensure(server)
    assert server.statements == []


class TestTablesOfAScript:
    data = DataSpec(schema="script")

    def use(self, server: Any, *, agree: bool, writes: bool = True) -> tuple[list[str], list[str]]:
        heard, asked = Heard(), []

        def confirm(question: str) -> bool:
            asked.append(question)
            return agree

        ensure_on(server, self.data, program=Path("x"), tell=heard, confirm=confirm, writes=writes)
        return heard.notices, asked

    def test_somebody_s_are_named_before_they_are_written_to(self) -> None:
        server = FakeServer("our customers", orders="", sbtest1="contend:k mine.sbtest1")
        with pytest.raises(LoadingDeclined, match=r"did not make: orders, sbtest$"):
            self.use(server, agree=False)
        assert server.statements == []
        notices, asked = self.use(server, agree=True)
        assert "orders, sbtest" in asked[0] and "orders, sbtest" in notices[0]

    def test_contend_s_own_are_not_what_was_loaded_any_more(self) -> None:
        server = FakeServer("contend:k mine.sbtest")
        _, asked = self.use(server, agree=False)
        assert asked == []
        assert server.comments == {"sbtest": "contend:changed mine.sbtest"}

    def test_what_only_reads_asks_nobody(self) -> None:
        server = FakeServer("our customers", sbtest1="contend:k mine.sbtest1")
        notices, asked = self.use(server, agree=False, writes=False)
        assert asked == [] and server.statements == []
        assert "existing tables" in notices[0]


class TestWatched:
    @pytest.fixture
    def server(self) -> Any:
        return FakeServer(OURS)

    @pytest.fixture
    def watched(self, server: Any) -> TablesSeen:
        watched = TablesSeen(server, DATA)
        watched.look()
        return watched

    def test_the_same_is_no_news(self, watched: TablesSeen) -> None:
        assert watched.replaced(written=False) is None

    def test_another_one_and_none_are_told(self, server: Any, watched: TablesSeen) -> None:
        server.comments["sbtest"] = ""
        for written in (False, True):
            error = watched.replaced(written=written)
            assert error is not None and "replaced mine.sbtest" in error.message
        del server.comments["sbtest"]
        error = watched.replaced(written=True)
        assert error is not None and "dropped mine.sbtest" in error.message

    def test_a_copy_with_the_same_mark_is_told_by_its_age(
        self, server: Any, watched: TablesSeen
    ) -> None:
        server.made = "2026-01-02 00:00:00"
        assert watched.replaced(written=True) is None
        assert watched.replaced(written=False) is not None
        watched.look_again()
        assert watched.replaced(written=False) is None

    def test_a_statement_of_ours_hides_no_replacing(self, server: Any, watched: TablesSeen) -> None:
        server.comments["sbtest"] = "our customers"
        watched.look_again()
        assert watched.replaced(written=True) is not None


class TestDrop:
    def test_ours_are_listed_and_dropped(self) -> None:
        server: Any = FakeServer(OURS, sbtest2="contend:changed mine.sbtest2", a="")
        asked: list[str] = []
        assert drop_on(server, DATA, lambda question: not asked.append(question)) == [
            *("sbtest", "sbtest2")
        ]
        assert "mysql://bench@db1/mine: sbtest, sbtest2" in asked[0]
        assert server.comments == {"a": ""}

    @pytest.mark.parametrize(
        ("comment", "busy", "agreed", "refused"),
        [
            (OURS, [], False, DropDeclined),
            ("our customers", [], True, TableNotOurs),
            (HALF, ["another"], True, LoadingElsewhere),
        ],
    )
    def test_nothing_is_dropped_after_a_refusal(
        self, comment: str, busy: list[str], agreed: bool, refused: type[Exception]
    ) -> None:
        server: Any = FakeServer(comment)
        server.busy = busy
        with pytest.raises(refused):
            drop_on(server, DATA, lambda _: agreed)
        assert server.statements == []

    def test_none_is_none(self) -> None:
        server: Any = FakeServer()
        assert drop_on(server, DATA, lambda _: True) == []

    def test_a_copy_and_another_case_are_somebody_s(self) -> None:
        theirs = {"my_archive": OURS, "contenders": "CONTEND: people", "c": OURS.upper()}
        server: Any = FakeServer(OURS, **theirs)
        assert drop_on(server, DATA, lambda _: True) == ["sbtest"]
        assert server.comments == theirs

    @pytest.mark.parametrize("ours", [True, False])
    def test_only_our_views_go_with_their_tables(self, ours: bool) -> None:
        server: Any = FakeServer(employees="contend:k mine.employees")
        of = "mine" if ours else "theirs"
        server.views["current_dept_emp"] = (
            f"select 1 where 'contend:view {of}.current_dept_emp' <> ''"
        )
        drop_on(server, DATA, lambda _: True)
        views = [one.split()[-1] for one in server.statements if "DROP VIEW" in one]
        assert views == (["`mine`.`current_dept_emp`"] if ours else [])


def test_names_that_a_mark_cannot_hold_are_written_by_their_bytes() -> None:
    mark = marks.finished("my lab", "tä.b`'", "k")
    assert mark == "contend:k my%20lab.t%C3%A4%2Eb%60%27"
    assert marks.mark_of(mark, "my lab", "tä.b`'") == marks.Mark("k")
    assert marks.mark_of(mark, "my lab", "tä") is None
