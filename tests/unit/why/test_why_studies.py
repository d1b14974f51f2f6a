"""Explanations of studies: when the report prints one, and the findings behind its claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from closed_run import SWEEP, write_closed
from shown import report_of
from synthetic_run import CONNECTIONS, POINTS, SEGMENTS, study, with_warning, write_run

from contend.experiment import Factor, Roles, Words
from contend.experiment.keys import CAUSES as NAMES_IN_FILES
from contend.findings import Constant, ReportText
from contend.report import Report
from contend.report.model import Answer
from contend.sections.model import Shown
from contend.sections.naming import Naming
from contend.sections.words import estimate_text
from contend.stats import Estimate
from contend.store import RunRecord
from contend.why.studies import STUDIES

SMALL = (f"{CONNECTIONS}=[1, 8]", f"{POINTS}=[10]")

Change = Callable[[RunRecord], RunRecord | None]


def cause_of(path: Path) -> Shown:
    cause = report_of(path).cause
    assert cause is not None
    return cause


def leads(report: Report) -> str:
    return "\n".join(str(one.lead) for one in report.sections)


def segmented(
    path: Path, change: Change | None = None, *sets: str, runs: int | None = None
) -> Path:
    return write_run(path / "run", study(sets=(*SMALL, *sets)), change=change, runs=runs)


def test_every_study_is_by_its_name() -> None:
    assert {name: one.name for name, one in STUDIES.items()} == {name: name for name in STUDIES}
    assert set(STUDIES) == set(NAMES_IN_FILES)


def test_an_inconclusive_difference_has_figures_but_no_cause(tmp_path: Path) -> None:
    speeds = {}

    def alike(record: RunRecord) -> RunRecord:
        assert record.done is not None
        key = record.block, record.cell[CONNECTIONS]
        speed = speeds.setdefault(key, record.done["qps"]) * (1 + record.run * 7 % 11 / 100)
        return replace(record, done={**record.done, "qps": speed})

    report = report_of(segmented(tmp_path, alike, f"{SEGMENTS}=[0, 32]"))
    assert not report.compared[0].certain
    assert report.cause is None
    (evidence,) = [one for one in report.sections if "cause" in one.title]
    assert "No difference is certain" in evidence.lead
    assert evidence.tables[0].columns[3] == "ceiling, %"
    assert STUDIES["segmented-key-cache"].title not in evidence.lead


def test_no_cause_before_the_end_nor_by_a_metric_named_afterwards(tmp_path: Path) -> None:
    partial = report_of(segmented(tmp_path, runs=30))
    assert partial.cause is None
    assert "before the run is finished" in leads(partial)
    (tmp_path / "closed").mkdir()
    sweep = write_closed(tmp_path / "closed")
    assert report_of(sweep).cause is not None
    afterwards = report_of(sweep, "qps")
    assert afterwards.cause is None
    assert "not named before the run" in leads(afterwards)


def of_switches(factor: Callable[[RunRecord], float]) -> Change:
    """Levels with this factor of context switches per query over the baseline."""

    def changed(record: RunRecord) -> RunRecord:
        assert record.done is not None
        times = factor(record) if record.cell[SEGMENTS] else 1.0
        switches = round(record.done["queries"] * times * (1 + record.run % 3 / 100))
        server = {
            **record.done["server"],
            "voluntary_switches": switches,
            "involuntary_switches": 0,
        }
        return replace(record, done={**record.done, "server": server})  # type: ignore[typeddict-item]

    return changed


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [
        (lambda _: 0.5, "which holds: lower by "),
        (lambda one: 2.0 if one.cell[SEGMENTS] == 64 else 0.5, "refutes it: lower by "),
        (lambda one: 1.0 + 0.1 * (one.repeat % 2) - 0.05, "which is inconclusive: "),
    ],
)
def test_fewer_switches_are_expected_at_every_level(
    tmp_path: Path, factor: Callable[[RunRecord], float], verdict: str
) -> None:
    (text,) = [
        one
        for one in cause_of(segmented(tmp_path, of_switches(factor))).more
        if one.startswith("It predicts")
    ]
    assert verdict in text and text.endswith("with 64.")


@pytest.mark.parametrize(
    ("cost", "claim"),
    [
        (lambda clients: clients, "64 connections, 64"),
        (lambda clients: 1 / clients, "query cache"),
        (lambda _: 1.0, "no difference that is certain and large"),
    ],
)
def test_cost_of_a_query_among_many_clients(
    tmp_path: Path, cost: Callable[[int], float], claim: str
) -> None:
    def costlier(record: RunRecord) -> RunRecord:
        assert record.done is not None
        clients = int(record.cell[CONNECTIONS])
        cpu_us = 1000.0 * record.done["queries"] * cost(clients) * (1 + record.run % 3 / 100)
        server = {**record.done["server"], "cpu_us": cpu_us}
        return replace(record, done={**record.done, "server": server})

    assert claim in cause_of(write_closed(tmp_path, SWEEP, change=costlier)).more[0]


def steps(path: Path, levels: str, change: Change | None = None) -> Path:
    sets = (f"{CONNECTIONS}=[8]", f"{POINTS}=[10]", f"{SEGMENTS}={levels}")
    return write_run(path / "run", replace(study(sets=sets), explain="steps"), change=change)


def test_each_step_is_compared_with_the_one_before_it(tmp_path: Path) -> None:
    cause = cause_of(steps(tmp_path, "[0, 32, 64]"))
    assert cause.is_open
    (table,) = cause.tables
    assert table.columns[-1] == "gain"
    first, second, whole = ([row[-2], row[-1]] for row in table.rows)
    # 46 % are made up for the first step, and next to nothing for the second.
    assert first[1].startswith("+4") and "±" in first[1]
    assert abs(float(second[1].split()[0])) <= 3
    assert whole[0] == "all together" and whole[1].startswith("+4")

    (chart,) = cause.charts
    values = chart.spec["data"]["values"]
    assert [one["step"] for one in values] == ["32", "64", "all together"]
    assert values[0]["low"] < values[0]["gain"] < values[0]["high"]
    assert abs(values[0]["gain"] - float(first[1].split()[0])) <= 1


def test_a_cell_whose_delay_line_was_late_gives_no_step_a_verdict(tmp_path: Path) -> None:
    def late(record: RunRecord) -> RunRecord:
        is_one = record.cell[SEGMENTS] == 64 and record.repeat == 1
        return with_warning(record, "line-late", "late") if is_one else record

    cause = cause_of(steps(tmp_path, "[0, 32, 64]", late))
    first, second, whole = (row[-1] for row in cause.tables[0].rows)
    assert first.startswith("+4")
    assert second == whole == "the delay line was late"
    assert any("delay line was late" in one for one in cause.more)
    (chart,) = cause.charts
    assert [one["step"] for one in chart.spec["data"]["values"]] == ["32"]


def test_two_levels_are_not_a_ladder(tmp_path: Path) -> None:
    assert report_of(steps(tmp_path, "[0, 32]")).cause is None


@pytest.mark.parametrize("much", [1.5, 3, "34 %"], ids=repr)
def test_a_report_text_refuses_a_bare_number(much: Any) -> None:
    refused = "has a number that is not a finding"
    with pytest.raises(TypeError, match=refused):
        ReportText("It is {} faster.", much)
    with pytest.raises(TypeError, match=refused):
        ReportText(f"It is {much} faster.")
    with pytest.raises(TypeError, match="may have a number in it"):
        Answer(cast(ReportText, f"It is {much} faster."), ())
    figure = estimate_text(Estimate(1.34, 1.2, 1.48, 8, 0.95))
    text = ReportText("{} times, on {} CPUs.", figure, Constant(2))
    assert Answer(text, ()).sentence == "1.34 ±0.14 times, on 2 CPUs."


def test_a_study_refuses_a_bare_number_too() -> None:
    writer = Naming(Roles(Factor(SEGMENTS, (0, 32)), 0, None, (), (SEGMENTS,)), Words())
    anything: Any = 3.0
    with pytest.raises(TypeError, match="not a finding"):
        writer.say("It is {much} faster.", much=anything)
    with pytest.raises(KeyError, match="much"):
        writer.say("It is {much} faster.")
    assert writer.say("On {cpus} CPUs.", cpus=Constant(2)) == "On 2 CPUs."
