"""The testbed of a server that is not ours: set in place, put back, never restarted."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
from fake_variables import FakeVariables
from lab_fakes import ANSWERS, NoLoad, experiment

from contend.errors import ContendError, RequestError, WorkError
from contend.experiment import CellSpec, DataSpec, Experiment, Level, cell_spec, load_experiment
from contend.lab import borrowed
from contend.lab.borrowed import (
    BorrowedTestbed,
    ClusterMember,
    ClusterTestbed,
    cluster_of,
    require_as_one,
    require_rows,
)
from contend.lab.events import Event, Notice
from contend.lab.testbed import Testbed
from contend.servers.client import StatementFailed
from contend.servers.dsn import Dsn, Password
from contend.servers.errors import ConnectionLost, ConnectionRefused, TablesReplaced
from contend.servers.existing import Identity, Process
from contend.servers.undo import Journal, NotPutBack, back, in_words
from contend.servers.variables import Differing

DIRTY = "innodb_max_dirty_pages_pct"

FIRST = {"key_buffer_size": 134217728, "key_cache_segments": 0, DIRTY: 90.0}


class FakeExisting(FakeVariables):
    """A server somebody else runs."""

    def __init__(self) -> None:
        more = {
            "open_files_limit": 32768,
            "thread_stack": 299008,
            "sql_mode": "STRICT_TRANS_TABLES",
        }
        table = ("contend:k sbtest.sbtest", "2026-01-01 00:00:00")
        super().__init__({**FIRST, **more}, {"CREATE_TIME": [table], **ANSWERS})
        self.cuts["key_cache_segments=100"] = 64
        self.dsn = Dsn(user="bench", host="db1", port=3307, password=Password("s3cret"))

    def identity(self) -> Identity:
        if self.gone:
            raise ConnectionRefused("mysql://bench@db1:3307/ does not answer")
        return Identity("mariadb", "10.11.19", "test")

    def variables(self) -> dict[str, str]:
        return {n: f"{v:.6f}" if isinstance(v, float) else str(v) for n, v in self.there.items()}

    def variables_that_differ(self) -> Differing:
        value = str(self.there["key_buffer_size"])
        return {"key_buffer_size": {"value": value, "default": "134217728"}}

    def process(self) -> Process:
        return Process(None, "it is made up")

    @property
    def first(self) -> dict[str, object]:
        return {name: self.there[name] for name in FIRST}


class Bench:
    def __init__(self, tmp_path: Path) -> None:
        self.tmp_path = tmp_path
        self.server = FakeExisting()
        self.provided: list[DataSpec] = []
        self.spoiled: list[DataSpec] = []
        self.heard: list[Event] = []
        self.tiny = experiment(tmp_path)
        self.journal = Journal.open(tmp_path / "undo", str(self.server.dsn))

    def testbed(self) -> Testbed:
        server: Any = self.server
        return BorrowedTestbed(
            server, self.provide, self.spoiled.append, NoLoad(), self.journal, self.heard.append
        )

    def provide(self, data: DataSpec) -> Mapping[str, Any]:
        self.provided.append(data)
        return {"key": "k", "rows": data.rows}

    def cell(self, segments: int = 0, **options: Level) -> CellSpec:
        levels = {f"server.options.{name}": value for name, value in options.items()}
        return cell_spec(self.tiny, {"server.options.key_cache_segments": segments, **levels})

    @property
    def noted(self) -> list[str]:
        """What another process would find."""
        if not self.journal.path.exists():
            return []
        return [in_words(entry) for entry in json.loads(self.journal.path.read_text())["undo"]]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.journal.close()


SIZE = "SET GLOBAL key_buffer_size = 67108864"


def test_only_what_differs_is_set_and_all_is_put_back(bench: Bench) -> None:
    testbed = bench.testbed()
    testbed.set(bench.cell(segments=0))
    testbed.set(bench.cell(segments=32))
    assert bench.server.changes == [SIZE, "SET GLOBAL key_cache_segments = 32"]
    assert bench.noted == ["key_buffer_size (was 134217728)", "key_cache_segments (was 0)"]
    testbed.close()
    assert bench.server.first == FIRST
    assert bench.noted == []
    assert any(isinstance(e, Notice) and "reverted on" in e.text for e in bench.heard)


def test_a_number_with_a_fraction_goes_back_as_a_number(bench: Bench) -> None:
    testbed = bench.testbed()
    testbed.set(bench.cell(**{DIRTY: 90}))
    testbed.set(bench.cell(**{DIRTY: 80}))
    testbed.close()
    assert bench.server.changes[1] == f"SET GLOBAL {DIRTY} = 80"
    assert f"SET GLOBAL {DIRTY} = 90.0" in bench.server.changes
    assert bench.server.first == FIRST


def test_one_that_is_refused_is_named_and_the_others_are_put_back(bench: Bench) -> None:
    testbed = bench.testbed()
    testbed.set(bench.cell(segments=32, **{DIRTY: 80}))
    bench.server.refuses = {"SET GLOBAL key_cache_segments"}
    with pytest.raises(NotPutBack) as refused:
        testbed.close()
    assert refused.value.exit_code == 1
    assert "key_cache_segments (was 0): " in (refused.value.detail or "")
    assert bench.server.first == {**FIRST, "key_cache_segments": 32}
    assert bench.noted == ["key_cache_segments (was 0)"]


def test_options_that_need_a_restart_are_refused_all_at_once(bench: Bench) -> None:
    testbed = bench.testbed()
    with pytest.raises(RequestError) as caught:
        testbed.set(bench.cell(open_files_limit=16384, thread_stack=1))
    assert caught.value.exit_code == 2
    assert "open_files_limit, thread_stack" in caught.value.message
    assert "server.options.open_files_limit=32768" in (caught.value.hint or "")
    testbed.close()
    assert bench.server.first == FIRST


def test_an_option_the_server_has_already_needs_nothing(bench: Bench) -> None:
    bench.testbed().set(bench.cell(open_files_limit=32768, sql_mode="strict_trans_tables"))
    assert bench.server.changes == [SIZE]


def test_an_option_that_only_private_servers_need_is_passed_over(bench: Bench) -> None:
    bench.testbed().set(bench.cell(skip_grant_tables=True))
    assert "skip_grant_tables" not in str(bench.server.changes)


def test_an_unknown_variable_is_refused(bench: Bench) -> None:
    with pytest.raises(RequestError, match="no variable key_cache_segmnts"):
        bench.testbed().set(bench.cell(key_cache_segmnts=3))


def test_a_truncated_value_marks_the_cell_and_is_not_set_again(bench: Bench) -> None:
    testbed = bench.testbed()
    for _ in range(2):
        ready = testbed.set(bench.cell(segments=100))
        assert [mark["code"] for mark in ready.warnings] == ["option-truncated"]
    assert sum("key_cache_segments" in change for change in bench.server.changes) == 1
    assert not testbed.set(bench.cell(segments=64)).warnings


def test_another_kind_of_server_is_refused(bench: Bench) -> None:
    with pytest.raises(RequestError) as caught:
        bench.testbed().set(cell_spec(bench.tiny, {"server.kind": "mysql"}))
    assert "--set server.kind=mariadb" in (caught.value.hint or "")


def test_the_password_is_in_the_environment_alone(bench: Bench) -> None:
    ready = bench.testbed().set(bench.cell())
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
    testbed = bench.testbed()
    testbed.set(bench.cell())
    ready = testbed.set(bench.cell(segments=32))
    assert len(bench.provided) == 1
    assert ready.probes["dataset"] == {"key": "k", "rows": 1000}
    assert ready.probes["server"]["change"] == "in_place"
    assert ready.probes["server"]["without_process"] == "it is made up"
    assert not ready.expected.files_cached


def test_runs_after_one_that_may_have_written_are_marked(bench: Bench) -> None:
    testbed = bench.testbed()
    writing = bench.cell().having(workload={"kind": "update_index"})
    assert not testbed.set(bench.cell()).warnings
    assert bench.spoiled == []
    assert not testbed.set(writing).warnings
    for cell in (writing, bench.cell()):
        (mark,) = testbed.set(cell).warnings
        assert mark["code"] == "data-changed"
        assert "does not reload" in mark["message"]
    assert len(bench.spoiled) == len(bench.provided) == 1
    # Other data are loaded, and are what they should be.
    more = writing.having(data__rows=2000)
    assert not testbed.set(more).warnings
    assert [data.rows for data in bench.spoiled] == [1000, 2000]


def test_runs_after_one_of_a_script_that_may_have_written_are_marked(bench: Bench) -> None:
    cell = bench.cell().having(data__schema="script", workload={"kind": "lua", "script": "/x.lua"})
    testbed = bench.testbed()
    assert not testbed.set(cell).warnings
    assert [mark["code"] for mark in testbed.set(cell).warnings] == ["data-changed"]
    # They are not contend's to mark.
    assert bench.spoiled == []


class TestStatements:
    STEPS: ClassVar = [
        {"do": f"CREATE {name}", "undo": f"DROP {name}", "name": None, "on": True} for name in "ab"
    ]

    @pytest.fixture
    def said(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The statements that were run; each was noted before."""
        said: list[str] = []

        def run(_connect: object, database: str, statement: str) -> float:
            assert database == "sbtest"
            undo = statement.replace("CREATE", "DROP")
            assert any(undo in one for one in bench.noted), "it is noted before it is done"
            if statement in self.refused:
                raise StatementFailed(f"the server refused {statement!r}")
            if statement in self.lost:
                raise ConnectionLost("the server closed the connection.", statement)
            said.append(statement)
            return 0.1

        for room in (borrowed, back):
            monkeypatch.setattr(room, "run_statement", run)
        self.refused: set[str] = set()
        self.lost: set[str] = set()
        return said

    def test_they_are_undone_in_the_end(self, bench: Bench, said: list[str]) -> None:
        testbed = bench.testbed()
        testbed.set(bench.cell().having(setup=self.STEPS))
        assert bench.noted[-2:] == ["the setup, by 'DROP a'", "the setup, by 'DROP b'"]
        testbed.close()
        assert said == ["CREATE a", "CREATE b", "DROP b", "DROP a"]
        assert bench.noted == []

    def test_one_that_is_refused_did_nothing(self, bench: Bench, said: list[str]) -> None:
        testbed = bench.testbed()
        self.refused = {"CREATE b"}
        with pytest.raises(WorkError, match=r"setup, step 2 of 2"):
            testbed.set(bench.cell().having(setup=self.STEPS))
        testbed.close()
        assert said == ["CREATE a", "DROP a"]
        assert bench.noted == []

    def test_of_one_that_broke_off_nobody_knows_what_it_did(
        self, bench: Bench, said: list[str]
    ) -> None:
        testbed = bench.testbed()
        self.lost = {"CREATE b"}
        with pytest.raises(WorkError, match=r"setup, step 2 of 2"):
            testbed.set(bench.cell().having(setup=self.STEPS))
        assert said == ["CREATE a", "DROP b", "DROP a"]

    def test_one_whose_undo_fails_stays_noted_and_the_others_are_undone(
        self, bench: Bench, said: list[str]
    ) -> None:
        testbed = bench.testbed()
        testbed.set(bench.cell().having(setup=self.STEPS))
        self.refused = {"DROP b"}
        with pytest.raises(NotPutBack) as caught:
            testbed.close()
        assert "the server refused 'DROP b'" in (caught.value.detail or "")
        assert "contend restore mysql://bench@db1:3307/" in (caught.value.hint or "")
        assert said[-1] == "DROP a"
        assert bench.noted == ["the setup, by 'DROP b'"]
        assert bench.server.first == FIRST


