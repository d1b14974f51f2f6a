"""Which runs are sessions of the same, and what one leaves for the next."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lab_fakes import EXPERIMENT, SERVERS, SessionBench, experiment
from synthetic_run import FACTS, study, write_run, write_slices

from contend.findings import analysis_of, study_of
from contend.lab import sessions
from contend.lab.events import Event, Notice
from contend.lab.sessions import key_of, results_of, sessions_of
from contend.metrics import metric_of
from contend.metrics.probed import EarlierSession
from contend.store import RunFolder

OF_RUN: dict[str, Any] = {**FACTS, "servers": SERVERS, "way": {"by": "slices", "own": True}}


@pytest.mark.parametrize("write", [write_run, write_slices])
@pytest.mark.parametrize("metric", ["qps", "response_us_p99"])
def test_a_run_says_what_its_report_says_by_its_own_scatter(
    tmp_path: Path, write: Callable[..., Path], metric: str
) -> None:
    tiny = study("quick", [f'compare.metric="{metric}"'])
    with RunFolder.open(write(tmp_path / "run", tiny)) as folder:
        said, reported = results_of(tiny, folder), study_of(folder)
    printed = analysis_of(reported, metric_of(metric))
    assert said is not None and printed is not None
    assert said["run"] == "run"
    assert [one["level"] for one in said["wholes"]] == list(printed.table.levels)
    for at, one in enumerate(said["wholes"]):
        whole = printed.answer.whole(at)
        assert one["metric"] == metric
        assert one["log_ratio"] == pytest.approx(math.log(whole.ratio))
        assert one["se"] == pytest.approx(whole.sd_log / math.sqrt(whole.n))
        assert one["df"] == whole.n - 1


def test_one_repeat_says_nothing(tmp_path: Path) -> None:
    tiny = study("quick")
    with RunFolder.open(write_slices(tmp_path / "run", tiny, blocks=2)) as folder:
        assert results_of(tiny, folder) is None


@pytest.mark.parametrize(
    "change",
    [
        {"machine": {"id": "another"}},
        {"kernel": {"release": "6.2"}},
        {"servers": {"mariadb": {**SERVERS["mariadb"], "version": "11.8.1"}}},
        {"way": {"by": "runs", "own": True}},
        {"content_version": 0},
        {"scripts": [{"path": "a.lua", "sha256": "00"}]},
    ],
)
def test_another_host_server_or_way_is_no_session_of_the_same(change: dict[str, Any]) -> None:
    tiny = study("quick")
    assert key_of(tiny, {**OF_RUN, **change}) != key_of(tiny, OF_RUN)


@pytest.mark.parametrize(
    ("sets", "same"),
    [
        (["load.seed=7"], True),
        (["compare.repeats=9"], True),
        (["compare.at_most=60s"], True),
        (["server.options.key_cache_segments=[0, 64]"], True),
        (["data.rows=1000"], False),
        (["load.connections=[8]"], False),
        (["server.options.key_buffer_size=1G"], False),
        (['compare.adjust=["steal"]'], False),
        (["compare.baseline={ 'server.options.key_cache_segments' = 32 }"], False),
    ],
)
def test_what_is_measured_makes_the_same_and_not_how_often(sets: list[str], same: bool) -> None:
    usual = study("quick", ["compare.repeats=6"])
    assert (key_of(study("quick", sets), OF_RUN) == key_of(usual, OF_RUN)) == same


def test_nothing_is_kept_where_nothing_is_compared(tmp_path: Path) -> None:
    alone = experiment(tmp_path, EXPERIMENT.partition("[compare]")[0])
    assert alone.compared is None
    assert sessions_of(tmp_path / "sessions.jsonl", alone, OF_RUN) is None


def begun(folder: Path, state: Path) -> tuple[SessionBench, list[str]]:
    """A run that is made, and the names of the earlier ones that it knows of."""
    folder.mkdir()
    bench = SessionBench(folder)
    equipment = replace(bench.equipment(), history=state)
    bench.begin_with(equipment)
    with RunFolder.open(bench.path) as opened:
        known = opened.meta().facts["sessions"]["earlier"]
    return bench, [one["run"] for one in known]


def test_a_run_is_told_what_the_earlier_ones_said(tmp_path: Path) -> None:
    state = tmp_path / "sessions.jsonl"
    assert [begun(tmp_path / name, state)[1] for name in ("a", "b", "c")] == [
        [],
        ["run"],
        ["run", "run"],
    ]


def test_the_folder_is_left_by_what_is_noted_later(tmp_path: Path) -> None:
    state = tmp_path / "sessions.jsonl"
    first, _ = begun(tmp_path / "a", state)
    begun(tmp_path / "b", state)
    with RunFolder.open(first.path) as opened:
        assert opened.meta().facts["sessions"] == {"earlier": []}


def test_a_history_that_cannot_be_written_costs_nothing_but_itself(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    bench = SessionBench(tmp_path)
    bench.begin_with(replace(bench.equipment(), history=tmp_path / "file" / "sessions.jsonl"))
    assert bench.runs() == list(range(1, 9))
    told = [str(one) for one in bench.heard]
    assert any("not added to the history" in one for one in told)


def test_no_history_is_looked_at_unless_there_is_one(tmp_path: Path) -> None:
    bench = SessionBench(tmp_path)
    bench.begin()
    with RunFolder.open(bench.path) as opened:
        assert "sessions" not in opened.meta().facts
    assert sessions.earlier(tmp_path / "sessions.jsonl", {}, bench.heard.append) == []


KEY = {"host": "a", "kernel": "6.1", "servers": ["mariadb: mariadb 10.11.19"], "measured": "1"}


def entry(run: str) -> EarlierSession:
    whole: Any = {"metric": "qps", "level": 32, "log_ratio": 0.1, "se": 0.01, "df": 7}
    return {"run": run, "ended_at": "2026-03-01T10:00:00+00:00", "wholes": [whole]}


def runs(path: Path, key: dict[str, Any] | None = None) -> tuple[list[str], list[str]]:
    """Names of the runs that are read, and what is told."""
    heard: list[Event] = []
    found = [one["run"] for one in sessions.earlier(path, key or KEY, heard.append)]
    return found, [one.text for one in heard if isinstance(one, Notice)]


def test_what_is_noted_is_read_in_order_and_by_its_key(tmp_path: Path) -> None:
    path = tmp_path / "state" / "sessions.jsonl"
    assert runs(path) == ([], [])
    for name, key in (("one", KEY), ("other", {**KEY, "kernel": "6.2"}), ("two", KEY)):
        sessions.append(path, key, entry(name))
    assert runs(path) == (["one", "two"], [])
    assert sessions.earlier(path, KEY, lambda _event: None)[0] == entry("one")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "line",
    [
        b'{"format": 1, "key": {"host"',
        b"\xff\xfe\x00",
        b"[]",
        b"7",
        b'{"format": 1}',
        json.dumps({"format": 2, "key": KEY, "said": entry("later")}).encode(),
        json.dumps({"format": 1, "key": KEY, "said": {**entry("x"), "wholes": [{}]}}).encode(),
        json.dumps({"format": 1, "key": KEY, "said": {**entry("x"), "wholes": 3}}).encode(),
        json.dumps({"format": 1, "key": KEY, "said": 3}).encode(),
    ],
)
def test_a_damaged_line_is_left_out_and_told(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "sessions.jsonl"
    sessions.append(path, KEY, entry("one"))
    with path.open("ab") as file:
        file.write(line)  # without its end, as it is when a machine goes down
    sessions.append(path, KEY, entry("two"))
    found, (notice,) = runs(path)
    assert found == ["one", "two"]
    assert notice.startswith(f"skipped 1 line of {path}")


def test_many_writers_at_once_leave_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "sessions.jsonl"
    writers = [
        multiprocessing.get_context("fork").Process(
            target=lambda: [sessions.append(path, KEY, entry(str(os.getpid()))) for _ in range(20)]
        )
        for _ in range(4)
    ]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    found, notices = runs(path)
    assert (len(found), notices) == (80, [])


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    found, (notice,) = runs(tmp_path)
    assert found == []
    assert "earlier sessions cannot be read" in notice


def test_it_lies_beside_the_journals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/var/lib")
    assert sessions.default_history() == Path("/var/lib/contend/sessions.jsonl")
