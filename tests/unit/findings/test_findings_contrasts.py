"""Contrasts say what they are of; what was measured once, or by an older contend, is no trouble."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from shown import report_of
from synthetic_run import CONNECTIONS, POINTS, SEGMENTS, study, write_run

from contend.findings import Study, compared_of, costs_of, family_of, leading_cell, study_of
from contend.findings.changes import PRICE
from contend.report import as_json, build
from contend.store import RunFolder

SMALL = (f"{CONNECTIONS}=[1, 8, 64]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]")


def study_at(path: Path) -> Study:
    with RunFolder.open(path) as folder:
        return study_of(folder)


def test_a_contrast_of_one_unit_has_no_interval_and_no_verdict(tmp_path: Path) -> None:
    experiment = study(sets=SMALL)
    first_block = 2 * 3
    path = write_run(tmp_path / "run", experiment, runs=first_block)
    with RunFolder.open(path, write=True) as folder:
        folder.finish("time is up: no interval after 1 repeat")
    report = report_of(path)
    for one in report.compared[0].findings:
        assert (one.change.n, one.change.df, one.change.low) == (1, 0, 0)
        assert one.word == "inconclusive" and not one.is_certain
    assert report.cause is None
    assert any(one.lead.startswith("No difference is certain") for one in report.sections)
    bound = report.found("bounds")[0]
    assert "highest throughput" in bound and "(n = 1 repeat)" in bound


def test_costs_are_of_each_level_as_a_whole_in_a_family_of_their_own(tmp_path: Path) -> None:
    experiment = study(sets=SMALL)
    found = costs_of(study_at(write_run(tmp_path / "run", experiment)))
    # Nothing was read from storage.
    assert [one.metric.name for one in found] == [one for one in PRICE if "read_bytes" not in one]
    families = {one.contrast.family for compared in found for one in compared.wholes}
    assert families == {family_of(experiment, "costs")}
    assert all(len(compared.wholes) == 1 and not compared.columns for compared in found)
    (switches,) = [one for one in found if one.metric.name == "switches_per_query"]
    assert switches.wholes[0].word == "lower"


def test_the_cell_that_stands_out_rests_on_its_lead(tmp_path: Path) -> None:
    read = study_at(write_run(tmp_path / "run", study(sets=SMALL)))
    (analysis,) = compared_of(read)
    assert analysis is not None
    most = leading_cell(read, analysis, 32)
    assert most is not None and most.cell[CONNECTIONS] == 64
    (lead,) = most.evidence
    assert (lead.contrast.kind, lead.contrast.family.name) == ("lead", "leads")
    assert lead.change.low > 1 and most.contrast.family.name == "first"


@pytest.mark.parametrize("name", ["statements", "kinds", "leads", "metrics", "asked"])
def test_a_family_that_the_experiment_does_not_have_decides_nothing(name: str) -> None:
    experiment = study(sets=(f"{CONNECTIONS}=[1, 8]", *SMALL[1:]))
    family = family_of(experiment, name)
    assert not family.decides and family.confidence == experiment.compare.confidence
    assert family_of(experiment, "costs").decides


def test_a_folder_of_the_version_before_is_shown(tmp_path: Path) -> None:
    """It does not say why it is finished, and its experiment has no words for its levels."""
    path = write_run(tmp_path / "run", study(sets=SMALL))
    with sqlite3.connect(path / "results.sqlite") as database:
        database.execute("UPDATE meta SET value = '0.0.1' WHERE key = 'contend_version'")
        database.execute("DELETE FROM meta WHERE key = 'finished'")
    with RunFolder.open(path) as folder:
        report = build(folder)
    assert report.contend_version == "0.0.1"
    assert report.layout.levels == ("off", "32")
    assert report.answer.sentence.startswith("From 8 connections on, ")
    assert report.cause is not None and report.progress.state == "complete"
    keys = {"answer", "others", "basis", "levels", "columns", "rows", "comparisons", "cells"}
    assert keys <= as_json(report).keys()