def test_a_table_that_somebody_replaced_is_told_once_and_looked_at_anew(bench: Bench) -> None:
    testbed = bench.testbed()
    testbed.set(bench.cell())
    bench.server.answers["CREATE_TIME"] = [("theirs", "2026-01-02 00:00:00")]
    exit_error = testbed.exit_error()
    assert isinstance(exit_error, TablesReplaced)
    assert "replaced sbtest.sbtest" in exit_error.message
    assert testbed.exit_error() is None
    testbed.set(bench.cell())
    assert len(bench.provided) == 2


def test_a_copy_of_a_table_is_noticed_before_the_next_run(bench: Bench) -> None:
    testbed = bench.testbed()
    testbed.set(bench.cell())
    (before,) = bench.server.answers["CREATE_TIME"]
    bench.server.answers["CREATE_TIME"] = [(before[0], "2026-01-02 00:00:00")]
    with pytest.raises(TablesReplaced):
        testbed.set(bench.cell(segments=32))
    writing = bench.cell().having(workload={"kind": "update_index"})
    testbed.set(writing)
    # What it writes may have altered the table.
    bench.server.answers["CREATE_TIME"] = [(before[0], "2026-01-03 00:00:00")]
    testbed.set(writing)


def test_a_server_that_went_away_is_its_death(bench: Bench) -> None:
    testbed = bench.testbed()
    testbed.set(bench.cell())
    assert testbed.exit_error() is None
    bench.server.gone = True
    exit_error = testbed.exit_error()
    assert exit_error is not None and "does not answer" in exit_error.message


