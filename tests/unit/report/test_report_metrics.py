"""What is compared follows the metric: figures, verdicts, sentences, tables, charts, exports."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from shown import report_of
from synthetic_run import CONNECTIONS, POINTS, SEGMENTS, at_equal_load, study, write_run

from contend.cli.main import main
from contend.experiment import SpecError
from contend.findings import Finding, family_of
from contend.report import as_json, html
from contend.report.export import csv_of, rows_of
from contend.store import RunFolder, RunRecord

SMALL = (
    f"{CONNECTIONS}=[1, 8]",
    f"{POINTS}=[10]",
    f"{SEGMENTS}=[0, 32]",
    "compare.repeats=6",
)
THREE = ("response_us_p99", "qps", "server_cpu_us_per_query")
REST = ("metrics", "costs", "growth", "steadiness", "causes")


def by_statement(record: RunRecord) -> RunRecord:
    """With two statements: `cheap` is the same at both levels, `dear` takes half the time at 32."""
    assert record.done is not None
    wobble = 1 + record.run % 5 / 1000
    dear_us = 100.0 * wobble * (0.5 if record.cell[SEGMENTS] else 1.0)
    queries = record.done["queries"]
    classes = [
        {"name": "cheap", "queries": queries // 2, "latency_us": {"p95": 40.0 * wobble}},
        {"name": "dear", "queries": queries // 2, "latency_us": {"p95": dear_us}},
    ]
    return replace(record, done={**record.done, "classes": classes})


def run_of(tmp_path: Path, *sets: str, change: object = by_statement) -> Path:
    experiment = study(sets=(*SMALL, *sets))
    return write_run(tmp_path / "run", experiment, change=change)  # type: ignore[arg-type]


def comparing(*metrics: str) -> str:
    return f"compare.metric={json.dumps(metrics)}"


def test_the_first_metric_decides_and_the_others_stand_beside(tmp_path: Path) -> None:
    path = run_of(tmp_path, comparing(*THREE))
    report = report_of(path)
    assert [one.metric.name for one in report.compared] == list(THREE)
    assert report.comparisons == report.compared[0].comparisons
    assert report.answer.sentence.startswith("At 8 connections, ")
    assert "shorter; at 1 connection, " in report.answer.sentence
    assert report.wholes is not None
    titles = [one.metric.title for one in report.compared]
    assert [row[0] for row in report.wholes.rows][:3] == titles
    assert any(text.endswith("response_us_p99 decides.") for text in report.answer.basis)


def test_each_has_its_own_paired_interval(tmp_path: Path) -> None:
    report = report_of(run_of(tmp_path, comparing(*THREE)))
    times, speeds, cpu = (one.comparisons for one in report.compared)
    assert [one.cell[CONNECTIONS] for one in times] == [1, 8]
    for one, other in zip(speeds, cpu, strict=True):
        # The synthetic server is as busy either way, so a query costs what its time costs.
        assert one.change.n == other.change.n == 6
        assert other.change.low < other.change.ratio < other.change.high
    assert [one.word for one in times] == ["slower", "faster"]
    assert [one.tone for one in times] == ["worse", "better"]
    assert (cpu[0].word, cpu[0].tone) == ("higher", "worse")


def test_verdicts_of_the_first_do_not_depend_on_the_others(tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    alone = report_of(run_of(tmp_path / "alone", comparing(THREE[0])))
    among = report_of(run_of(tmp_path, comparing(*THREE)))
    assert alone.comparisons == among.comparisons
    assert {one.contrast.family.name for one in among.comparisons} == {"first"}
    first, *beside = (one.comparisons[0].contrast.family for one in among.compared)
    assert first.confidence == pytest.approx(0.96)
    assert {one.name for one in beside} == {"metrics"}
    rest = {name: family_of(study(sets=(*SMALL, comparing(*THREE))), name) for name in REST}
    assert sum(1 - one.confidence for one in rest.values()) == pytest.approx(0.01)


def test_what_is_asked_afterwards_has_intervals_and_no_verdict(tmp_path: Path) -> None:
    path = run_of(tmp_path)
    requested, planned = report_of(path, "server_cpu_us_per_query", "qps").compared
    assert {one.word for one in requested.findings} == {""}
    assert {one.tone for one in requested.findings} == {"open"}
    assert all(0 < one.change.low < one.change.high < 10 for one in requested.comparisons)
    # What the experiment named keeps its verdicts, wherever it stands.
    assert planned.findings == report_of(path).compared[0].findings
    assert "faster" in {one.word for one in planned.findings}
    answer = report_of(path, "server_cpu_us_per_query").answer
    assert "changes the server CPU per query by" in answer.sentence
    assert any("no verdicts" in one for one in answer.basis)


def equal(record: RunRecord) -> RunRecord:
    return at_equal_load(by_statement(record))


def test_a_statement_can_be_compared(tmp_path: Path) -> None:
    names = ("statement.dear.service_us_p95", "statement.cheap.service_us_p95")
    report = report_of(run_of(tmp_path, comparing(*names), change=equal))
    dear, cheap = report.compared
    for one in dear.comparisons:
        assert one.change.ratio == pytest.approx(0.5, rel=0.01)
        assert one.word == "faster"
    assert {one.word for one in cheap.comparisons} == {"equivalent"}
    assert "the p95 service time of dear" in report.answer.sentence
    assert report.wholes is not None
    rows = report.wholes.rows[:2]
    verdicts = [one.word for row in rows for one in row[1:] if isinstance(one, Finding)]
    assert verdicts == ["faster", "equivalent"]


def test_a_counter_can_be_compared(tmp_path: Path) -> None:
    report = report_of(run_of(tmp_path, comparing("status.Questions_per_query")))
    assert {one.word for one in report.comparisons} == {"equivalent"}


def test_the_page_has_tables_and_charts_of_each(tmp_path: Path) -> None:
    report = report_of(run_of(tmp_path), *THREE)
    page = html.write(report, tmp_path / "page.html")[0].read_text(encoding="utf-8")
    for fragment in (
        "Response time, p99: change from off, percent; less is better",
        "Throughput: gain over off, percent",
        "Server CPU per query: change from off, percent; less is better",
        "Response time, p99: ratio over the baseline off",
        '<th scope="row">Server CPU per query</th>',
    ):
        assert fragment in page, fragment
    assert [chart.id.partition("-")[0] for chart in report.charts] == [
        *("qps", "server", "change", "change", "response")
    ]
    assert report.picture is not None and report.picture.id.startswith("change-response")
    assert 'class="worse"' in page and ", published, " in page


def test_a_page_of_times_has_no_published_gains(tmp_path: Path) -> None:
    report = report_of(run_of(tmp_path), "response_us_p99")
    page = html.write(report, tmp_path / "page.html")[0].read_text(encoding="utf-8")
    assert ", published, " not in page
    assert report.cause is None and report.shown("bounds") is None


def test_programs_are_told_the_metric(tmp_path: Path) -> None:
    path = run_of(tmp_path, comparing(*THREE))
    document = as_json(report_of(path))
    assert document["metrics"][0] == {
        "name": "response_us_p99",
        "title": "Response time, p99",
        "unit": "µs",
        "less_is_better": True,
    }
    assert [one["metric"] for one in document["comparisons"]] == [
        name for name in THREE for _ in range(2)
    ]
    assert document["comparisons"][0]["verdict"] == "slower"
    assert "response_us_p99" in document["cells"][0]
    with RunFolder.open(path) as folder:
        text = csv_of(rows_of(folder, "comparisons", THREE))
    rows = list(csv.DictReader(io.StringIO(text)))
    # The level as a whole and the two columns, which are the cells.
    assert [row["metric"] for row in rows] == [name for name in THREE for _ in range(3)]
    assert [row["of"] for row in rows[:3]] == ["whole", "columns", "columns"]
    assert rows[1]["verdict"] == "slower"


@pytest.mark.parametrize(
    ("command", "metric", "hint"),
    [
        ("show", "statement.deer.qps", '"statement.dear.qps"'),
        ("report", "seconds", "load.events"),
        ("show", "respons_us_p99", '"response_us_p99"'),
        ("export --format csv", "tps", '"events_per_s"'),
    ],
)
def test_a_metric_that_no_run_has_is_refused_with_the_one_that_was_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, metric: str, hint: str
) -> None:
    assert main([*command.split(), "--metric", metric, str(run_of(tmp_path))]) == 2
    assert hint in capsys.readouterr().err


def test_a_metric_of_another_version_is_refused_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment = study(sets=SMALL)
    compare = replace(experiment.compare, metric=("qps_of_old",))
    path = write_run(tmp_path / "run", replace(experiment, compare=compare))
    assert main(["show", str(path)]) == 2
    assert "compares qps_of_old" in capsys.readouterr().err
    assert main(["show", str(path), "--metric", "qps"]) == 0


def test_what_the_experiment_names_and_no_run_has_costs_only_the_answer(tmp_path: Path) -> None:
    report = report_of(run_of(tmp_path, "compare.metric=statement.none.qps"))
    assert "no statement.none.qps" in report.answer.sentence
    assert report.comparisons == () and len(report.cells) == 4
    (notice,) = [one for one in report.warnings if one.code == "metric-missing"]
    assert notice.runs == 24


def test_runs_without_the_metric_lose_their_repeats_and_it_is_said(tmp_path: Path) -> None:
    def change(record: RunRecord) -> RunRecord:
        return record if record.repeat == 1 else by_statement(record)

    report = report_of(run_of(tmp_path, change=change), "statement.dear.qps", "qps")
    dear, speed = report.compared
    assert {one.change.n for one in dear.comparisons} == {5}
    assert {one.change.n for one in speed.comparisons} == {6}
    assert {one.code for one in report.warnings} == {"metric-missing", "repeats-lost"}


def test_a_name_is_checked_when_the_file_is_read() -> None:
    with pytest.raises(SpecError, match=r'compare\.metric names "response_us_p9"'):
        study(sets=("compare.metric=response_us_p9",))
