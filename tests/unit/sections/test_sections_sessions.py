"""What the report says of earlier sessions, and that no verdict goes by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from shown import as_text
from shown import report_of as built
from synthetic_run import CONNECTIONS, FACTS, POINTS, SEGMENTS, study, write_slices

from contend.report import Report, as_json, html

ONE_CELL = (f"{CONNECTIONS}=[8]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]", "compare.repeats=8")


def session(log_ratio: float, **changes: Any) -> dict[str, Any]:
    whole = {"metric": "qps", "level": 32, "log_ratio": log_ratio, "se": 0.01, "df": 7, **changes}
    return {"run": "before", "ended_at": "2026-02-28T10:00:00+00:00", "wholes": [whole]}


def report_of(
    path: Path, earlier: list[dict[str, Any]] | None, *sets: str, **how: Any
) -> tuple[Report, str]:
    facts = FACTS if earlier is None else {**FACTS, "sessions": {"earlier": earlier}}
    write_slices(path, study(sets=(*ONE_CELL, *sets)), facts=facts, **how)
    report = built(path)
    return report, as_text(report)


MOVED = [session(0.10), session(0.18), session(0.02), session(0.12)]


def test_the_spread_stands_in_the_sentence_the_basis_and_beside_the_intervals(
    tmp_path: Path,
) -> None:
    report, shown = report_of(tmp_path / "run", MOVED)
    assert "in these 28.5 s; on this host" in report.answer.sentence
    assert report.answer.sentence.endswith(", from 4 of them).")
    assert " sessions differ by ±" in report.answer.sentence
    (basis,) = [one for one in report.answer.basis if one.startswith("The intervals describe")]
    assert "4 earlier sessions" in basis and "a mean of +11." in basis
    beside = report.found("sessions").note
    assert beside in report.answer.sentence
    assert " ".join(shown.split()).count(beside) == 2
    page = html.render(report, {})
    assert page.count("on this host sessions differ by\xa0±") == 2
    document = as_json(report)["sessions"]
    assert document["n"] == 4 and document["low"] < document["tau"] < document["high"]


def test_no_verdict_and_no_interval_goes_by_them(tmp_path: Path) -> None:
    without, _ = report_of(tmp_path / "without", None)
    beside, _ = report_of(tmp_path / "with", MOVED)
    assert without.compared == beside.compared
    assert "sessions" not in as_json(without)
    assert not any("session" in one for one in without.answer.basis)


def test_sessions_that_agree_differ_by_no_more_than_their_errors(tmp_path: Path) -> None:
    report, _ = report_of(tmp_path / "run", [session(0.1)] * 3)
    assert "3 sessions show no difference" in report.answer.sentence


@pytest.mark.parametrize(
    ("earlier", "known"),
    [
        ([], "there was none"),
        ([session(0.1)], "there was 1"),
        ([session(0.1), session(0.2)], "there were 2"),
        ([*MOVED[:2], session(0.1, level=64), session(0.1, metric="response_us_p99")], "were 2"),
        ([*MOVED[:2], session(0.1, df=1), session(0.1, se=0.0)], "there were 2"),
    ],
)
def test_with_fewer_than_three_it_is_not_known(
    tmp_path: Path, earlier: list[dict[str, Any]], known: str
) -> None:
    report, shown = report_of(tmp_path / "run", earlier)
    assert "on this host" not in report.answer.sentence
    (basis,) = [one for one in report.answer.basis if "sessions of this host" in one]
    assert "3 earlier runs" in basis and known in basis
    assert as_json(report)["sessions"]["tau"] is None
    assert "sessions differ" not in shown


def test_the_facts_of_the_host_have_none_of_it(tmp_path: Path) -> None:
    report, _ = report_of(tmp_path / "run", MOVED)
    assert not any("session" in group.title.lower() for group in report.facts)


def test_several_cells_are_told_as_one(tmp_path: Path) -> None:
    report, _ = report_of(tmp_path / "run", MOVED, f"{CONNECTIONS}=[1, 8]")
    assert report.found("sessions").note.endswith(" over all cells, from 4 of them")


def test_a_run_that_is_not_finished_claims_nothing_of_this_minute(tmp_path: Path) -> None:
    report, _ = report_of(tmp_path / "run", MOVED, blocks=4, finished=None)
    assert "on this host" not in report.answer.sentence