SYNCED = {
    "wsrep_ready": "ON",
    "wsrep_local_state_comment": "Synced",
    "wsrep_cluster_size": "2",
    "wsrep_cluster_status": "Primary",
}


class Stub:
    """Stands for a server that somebody else runs."""

    def __init__(self, *, version: str = "10.11.19", gone: bool = False, **status: str) -> None:
        self.version, self.gone, self.status = version, gone, {**SYNCED, **status}
        self.warehouses: set[int] = set()

    def identity(self) -> Identity:
        if self.gone:
            raise ConnectionRefused("mysql://db/ does not answer")
        return Identity("mariadb", self.version, "")

    @contextlib.contextmanager
    def connect(self, *_: object) -> Iterator[Stub]:
        yield self

    def variables(self) -> dict[str, str]:
        return {"spider_internal_xa": "OFF"}


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(borrowed, "status_of", lambda stub: stub.status.items())
    monkeypatch.setattr(
        borrowed, "has_warehouse", lambda stub, _database, number: number in stub.warehouses
    )


def members(role: str, *stubs: Stub) -> list[ClusterMember]:
    return [
        ClusterMember(f"{role}-{n}", role, cast(Any, stub), n) for n, stub in enumerate(stubs, 1)
    ]


@pytest.mark.parametrize(
    ("second", "error", "words"),
    [
        (Stub(gone=True), WorkError, r"^node-2 of the cluster .* does not answer"),
        (Stub(version="11.8.3"), RequestError, r"node-1 is mariadb 10.*, node-2 is mariadb 11\.8"),
        (
            Stub(wsrep_cluster_status="non-Primary", wsrep_ready="OFF"),
            WorkError,
            r"node-2 of the 2 nodes .* cannot be measured: it has no quorum",
        ),
        (Stub(wsrep_cluster_size="1"), WorkError, r"node-2 .* wsrep_cluster_size = 1"),
    ],
)
def test_what_is_wrong_with_a_member_is_said(
    second: Stub, error: type[ContendError], words: str
) -> None:
    require_as_one(members("node", Stub(), Stub()))
    with pytest.raises(error, match=words) as raised:
        require_as_one(members("node", Stub(), second))
    assert raised.value.hint


