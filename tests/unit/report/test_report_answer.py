"""The sentence says the highest thing that is certain, and nothing but what intervals say."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from closed_run import ENGINES, as_closed, experiment
from shown import report_of
from synthetic_run import (
    CONNECTIONS,
    DESIGN,
    POINTS,
    SEGMENTS,
    Gain,
    host_use,
    study,
    write_run,
    write_slices,
)

from contend.findings import Finding
from contend.report import Report, build
from contend.report.answer import risk_of
from contend.sections.words import gain_text
from contend.store import RunFolder, RunRecord

SMALL = (f"{CONNECTIONS}=[1, 8, 64]", f"{POINTS}=[10, 100]", f"{SEGMENTS}=[0, 32]")


def with_gains(tmp_path: Path, gain: Gain, *more: str, **how: Any) -> Report:
    """A small study in which the level's q/s is the baseline's times what `gain` says."""
    path = write_slices(tmp_path / "run", study(sets=(*SMALL, *more)), gain=gain, **how)
    return report_of(path)


def by_load(alone: float, some: float, many: float) -> Gain:
    return lambda _segments, _points, connections: {1: alone, 8: some, 64: many}[connections]


def numbers_out(text: str) -> str:
    return re.sub(r"\d+(\.\d+)? % \(±\d+(\.\d+)?\)", "N", text)


def test_it_says_what_was_compared_how_often_and_what_would_change_it(study_report: Report) -> None:
    basis = " ".join(study_report.answer.basis)
    for claim in (
        "8 times with freshly started servers: each time 16 slices of 0.1 s",
        "each of 21 cells",
        "all levels were measured in turn",
        "All 85 intervals",
        "cells and pairs of levels",
        "between server starts",
        "Finished: ",
        "four times the repeats",
        "8 connections with 100 points: 155 % (±4)",
    ):
        assert claim in basis


def by_table(ten: float, hundred: float) -> Gain:
    return lambda _segments, points, _connections: ten if points == 10 else hundred


def but_one_cell(_segments: int, points: int, connections: int) -> float:
    return 0.8 if (points, connections) == (100, 1) else 1.6


@pytest.mark.parametrize(
    ("gain", "server_sd", "whole", "sentence", "last"),
    [
        (by_load(1.2, 1.3, 1.4), 0.01, "better", "From 1 to 64 .* N faster", ""),
        (by_load(1.0, 1.3, 1.4), 0.02, "better", ".* faster; at 1 .* not certain", "more time"),
        # The whole is a mean over a column at which nothing changes.
        (by_load(1.0, 1.3, 1.4), 0.002, "better", "From 8 .* faster; at 1 .* no difference .*", ""),
        (by_load(1 / 1.44, 1.2, 1.2), 0.01, "inconclusive", "From 8 .* faster; at 1 .* slower", ""),
        (by_load(1.04, 1.04, 1.04), 0.03, "better", "On average from 1 to 64 .* N faster", ""),
        (by_load(0.8, 0.8, 0.8), 0.01, "worse", "From 1 to 64 .* N slower", "do without"),
        (by_table(1.25, 0.8), 0.01, "inconclusive", ".* 10 .* faster; .* 100 points, N slower", ""),
        (but_one_cell, 0.01, "better", ".* faster; but in 1 of 6 cells it is slower", ""),
        (by_load(1.001, 1.0, 1.0), 0.002, "equivalent", ".* no difference .* ±2 %", "try some"),
    ],
)
def test_the_sentence_says_where_it_is_certain_and_the_last_what_to_do(
    tmp_path: Path, gain: Gain, server_sd: float, whole: str, sentence: str, last: str
) -> None:
    report = with_gains(tmp_path, gain, server_sd=server_sd)
    answer, compared = report.answer, report.compared[0]
    assert re.fullmatch(rf"{sentence}\.", numbers_out(answer.sentence)), answer.sentence
    assert answer.others[-1].startswith(f"Next: {last}")
    assert [one.tone for one in compared.wholes] == [whole]
    no_column = whole == "better" and all(one.tone != "better" for one in compared.columns)
    assert ("On average" in answer.sentence) == no_column


def test_what_never_varies_is_not_named_in_the_sentence(tmp_path: Path) -> None:
    experiment = study("quick")
    factors = tuple(
        replace(one, levels=(100,)) if one.path == POINTS else one for one in experiment.factors
    )
    path = write_run(tmp_path / "run", replace(experiment, factors=factors))
    report = report_of(path)
    assert not any("points" in text for text in (report.answer.sentence, *report.answer.others))
    assert report.panels[0].title == "100 points"


@pytest.mark.parametrize(
    ("lead", "others", "named"), [(1.3, 1.3, False), (1.6, 1.2, True), (0.9, 0.7, False)]
)
def test_the_largest_gain_is_named_only_if_it_is_one_and_its_lead_is_certain(
    tmp_path: Path, lead: float, others: float, named: bool
) -> None:
    report = with_gains(tmp_path, lambda _, p, c: lead if (p, c) == (10, 8) else others)
    largest = [one for one in report.answer.basis if one.startswith("Largest gain ")]
    assert ["8 connections with 10 points: " in one for one in largest] == [True] * named


def test_before_the_end_there_are_intervals_and_no_verdicts(tmp_path: Path) -> None:
    report = with_gains(tmp_path, by_load(1.5, 1.5, 1.5), blocks=20)
    assert report.progress.state == "unfinished"
    assert {(one.word, one.tone) for one in report.compared[0].findings} == {("", "open")}
    assert "so far (40 of 96 runs)" in report.answer.sentence
    assert any("no verdicts" in text for text in report.answer.basis)
    assert report.shown("bounds") is None


def test_an_open_number_of_repeats_is_finished_only_when_it_says_so(tmp_path: Path) -> None:
    sets = ('compare.until="±2 %"',)
    open_end = with_gains(tmp_path / "open", by_load(1.5, 1.5, 1.5), *sets, finished=None)
    assert open_end.progress.state == "unfinished"
    why = "±1.9 % after 8 repeats"
    ended = with_gains(tmp_path / "ended", by_load(1.5, 1.5, 1.5), *sets, finished=why)
    assert ended.progress.state == "complete"
    assert f"Finished: {why}." in ended.answer.basis


@pytest.mark.parametrize("server_sd", [0.0, 0.01, 0.05])
def test_no_interval_contradicts_its_verdict(tmp_path: Path, server_sd: float) -> None:
    """As printed, too: what excludes 0 has a verdict, and what covers it has none."""
    report = with_gains(tmp_path, by_load(0.99, 1.02, 1.04), server_sd=server_sd)
    for one in report.compared[0].findings:
        text = gain_text(one.change)
        value, _, error = text.partition(" ±")
        if error:
            excludes = abs(float(value)) > float(error)
            assert excludes == (not one.change.low <= 1 <= one.change.high), text
        if one.tone == "inconclusive":
            assert one.change.low <= 1 <= one.change.high
        if one.tone in ("better", "worse"):
            assert not one.change.low <= 1 <= one.change.high


def test_runs_of_their_own_say_why_they_are_no_slices(tmp_path: Path) -> None:
    experiment = study(sets=(*SMALL, "compare.repeats=4"))
    why = {"way": {"by": "runs", "why": "a script asks one server at a time"}}
    basis = report_of(write_run(tmp_path / "run", experiment, facts=why)).answer.basis
    assert "4 times" in basis[0] and "each of 6 cells" in basis[0]
    assert "separate runs" in basis[1] and "a script asks one server at a time" in basis[1]


def test_work_that_has_an_end_is_told_in_turns(tmp_path: Path) -> None:
    whole = experiment(tmp_path, ENGINES)
    basis = report_of(write_slices(tmp_path / "run", whole, change=as_closed)).answer.basis
    assert "5 times" in basis[0] and "16 turns of all of the work" in basis[0]


@pytest.mark.parametrize(
    ("servers", "which"),
    [
        (1, "on one server that was switched"),
        (2, "each on the server that it names"),
    ],
)
def test_servers_that_are_not_ours_are_told_to_be_never_restarted(
    tmp_path: Path, servers: int, which: str
) -> None:
    design = {**DESIGN, "servers": servers, "own": False}
    basis = with_gains(tmp_path, by_load(1.5, 1.5, 1.5), design=design).answer.basis
    assert "freshly started" not in basis[0]
    assert which in basis[1] and "not restarted" in basis[1]


def test_what_allowing_for_a_disturbance_bought_is_told(tmp_path: Path) -> None:
    """The hypervisor takes some CPU from each run, and each is slower by as much."""
    chance = random.Random(3)

    def steal(record: RunRecord) -> RunRecord:
        assert record.done is not None
        share = chance.uniform(0, 0.3)
        host = host_use(share)
        done = {**record.done, "qps": record.done["qps"] * (1 - share)}
        return replace(record, probes={**record.probes, "host": host}, done=done)  # type: ignore[arg-type]

    def basis(name: str, *more: str) -> str:
        experiment = study(sets=(*SMALL, *more))
        with RunFolder.open(write_run(tmp_path / name, experiment, change=steal)) as folder:
            return " ".join(build(folder).answer.basis)

    found = re.search(
        r"Adjusted for steal: [a-z ]+([\d.]+) % [a-z ,]+([\d.]+) %",
        basis("allowed", 'compare.adjust=["steal"]'),
    )
    assert found is not None
    after, before = map(float, found.groups())
    assert after < before / 4
    assert "Adjusted for" not in basis("not")


def test_levels_that_differ_are_told_apart_in_a_table(tmp_path: Path) -> None:
    def gain(segments: int, _points: int, _connections: int) -> float:
        return 1.2 if segments == 32 else 1.5

    report = with_gains(tmp_path, gain, f"{SEGMENTS}=[0, 32, 64]")
    assert "into 64 segments" in report.answer.sentence
    (pairs,) = [one for one in report.overall[0] if one.caption == "The other levels over 64"]
    (row,) = pairs.rows
    label, gain_of_it = row
    assert label == "32" and isinstance(gain_of_it, Finding)
    assert gain_text(gain_of_it.change).startswith("-20 ±") and gain_of_it.tone == "worse"


@pytest.mark.parametrize("server_sd", [0.0, 0.02, 0.06])
@pytest.mark.parametrize("gains", [(0.9, 1.0, 1.2), (1.2, 1.2, 1.2), (1.0, 1.0, 1.0)])
def test_there_are_three_sentences_at_most(
    tmp_path: Path, gains: tuple[float, float, float], server_sd: float
) -> None:
    answer = with_gains(tmp_path, by_load(*gains), server_sd=server_sd).answer
    sentences = [answer.sentence, *answer.others]
    assert len(sentences) <= 3
    assert all(re.fullmatch(r".+[^.]\.", one) and ". " not in one for one in sentences), sentences


@pytest.mark.parametrize(
    ("path", "level", "lost"),
    [
        ("server.options.innodb_flush_log_at_trx_commit", 2, "a second of commits"),
        ("server.options.innodb_flush_log_at_trx_commit", 0, "the server or the host"),
        ("server.globals.innodb_flush_log_at_trx_commit", 1, ""),
        ("server.options.sync_binlog", 0, "binary log"),
        ("server.options.innodb_doublewrite", "OFF", "a page"),
        ("server.options.innodb_doublewrite", False, "a page"),
        ("server.redo_log_folder", "/dev/shm", "the redo log"),
        ("server.redo_log_folder", "/mnt/fast", ""),
        ("load.connections", 2, ""),
    ],
)
def test_what_may_lose_something_is_not_advised_without_saying_what(
    path: str, level: Any, lost: str
) -> None:
    risk = risk_of(path, level)
    assert lost in risk and bool(risk) is bool(lost)
    assert "commit" not in path or "page" not in risk


def test_servers_are_called_by_what_they_turned_out_to_be(tmp_path: Path) -> None:
    names = ("mariadb@bookworm", "mariadb@trixie")
    sets = (
        f"{CONNECTIONS}=[1, 8]",
        f"{POINTS}=[10]",
        f"{SEGMENTS}=0",
        f"server.use={json.dumps(names)}",
        f'compare.baseline={{ "server.use" = "{names[0]}" }}',
    )

    def answer(*versions: str) -> str:
        def served(record: RunRecord) -> RunRecord:
            version = versions[names.index(str(record.cell["server.use"]))]
            server = {"kind": "mariadb", "version": version, "source": "private"}
            return replace(record, probes={**record.probes, "server": server})

        path = write_slices(tmp_path / "-".join(versions), study(sets=sets), change=served)
        with RunFolder.open(path) as folder:
            return build(folder).answer.sentence

    sentence = answer("10.11.14-MariaDB", "11.8.6-MariaDB")
    assert "MariaDB 11.8.6" in sentence and "MariaDB 10.11.14" in sentence and "@" not in sentence
    assert "mariadb@trixie" in answer("11.8.6-MariaDB", "11.8.6-MariaDB")
