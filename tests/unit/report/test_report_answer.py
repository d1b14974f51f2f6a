"""The sentence says the highest thing that is certain, and nothing but what intervals say."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from synthetic_run import (
    CONNECTIONS,
    POINTS,
    SEGMENTS,
    WAY,
    Gain,
    study,
    write_run,
    write_slices,
)

from contend.report import Report, build
from contend.report.levels import Explanation
from contend.report.words import gain_text
from contend.spec import roles_of
from contend.store import RunFolder, RunRecord

SMALL = (f"{CONNECTIONS}=[1, 8, 64]", f"{POINTS}=[10, 100]", f"{SEGMENTS}=[0, 32]")


def with_gains(tmp_path: Path, gain: Gain, *more: str, **how: Any) -> Report:
    """A small study in which the level's q/s is the baseline's times what `gain` says."""
    path = write_slices(tmp_path / "run", study(sets=(*SMALL, *more)), gain=gain, **how)
    with RunFolder.open(path) as folder:
        return build(folder)


def by_load(alone: float, some: float, many: float) -> Gain:
    return lambda _segments, _points, connections: {1: alone, 8: some, 64: many}[connections]


def numbers_out(text: str) -> str:
    return re.sub(r"\d+(\.\d+)? % \(±\d+(\.\d+)?\)", "N", text)


def test_the_study_has_its_sentence(study_report: Report) -> None:
    answer = study_report.answer
    assert answer.sentence == (
        "Splitting the key cache into 32 segments makes this server 97 % (±3) faster from 4 "
        "connections on, and 13 % (±1) slower at 1 connection."
    )
    assert answer.others[0].startswith("Most at 8 connections with 100 points: 155 % (±4) faster")
    apart = "Whether key_cache_segments = 64 differs from 32 is not certain"
    assert answer.others[1].startswith(apart)


def test_it_says_what_was_compared_how_often_and_what_would_change_it(study_report: Report) -> None:
    said = " ".join(study_report.answer.basis)
    assert "Compared 8 times with freshly started servers: each time 16 slices of 0.1 s" in said
    assert "of every level in each of 21 cells." in said
    assert "In slices: all levels were asked in turn" in said
    both = "levels, columns, rows, cells and pairs of levels"
    assert f"All 85 intervals of this metric ({both}) hold together" in said
    assert "Of the noise " in said and " % lies between " in said
    assert "from one start of the servers to the next" in said
    assert "Finished: every planned run was made." in said
    assert "four times the repeats halve that" in said


def test_a_level_that_is_faster_everywhere_is_told_as_a_whole(tmp_path: Path) -> None:
    answer = with_gains(tmp_path, by_load(1.2, 1.3, 1.4)).answer
    assert numbers_out(answer.sentence) == (
        "Splitting the key cache into 32 segments makes this server N faster as a mean over all "
        "6 cells."
    )
    assert answer.others[0].startswith("Most at 64 connections with 10")


def test_a_whole_that_columns_have_no_part_in_says_where(tmp_path: Path) -> None:
    answer = with_gains(tmp_path, by_load(1.0, 1.3, 1.4), server_sd=0.002).answer
    assert "faster as a mean over all 6 cells." in answer.sentence
    assert answer.others[0] == "Equivalent at 1, faster at 8 to 64 connections."


def test_a_level_that_is_slower_everywhere_too(tmp_path: Path) -> None:
    answer = with_gains(tmp_path, by_load(0.8, 0.8, 0.8)).answer
    assert "makes this server 20 % (±" in answer.sentence and "slower as a" in answer.sentence
    assert not any("Most " in text for text in answer.others)


def test_an_effect_that_crosses_is_told_although_its_mean_is_nil(tmp_path: Path) -> None:
    report = with_gains(tmp_path, by_load(1 / 1.44, 1.2, 1.2))
    (whole,) = report.compared[0].wholes
    assert whole.tone in ("equivalent", "inconclusive")
    assert numbers_out(report.answer.sentence) == (
        "Splitting the key cache into 32 segments makes this server N faster from 8 connections "
        "on, and N slower at 1 connection."
    )


def test_an_effect_that_crosses_over_the_tables_is_told_by_them(tmp_path: Path) -> None:
    report = with_gains(tmp_path, lambda _, points, __: 1.25 if points == 10 else 0.8)
    assert numbers_out(report.answer.sentence) == (
        "Splitting the key cache into 32 segments makes this server N faster with 10 points, and "
        "N slower with 100 points."
    )


def test_what_is_certain_of_the_contrary_is_told_too(tmp_path: Path) -> None:
    """Faster over all, but one cell of six is slower."""

    def gain(_segments: int, points: int, connections: int) -> float:
        return 0.8 if (points, connections) == (100, 1) else 1.6

    answer = with_gains(tmp_path, gain).answer
    assert "slower" not in answer.sentence
    assert "In 1 of 6 cells it is certainly slower." in answer.others


def test_the_largest_cell_is_named_only_if_its_lead_is_certain(tmp_path: Path) -> None:
    alike = with_gains(tmp_path / "alike", by_load(1.3, 1.3, 1.3)).answer
    assert not any(text.startswith("Most ") for text in alike.others)
    apart = with_gains(tmp_path / "apart", lambda _, p, c: 1.6 if (p, c) == (10, 8) else 1.2).answer
    assert any(text.startswith("Most at 8 connections with 10 points: ") for text in apart.others)


def test_no_difference_within_the_margin_is_an_answer(tmp_path: Path) -> None:
    answer = with_gains(tmp_path, by_load(1.001, 1.0, 1.0), server_sd=0.002).answer
    assert answer.sentence == (
        "Splitting the key cache into 32 segments makes no difference to this server beyond ±2 % "
        "as a mean over all 6 cells."
    )


def test_noise_is_called_noise_with_what_it_would_take(tmp_path: Path) -> None:
    report = with_gains(tmp_path, by_load(1.0, 1.0, 1.0), server_sd=0.06)
    assert {one.tone for one in report.compared[0].findings} == {"inconclusive"}
    answer = report.answer
    assert "no difference to this server that this experiment could tell from no" in answer.sentence
    assert "it saw " in answer.sentence and "±" in answer.sentence
    (more,) = answer.others
    assert re.fullmatch(
        r"To narrow that to ±2 % would take about \d+ more repeats? \(\d.*\)\.", more
    )


def test_before_the_end_there_are_intervals_and_no_verdicts(tmp_path: Path) -> None:
    report = with_gains(tmp_path, by_load(1.5, 1.5, 1.5), blocks=20)
    assert report.progress.state == "unfinished"
    assert {(one.word, one.tone) for one in report.compared[0].findings} == {("", "open")}
    assert report.answer.sentence.startswith(
        "Nothing is decided before the run is finished. So far (40 of 96 runs): Splitting the key "
        "cache into 32 segments changes the throughput by +"
    )
    assert any("there are no verdicts before" in text for text in report.answer.basis)
    assert report.bounds == ()


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
    with RunFolder.open(write_run(tmp_path / "run", experiment, facts=why)) as folder:
        basis = build(folder).answer.basis
    assert basis[0].startswith("Compared 4 times: each time one run of every level in each of 6")
    assert basis[1] == (
        "In runs of their own, and not in slices: a script asks one server at a time."
    )


@pytest.mark.parametrize(
    ("servers", "which"),
    [
        (1, "on one server that was switched from one to the next while nothing was asked"),
        (2, "each on the server that it names"),
    ],
)
def test_servers_that_are_not_ours_are_told_to_be_never_restarted(
    tmp_path: Path, servers: int, which: str
) -> None:
    way = {**WAY, "servers": servers, "own": False}
    basis = with_gains(tmp_path, by_load(1.5, 1.5, 1.5), way=way).answer.basis
    assert basis[0].startswith("Compared 8 times: each time 16 slices of 0.1 s of every level")
    assert f"in turn, {which}, with the same queries. The servers were not restarted" in basis[1]


def test_what_allowing_for_a_disturbance_bought_is_told(tmp_path: Path) -> None:
    """The hypervisor takes some CPU from each run, and each is slower by as much."""
    chance = random.Random(3)

    def steal(record: RunRecord) -> RunRecord:
        assert record.done is not None
        share = chance.uniform(0, 0.3)
        host = {"steal_share": share, "own_cpu_s": None, "stall_share": {}}
        done = {**record.done, "qps": record.done["qps"] * (1 - share)}
        return replace(record, probes={**record.probes, "host": host}, done=done)  # type: ignore[arg-type]

    def basis(name: str, *more: str) -> str:
        experiment = study(sets=(*SMALL, *more))
        with RunFolder.open(write_run(tmp_path / name, experiment, change=steal)) as folder:
            return " ".join(build(folder).answer.basis)

    found = re.search(
        r"Allowed for steal: a cell scatters by ([\d.]+) % from repeat to repeat, not ([\d.]+) %",
        basis("allowed", 'compare.adjust=["steal"]'),
    )
    assert found is not None
    after, before = map(float, found.groups())
    assert after < before / 4
    assert "Allowed for" not in basis("not")


def test_another_server_is_no_setting() -> None:
    roles = roles_of(
        study(
            sets=(
                'server.use=["mariadb@bookworm", "mysql@sid"]',
                f"{SEGMENTS}=0",
                'compare.baseline={"server.use" = "mariadb@bookworm"}',
            )
        )
    )
    change = Explanation().change(roles, "mysql@sid")
    assert change == "Changing from mariadb@bookworm to mysql@sid"


def test_levels_that_differ_are_told_apart(tmp_path: Path) -> None:
    def gain(segments: int, _points: int, _connections: int) -> float:
        return 1.2 if segments == 32 else 1.5

    answer = with_gains(tmp_path, gain, f"{SEGMENTS}=[0, 32, 64]").answer
    assert answer.sentence.startswith("Splitting the key cache into 64 segments makes this server")
    assert re.match(
        r"key_cache_segments = 32 is 20 % \(±\d.*\) slower than 64 as a mean", answer.others[-1]
    )
