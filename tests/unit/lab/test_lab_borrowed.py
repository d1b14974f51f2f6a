"""The stage of a server that is not ours: set in place, put back, never restarted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pymysql
import pytest
from fake_connection import FakeConnection
from lab_fakes import ANSWERS, NoLoad, experiment

from contend.errors import RequestError, WorkError
from contend.lab.borrowed import ORIGINALS_NAME, UNDOS_NAME, BorrowedPlace
from contend.lab.control import StatementFailed
from contend.lab.errors import NeedsRestart, OtherServer
from contend.lab.events import Event, Notice
from contend.lab.stage import StageOf
from contend.servers import Truncated
from contend.servers.dsn import Dsn, Password
from contend.servers.errors import ConnectionRefused, OptionRejected
from contend.servers.existing import Identity
from contend.servers.options import as_text
from contend.spec import CellSpec, DataSpec, Level, cell_spec

READ_ONLY = frozenset({"open_files_limit", "thread_stack"})


class FakeExisting:
    """A server somebody else runs."""

    def __init__(self) -> None:
        self.dsn = Dsn(user="bench", host="db1", port=3307, password=Password("s3cret"))
        self.there = {
            "key_buffer_size": "134217728",
            "key_cache_segments": "0",
            "open_files_limit": "32768",
            "thread_stack": "299008",
            "sql_mode": "STRICT_TRANS_TABLES",
        }
        self.changes: list[dict[str, str]] = []
        self.gone = False

    def identity(self) -> Identity:
        if self.gone:
            raise ConnectionRefused("mysql://bench@db1:3307/ does not answer")
        return Identity("mariadb", "10.11.19", "test")

    def variables(self) -> dict[str, str]:
        return dict(self.there)

    def variables_that_differ(self) -> dict[str, tuple[str, str | None]]:
        return {"key_buffer_size": (self.there["key_buffer_size"], "134217728")}

    def pid(self) -> int | None:
        return None

    def connect(self, database: str | None = None, **_more: Any) -> Any:
        return FakeConnection(ANSWERS)

    def set_global(self, changes: Mapping[str, Level]) -> list[Truncated]:
        truncated = []
        for name, value in changes.items():
            if name in READ_ONLY:
                cause = pymysql.err.OperationalError(1238, "read only")
                raise OptionRejected(f"cannot change {name}") from cause
            got = "64" if (name, value) == ("key_cache_segments", 100) else as_text(value)
            if got != as_text(value):
                truncated.append(Truncated(name, as_text(value), got))
            self.there[name] = got
        self.changes.append({name: as_text(value) for name, value in changes.items()})
        return truncated


class Bench:
    def __init__(self, tmp_path: Path) -> None:
        self.tmp_path = tmp_path
        self.server = FakeExisting()
        self.provided: list[DataSpec] = []
        self.spoiled: list[DataSpec] = []
        self.heard: list[Event] = []
        self.tiny = experiment(tmp_path)

    def stage(self) -> StageOf:
        server: Any = self.server
        place = BorrowedPlace(
            server, self.provide, self.spoiled.append, NoLoad(), self.tmp_path, self.heard.append
        )
        return StageOf(place, self.heard.append)

    def provide(self, data: DataSpec) -> Mapping[str, Any]:
        self.provided.append(data)
        return {"key": "k", "rows": data.rows}

    def cell(self, segments: int = 0, **options: Level) -> CellSpec:
        levels = {f"server.options.{name}": value for name, value in options.items()}
        return cell_spec(self.tiny, {"server.options.key_cache_segments": segments, **levels})

    @property
    def originals(self) -> Path:
        return self.tmp_path / ORIGINALS_NAME


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_only_what_differs_is_set_and_all_is_put_back(bench: Bench) -> None:
    stage = bench.stage()
    stage.set(bench.cell(segments=0))
    stage.set(bench.cell(segments=32))
    assert bench.server.changes == [{"key_buffer_size": "64M"}, {"key_cache_segments": "32"}]
    assert json.loads(bench.originals.read_text()) == {
        "key_buffer_size": "134217728",
        "key_cache_segments": "0",
    }
    stage.close()
    assert bench.server.there["key_buffer_size"] == "134217728"
    assert bench.server.there["key_cache_segments"] == "0"
    assert not bench.originals.exists()
    assert any(isinstance(e, Notice) and "put back" in e.text for e in bench.heard)


def test_a_session_after_a_killed_one_puts_back_what_was_there_first(bench: Bench) -> None:
    bench.stage().set(bench.cell(segments=32))
    resumed = bench.stage()
    resumed.set(bench.cell(segments=64))
    resumed.close()
    assert bench.server.there["key_buffer_size"] == "134217728"
    assert bench.server.there["key_cache_segments"] == "0"


def test_options_that_need_a_restart_are_refused_all_at_once(bench: Bench) -> None:
    stage = bench.stage()
    with pytest.raises(NeedsRestart) as caught:
        stage.set(bench.cell(open_files_limit=16384, thread_stack=1))
    assert caught.value.exit_code == 2
    assert "open_files_limit, thread_stack" in caught.value.message
    assert "--set server.options.open_files_limit=32768" in (caught.value.hint or "")
    stage.close()
    assert "open_files_limit" not in bench.server.changes[-1]
    assert bench.server.there["key_buffer_size"] == "134217728"


def test_an_option_the_server_has_already_needs_nothing(bench: Bench) -> None:
    bench.stage().set(bench.cell(open_files_limit=32768, sql_mode="strict_trans_tables"))
    assert bench.server.changes == [{"key_buffer_size": "64M"}]


def test_an_option_that_only_private_servers_need_is_passed_over(bench: Bench) -> None:
    bench.stage().set(bench.cell(skip_grant_tables=True))
    assert "skip_grant_tables" not in str(bench.server.changes)


def test_an_unknown_variable_is_refused(bench: Bench) -> None:
    with pytest.raises(RequestError, match="no variable key_cache_segmnts"):
        bench.stage().set(bench.cell(key_cache_segmnts=3))


def test_a_truncated_value_marks_the_cell_and_is_not_set_again(bench: Bench) -> None:
    stage = bench.stage()
    for _ in range(2):
        ready = stage.set(bench.cell(segments=100))
        assert [mark["code"] for mark in ready.warnings] == ["option-truncated"]
    assert sum("key_cache_segments" in change for change in bench.server.changes) == 1
    assert not stage.set(bench.cell(segments=64)).warnings


def test_another_kind_of_server_is_refused(bench: Bench) -> None:
    with pytest.raises(OtherServer) as caught:
        bench.stage().set(cell_spec(bench.tiny, {"server.kind": "mysql"}))
    assert "--set server.kind=mariadb" in (caught.value.hint or "")


def test_the_password_is_in_the_environment_alone(bench: Bench) -> None:
    ready = bench.stage().set(bench.cell())
    assert ready.env == {"CONTEND_PASSWORD": "s3cret"}
    assert ready.address.as_plan() == {
        "host": "db1",
        "port": 3307,
        "user": "bench",
        "password_env": "CONTEND_PASSWORD",
        "database": "sbtest",
    }
    assert "s3cret" not in repr(ready.address) + str(ready.probes)


def test_data_are_asked_for_once(bench: Bench) -> None:
    stage = bench.stage()
    stage.set(bench.cell())
    ready = stage.set(bench.cell(segments=32))
    assert len(bench.provided) == 1
    assert ready.probes["dataset"] == {"key": "k", "rows": 1000}
    assert ready.probes["server"]["change"] == "in_place"
    assert not ready.expected.files_cached


def test_runs_after_one_that_may_have_written_are_marked(bench: Bench) -> None:
    stage = bench.stage()
    writing = bench.cell().having(workload={"kind": "update_index"})
    assert not stage.set(bench.cell()).warnings
    assert bench.spoiled == []
    assert not stage.set(writing).warnings
    for cell in (writing, bench.cell()):
        (mark,) = stage.set(cell).warnings
        assert mark["code"] == "data-changed"
        assert "not loaded anew" in mark["message"]
    assert len(bench.spoiled) == len(bench.provided) == 1
    # Other data are loaded, and are what they should be.
    more = writing.having(data__rows=2000)
    assert not stage.set(more).warnings
    assert [data.rows for data in bench.spoiled] == [1000, 2000]


def test_tables_of_a_script_s_own_carry_no_mark(bench: Bench) -> None:
    cell = bench.cell().having(data__schema="script", workload={"kind": "lua", "script": "/x.lua"})
    stage = bench.stage()
    for _ in range(2):
        assert not stage.set(cell).warnings
    assert bench.spoiled == []


class TestStatements:
    STEPS: ClassVar = [
        {"do": f"CREATE {name}", "undo": f"DROP {name}", "name": None, "on": True} for name in "ab"
    ]

    @pytest.fixture
    def said(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        said: list[str] = []

        def execute(_self: object, statement: str) -> float:
            if statement in said and statement.startswith("DROP"):
                raise StatementFailed(f"the server refused {statement!r}")
            said.append(statement)
            return 0.1

        monkeypatch.setattr(BorrowedPlace, "execute", execute)
        return said

    def test_they_are_undone_in_the_end(self, bench: Bench, said: list[str]) -> None:
        stage = bench.stage()
        stage.set(bench.cell().having(setup=self.STEPS))
        assert json.loads((bench.tmp_path / UNDOS_NAME).read_text()) == ["DROP a", "DROP b"]
        stage.close()
        assert said == ["CREATE a", "CREATE b", "DROP b", "DROP a"]
        assert not (bench.tmp_path / UNDOS_NAME).exists()

    def test_what_a_killed_lab_left_is_undone_by_the_next(
        self, bench: Bench, said: list[str]
    ) -> None:
        bench.stage().set(bench.cell().having(setup=self.STEPS))
        bench.stage().set(bench.cell())
        assert said == ["CREATE a", "CREATE b", "DROP b", "DROP a"]
        assert not (bench.tmp_path / UNDOS_NAME).exists()

    def test_one_that_fails_is_left_to_its_owner_and_the_others_are_undone(
        self, bench: Bench, said: list[str]
    ) -> None:
        stage = bench.stage()
        stage.set(bench.cell().having(setup=self.STEPS))
        said.append("DROP b")
        with pytest.raises(WorkError, match=r"setup could not be undone: .*'DROP b'") as caught:
            stage.close()
        assert caught.value.hint == "That is left to you."
        assert said[-1] == "DROP a"


def test_a_server_that_went_away_is_its_death(bench: Bench) -> None:
    stage = bench.stage()
    stage.set(bench.cell())
    assert stage.death() is None
    bench.server.gone = True
    death = stage.death()
    assert death is not None and "does not answer" in death.message
