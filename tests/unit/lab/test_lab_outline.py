"""What is known of a run before it is made."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from synthetic_run import study, write_slices

from contend.cli.main import main
from contend.lab.outline import EarlierWidth, outline

WIDTH = EarlierWidth("earlier", half=0.02, repeats=8, at_most_s=60.0)


def test_the_width_falls_with_the_root_of_the_repeats() -> None:
    assert WIDTH.after(8) == pytest.approx(0.02)
    assert math.log1p(WIDTH.after(32)) == pytest.approx(math.log1p(0.02) / 2)
    assert WIDTH.repeats_for(0.02) == 8
    assert WIDTH.repeats_for(math.sqrt(1.02) - 1) == 32
    assert WIDTH.repeats_in(120) == 16
    assert replace(WIDTH, at_most_s=None).repeats_in(120) == 8


def test_the_newest_finished_run_of_the_same_experiment_counts(tmp_path: Path) -> None:
    experiment = study("quick")

    def width(named: str = "quick", sets: tuple[str, ...] = ()) -> EarlierWidth | None:
        wanted = study(named, sets)
        return outline(wanted, own=True, disk=tmp_path, runs=tmp_path).width

    assert width() is None
    write_slices(tmp_path / f"{experiment.name}-20260101T000000Z", experiment)
    write_slices(tmp_path / f"{experiment.name}-20260102T000000Z", experiment)
    (tmp_path / f"{experiment.name}-20260104T000000Z").mkdir()
    newest = tmp_path / f"{experiment.name}-20260103T000000Z"
    write_slices(newest, experiment, blocks=3)
    found = width()
    assert found is not None
    assert found.run == f"{experiment.name}-20260102T000000Z"
    assert found.repeats == experiment.compare.repeats
    assert 0 < found.half < 1
    # A different experiment of that name says nothing about this one.
    assert width("quick", ("load.seed=2",)) is None


def test_a_plan_begins_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dsn = "mysql://nobody@127.0.0.1:1/test"
    assert main(["run", "segmented-key-cache", "--quick", "--plan", "--server", dsn]) == 0
    assert not list(tmp_path.iterdir())