def cluster_ladder() -> Experiment:
    return load_experiment("cluster-ladder")


def test_backends_have_their_warehouses_and_the_front_reaches_them() -> None:
    front, one, two = Stub(), Stub(), Stub()
    servers = [("front-1", "front", front), ("backend-1", "backend", one)]
    found = cluster_of(cast(Any, [*servers, ("backend-2", "backend", two)]), cluster_ladder())
    assert [(member.name, member.owns) for member in found] == [
        ("front-1", None),
        ("backend-1", 2),
        ("backend-2", 4),
    ]
    front.warehouses, one.warehouses, two.warehouses = {2, 4}, {2}, {4}
    require_rows(found, "d")
    two.warehouses = set()
    with pytest.raises(RequestError, match=r"^backend-2 has no warehouse 4"):
        require_rows(found, "d")
    two.warehouses, front.warehouses = {4}, {2}
    with pytest.raises(RequestError, match=r"^front-1 has no .*belongs to backend-2"):
        require_rows(found, "d")


class Place:
    """Stands for what is done to one of them."""

    def __init__(self) -> None:
        self.options: dict[str, object] = {}
        self.warmed = self.closed = False
        self.error: ContendError | None = None

    def set_options(self, options: dict[str, object]) -> None:
        self.options = options

    def warm(self, _how: str) -> None:
        self.warmed = True

    def exit_error(self) -> ContendError | None:
        return self.error

    def leave(self) -> None:
        self.closed = True
        if self.error is not None:
            raise self.error


def test_each_member_gets_what_is_its_own_and_all_are_put_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, *others = places = [Place() for _ in range(3)]
    for name in ("set_options", "warm", "exit_error", "leave"):
        stands_in = getattr(first, name)
        monkeypatch.setattr(
            BorrowedTestbed, name, lambda _self, *asked, stands_in=stands_in: stands_in(*asked)
        )
    monkeypatch.setattr(BorrowedTestbed, "__init__", lambda _self: None)
    stubs = [*members("front", Stub()), *members("backend", Stub(), Stub())]
    cluster = ClusterTestbed(stubs, cast(Any, others))
    cluster.set_options({"spider_bgs_mode": 1, "max_connections": 9})
    assert [set(place.options) for place in places] == [
        {"spider_bgs_mode", "max_connections"},
        {"max_connections"},
        {"max_connections"},
    ]
    cluster.warm("index")
    assert [place.warmed for place in places] == [False, True, True]
    assert cluster.exit_error() is None
    places[1].error = WorkError("it hung up")
    assert "backend-1 has ended: it hung up" in str(cluster.exit_error())
    with pytest.raises(WorkError, match="it hung up"):
        cluster.leave()
    assert all(place.closed for place in places)
