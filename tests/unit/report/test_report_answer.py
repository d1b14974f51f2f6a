"""The sentence says what the verdicts say, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from synthetic_run import CONNECTIONS, POINTS, SEGMENTS, study, write_run

from contend.report import Report, build
from contend.store import RunFolder, RunRecord


def with_gains(tmp_path: Path, gain: Callable[[RunRecord], float], *more: str) -> Report:
    """A small study in which the level's q/s is the baseline's times what `gain` says."""

    def change(record: RunRecord) -> RunRecord:
        assert record.done is not None
        wobble = 1 + 0.002 * ((record.run * 7919) % 11 - 5) / 5
        qps = 1000 * wobble * (gain(record) if record.cell[SEGMENTS] else 1.0)
        return replace(record, done={**record.done, "qps": qps})

    sets = (f"{CONNECTIONS}=[1, 8]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]", *more)
    path = write_run(tmp_path / "run", study(sets=sets), change=change)
    with RunFolder.open(path) as folder:
        return build(folder)


def test_the_study_has_its_sentence(study_report: Report) -> None:
    answer = study_report.answer
    assert answer.sentence == (
        "Splitting the key cache into 32 segments makes this server up to 155 % (±2) faster at 8 "
        "connections with 100 points, and up to 13 % (±1) slower at 1 connection with 10 points."
    )
    assert answer.pattern == "Slower at 1, faster at 4 to 128 connections."
    assert "n = 8 pairs" in answer.basis and "of 42 comparisons" in answer.basis
    assert len(answer.others) == 1 and "64 segments: from -13 " in answer.others[0]


def test_only_faster(tmp_path: Path) -> None:
    answer = with_gains(tmp_path, lambda _: 1.5).answer
    assert "up to 50 % (±" in answer.sentence and "slower" not in answer.sentence
    assert answer.pattern == "Faster at 1 to 8 connections."


def test_only_slower(tmp_path: Path) -> None:
    answer = with_gains(tmp_path, lambda _: 0.5).answer
    assert "up to 50 % (±" in answer.sentence and "faster" not in answer.sentence


def test_one_place_is_not_called_up_to(tmp_path: Path) -> None:
    report = with_gains(tmp_path, lambda r: 1.5 if r.cell[CONNECTIONS] == 8 else 1.0)
    assert "makes this server 50 % (±" in report.answer.sentence
    assert report.answer.pattern == "Equivalent at 1, faster at 8 connections."


def test_no_difference_within_the_margin(tmp_path: Path) -> None:
    answer = with_gains(tmp_path, lambda _: 1.001).answer
    assert answer.sentence == (
        "Splitting the key cache into 32 segments makes no difference to this server that exceeds "
        "±2 %."
    )


def test_noise_is_called_noise(tmp_path: Path) -> None:
    report = with_gains(tmp_path, lambda r: 1.4 if r.repeat % 2 else 0.7)
    assert {one.comparison.verdict for one in report.comparisons} == {"inconclusive"}
    assert (
        "no difference to this server that this experiment could tell from noise"
        in report.answer.sentence
    )
    assert "±" in report.answer.sentence
