"""The order of the runs: what every order keeps, whatever the experiment."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.spec import (
    Cell,
    CellSpec,
    CompareSpec,
    Experiment,
    Factor,
    Level,
    Need,
    Planned,
    cells,
    contexts,
    need_of,
    planned_load_s,
    planned_runs,
)

POOL: dict[str, tuple[Level, ...]] = {
    "server.options.key_cache_segments": (0, 32, 64),
    "server.options.query_cache_type": (0, 1),
    "data.engine": ("MyISAM", "Aria", "InnoDB"),
    "data.rows": (10, 20),
    "workload.points": (10, 50),
    "load.connections": (1, 8, 64),
    "server.kind": ("mariadb", "mysql"),
}


def make(
    levels: dict[str, tuple[Level, ...]],
    compared: str | None,
    *,
    repeats: int = 3,
    change: str = "restart",
    seed: int = 1,
) -> Experiment:
    return Experiment(
        name="x",
        question="",
        base=CellSpec(
            {
                "server.change": change,
                "workload": {"kind": "random_points"},
                "load.seed": seed,
                "load.warmup": 0.5,
                "load.measure": 1.5,
            }
        ),
        factors=tuple(Factor(path, chosen) for path, chosen in levels.items()),
        compare=CompareSpec(
            baseline={compared: levels[compared][0]} if compared else {}, repeats=repeats
        ),
    )


@st.composite
def experiments(draw: st.DrawFn) -> Experiment:
    paths = draw(st.lists(st.sampled_from(sorted(POOL)), unique=True, max_size=4))
    levels = {path: POOL[path][: draw(st.integers(1, len(POOL[path])))] for path in paths}
    several = [path for path in paths if len(levels[path]) > 1]
    compared = draw(st.sampled_from([None, *several]))
    return make(
        levels,
        compared,
        repeats=draw(st.integers(2, 4)),
        change=draw(st.sampled_from(["in_place", "restart"])),
        seed=draw(st.integers(0, 5)),
    )


def key(cell: Cell, *, without: str | None = None) -> tuple[tuple[str, Level], ...]:
    return tuple((path, level) for path, level in cell.items() if path != without)


def blocks(runs: tuple[Planned, ...]) -> list[list[Planned]]:
    return [list(group) for _, group in itertools.groupby(runs, key=lambda run: run.block)]


@given(experiments())
def test_every_cell_runs_once_a_repeat(experiment: Experiment) -> None:
    runs = planned_runs(experiment)
    counted = Counter((key(run.cell), run.repeat) for run in runs)
    expected = {
        (key(cell), repeat)
        for cell in cells(experiment)
        for repeat in range(1, experiment.compare.repeats + 1)
    }
    assert set(counted) == expected
    assert set(counted.values()) == {1}


@given(experiments())
def test_numbers_count_from_one_without_gaps(experiment: Experiment) -> None:
    runs = planned_runs(experiment)
    assert [run.run for run in runs] == list(range(1, len(runs) + 1))
    assert [block[0].block for block in blocks(runs)] == list(range(1, len(blocks(runs)) + 1))


@given(experiments())
def test_a_block_is_one_context_with_every_level_once(experiment: Experiment) -> None:
    compared = experiment.compared
    path = compared.path if compared is not None else None
    for block in blocks(planned_runs(experiment)):
        assert len({(key(run.cell, without=path), run.repeat) for run in block}) == 1
        if compared is None:
            assert len(block) == 1
        else:
            assert sorted(map(str, (run.cell[compared.path] for run in block))) == sorted(
                map(str, compared.levels)
            )


@given(experiments())
def test_the_seed_decides_the_order(experiment: Experiment) -> None:
    assert planned_runs(experiment) == planned_runs(experiment)


@given(experiments())
def test_cells_have_the_order_of_the_factors(experiment: Experiment) -> None:
    paths = [factor.path for factor in experiment.factors]
    assert all(list(run.cell) == paths for run in planned_runs(experiment))


@given(experiments())
def test_data_and_restarts_change_as_seldom_as_they_can(experiment: Experiment) -> None:
    """Each combination of the other factors' data (and restart) levels comes in one piece."""
    compared = experiment.compared
    for least in (Need.DATA, Need.RESTART):
        paths = [
            factor.path
            for factor in experiment.factors
            if factor is not compared and need_of(factor.path, experiment) >= least
        ]
        states = [tuple(run.cell[path] for path in paths) for run in planned_runs(experiment)]
        pieces = [state for state, _ in itertools.groupby(states)]
        assert len(pieces) == len(set(pieces))


