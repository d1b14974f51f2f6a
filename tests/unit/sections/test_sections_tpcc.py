"""The section on TPC-C: what its figures are called, limits, mix, and reports without it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from synthetic_run import write_run
from synthetic_tpcc import KINDS, of_tpcc

from contend.experiment import load_experiment
from contend.report import build
from contend.report.html import render
from contend.report.terminal import render as show
from contend.sections.tpcc import mix_texts
from contend.store import RunFolder


def report_of(folder: Path, waits_percent: int) -> Any:
    experiment = load_experiment("segmented-key-cache", variant="quick")
    write_run(folder, experiment, change=lambda record: of_tpcc(record, waits_percent), runs=20)
    return build(RunFolder.open(folder), percentiles=False)


def shown(report: Any) -> str:
    console = Console(file=io.StringIO(), width=200)
    show(report, console, full=True)
    return str(console.file.getvalue())


def test_figures_stand_beside_their_limits(tmp_path: Path) -> None:
    report = report_of(tmp_path / "run", 0)
    section = next(one for one in report.sections if one.title.startswith("TPC-C"))
    assert "not an audited result" in section.lead and "are not tpmC" in section.lead
    assert "data.shrink" not in section.lead
    costs, limits, mix = section.tables
    assert costs.columns[1] == "new orders/min"
    first = dict(zip(costs.columns, costs.rows[0], strict=True))
    assert first["round trips"].startswith("30")
    assert (first["rolled back"], first["retries"], first["given up"]) == ("1.00", "2.02", "0.13")
    beside = dict(zip(limits.columns, limits.rows[0], strict=True))
    assert beside["new_order ≤5 s"].split(" / ")[1] == "7500"
    assert beside["new_order ≤5 s"].endswith(" !")
    assert beside["stock_level ≤20 s"].split(" / ")[1] == "6000"
    assert not beside["stock_level ≤20 s"].endswith("!")
    assert mix.rows[0][1:] == ("43.9", "43.9", "4.4", "4.4", "3.5 !")
    assert "deferred" not in " ".join((*limits.columns, *mix.columns))


def test_with_waits_as_specified_it_is_called_tpmc(tmp_path: Path) -> None:
    report = report_of(tmp_path / "run", 100)
    section = next(one for one in report.sections if one.title.startswith("TPC-C"))
    assert "not an audited result" in section.lead and "are tpmC" in section.lead
    assert section.tables[0].columns[1:3] == ("tpmC", "of 12.86 per warehouse")
    for text in (shown(report), render(report, {})):
        assert section.title in text and "not an audited result" in text


def test_other_reports_have_no_such_section(study_report: Any) -> None:
    assert not any("TPC-C" in section.title for section in study_report.sections)


@pytest.mark.parametrize(
    ("counts", "texts"),
    [
        ((0, 0, 0, 0, 0), ["none"] * 5),
        ((10, 10, 1, 1, 1), ["43.5", "43.5", "4.3", "4.3", "4.3"]),
        ((50, 42, 4, 4, 4), ["48.1", "40.4 !", "3.8 !", "3.8 !", "3.8 !"]),
    ],
)
def test_a_mix_says_what_came_too_rarely(counts: tuple[int, ...], texts: list[str]) -> None:
    assert mix_texts(dict(zip(KINDS, counts, strict=True))) == texts
