"""The built-in recipes load in every variant, fit their time, and state their study's figures."""

from __future__ import annotations

import pytest

from contend.cli.main import main
from contend.spec import cells, load_experiment, planned_load_s, planned_runs, recipe_text, recipes

STUDY = "segmented-key-cache"


@pytest.mark.parametrize(
    ("variant", "preparation_s", "limit_s"),
    [("default", 30, 10 * 60), ("quick", 15, 60), ("full", 240, 40 * 60)],
)
def test_the_study_fits_its_time(variant: str, preparation_s: float, limit_s: float) -> None:
    compare = load_experiment(STUDY, variant=variant).compare
    assert compare.at_most_s is not None
    assert preparation_s + compare.at_most_s <= limit_s
    assert compare.repeats == 8


@pytest.mark.parametrize(
    ("variant", "runs", "limit_s"),
    [("default", 256, 15 * 60), ("quick", 72, 90), ("full", 1008, 75 * 60)],
)
def test_the_study_by_a_script_fits_its_time(variant: str, runs: int, limit_s: float) -> None:
    experiment = load_experiment(f"{STUDY}-sysbench", variant=variant)
    assert len(planned_runs(experiment)) == runs
    assert 15 + planned_load_s(experiment) + 0.3 * runs <= limit_s


def test_the_study_has_its_63_cells() -> None:
    assert len(cells(load_experiment(STUDY))) == 63


@pytest.mark.parametrize("variant", ["default", "full"])
def test_every_published_figure_has_a_cell_of_ours_beside_it(variant: str) -> None:
    experiment = load_experiment(STUDY, variant=variant)
    compared = experiment.compared
    assert compared is not None
    levels = {factor.path: factor.levels for factor in experiment.factors}
    assert {published.name for published in experiment.published} == {"pitbull", "perro"}
    for published in experiment.published:
        assert published.columns == levels[published.columns_path]
        rows = {(row.cell["workload.points"], row.cell[compared.path]) for row in published.rows}
        assert rows == {(points, s) for points in (10, 50, 100) for s in (32, 64)}


def test_the_published_figures_are_the_studys() -> None:
    """A few of each machine, so that a slip of a row or a sign shows."""
    pitbull, perro = load_experiment(STUDY).published
    figures = {
        (p.name, row.cell["workload.points"], row.cell["server.options.key_cache_segments"]): row
        for p in (pitbull, perro)
        for row in p.rows
    }
    assert figures["pitbull", 10, 32].gain_percent == (-3, 53, 122, 155, 226, 269, 237)
    assert figures["pitbull", 100, 64].gain_percent == (-6, 56, 129, 167, 219, 260, 241)
    assert figures["perro", 10, 64].gain_percent == (-0.3, 6, 19, 46, 72, 74, 80)
    assert figures["perro", 50, 32].gain_percent == (1, 10, 26, 69, 105, 122, 114)
    assert "24 CPUs" in pitbull.machine
    assert "2 GB" in perro.machine


def test_the_command_lists_them_with_their_questions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipes"]) == 0
    out = capsys.readouterr().out
    for name in recipes():
        assert f"{name}\n    {load_experiment(name).question}\n" in out


def test_the_command_prints_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipes", "show", STUDY]) == 0
    assert capsys.readouterr().out == recipe_text(STUDY)


def test_the_command_does_not_know_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipes", "show", "segmented"]) == 2
    assert 'there is no recipe "segmented"' in capsys.readouterr().err
