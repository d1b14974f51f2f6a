"""The statements of a recording in the report: the answer's words follow the claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from shown import as_text, report_of
from twins_run import TWINS, write_twins

from contend.report import as_json


def test_a_template_that_lost_its_index_is_named_with_its_plan(tmp_path: Path) -> None:
    report = report_of(write_twins(tmp_path, {1: 40.0}))
    (sentence,) = [one for one in report.answer.others if "certainly slower" in one]
    assert sentence.startswith("1 of them gets certainly slower")
    assert "template 1 by a factor of 4" in sentence
    assert "the whole table instead of by_product" in sentence
    assert report.answer.sentence.startswith("On 5 kinds of statements, with 100 % of the recorded")
    (twins,) = json.loads(json.dumps(as_json(report)))["twins"]
    first = twins["templates"][0]
    assert (first["template"], first["plan_differs"], first["example"]) == (1, True, 101)
    assert first["change"]["low"] > 30 and first["change"]["verdict"] == "slower"
    others = [one["change"]["verdict"] for one in twins["templates"][1:]]
    assert set(others) <= {"inconclusive", "equivalent"}
    weight = first["share"]
    assert first["on_whole"] == pytest.approx(1 + weight * (first["change"]["ratio"] - 1))


def test_nothing_is_claimed_if_nothing_changed(tmp_path: Path) -> None:
    report = report_of(write_twins(tmp_path, {}))
    assert "None of them gets certainly slower." in report.answer.others
    assert not any("certainly faster" in one for one in report.answer.others)


def test_other_data_are_told_first(tmp_path: Path) -> None:
    def half(outcome: dict[str, Any]) -> None:
        for arm in outcome["arms"]:
            arm["rows_as_logged"] = arm["rows_logged"] // 2

    report = report_of(write_twins(tmp_path, {}, change=half))
    assert report.answer.sentence.startswith("Only 50 % of the reads find as many rows as")


def test_one_sided_errors_and_different_results_are_told(tmp_path: Path) -> None:
    def differ(outcome: dict[str, Any]) -> None:
        outcome["templates"][3] |= {"one_sided": 2}
        outcome["templates"][3]["arms"][1]["errors"] = {"1054": 2}
        outcome["templates"][2]["pairs"][0] |= {"rows_differ": 3, "results_differ": 1}

    report = report_of(write_twins(tmp_path, {}, change=differ))
    others = " ".join(report.answer.others)
    assert "only at on: template 3." in others and ": template 2." in others
    text = as_text(report)
    assert "12 fail on one side" in text and "18 numbers of rows, 6 results" in text


def test_without_the_pass_there_are_no_plans(tmp_path: Path) -> None:
    report = report_of(write_twins(tmp_path, {1: 40.0}, looks=[]))
    (sentence,) = [one for one in report.answer.others if "certainly slower" in one]
    assert "instead of" not in sentence
    (twins,) = as_json(report)["twins"]
    assert "plan_differs" not in twins["templates"][0]


def test_a_run_that_is_not_finished_claims_nothing(tmp_path: Path) -> None:
    text = 'repeats = 6\nat_most = "1h"'
    path = write_twins(tmp_path, {1: 40.0}, text=TWINS.replace("repeats = 6", text))
    report = report_of(path)
    assert not any("certainly slower:" in one for one in report.answer.others)
    assert report.answer.sentence.startswith("Nothing is decided before the run is finished")
