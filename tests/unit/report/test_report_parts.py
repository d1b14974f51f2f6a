"""An error in one part of a report costs that part, which says so; the others stand."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from shown import as_text, report_of
from synthetic_run import CONNECTIONS, POINTS, SEGMENTS, study, write_run

from contend.cli.main import main
from contend.errors import WorkError
from contend.report import Report, as_json, build, html, terminal
from contend.sections.model import Inputs, Section, Shown, TextTable
from contend.sections.registry import SECTIONS

SETS = (f"{CONNECTIONS}=[1, 8]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]", "compare.repeats=4")
PARTS = {
    "answer_of": "Answer",
    "costs_of": "Costs of each level",
    "panel_charts": "Charts",
    "warnings_of": "Warnings",
    "fact_groups": "Facts",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("parts") / "run", study(sets=SETS))


def built(run: Path) -> Report:
    return report_of(run)


@pytest.fixture(scope="module")
def whole(run: Path) -> Report:
    return built(run)


def in_full(report: Report) -> str:
    return " ".join(as_text(report, full=True, width=1000).split())


def having(monkeypatch: pytest.MonkeyPatch, *sections: Section[Any]) -> None:
    monkeypatch.setitem(build.__globals__, "SECTIONS", sections)


def fail(*_: object, **__: object) -> Any:
    return [][0]


def require_missing(report: Report, whole: Report, title: str) -> None:
    (missing,) = report.missing
    assert missing.title == title and whole.missing == ()
    assert "IndexError" in missing.lead and "test_report_parts.py, line " in missing.lead
    assert report.comparisons == whole.comparisons and report.cells == whole.cells
    for text in (in_full(report), html.render(report, {})):
        assert title in text and "because of an error in contend" in text
        assert "Warnings and failures" in text
    # In short too, and to its end: with the place of the fault.
    assert missing.lead in " ".join(as_text(report, width=1000).split())
    assert as_json(report)["missing"] == {title: missing.lead}
    assert "missing" not in as_json(whole)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_cannot_be_made_is_missing(
    run: Path, whole: Report, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(build.__globals__, name, fail)
    require_missing(built(run), whole, PARTS[name])


@pytest.mark.parametrize("section", SECTIONS, ids=lambda one: one.name)
def test_a_section_that_cannot_be_read_says_so_in_its_place(
    run: Path, whole: Report, section: Section[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    having(monkeypatch, *(replace(one, read=fail) if one is section else one for one in SECTIONS))
    require_missing(built(run), whole, section.title)


def test_a_section_that_cannot_be_shown_is_missing_and_the_command_fails(
    run: Path, whole: Report, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    having(monkeypatch, *SECTIONS[:-1], Section("odd", "An odd one", lambda _inputs: 1, fail))
    require_missing(built(run), whole, "An odd one")
    for form in ([], ["--full"], ["--json"]):
        assert main(["show", str(run), *form]) == 1
        assert "An odd one" in capsys.readouterr().out
    assert main(["report", str(run), "--out", str(run / "odd.html")]) == 1
    having(monkeypatch, *SECTIONS)
    assert main(["show", str(run)]) == 0


def test_json_that_cannot_be_made_is_missing(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    having(monkeypatch, *(replace(one, json=fail) for one in SECTIONS if one.name == "counters"))
    document = as_json(built(run))
    assert "counters" not in document and "Counters that differ" in document["missing"]
    assert main(["show", str(run), "--json"]) == 1
    assert "Counters that differ" in capsys.readouterr().out


def test_an_error_with_a_message_is_reported_by_it(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_folder: object) -> None:
        raise WorkError("run/why/results.sqlite is damaged.")

    monkeypatch.setattr("contend.sections.why.why_section", refuse)
    (missing,) = built(run).missing
    assert missing.lead.endswith(": run/why/results.sqlite is damaged.")


def test_a_made_up_section_is_shown_everywhere(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that it takes is what it reads, how that is shown, and a line in the registry."""

    def read(inputs: Inputs) -> int | None:
        return len(inputs.study.measured) or None

    def show(runs: int, _inputs: Inputs) -> Shown:
        table = TextTable("Its table", ("what", "how many"), (("runs", f"{runs} in all"),))
        return Shown("Made up", f"It counts {runs} runs.", (table,), more=("And no more.",))

    made_up = Section("made_up", "Made up", read, show, lambda runs, _inputs: {"runs": runs})
    having(monkeypatch, *SECTIONS, made_up)
    report = built(run)
    for text in (in_full(report), html.render(report, {})):
        assert "Made up" in text and "It counts 16 runs." in text
        assert "Its table" in text and "16 in all" in text and "And no more." in text
    assert "Made up" not in as_text(report)
    assert as_json(report)["made_up"] == {"runs": 16}


def test_a_part_that_cannot_be_written_leaves_the_others(whole: Report) -> None:
    shown = whole.shown("counters")
    assert shown is not None
    broken: Any = replace(shown)
    object.__setattr__(broken, "tables", None)
    made = tuple(replace(one, shown=broken) if one.shown is shown else one for one in whole.made)
    report = replace(whole, made=made)
    assert "This part is missing" not in in_full(whole)
    for text in (in_full(report), html.render(report, {})):
        assert "because of an error in contend" in text
        assert shown.title in text and "Warnings and failures" in text
    console = Console(file=io.StringIO())
    assert [terminal.render(one, console, full=True) for one in (whole, report)] == [True, False]


def test_output_that_cannot_be_written_is_no_missing_part(whole: Report) -> None:
    class Full(io.StringIO):
        def write(self, _text: str) -> int:
            raise OSError("no space is left")

    with pytest.raises(OSError, match="no space is left"):
        terminal.render(whole, Console(file=Full(), width=80))
