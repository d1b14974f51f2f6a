"""An error in one part of a report costs that part, which says so; the others stand."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from shown import as_text
from synthetic_run import CONNECTIONS, POINTS, SEGMENTS, study, write_run

from contend.errors import WorkError
from contend.report import Report, as_json, build, html, terminal
from contend.store import RunFolder

SETS = (f"{CONNECTIONS}=[1, 8]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]", "compare.repeats=4")
PARTS = {
    "answer_of": "Answer",
    "shapes_of": "Growth along the columns",
    "cause_of": "Why",
    "costs_of": "What each level costs",
    "panel_charts": "Charts",
    "statements_of": "Each statement",
    "counter_section": "What else differs",
    "budget_section": "Where the time of a query goes",
    "host_state_section": "The state of the host",
    "why_section": "Why: what takes the difference away",
    "bounds_of": "What the machine allows",
    "warnings_of": "Warnings",
    "fact_groups": "Facts",
    "differences_of": "What still differs between the servers",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("parts") / "run", study(sets=SETS))


def built(run: Path) -> Report:
    with RunFolder.open(run) as folder:
        return build(folder)


@pytest.fixture(scope="module")
def whole(run: Path) -> Report:
    return built(run)


def in_full(report: Report) -> str:
    return " ".join(as_text(report, full=True, width=1000).split())


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_cannot_be_made_is_missing(
    run: Path, whole: Report, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> Any:
        return [][0]

    monkeypatch.setitem(build.__globals__, name, fail)
    report = built(run)
    (missing,) = report.missing
    assert missing.title == PARTS[name] and whole.missing == ()
    assert "(IndexError: list index out of range; test_report_parts.py, line " in missing.lead
    assert missing in report.sections
    assert report.comparisons == whole.comparisons and report.cells == whole.cells
    assert len(report.sections) >= len(whole.sections)
    for said in (in_full(report), html.render(report, {})):
        assert missing.title in said and "because of a fault of contend" in said
        assert "Warnings and failures" in said
    assert as_json(report)["missing"] == {missing.title: missing.lead}
    assert "missing" not in as_json(whole)


def test_what_is_in_words_already_is_told_in_them(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_folder: object) -> None:
        raise WorkError("run/why/results.sqlite is damaged.")

    monkeypatch.setitem(build.__globals__, "why_section", fail)
    (missing,) = built(run).missing
    assert missing.lead == "This part is missing: run/why/results.sqlite is damaged."


def test_a_part_that_cannot_be_written_leaves_the_others(whole: Report) -> None:
    assert whole.counters is not None
    wrong: Any = replace(whole.counters, tables=None)
    said = in_full(replace(whole, counters=wrong))
    assert "TypeError" in said and "This part is missing" not in in_full(whole)
    for text in (said, html.render(replace(whole, counters=wrong), {})):
        assert "This part is missing because of a fault of contend" in text
        assert whole.counters.title in text and "Warnings and failures" in text


def test_output_that_cannot_be_written_is_no_missing_part(whole: Report) -> None:
    class Full(io.StringIO):
        def write(self, _text: str) -> int:
            raise OSError("no space is left")

    with pytest.raises(OSError, match="no space is left"):
        terminal.render(whole, Console(file=Full(), width=80))
