"""Closed work in the report: statements one by one, the growth along the clients, directions."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from closed_run import COUNT_MS, ENGINES, NAMES, STATEMENTS, SWEEP, write_closed
from shown import report_of
from synthetic_run import FACTS, at_equal_load

from contend.findings import WAITS
from contend.report import Report, as_json, html
from contend.report.export import csv_of, rows_of
from contend.store import RunFolder, RunRecord


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return report_of(write_closed(tmp_path_factory.mktemp("sweep"), SWEEP))


@pytest.fixture(scope="module")
def engines_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_closed(tmp_path_factory.mktemp("engines"), ENGINES)


@pytest.fixture(scope="module")
def engines(engines_path: Path) -> Report:
    return report_of(engines_path)


@pytest.fixture(scope="module")
def equal_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    eight = ENGINES.replace("repeats = 5", "repeats = 8")
    return write_closed(tmp_path_factory.mktemp("equal"), eight, change=at_equal_load)


@pytest.fixture(scope="module")
def equal(equal_path: Path) -> Report:
    return report_of(equal_path)


class TestStatements:
    def test_each_has_its_times_in_ms_and_its_changes(self, equal: Report) -> None:
        means, tails = equal.found("statements").tables
        rows: Any = {row[0]: row[1:] for row in means.rows}
        count, ten = NAMES
        for (label, clients), ms in COUNT_MS.items():
            if clients > 8:
                continue
            one = rows[f"{count}, {label}"][(1, 8).index(clients)]
            assert one.n == 8 and one.mean == pytest.approx(ms, rel=0.01)
        counted, same = (row[1:] for row in means.rows if str(row[0]).startswith("  InnoDB over"))
        _, among_eight = counted
        assert among_eight.tone == "better"  # type: ignore[union-attr]
        assert among_eight.change.ratio == pytest.approx(250 / 400, rel=0.01)  # type: ignore[union-attr]
        assert {gain.tone for gain in same} <= {"equivalent", "inconclusive"}  # type: ignore[union-attr]
        assert "95th percentile" in tails.caption and f"{ten}, InnoDB" in rows

    def test_a_sentence_says_which_changed(self, equal: Report) -> None:
        (sentence,) = equal.found("statements").sentences
        same, changed = sentence.split("; ")
        assert "InnoDB instead of MyISAM" in same
        assert "no difference" in same and "first_ten" in same
        # It takes longer on one connection, as `COUNT_MS` has it, and less time among eight.
        assert "less time at one load and more" in changed and "count_all" in changed

    def test_in_a_closed_loop_of_several_nothing_is_claimed(self, engines: Report) -> None:
        found = engines.found("statements")
        verdicts, reason = found.sentences
        assert verdicts.endswith("InnoDB instead of MyISAM: nothing is claimed for "
                                 "count_all, first_ten.")  # fmt: skip
        assert WAITS in reason
        assert "their throughput changed" in reason and "--equal-load" in reason
        count, _ = found.compared
        _, among_eight = count.comparisons
        assert (among_eight.tone, among_eight.word) == ("inconclusive", "inconclusive")
        assert among_eight.change.high < 0.7

    def test_what_they_are_is_told(self, engines: Report) -> None:
        assert engines.found("statements").texts == tuple(zip(NAMES, STATEMENTS, strict=True))

    def test_a_single_statement_is_the_list(self, tmp_path: Path) -> None:
        def only_one(record: RunRecord) -> RunRecord:
            assert record.done is not None
            done = {**record.done, "classes": record.done["classes"][:1]}
            return replace(record, done=done)  # type: ignore[arg-type]

        report = report_of(write_closed(tmp_path, ENGINES, change=only_one))
        assert report.found("statements") is None

    def test_programs_get_them(self, equal: Report, equal_path: Path) -> None:
        document = json.loads(json.dumps(as_json(equal)))
        first, _ = document["statements"]
        assert (first["name"], first["text"]) == (NAMES[0], STATEMENTS[0])
        assert len(first["cells"]) == 4 and len(first["comparisons"]) == 2
        assert first["cells"][0]["service_us_mean"] == pytest.approx(1e5, rel=0.01)
        low, high = first["cells"][0]["intervals"]["service_us_p95"]
        assert low < first["cells"][0]["service_us_p95"] < high
        assert first["comparisons"][1]["verdict"] == "faster"
        with RunFolder.open(equal_path) as folder:
            text = csv_of(rows_of(folder, "statements"))
            changes = rows_of(folder, "comparisons").rows
        rows = list(csv.DictReader(io.StringIO(text)))
        assert [row["statement"] for row in rows[:2]] == list(NAMES) and len(rows) == 8
        assert float(rows[0]["service_us_mean_low"]) < float(rows[0]["service_us_mean"])
        assert "statement.count_all.service_us_p50" in {row["metric"] for row in changes}

    def test_the_page_has_them(self, engines: Report, tmp_path: Path) -> None:
        page = html.write(engines, tmp_path / "page.html")[0].read_text(encoding="utf-8")
        for fragment in ("Each statement", "count_<wbr>all", STATEMENTS[1], "95th percentile, ms"):
            assert fragment in page, fragment


class TestDirection:
    def test_less_time_is_better_and_said_so(self, engines: Report) -> None:
        assert "38 % (±1) shorter with InnoDB" in engines.answer.sentence
        assert engines.compared[0].metric.less_is_better
        tones = {one.cell["load.connections"]: one.tone for one in engines.comparisons}
        assert tones[8] == "better" and tones[1] != "better"

    def test_charts_say_it(self, engines: Report) -> None:
        value, change = (
            next(chart for chart in html.all_charts(engines) if chart.id.startswith(prefix))
            for prefix in ("seconds", "change-seconds")
        )
        assert "less is better" in value.caption
        assert "Less is better." in change.caption


class TestShape:
    def test_it_is_how_many_times_the_first_column(self, sweep: Report) -> None:
        seconds, throughput = sweep.found("shapes")
        _, (ours, new, old, between) = seconds.panels[0]
        assert ours.measured[0] is None
        ratios = [one.ratio for one in ours.measured[1:] if one]
        assert ratios == pytest.approx([4, 32], rel=0.02)
        for one in ours.measured[1:]:
            assert one is not None and one.low < one.ratio < one.high and one.n == 5
        assert new.published == pytest.approx((1, 1.2, 6.6))
        assert old.published == pytest.approx((1, 1.2, 2.2))
        assert between.label == "new over old, published"
        assert between.published == pytest.approx((0.5, 0.5, 1.5))
        assert throughput.metric.name == "qps" and len(throughput.panels[0][1]) == 1

    def test_the_answer_is_where_it_ends(self, sweep: Report) -> None:
        assert "times as high at 8 connections as at 1" in sweep.answer.sentence
        assert sweep.answer.others[0].startswith("Time for the whole work: 0.1")
        assert "no baseline" in sweep.answer.basis[-1]

    def test_why(self, sweep: Report) -> None:
        assert sweep.cause is not None
        assert "From 8 connections on" in sweep.cause.lead
        assert any("one node" in text for text in sweep.cause.more)

    def test_cpus_that_are_never_full_point_elsewhere_unless_others_used_them(
        self, tmp_path: Path
    ) -> None:
        def idle(record: RunRecord, busy_share: float) -> RunRecord:
            assert record.done is not None
            done = {**record.done, "server": {**record.done["server"], "cpu_us": 1000.0}}
            host = {"own_cpu_s": 0.1, "elapsed_s": 1.0, "cpus": 2, "busy_share": busy_share}
            probes = {**record.probes, "host": host}
            return replace(record, done=done, probes=probes)  # type: ignore[arg-type]

        leads = []
        for name, busy_share in (("alone", 0.05), ("beside", 0.9)):
            (tmp_path / name).mkdir()
            path = write_closed(
                tmp_path / name, SWEEP, change=lambda one, share=busy_share: idle(one, share)
            )
            cause = report_of(path).cause
            assert cause is not None
            leads.append(cause.lead)
        assert "the CPUs are never full" in leads[0] and "locks" in leads[0]
        assert "used 85 % of the CPU time" in leads[1]

    def test_on_several_memory_nodes_it_says_what_to_try(self, tmp_path: Path) -> None:
        facts = {**FACTS, "numa": {"node_count": 2}}
        cause = report_of(write_closed(tmp_path, SWEEP, facts=facts)).cause
        assert cause is not None
        assert "numactl --cpunodebind=0" in cause.more[1]

    def test_without_published_figures_a_comparison_has_none(self, engines: Report) -> None:
        assert engines.found("shapes") is None
        assert "shapes" not in as_json(engines)

    def test_programs_get_it(self, sweep: Report) -> None:
        rows = as_json(sweep)["shapes"][0]["rows"]
        assert [row["published"] for row in rows] == [False, True, True, True]
        assert rows[0]["columns"][0]["column"] == 8

    def test_one_repeat_gives_no_interval_and_no_claim(self, tmp_path: Path) -> None:
        report = report_of(write_closed(tmp_path, SWEEP, runs=3))
        assert "times as high" not in report.answer.sentence
        assert report.found("shapes")


class TestQueryCacheWords:
    def test_the_cause_names_where_queries_wait(self, tmp_path: Path) -> None:
        def cached(record: RunRecord) -> RunRecord:
            many = record.cell["load.connections"] == 8
            status = {"Questions": 100, "Qcache_hits": 60, "Com_select": 100, "Qcache_inserts": 5}
            waits = {"looks": 10, "running": 100, "waiting": 40 if many else 1}
            probes = {**record.probes, "status": status, "query_cache_waits": waits}
            return replace(record, probes=probes)  # type: ignore[arg-type]

        text = ENGINES.replace('explain = "engines"', 'explain = "query-cache"')
        cause = report_of(write_closed(tmp_path, text, change=cached)).cause
        assert cause is not None
        assert "60.0 %" in cause.lead
        assert any("40.0 %" in text and "8 connections" in text for text in cause.more)
        assert cause.tables[0].rows[0][3].startswith("60.0 %")

    def test_a_server_without_one_has_no_such_cause(self, tmp_path: Path) -> None:
        text = SWEEP.replace('"concurrency"', '"query-cache"')
        assert report_of(write_closed(tmp_path, text)).cause is None


def test_engines_say_what_they_read(engines: Report) -> None:
    assert engines.cause is not None
    (table,) = engines.cause.tables
    assert table.columns == ("per statement", "MyISAM", "InnoDB")
    assert table.rows[0][0].startswith("rows read by scans")
