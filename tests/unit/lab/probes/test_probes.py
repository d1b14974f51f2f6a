"""Probes and checks: differences of counters, and what a run's figures warn of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import pymysql
import pytest
from fake_connection import FakeConnection, Rows
from fake_load import done_of
from hypothesis import given
from hypothesis import strategies as st

from contend import host
from contend.experiment.settings.server import MODEL
from contend.lab import probes
from contend.lab.probes import Expected, counters, warnings_of
from contend.lab.probes.counters import PROBES, Observed, ObservedMember, Probe

PLAN: dict[str, Any] = {"load": {"connections": 1, "measure_s": 1.0}, "watch": {"pid": 1}}
DONE = done_of(PLAN)
MEMBER = ObservedMember("1", "node", FakeConnection({"": []}), None)  # type: ignore[arg-type]


def probe_of(name: str) -> Probe:
    return next(probe for probe in PROBES if probe.name == name)


def observed(rows: Rows, kind: str = "mariadb") -> Observed:
    connection: Any = FakeConnection({"": rows})
    return Observed(connection, kind)


class TestStatus:
    def test_only_whole_numbers_that_changed_are_kept(self) -> None:
        status = probe_of("status")
        before = status.look(observed([("Questions", "10"), ("Uptime", "5"), ("Ssl_cipher", "")]))
        after = status.look(
            observed([("Questions", "30"), ("Uptime", "5"), ("Ssl_cipher", ""), ("New", "2")])
        )
        assert status.change(before, after) == {"Questions": 20, "New": 2}

    def test_a_cache_that_missed_nothing_says_so(self) -> None:
        assert probe_of("status").change({"Key_reads": 7}, {"Key_reads": 7}) == {"Key_reads": 0}

    def test_a_gauge_is_kept_as_it_is_and_a_counter_as_what_it_rose_by(self) -> None:
        looks = [
            observed([("Threads_connected", one), ("Questions", two), ("Ssl_cipher", "")])
            for one, two in (("9", "10"), ("1", "30"))
        ]
        for probe, kept in (
            (probe_of("status"), {"Questions": 20}),
            (probe_of("gauges"), {"Threads_connected": 1}),
        ):
            before, after = map(probe.look, looks)
            assert probe.change(before, after) == kept

    @given(st.dictionaries(st.text(max_size=6), st.integers()))
    def test_no_change_is_nothing(self, counters: dict[str, int]) -> None:
        assert probe_of("status").change(counters, counters) == {}


class TestInnodbMetrics:
    ROWS: ClassVar[Rows] = [
        ("lock_timeouts", "value", 3),
        ("os_pending_reads", "counter", 3),
        ("buffer_pool_reads", "status_counter", 3),
        ("buffer_pool_pages_data", "value", 3),
        ("index_page_splits", "counter", 3),
        ("adaptive_hash_searches", "set_member", 3),
    ]

    def test_what_counts_and_stands_nowhere_else_is_kept(self) -> None:
        probe = probe_of("innodb_metrics")
        before = probe.look(observed(self.ROWS[:-1]))
        after = probe.look(observed([(name, kind, 5) for name, kind, _ in self.ROWS]))
        assert before is not None and after is not None
        assert probe.change(before, after) == {"lock_timeouts": 2, "index_page_splits": 2}

    @pytest.mark.parametrize(
        ("kind", "asked"), [("mariadb", "ENABLED = 1"), ("mysql", "STATUS = 'enabled'")]
    )
    def test_each_kind_says_in_its_way_which_are_on(self, kind: str, asked: str) -> None:
        looked: Any = observed([], kind)
        assert probe_of("innodb_metrics").look(looked) == {}
        assert asked in looked.connection.statements[0]

    def test_who_may_not_look_sees_none(self) -> None:
        class Refuses(FakeConnection):
            def answer(self, statement: str) -> Rows:
                raise pymysql.err.OperationalError(self.code, "no")

        refuses: Any = Refuses()
        refuses.code = 1227
        assert probe_of("innodb_metrics").look(Observed(refuses, "mariadb")) is None
        refuses.code = 1064
        with pytest.raises(pymysql.err.OperationalError):
            probe_of("innodb_metrics").look(Observed(refuses, "mariadb"))
        assert probe_of("innodb_metrics").look(observed([], MODEL)) is None


class TestKeyCaches:
    def test_segments_are_told_apart_and_their_sum_is_left_out(self) -> None:
        caches = probe_of("key_caches")
        before, after = (
            caches.look(observed([("default", segment, n, 1, 0, 0) for segment, n in rows]))
            for rows in (((1, 10), (2, 5), (None, 15)), ((1, 30), (2, 6), (None, 36)))
        )
        assert before is not None and after is not None
        assert caches.change(before, after) == [
            {
                "cache": "default",
                "segment": segment,
                "read_requests": requests,
                "reads": 0,
                "write_requests": 0,
                "writes": 0,
            }
            for segment, requests in ((1, 20), (2, 1))
        ]

    def test_an_unsegmented_cache_is_one_row(self) -> None:
        caches = probe_of("key_caches")
        look = caches.look(observed([("default", None, 10, 1, 0, 0)]))
        assert look is not None
        (row,) = caches.change({}, look)
        assert (row["segment"], row["read_requests"]) == (None, 10)

    def test_a_server_without_the_table_is_not_asked(self) -> None:
        assert probe_of("key_caches").look(observed([], kind="mysql")) is None


class TestHost:
    def test_own_processes_are_no_neighbours(self, monkeypatch: pytest.MonkeyPatch) -> None:
        at = iter([0.0, 10.0])
        cpu = iter([{"user": 0.0, "idle": 0.0}, {"user": 18.0, "idle": 2.0}])

        def pressure() -> host.Pressure:
            return host.Pressure(next(at), 2, next(cpu), {}, None, {}, None, None)

        monkeypatch.setattr(counters.host, "pressure", pressure)
        probe = probe_of("host")
        monkeypatch.setattr(counters.host, "own_cpu_s", lambda _pid: 0.0)
        before = probe.look(replace(observed([]), pid=1))
        monkeypatch.setattr(counters.host, "own_cpu_s", lambda _pid: 17.9)
        after = probe.look(replace(observed([]), pid=1))
        change = probe.change(before, after)
        assert change["own_cpu_s"] == 17.9
        assert change["disturbances"] == []

    def test_a_server_elsewhere_leaves_own_cpu_unknown(self) -> None:
        assert probe_of("host").look(observed([])).own_cpu_s is None


def test_what_a_server_does_not_have_is_left_out() -> None:
    def asked(questions: str) -> Observed:
        connection: Any = FakeConnection({"SHOW": [("Questions", questions)]})
        return Observed(connection, "mysql")

    before, after = probes.look(asked("1")), probes.look(asked("4"))
    changes = probes.changes(before, after)
    assert changes["status"] == {"Questions": 3}
    assert "key_caches" not in changes


def test_how_long_a_quota_held_a_server_back_is_told_of_one_server() -> None:
    held = iter([0.5, 2.0])
    alone = replace(observed([]), throttled_s=lambda: next(held))
    before, after = probes.look(alone), probes.look(alone)
    assert probes.changes(before, after)["throttled_s"] == 1.5
    # Without a quota, and of several servers, which each have their own.
    for other in (
        observed([]),
        replace(observed([]), throttled_s=lambda: 1.0, members=(MEMBER,)),
    ):
        assert "throttled_s" not in probes.changes(probes.look(other), probes.look(other))


def test_nothing_is_asked_between_the_status_and_the_run() -> None:
    asked: Any = observed([("Questions", "1")], kind="model")
    probes.look(asked, begins=True)
    probes.look(asked)
    statements = asked.connection.statements
    middle = len(statements) // 2
    assert statements[middle - 1] == statements[middle] == "SHOW GLOBAL STATUS"


def test_what_a_model_server_counted_is_told_as_differences() -> None:
    lock = {"segment": 3, "visits": 5, "waits": 1, "sampled": 1, "held_ns": 50, "waited_ns": 0}
    looks = iter(
        [
            {"epoch": 1, "queries": 10, "delays": {"times": 1, "ns": 700}, "segments": [lock]},
            {
                "epoch": 1,
                "queries": 30,
                "delays": {"times": 4, "ns": 900},
                "segments": [{**lock, "visits": 9, "held_ns": 80}],
            },
        ]
    )
    probe = probe_of("model")
    before, after = (probe.look(replace(observed([]), locks=lambda: next(looks))) for _ in "12")
    assert probe.change(before, after) == {
        "epoch": 1,
        "queries": 20,
        "delays": {"times": 3, "ns": 200},
        "segments": [
            {"segment": 3, "visits": 4, "waits": 0, "sampled": 0, "held_ns": 30, "waited_ns": 0}
        ],
    }
    other = {**after, "epoch": 2, "segments": [lock, lock]}
    assert probe.change(before, other)["segments"] == [lock, lock]
    assert probe.look(observed([])) is None


WARM = Expected(cache_counter="Key_reads", files_cached=True)
ERROR = {"code": 1213, "sqlstate": "40001", "count": 3, "message": "Deadlock", "statement": "…"}


class TestChecks:
    @pytest.mark.parametrize(
        ("done", "seen", "expected", "codes"),
        [
            ({}, {}, WARM, []),
            ({"client_busiest_thread_share": 0.9}, {}, WARM, ["client-limited"]),
            ({"errors": [ERROR]}, {}, WARM, ["queries-failed"]),
            ({"ended": "signal"}, {}, WARM, ["ended-early"]),
            ({"ended": "events"}, {}, WARM, []),
            (
                {"open": {"overloaded": True, "backlog_growth_per_s": 50.2}},
                *({}, WARM, ["overloaded"]),
            ),
            ({"open": {"overloaded": False}}, {}, WARM, []),
            ({}, {"status": {"Key_reads": 500}}, WARM, ["cache-not-warm"]),
            ({}, {"status": {"Key_reads": 5}}, WARM, []),
            # Few misses of long queries.
            ({}, {"status": {"Key_reads": 500, "Key_read_requests": 600_000}}, WARM, []),
            ({}, {"status": {"Key_reads": 500}}, Expected(), []),
            ({"server": {"cpu_us": 1.0, "read_bytes": 10**6}}, {}, WARM, ["files-not-cached"]),
            ({"server": None}, {}, WARM, []),
            (
                *({}, {"host": {"disturbances": [{"code": "host-steal", "message": "…"}]}}),
                *(WARM, ["host-steal"]),
            ),
        ],
    )
    def test_each_has_its_mark(
        self, done: dict[str, Any], seen: dict[str, Any], expected: Expected, codes: list[str]
    ) -> None:
        marks = warnings_of({**DONE, **done}, seen, expected)
        assert [mark["code"] for mark in marks] == codes

    @pytest.mark.parametrize(
        ("script", "status", "is_marked"),
        [
            ("/q.lua", {"Handler_tmp_write": 0, "Handler_update": 51}, True),
            ("/q.lua", {"Handler_tmp_write": 0, "Handler_update": 50}, False),
            # Of MySQL the handlers' counters have rows of temporary tables too.
            ("/q.lua", {"Innodb_rows_deleted": 51, "Handler_write": 9}, True),
            ("/q.lua", {"Innodb_rows_deleted": 9, "Handler_write": 51}, False),
            ("oltp_read_write", {"Handler_tmp_write": 0, "Handler_update": 51}, False),
            (None, {"Handler_tmp_write": 0, "Handler_update": 51}, False),
        ],
    )
    def test_a_script_that_changes_its_tables_has_one(
        self, script: str | None, status: dict[str, int], *, is_marked: bool
    ) -> None:
        dataset: dict[str, Any] = {"rows": 1000}
        if script is not None:
            dataset["prepared"] = {"script": script, "options": {}}
        marks = warnings_of(DONE, {"dataset": dataset, "status": status}, Expected())
        assert [mark["code"] for mark in marks] == ["data-drifts"] * is_marked

    @pytest.mark.parametrize(
        ("counts", "arrival", "is_marked"),
        [
            ([900] * 4 + [200] * 6, "closed-loop", True),
            ([900] * 4 + [310] * 6, "closed-loop", False),
            ([900] * 4 + [200] * 6, "open-loop", False),
            # A single slow interval is not a part, and few queries move by chance.
            ([900] * 9 + [1], "closed-loop", False),
            ([90] * 4 + [20] * 6, "closed-loop", False),
            ([900, 200], "closed-loop", False),
        ],
    )
    def test_a_rate_that_moves_by_three_times_has_one(
        self, counts: list[int], arrival: str, *, is_marked: bool
    ) -> None:
        done: Any = {**DONE, "arrival": arrival}
        intervals: Any = [{"queries": count, "duration_s": 1.0} for count in counts]
        marks = warnings_of(done, {}, Expected(), intervals)
        assert [mark["code"] for mark in marks] == ["rate-moved"] * is_marked

    def test_failed_queries_are_told_with_the_commonest(self) -> None:
        other = {**ERROR, "code": 1205, "count": 40, "message": "Lock wait"}
        (mark,) = warnings_of({**DONE, "errors": [ERROR, other]}, {}, Expected())
        assert "43 queries failed, most with error 1205" in mark["message"]
