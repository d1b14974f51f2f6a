"""Statements of a recording on all levels: who is asked first, for how long, what is stored."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from lab_fakes import EXPERIMENT
from lab_in_slices import START_S, Bench, made_up
from twins_run import RECORDED, asked

from contend.data.recordings import Recording
from contend.errors import RequestError
from contend.experiment import load_experiment
from contend.lab.design import Design
from contend.lab.twins import KnownRecording, answers_of_arms, refuse_design
from contend.metrics import metric_of
from contend.store import RunRecord

TWINS = (
    EXPERIMENT.replace('kind = "point_select"', 'kind = "twins"\nrecording = "shop"\nlimit = "2s"')
    .replace('[load]\nwarmup = "100ms"\nmeasure = "200ms"\n', "")
    .replace('"load.connections" = [1, 8]\n', "")
    .replace('by = "runs"\nrepeats = 2', "repeats = 4")
)
CHANGE_S = 6.0


def recording(path: Path) -> KnownRecording:
    facts: Any = {
        **{"digest": "d", "statements": 9, "begin_us": 0, "end_us": 1, "templates": RECORDED}
    }
    return KnownRecording(path / "load", Recording("shop", "d", ("a.log",), 9, path), facts)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Bench]:
    """`bench(text)`: the experiment, whose second level takes 1.2 times the time for one of its
    templates."""

    def make(text: str = TWINS, took_s: float = 1.0) -> Bench:
        made = made_up(monkeypatch, Bench(tmp_path, text))
        made.recordings = {"shop": recording(tmp_path)}

        def answer(plan: Mapping[str, Any]) -> dict[str, Any]:
            made.clock.now_s += 1.0 + min(took_s, plan["for_s"])
            return asked([arm["name"] for arm in plan["arms"]], {1: 1.2})

        made.asked = answer
        return made

    return make


def ratio_of(records: list[RunRecord]) -> float:
    metric = metric_of("recorded_statement_us")
    by_level = {record.cell["server.options.key_cache_segments"]: record for record in records}
    one, other = metric.value(by_level[0]), metric.value(by_level[32])
    assert one and other
    return other / one


def test_the_baseline_is_asked_first_and_each_level_has_its_own_record(
    bench: Callable[..., Bench],
) -> None:
    made = bench()
    plans = made.play().plans
    assert len(plans) == 4 and len(made.records()) == 8
    for plan in plans:
        assert [arm["name"].rpartition(" = ")[2] for arm in plan["arms"]] == ["0", "32"]
        assert (plan["limit_s"], plan["rounds"]) == (2.0, 6)
        assert plan["recording"].endswith("d.rec")
    assert len({plan["seed"] for plan in plans}) == 4, "each repeat draws its own sample"
    for records in made.blocks().values():
        # 7 % of the time is that of the template: 300 us, 900 times, of 3.7 s in all.
        assert ratio_of(records) == pytest.approx(1 + 0.2 * 0.27 / 2.22)
    assert made.starts() == [4, 4], "fresh servers in each repeat"


def test_in_a_given_time_all_repeats_have_room(bench: Callable[..., Bench]) -> None:
    text = TWINS.replace("repeats = 4", 'repeats = 4\nat_most = "80s"')
    made = bench(text, took_s=60.0)
    plans = made.play().plans
    assert len(plans) >= 4
    limits = [plan["for_s"] for plan in plans]
    # 80 s, 4 repeats: 20 s each, with the start of two servers.
    assert all(0.5 <= limit <= 20 - 2 * START_S for limit in limits[:4]), limits
    assert made.clock.now_s - 1_800_000_000.0 < 80 + 20


def test_without_a_log_of_times_templates_are_weighted_by_what_they_take() -> None:
    def by_calls(outcome: dict[str, Any]) -> None:
        outcome["shares_of"] = "calls"
        calls = sum(one["calls"] for one in outcome["templates"])
        for one in outcome["templates"]:
            one["share"] = one["calls"] / calls

    logged = [one["us_mean"] for one in answers_of_arms(asked("ab", {1: 3.0}))]
    counted = [one["us_mean"] for one in answers_of_arms(asked("ab", {1: 3.0}, change=by_calls))]
    assert logged == pytest.approx(counted)
    assert logged[1] / logged[0] == pytest.approx(1 + 2 * 0.27 / 2.22)


def test_what_is_not_answered_is_marked(bench: Callable[..., Bench]) -> None:
    made = bench()

    def some(plan: Mapping[str, Any]) -> dict[str, Any]:
        def change(outcome: dict[str, Any]) -> None:
            table = {"table": "shop.gone", "statements": 4}
            outcome |= {"missing_tables": [table], "missing_tables_total": 12}
            outcome["missing_tables_share"] = 0.034
            outcome["timestamp_refused"] = {"arm": "a", "code": 1227, "message": "denied"}
            outcome["arms"][1] |= {"too_slow": 3, "not_rolled_back": 1, "reconnects": 2}

        return asked([arm["name"] for arm in plan["arms"]], {}, change=change)

    made.asked = some
    made.play()
    by_level = {
        record.cell["server.options.key_cache_segments"]: {one["code"] for one in record.warnings}
        for record in made.records()
    }
    assert {"tables-missing", "timestamp-refused"} <= by_level[0] & by_level[32]
    assert {"statements-stopped", "writes-stayed", "connection-lost"} <= by_level[32] - by_level[0]
    (text,) = {
        one["message"]
        for record in made.records()
        for one in record.warnings
        if one["code"] == "tables-missing"
    }
    assert "shop.gone and 11 more" in text and "3.4 % of the recorded time" in text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"no_database": 7}, "a database that"),
        ({"errors": {"1146": 3}}, "was answered at all levels"),
    ],
)
def test_a_recording_that_nothing_answers(
    bench: Callable[..., Bench], change: dict[str, Any], said: str
) -> None:
    made = bench()

    def none(plan: Mapping[str, Any]) -> dict[str, Any]:
        def lose(outcome: dict[str, Any]) -> None:
            for one in outcome["templates"]:
                one["arms"][0]["count"] = 0
                one["pairs"][0]["pairs"] = 0
            outcome["arms"][0] |= change

        return asked([arm["name"] for arm in plan["arms"]], {}, change=lose)

    made.asked = none
    made.play()
    failed = made.records()
    assert {record.status for record in failed} == {"failed"}
    assert all(said in record.error["message"] for record in failed if record.error)


@pytest.mark.parametrize(
    ("design", "said"),
    [
        (Design("runs", "no memory"), "no memory"),
        (Design("runs"), "nothing is compared"),
        (Design("slices", servers=1), "switched after every statement"),
    ],
)
def test_levels_that_cannot_stand_side_by_side(tmp_path: Path, design: Design, said: str) -> None:
    file = tmp_path / "it.toml"
    file.write_text(TWINS)
    with pytest.raises(RequestError, match=said):
        refuse_design(load_experiment(str(file)), design)
    refuse_design(load_experiment(str(file)), Design("slices", servers=2))
    file.write_text(EXPERIMENT)
    refuse_design(load_experiment(str(file)), design)


def test_a_template_without_pairs_has_no_part_in_the_ratio() -> None:
    def lose(outcome: dict[str, Any]) -> None:
        outcome["templates"][1]["pairs"][0]["pairs"] = 0

    one, other = answers_of_arms(asked("ab", {1: 50.0, 2: 2.0}, change=lose))
    rest_us = (0.8, 0.48, 0.27, 0.4)
    assert other["us_mean"] / one["us_mean"] == pytest.approx(1 + 0.48 / sum(rest_us))
    assert not math.isnan(one["us_mean"])


def test_other_workloads_beside_it_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "it.toml"
    kinds = '[factors]\n"workload.kind" = ["twins", "point_select"]\n'
    file.write_text(TWINS.replace("[factors]\n", kinds))
    with pytest.raises(RequestError, match="cannot be combined with other kinds"):
        refuse_design(load_experiment(str(file)), Design("slices", servers=2))
