"""From records to gains, cells, tables and notices."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from shown import report_of
from synthetic_run import (
    CONNECTIONS,
    FACTS,
    GAIN_PERCENT,
    POINTS,
    SEGMENTS,
    as_failed,
    latency_histogram,
    study,
    with_warning,
    write_run,
)

from contend.cli.main import main
from contend.experiment import Level, load_experiment
from contend.findings import cpu_count
from contend.report import Report, build
from contend.report.html import all_charts
from contend.sections.words import cell_phrase, level_label
from contend.stats import histogram
from contend.store import RunFolder, RunRecord

SMALL = (
    f"{CONNECTIONS}=[1, 8]",
    f"{POINTS}=[10, 100]",
    f"{SEGMENTS}=[0, 32]",
    "compare.repeats=4",
)


def small(
    tmp_path: Path,
    sets: Iterable[str] = SMALL,
    change: Callable[..., Any] | None = None,
    **more: Any,
) -> Report:
    return report_of(write_run(tmp_path / "run", study(sets=sets), change=change, **more))


def test_gains_are_those_that_were_put_in(study_report: Report) -> None:
    assert len(study_report.comparisons) == 42
    for one in study_report.comparisons:
        if one.level != 32:
            continue
        expected = 1 + GAIN_PERCENT[int(one.cell[POINTS])][int(one.cell[CONNECTIONS])] / 100
        assert one.change.low * 0.985 < expected < one.change.high * 1.015
        assert one.change.n == 8
        assert one.word == ("slower" if expected < 1 else "faster")


def test_the_layout_is_that_of_the_study(study_report: Report) -> None:
    layout = study_report.layout
    assert layout.columns == ("1", "4", "8", "16", "32", "64", "128")
    assert layout.levels == ("off", "32", "64")
    assert [panel.title for panel in study_report.panels] == [
        "10 points",
        "50 points",
        "100 points",
    ]
    first = study_report.panels[0]
    assert [row.label for row in first.gains] == ["32", "64"]
    assert [block.name for block in first.published] == ["pitbull", "perro"]
    assert first.published[0].rows[0] == ("32", (-3.0, 53.0, 122.0, 155.0, 226.0, 269.0, 237.0))
    assert first.published[1].rows[1][1][0] == -0.3


def test_every_cell_has_figures_with_interval_and_n(study_report: Report) -> None:
    assert len(study_report.cells) == 63
    for cell in study_report.cells:
        assert cell.repeats == 8
        assert list(cell.cell) == [SEGMENTS, POINTS, CONNECTIONS]
        for key in ("qps", "response_us_p50", "response_us_p99", "switches_per_query"):
            estimate = cell.figures[key]
            assert estimate.low <= estimate.mean <= estimate.high
            assert estimate.n == 8
        p50, p95, p99 = (cell.figures[f"response_us_{p}"].mean for p in ("p50", "p95", "p99"))
        assert p50 < p95 < p99


def test_percentiles_are_those_of_all_queries_together(tmp_path: Path) -> None:
    """One run of four is a hundred times slower, so a quarter of all queries are: the p95 of all
    lies among them, where a mean of the runs' p95 would lie at a quarter of the way."""
    fast, quick = latency_histogram(100.0, 0.1)
    slow, _ = latency_histogram(10_000.0, 0.1)

    def change(record: RunRecord) -> RunRecord:
        assert record.done is not None
        log = slow if record.repeat == 1 else fast
        return replace(record, done={**record.done, "latency_hdr_ns": log})

    report = small(tmp_path, change=change)
    for cell in report.cells:
        assert cell.figures["response_us_p50"].mean < 2 * quick["p50"]
        assert cell.figures["response_us_p95"].mean > 80 * quick["p95"]


def test_a_run_half_done_reports_what_is_there(tmp_path: Path) -> None:
    report = small(tmp_path, runs=10)
    assert report.progress.state == "unfinished"
    assert (report.progress.measured, report.progress.planned) == (10, 32)
    assert "so far (10 of 32 runs)" in report.answer.sentence
    assert all(one.change.n >= 1 for one in report.comparisons)
    assert not any(notice.code == "repeats-lost" for notice in report.warnings)


