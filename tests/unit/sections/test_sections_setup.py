"""Steps of setup that vary, and what each statement costs by itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from shop_run import BY_INDEX, SCAN, looks_at_plans, write_shop
from shown import report_of

from contend.report import Report, as_json
from contend.store import LookRecord, RunRecord


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return report_of(write_shop(tmp_path_factory.mktemp("shop")))


def document_of(report: Report, name: str) -> Any:
    return json.loads(json.dumps(as_json(report)))[name]


class TestSteps:
    def test_a_step_has_its_duration_size_and_plans(self, shop: Report) -> None:
        (step,) = document_of(shop, "setup")
        assert step["step"] == "by_customer" and "CREATE INDEX" in step["statement"]
        assert step["seconds"]["mean"] == pytest.approx(1.3, rel=0.01)
        assert len(step["times_s"]) == step["seconds"]["n"] == 8
        assert step["tables"] == {"orders": {"before": 5_783_552, "after": 9_469_952}}
        differs = {one["statement"]: one["differs"] for one in step["plans"]}
        assert differs == {"latest": True, "insert": False}
        latest = next(one for one in step["plans"] if one["differs"])
        assert (latest["without"][0]["way"], latest["with"][0]["key"]) == ("ALL", "by_customer")

    def test_the_answer_has_it(self, shop: Report) -> None:
        (text,) = [one for one in shop.answer.others if "by_customer took" in one]
        assert "3.52 MiB" in text and "latest" in text and "insert" in text
        assert text in as_json(shop)["others"]

    def test_a_step_that_held_for_several_blocks_ran_once(self, tmp_path: Path) -> None:
        def at_once(record: RunRecord) -> RunRecord:
            steps = record.probes["settings"]["setup"]
            same = [{**step, "at": f"of repeat {(record.repeat + 1) // 2}"} for step in steps]
            probes = {**record.probes, "settings": {"setup": same}}
            return replace(record, repeat=(record.repeat + 1) // 2, probes=probes)  # type: ignore[arg-type]

        (step,) = document_of(report_of(write_shop(tmp_path, change=at_once)), "setup")
        assert len(step["times_s"]) == step["seconds"]["n"] == 4

    @pytest.mark.parametrize(
        ("tables", "said"),
        [
            (None, "does not tell"),
            ({}, "no table"),
            ({"t": [0, 2048]}, "makes t of 2 KiB"),
            ({"t": [2048, 0]}, "removes t of 2 KiB"),
            ({"t": [4096, 2048]}, "takes 2 KiB from t (-50 %)"),
            ({"t": [1024, 2048], "u": [1024, 2048]}, "adds 2 KiB to 2 tables (+100 %)"),
        ],
    )
    def test_the_size_of_tables(self, tmp_path: Path, tables: Any, said: str) -> None:
        def sized(record: RunRecord) -> RunRecord:
            steps = [{**step, "tables": tables} for step in record.probes["settings"]["setup"]]
            return replace(record, probes={**record.probes, "settings": {"setup": steps}})

        report = report_of(write_shop(tmp_path, change=sized))
        assert any(said in one for one in report.answer.others)

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ([{**SCAN, "extra": ""}], '"nothing" instead of "Using filesort"'),
            ([SCAN], "latest and insert have the same plan"),
            ([BY_INDEX, {**SCAN, "table": "t"}], "latest has another plan"),
            ([], "that of latest is not known (no plan)"),
        ],
    )
    def test_the_difference_of_plans(self, tmp_path: Path, changed: Any, said: str) -> None:
        without, having = looks_at_plans()
        latest, insert = having.figures["statements"]
        figures = {"statements": [{**latest, "tables": changed}, insert]}
        looks: list[LookRecord] = [without, replace(having, figures=figures)]
        report = report_of(write_shop(tmp_path, looks=looks))
        assert any(said in one for one in report.answer.others)

    def test_a_pass_that_failed_gives_its_reason(self, tmp_path: Path) -> None:
        looks = looks_at_plans(error="the server is gone")
        report = report_of(write_shop(tmp_path, looks=looks))
        assert any("the server is gone" in one for one in report.answer.others)
        (step,) = document_of(report, "setup")
        assert step["plans"] == [] and step["why_no_plans"] == "the server is gone"


class TestCosts:
    def test_each_kind_has_its_costs_at_every_level(self, shop: Report) -> None:
        latest, insert = document_of(shop, "statement_costs")
        off, on = insert["cells"]
        assert off["redo_bytes"]["mean"] == pytest.approx(184, rel=0.01)
        assert on["redo_bytes"]["mean"] == pytest.approx(240, rel=0.01)
        assert off["server_cpu_us"]["mean"] == pytest.approx(0.9 * 14.5, rel=0.01)
        assert off["pages_written"] is None
        changes = {one["metric"]: one for one in insert["changes"]}
        redo = changes["event.insert.redo_bytes"]
        assert redo["verdict"] == "higher" and redo["low"] < 240 / 184 < redo["high"]
        rows = {one["metric"]: one for one in latest["changes"]}["event.latest.rows_examined"]
        assert rows["verdict"] == "lower" and rows["ratio"] == pytest.approx(5 / 200_000, rel=0.1)

    def test_what_was_not_recorded_or_is_nothing_is_said(self, shop: Report) -> None:
        found = shop.found("statement_costs")
        assert [one.end for one in found.unknown] == ["pages_written"]
        assert [one.end for one in found.nothing] == ["row_lock_us"]
        ends = [one.end for one in found.listed["insert"]]
        assert ends == ["service_us_p50", "server_cpu_us", "redo_bytes"]

    def test_a_server_without_counters_has_times_and_cpu(self, tmp_path: Path) -> None:
        def without(record: RunRecord) -> RunRecord:
            alone = {kind: {"done": one["done"]} for kind, one in record.probes["alone"].items()}
            return replace(record, probes={**record.probes, "alone": alone})  # type: ignore[arg-type]

        found = report_of(write_shop(tmp_path, change=without)).found("statement_costs")
        assert {one.end for one in found.unknown} == {
            "redo_bytes", "pages_written", "rows_examined", "row_lock_us"
        }  # fmt: skip
        assert [one.end for one in found.listed["insert"]] == ["service_us_p50", "server_cpu_us"]
