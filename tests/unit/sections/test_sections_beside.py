"""The gains of a native workload and of a script, side by side."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
from shown import report_of
from synthetic_run import CONNECTIONS, as_failed, host_use, study, write_run

from contend.experiment import load_experiment
from contend.findings import Finding
from contend.report import Report, html
from contend.report.document import as_json
from contend.store import RunRecord

RECIPE = "segmented-key-cache-sysbench"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Report:
    path = tmp_path_factory.mktemp("beside") / "run"
    return report_of(write_run(path, load_experiment(RECIPE, variant="quick")))


def test_gains_of_one_place_stand_under_one_another(both: Report) -> None:
    beside = both.found("beside")
    assert beside.title.startswith("random_points and select_random_points")
    ((_, rows),) = beside.panels
    native, script, difference = rows
    assert [row.label for row in rows] == [
        "32, random_points",
        "32, select_random_points",
        "select_random_points over random_points",
    ]
    for column, (one, other, over) in enumerate(
        zip(native.gains, script.gains, difference.gains, strict=True)
    ):
        assert one is not None and other is not None and over is not None
        assert one.cell["workload.kind"] == "random_points"
        assert other.cell["workload.kind"] == "lua"
        assert one.cell[CONNECTIONS] == other.cell[CONNECTIONS] == (1, 8, 64)[column]
        assert over.change.ratio == pytest.approx(other.change.ratio / one.change.ratio)
        assert over.change.low < over.change.ratio < over.change.high
    assert [row.is_difference for row in rows] == [False, False, True]
    assert "places the gains differ by no more" in beside.lead


def test_the_page_and_the_document_have_it(both: Report) -> None:
    page = html.render(both, {chart.id: "<svg></svg>" for chart in html.all_charts(both)})
    assert '<div id="beside"' in page
    assert "select_random_points over random_points" in page.replace("<wbr>", "")
    beside = as_json(both)["beside"]
    assert [entry["column"] for entry in beside] == [1, 8, 64]
    assert all(math.isfinite(entry["low"]) for entry in beside)


def test_a_study_of_one_kind_has_none(study_report: Report) -> None:
    assert study_report.found("beside") is None
    assert "beside" not in as_json(study_report)


def test_a_place_that_lacks_one_kind_has_no_difference(tmp_path: Path) -> None:
    def lost(record: RunRecord) -> RunRecord:
        gone = record.cell["workload.kind"] == "lua" and record.cell[CONNECTIONS] == 8
        return as_failed(record, "error 2006") if gone else record

    path = write_run(tmp_path / "run", load_experiment(RECIPE, variant="quick"), change=lost)
    _, rows = report_of(path).found("beside").panels[0]
    assert [one is None for one in rows[2].gains] == [False, True, False]


def test_what_disturbed_one_kind_more_is_allowed_for_in_the_difference(tmp_path: Path) -> None:
    chance = random.Random(3)

    def steal(record: RunRecord) -> RunRecord:
        assert record.done is not None
        share = chance.uniform(0, 0.3)
        host = host_use(share)
        done = {**record.done, "qps": record.done["qps"] * (1 - share)}
        return replace(record, probes={**record.probes, "host": host}, done=done)  # type: ignore[arg-type]

    def differences(name: str, *sets: str) -> list[Finding]:
        experiment = load_experiment(RECIPE, variant="quick", sets=("compare.repeats=12", *sets))
        report = report_of(write_run(tmp_path / name, experiment, change=steal))
        _, rows = report.found("beside").panels[0]
        return [one for one in rows[2].gains if one is not None]

    plain = differences("plain")
    allowed = differences("allowed", 'compare.adjust=["steal"]')
    assert len(plain) == len(allowed) == 3
    for before, after in zip(plain, allowed, strict=True):
        # Both kinds gain alike, but for noise of 1 %.
        assert after.change.low < 1 < after.change.high
        width = [math.log(one.change.high / one.change.low) for one in (before, after)]
        assert width[1] < width[0] / 2


def test_before_any_pair_it_says_so(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", load_experiment(RECIPE, variant="quick"), runs=0)
    assert report_of(path).found("beside").lead == "No place has repeats of both kinds yet."


def test_the_recipe_asks_what_the_study_asks() -> None:
    ours, theirs = load_experiment(RECIPE), study()
    for path, value in theirs.base.values.items():
        if path.startswith(("server.", "load.")):
            assert ours.base[path] == value, path
    assert ours.published == theirs.published