def test_a_single_pair_decides_nothing(tmp_path: Path) -> None:
    report = small(tmp_path, runs=2)
    (one,) = report.comparisons
    assert one.change.verdict is None
    assert one.change.n == 1 and math.isinf(one.change.high)
    assert "±?" in report.answer.sentence


def test_nothing_measured_is_said(tmp_path: Path) -> None:
    report = small(tmp_path, runs=0)
    assert report.answer.sentence == "Nothing has been measured yet."
    assert report.comparisons == () and report.cells == () and report.charts == ()


def test_a_writer_makes_it_under_way(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", study(sets=SMALL), runs=5)
    with RunFolder.open(path, write=True) as folder:
        assert build(folder).progress.state == "under way"


def test_failed_and_lost_runs_are_shown_and_leave_their_repeats(tmp_path: Path) -> None:
    def break_some(record: RunRecord) -> RunRecord:
        if record.run == 3:
            return as_failed(record, "server has gone away")
        if record.run == 4:
            return as_failed(record, "the host was suspended", "lost")
        return record

    report = small(tmp_path, change=break_some)
    assert report.progress.state == "complete"
    assert (report.progress.failed, report.progress.lost) == (1, 1)
    assert {notice.code for notice in report.failures} == {"failed", "lost"}
    assert {notice.message for notice in report.failures} == {
        "server has gone away",
        "the host was suspended",
    }
    (lost,) = [notice for notice in report.warnings if notice.code == "repeats-lost"]
    # Both runs of one block are gone, or one run of each of two.
    assert lost.runs == sum(one.lost for one in report.comparisons) >= 1
    assert sum(one.change.n for one in report.comparisons) == 16 - lost.runs


def test_a_run_that_failed_and_was_repeated_counts_once(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", study(sets=SMALL), runs=6)
    with RunFolder.open(path, write=True) as folder:
        first = folder.records()[0]
        folder.append(as_failed(replace(first, run=7), "crashed"))
        folder.append(replace(first, run=7, block=99))
        report = build(folder)
    assert report.progress.measured == 7 and report.progress.failed == 0
    (failure,) = report.failures
    assert failure.message == "crashed (measured at a later attempt)"


def test_warnings_are_gathered_by_code(tmp_path: Path) -> None:
    def warn(record: RunRecord) -> RunRecord:
        cold = record.cell[SEGMENTS] == 32 and record.cell[CONNECTIONS] == 8
        return with_warning(record, "cache-cold", "was meant to be warm") if cold else record

    report = small(tmp_path, change=warn)
    (notice,) = report.warnings
    assert (notice.code, notice.runs, notice.planned_runs) == ("cache-cold", 8, 32)
    assert len(notice.cells) == 2
    assert sum("cache-cold" in cell.warnings for cell in report.cells) == 2


def test_errors_of_queries_are_counted_by_code(tmp_path: Path) -> None:
    error = {"code": 1213, "sqlstate": "40001", "count": 3, "message": "Deadlock found"}

    def deadlock(record: RunRecord) -> RunRecord:
        assert record.done is not None
        return replace(record, done={**record.done, "errors": [error]})

    report = small(tmp_path, change=deadlock)
    (notice,) = report.warnings
    for fact in ("queries: 96", "1213 (40001)", "Deadlock found"):
        assert fact in notice.message
    assert all(cell.figures["error_share"].mean > 0 for cell in report.cells)


def test_another_host_in_a_later_session_is_told(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", study(sets=SMALL))
    with RunFolder.open(path, write=True) as folder:
        folder.add_session(FACTS)
        assert build(folder).warnings == ()
        folder.add_session({**FACTS, "kernel": {"release": "6.12.0"}})
        (notice,) = build(folder).warnings
    assert notice.code == "host-changed"
    assert "kernel release" in notice.message


def test_the_memory_of_the_same_host_counted_anew_is_no_other_host(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", study(sets=SMALL))
    total = FACTS["memory"]["total_bytes"]
    with RunFolder.open(path, write=True) as folder:
        folder.add_session({**FACTS, "memory": {"total_bytes": total - 10 * 1024**2}})
        assert build(folder).warnings == ()
        folder.add_session({**FACTS, "memory": {"total_bytes": total // 2}})
        (notice,) = build(folder).warnings
    assert "memory total" in notice.message


def test_without_a_baseline_it_says_what_was_measured(tmp_path: Path) -> None:
    source = """
[experiment]
name = "sweep"
question = "How far does it go?"
[workload]
kind = "random_points"
[factors]
"load.connections" = [1, 8]
"workload.points" = [10, 100]
"""
    (tmp_path / "sweep.toml").write_text(source)
    report = report_of(write_run(tmp_path / "run", load_experiment(str(tmp_path / "sweep.toml"))))
    assert report.comparisons == ()
    assert report.answer.sentence.startswith("This server answered ")
    assert "names no baseline" in report.answer.basis[0]
    assert report.layout.levels == ("10", "100")
    assert report.layout.columns == ("1", "8")
    times, speed, multiples = sorted({chart.kind for chart in all_charts(report)})
    assert (times, speed) == ("Response time", "Throughput") and "multiples" in multiples


def test_without_factors_there_is_one_cell(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text('[workload]\nkind = "point_select"\n')
    report = report_of(write_run(tmp_path / "run", load_experiment(str(tmp_path / "one.toml"))))
    assert len(report.cells) == 1
    assert "the most of all cells" not in report.answer.sentence
    assert report.panels[0].metric("qps") is not None


def test_a_warning_of_the_only_cell_names_no_cell(tmp_path: Path) -> None:
    def warn(record: RunRecord) -> RunRecord:
        return with_warning(record, "cache-cold", "was meant to be warm")

    (tmp_path / "one.toml").write_text('[workload]\nkind = "point_select"\n')
    experiment = load_experiment(str(tmp_path / "one.toml"))
    (notice,) = report_of(write_run(tmp_path / "run", experiment, change=warn)).warnings
    assert notice.cells == ()


@pytest.mark.parametrize(
    ("load", "begin"),
    [
        ("", "for 5 s after 1 s of warm-up"),
        ("events = 500", "until 500 events are done, at most for 5 s"),
        ("events_each = 9", "until 9 events of each connection"),
    ],
)
def test_the_method_says_how_long_a_run_is(tmp_path: Path, load: str, begin: str) -> None:
    (tmp_path / "one.toml").write_text(f"[load]\n{load}\n")
    report = report_of(write_run(tmp_path / "run", load_experiment(str(tmp_path / "one.toml"))))
    assert begin in report.method[0]


def test_a_compared_factor_alone_has_one_column(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(
        '[factors]\n"server.options.key_cache_segments" = [0, 32]\n'
        '[compare]\nbaseline = { "server.options.key_cache_segments" = 0 }\nrepeats = 4\n'
        "[load]\nconnections = 8\n"
    )
    report = report_of(write_run(tmp_path / "run", load_experiment(str(tmp_path / "two.toml"))))
    (one,) = report.comparisons
    assert one.word == "faster"
    assert re.search(r"46 % \(±\S+\) faster than 0", report.answer.sentence)
    assert report.overall == ((),)


@pytest.mark.parametrize(
    ("facts", "cpus"),
    [
        ({}, None),
        ({"cpu": {"count": 4}}, 4.0),
        ({"cpu": {"count": 4}, "machine": {"cpu_quota": 1.5}}, 1.5),
        ({"cpu": {"count": 4}, "machine": {"cpu_quota": None}}, 4.0),
    ],
)
def test_the_cpus_are_those_that_we_may_use(facts: dict[str, Any], cpus: float | None) -> None:
    assert cpu_count(facts) == cpus


def test_a_damaged_figure_does_not_stop_the_report(tmp_path: Path) -> None:
    def strange(record: RunRecord) -> RunRecord:
        assert record.done is not None
        return replace(record, done={"queries": 0, "qps": record.done["qps"]}, probes={})

    report = small(tmp_path, change=strange)
    assert len(report.comparisons) == 4
    assert report.cause is None and report.shown("bounds") is None


def test_levels_that_are_names_are_compared_with_the_baseline_only(tmp_path: Path) -> None:
    (tmp_path / "names.toml").write_text(
        '[factors]\n"load.protocol" = ["prepared", "text"]\n'
        '[compare]\nbaseline = { "load.protocol" = "text" }\nrepeats = 3\n'
    )
    report = report_of(write_run(tmp_path / "run", load_experiment(str(tmp_path / "names.toml"))))
    (one,) = report.comparisons
    assert (one.level, one.baseline) == ("prepared", "text")
    assert report.layout.levels == ("text", "prepared")


def test_no_histogram_is_read_unless_a_percentile_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small(tmp_path)
    read: list[str] = []
    add = histogram._add
    monkeypatch.setattr(
        histogram, "_add", lambda counts, text: (read.append(text), add(counts, text))[1]
    )
    counted = []
    for more in ([], ["--metric", "server_cpu_us_per_query"], ["--metric", "response_us_p99"]):
        read.clear()
        assert main(["show", str(tmp_path / "run"), *more]) == 0
        counted.append(len(read))
    assert counted == [0, 0, 32]
    assert "Response time, p99" in capsys.readouterr().out


def test_servers_of_one_kind_are_told_apart_by_their_names(tmp_path: Path) -> None:
    versions = {"mariadb@bookworm": "10.11.14-MariaDB", "mariadb@trixie": "11.8.3-MariaDB"}
    names = list(versions)

    def change(record: RunRecord) -> RunRecord:
        used = names[record.run % 2]
        server = {"kind": "mariadb", "version": versions[used], "change": "restart"}
        probes: Any = {**record.probes, "server": server}
        return replace(record, cell={**record.cell, "server.use": used}, probes=probes)

    report = small(tmp_path, change=change)
    head = dict(report.summary)["Server"]
    assert sorted(head.split(", ")) == [
        "mariadb@bookworm (MariaDB 10.11.14)",
        "mariadb@trixie (MariaDB 11.8.3)",
    ]
    facts = dict(next(group.facts for group in report.facts if group.title == "Server"))
    assert facts["kind"] == "mariadb"
    assert "11.8.3-MariaDB (mariadb@trixie)" in facts["version"]


def test_an_empty_level_is_shown_as_such() -> None:
    assert cell_phrase({"server.wrap": ""}) == "wrap = ''"


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("oltp_read_only", "oltp_read_only"),
        ("scripts/queue.lua", "scripts/queue.lua"),
        (
            "/home/me/of/a/study/of/queues/skip/queue.lua",
            "…/me/of/a/study/of/queues/skip/queue.lua",
        ),
        # One folder at least tells two of the same name apart.
        (f"/home/me/{'before' * 6}/queue.lua", f"…/{'before' * 6}/queue.lua"),
        (f"{'q' * 50}.lua", f"{'q' * 50}.lua"),
        (f"s/{'q' * 50}.lua", f"s/{'q' * 50}.lua"),
        ("/a/path/of/a/server/that/is/no/script/mariadbd", None),
    ],
)
def test_a_long_path_of_a_script_is_told_by_its_end(path: str, label: str | None) -> None:
    assert level_label(path) == (label or path)


def test_no_two_levels_have_one_label() -> None:
    levels: list[Level] = [512_000_000, "512M", 536_870_912, "536870912", "512,000,000"]
    levels += [1, "1", 1.5, "1.5", -1, "-1", "1e3", "1k", 100_000, "100k", 99_999, "", "none", True]
    labels = list(map(level_label, levels))
    assert len(set(labels)) == len(levels)
    assert labels[:2] == ["512,000,000", "512M"]