def test_levels_come_in_every_order_equally_often() -> None:
    experiment = make(
        {"server.options.x": (0, 1, 2), "load.connections": tuple(range(1, 41))},
        "server.options.x",
        repeats=30,
        change="in_place",
    )
    orders = Counter(
        tuple(run.cell["server.options.x"] for run in block)
        for block in blocks(planned_runs(experiment))
    )
    assert len(orders) == 6
    assert all(150 <= count <= 250 for count in orders.values()), orders


def test_contexts_come_in_another_order_each_repeat() -> None:
    experiment = make(
        {"server.options.x": (0, 1), "load.connections": (1, 2, 4, 8, 16, 32)},
        "server.options.x",
        repeats=4,
        change="in_place",
    )
    orders = {
        tuple(run.cell["load.connections"] for run in planned_runs(experiment) if run.repeat == r)
        for r in range(1, 5)
    }
    assert len(orders) == 4


def test_another_seed_is_another_order() -> None:
    levels = {"server.options.x": (0, 1), "load.connections": (1, 2, 4, 8)}
    orders = {
        tuple(key(run.cell) for run in planned_runs(make(levels, "server.options.x", seed=seed)))
        for seed in range(5)
    }
    assert len(orders) == 5


def test_the_order_is_part_of_the_results() -> None:
    """A later version must resume what an earlier one began, so the order may not change."""
    levels: dict[str, tuple[Level, ...]] = {
        "server.options.x": (0, 1),
        "load.connections": (1, 8),
    }
    runs = planned_runs(make(levels, "server.options.x", repeats=2, change="in_place"))
    assert [tuple(run.cell.values()) for run in runs] == [
        (0, 8),
        (1, 8),
        (1, 1),
        (0, 1),
        (0, 1),
        (1, 1),
        (0, 8),
        (1, 8),
    ]


@pytest.mark.parametrize(
    ("path", "change", "need"),
    [
        ("data.rows", "in_place", Need.DATA),
        ("server.kind", "in_place", Need.DATA),
        ("server.use", "in_place", Need.DATA),
        ("server.options.x", "restart", Need.RESTART),
        ("server.options.x", "in_place", Need.IN_PLACE),
        # The files are laid out by it: the server would not find its way in the old ones.
        ("server.options.innodb_page_size", "restart", Need.DATA),
        ("server.options.innodb_page_size", "in_place", Need.DATA),
        ("workload.points", "restart", Need.NOTHING),
        ("load.connections", "restart", Need.NOTHING),
    ],
)
def test_what_a_factor_needs(path: str, change: str, need: Need) -> None:
    levels: tuple[Level, ...] = (
        ("mariadb", "mysql") if path[7:] in ("kind", "use") else (4096, 8192)
    )
    assert need_of(path, make({path: levels}, None, change=change)) is need


def test_a_cold_start_before_every_run_is_no_cost_of_other_factors() -> None:
    experiment = make({"load.connections": (1, 8)}, None)
    cold = experiment.base.having(server__warm="cold")
    assert need_of("load.connections", replace(experiment, base=cold)) is Need.NOTHING


def test_where_the_way_of_changing_varies_options_need_a_restart() -> None:
    experiment = make({"server.change": ("in_place", "restart"), "server.options.x": (0, 1)}, None)
    assert need_of("server.options.x", experiment) is Need.RESTART


def test_without_factors_there_is_one_cell() -> None:
    experiment = make({}, None)
    assert cells(experiment) == contexts(experiment) == ({},)
    assert len(planned_runs(experiment)) == 3


def test_the_load_takes_warm_up_and_measurement_of_every_run() -> None:
    experiment = make({"load.connections": (1, 8)}, None, repeats=5)
    assert planned_load_s(experiment) == pytest.approx(10 * 2.0)
    varied = make({"load.measure": ("1s", "3s")}, None, repeats=2)
    assert planned_load_s(varied) == pytest.approx(2 * (1.5 + 3.5))
