"""The built-in recipes load in every variant, fit their time, and state their study's figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from contend.cli.main import main
from contend.experiment import (
    cell_specs,
    cells,
    load_experiment,
    planned_load_s,
    planned_runs,
    recipe_text,
    recipes,
)

STUDY = "segmented-key-cache"

# Recipe, seconds of preparation in its default and its quick form, and what each may take in all.
TIMES: list[tuple[str, tuple[int, int], tuple[int, int]]] = [
    (STUDY, (30, 15), (600, 60)),
    # Three servers are initialised and loaded if that was never done, and the client calibrated.
    ("server-versus-server", (45, 45), (600, 120)),
    ("slap-concurrency", (90, 30), (1500, 120)),
    ("slap-auto-generated", (90, 30), (360, 120)),
    ("query-cache", (90, 30), (720, 120)),
    ("engines", (90, 30), (600, 120)),
    *((name, (180, 50), (900, 120)) for name in ("tpcc", "partition-by-warehouse", "tpcc-script")),
    *((name, (40, 40), (900, 120)) for name in ("batching", "batching-inserts")),
]


@pytest.mark.parametrize(("recipe", "preparation_s", "limit_s"), TIMES)
def test_a_recipe_fits_its_time(
    recipe: str, preparation_s: tuple[int, int], limit_s: tuple[int, int]
) -> None:
    for variant, before_s, most_s in zip(("default", "quick"), preparation_s, limit_s, strict=True):
        at_most_s = load_experiment(recipe, variant=variant).compare.at_most_s
        assert at_most_s is not None
        assert before_s + at_most_s <= most_s


def test_the_whole_study_fits_its_time() -> None:
    compare = load_experiment(STUDY, variant="full").compare
    assert compare.at_most_s is not None
    assert 240 + compare.at_most_s <= 40 * 60 and compare.repeats == 8


@pytest.mark.parametrize(
    ("variant", "runs", "limit_s"),
    [("default", 256, 15 * 60), ("quick", 72, 90), ("full", 1008, 75 * 60)],
)
def test_the_study_by_a_script_fits_its_time(variant: str, runs: int, limit_s: float) -> None:
    experiment = load_experiment(f"{STUDY}-sysbench", variant=variant)
    assert len(planned_runs(experiment)) == runs
    assert 15 + planned_load_s(experiment) + 0.3 * runs <= limit_s


SAME = (
    *("skip_log_bin", "performance_schema", "character_set_server", "innodb_buffer_pool_size"),
    *("innodb_flush_method", "innodb_flush_log_at_trx_commit", "innodb_doublewrite"),
    "innodb_io_capacity",
)


def test_the_same_settings_are_those_that_decide() -> None:
    profiles = load_experiment("server-versus-server").base["server.profiles"]
    assert profiles["own"] == {}
    assert profiles["same"]["any"].keys() >= set(SAME)
    redo = profiles["same"]["mariadb"]["innodb_log_file_size"]
    assert redo == profiles["same"]["mysql"]["innodb_redo_log_capacity"]


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


def test_the_mysqlslap_study_is_asked_and_published_as_it_was() -> None:
    five = load_experiment("slap-concurrency")
    statements = five.base["workload"]["statements"]
    # The slip of the study is kept.
    assert "salaries.emp_no = salaries.emp_no" in statements[4] and len(statements) == 5
    assert statements == load_experiment("engines").base["workload"]["statements"]
    (clients,) = (factor.levels for factor in five.factors)
    assert clients == tuple(2**power for power in range(10))
    figures = {one.name: one.rows[0].figures for one in five.published}
    assert figures["new"] == (0.459, 0.473, 0.486, 0.569, 0.948, 1.65, 3.306, 6.744, 13.474, 26.085)
    assert figures["old"] == (0.627, 0.626, 0.656, 1.136, 1.75, 2.455, 3.176, 5.737, 3.451, 15.862)
    auto = load_experiment("slap-auto-generated")
    figures = {one.name: one.rows[0].figures for one in auto.published}
    assert figures["new"] == (0.002, 0.007, 0.015, 0.033, 0.074, 0.197, 0.587)
    assert figures["old"] == (0.002, 0.005, 0.011, 0.029, 0.097, 0.293, 1.009)
    names = auto.base["workload"]["names"]
    assert (names.count("insert"), names.count("select")) == (6, 5)


@pytest.mark.parametrize(
    ("path", "levels", "baseline"),
    [
        ("server.use", '["mariadb@bookworm", "mariadb@trixie"]', '"mariadb@bookworm"'),
        ("server.wrap", '["", "numactl --interleave=all"]', '""'),
    ],
)
def test_servers_and_placements_can_be_compared_by_it(
    path: str, levels: str, baseline: str
) -> None:
    sets = (f"{path}={levels}", f'compare.baseline={{ "{path}" = {baseline} }}')
    assert load_experiment("slap-concurrency", sets=sets).compare.baseline.keys() == {path}


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


@pytest.mark.parametrize("variant", ["default", "quick", "full"])
@pytest.mark.parametrize("name", ["buffer-pool-warmup", "buffer-pool-size"])
def test_the_studies_of_warming_ask_for_rows_that_are_there(name: str, variant: str) -> None:
    experiment = load_experiment(name, variant=variant)
    assert experiment.compare.baseline == {"server.warm": "cold"}
    assert experiment.explain == "buffer-pool-warmup"
    for cell in cell_specs(experiment):
        text = cell.workload.parameters.get("text")
        assert text is None or f"uniform(1, {cell.data.rows:_})" in str(text)


def test_the_published_figures_of_warming_are_the_studys() -> None:
    (published,) = load_experiment("buffer-pool-warmup").published
    seconds = {"repeated": 1.740, "queries": 2.132, "queries-repeated": 1.886}
    for row in published.rows:
        gain = (7.562 / seconds[str(row.cell["server.warm"])] - 1) * 100
        assert row.gain_percent == (round(gain),)


def test_the_talks_figures_stand_beside_batching() -> None:
    (by_in,) = load_experiment("batching").published
    assert [row.gain_percent for row in by_in.rows] == [(-90,)]
    bulk, trips = load_experiment("batching-inserts").published
    assert [row.gain_percent for row in bulk.rows] == [(-99,)]
    assert (trips.metric, trips.columns) == ("round_trips_per_event", (5,))
    assert [row.gain_percent for row in trips.rows] == [(-80,)]


def test_the_script_of_a_recipe_is_beside_it() -> None:
    experiment = load_experiment("tpcc-script")
    scripts = {one.workload.parameters.get("script") for one in cell_specs(experiment)} - {None}
    assert scripts and all(Path(str(one)).is_file() for one in scripts)
    options = [one.workload.parameters["options"] for one in cell_specs(experiment)
               if one.workload.kind == "lua"]  # fmt: skip
    assert options[0] == {"warehouses": 2}
