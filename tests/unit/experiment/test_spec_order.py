"""The order of the runs: what every order keeps, whatever the experiment."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.experiment import (
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
    next_repeat,
    planned_load_s,
    planned_runs,
    turn_of,
)
from contend.experiment.order import PILOT_BLOCKS

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


@pytest.mark.parametrize("sliced", [False, True], ids=["runs", "slices"])
@given(experiments())
def test_every_cell_runs_once_a_repeat(sliced: bool, experiment: Experiment) -> None:
    runs = planned_runs(experiment, in_slices=sliced)
    counted = Counter((key(run.cell), run.repeat) for run in runs)
    repeats = range(1, experiment.compare.repeats + 1)
    assert set(counted) == {(key(cell), r) for cell in cells(experiment) for r in repeats}
    assert set(counted.values()) == {1}
    assert runs == planned_runs(experiment, in_slices=sliced), "the seed decides the order"


@pytest.mark.parametrize("sliced", [False, True], ids=["runs", "slices"])
@given(experiments())
def test_a_block_is_one_context_with_every_level_once(sliced: bool, experiment: Experiment) -> None:
    """Numbers have no gaps, and cells are in the order of the factors."""
    compared = experiment.compared
    path = compared.path if compared is not None else None
    runs = planned_runs(experiment, in_slices=sliced)
    assert [run.run for run in runs] == list(range(1, len(runs) + 1))
    assert [block[0].block for block in blocks(runs)] == list(range(1, len(blocks(runs)) + 1))
    assert all(list(run.cell) == [one.path for one in experiment.factors] for run in runs)
    for block in blocks(runs):
        assert len({(key(run.cell, without=path), run.repeat) for run in block}) == 1
        levels = compared.levels if compared is not None else (None,)
        assert len(block) == len(levels)
        if path is not None:
            assert {repr(run.cell[path]) for run in block} == set(map(repr, levels))


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


# --- in slices ---


def in_slices(experiment: Experiment) -> tuple[Planned, ...]:
    return planned_runs(experiment, in_slices=True)


@given(experiments())
def test_in_slices_a_repeat_is_over_before_the_next(experiment: Experiment) -> None:
    repeats = [run.repeat for run in in_slices(experiment)]
    assert repeats == sorted(repeats)


@given(experiments())
def test_a_repeat_of_an_open_number_is_as_one_of_a_fixed_number(experiment: Experiment) -> None:
    """Repeat by repeat the same runs come, in the same order, and numbers go on."""
    one_by_one: tuple[Planned, ...] = ()
    for _ in range(experiment.compare.repeats):
        one_by_one += next_repeat(experiment, one_by_one, in_slices=True)
    assert one_by_one == in_slices(experiment)


@given(experiments(), st.integers(0, 3))
def test_contexts_that_are_not_wanted_any_more_leave_the_rest_in_its_order(
    experiment: Experiment, keep: int
) -> None:
    kept = list(contexts(experiment))[keep:]

    def wanted(cell: Cell) -> bool:
        return any(context.items() <= cell.items() for context in kept)

    every = next_repeat(experiment, (), in_slices=True)
    some = next_repeat(experiment, (), in_slices=True, wanted=wanted)
    assert [one.cell for one in some] == [one.cell for one in every if wanted(one.cell)]
    assert [one.run for one in some] == list(range(1, len(some) + 1))


@given(experiments(), st.integers(1, 3))
def test_a_repeat_more_goes_on_with_the_numbers(experiment: Experiment, several: int) -> None:
    before = in_slices(experiment)
    more = next_repeat(experiment, before, in_slices=True, blocks=several)
    assert [one.run for one in more] == list(
        range(before[-1].run + 1, before[-1].run + 1 + several * len(cells(experiment)))
    )
    assert {one.repeat for one in more} == {experiment.compare.repeats + 1}
    numbers = [block[0].block for block in blocks(more)]
    assert numbers == list(
        range(before[-1].block + 1, before[-1].block + 1 + several * len(contexts(experiment)))
    )
    assert set(Counter(key(one.cell) for one in more).values()) == {several}


@pytest.mark.parametrize("limit", [{"until": 0.02}, {"at_most_s": 60.0}])
def test_of_an_open_number_the_first_repeat_is_planned(limit: dict[str, float]) -> None:
    experiment = make({"server.options.x": (0, 1), "load.connections": (1, 8)}, "server.options.x")
    limited = replace(experiment, compare=replace(experiment.compare, **limit))
    runs = in_slices(limited)
    assert {run.repeat for run in runs} == {1}
    # Each context has several, which show what a new set of connections changes.
    assert set(Counter(key(run.cell) for run in runs).values()) == {PILOT_BLOCKS}
    assert len(planned_runs(limited)) == len(cells(experiment)), "runs have no connections to tell"


def test_in_slices_contexts_come_in_another_order_each_repeat() -> None:
    levels: dict[str, tuple[Level, ...]] = {
        "server.options.x": (0, 1),
        "load.connections": tuple(range(1, 13)),
    }
    for change in ("in_place", "restart"):
        experiment = make(levels, "server.options.x", repeats=4, change=change)
        orders = [
            tuple(block[0].cell["load.connections"] for block in blocks(in_slices(experiment)))[
                12 * repeat : 12 * (repeat + 1)
            ]
            for repeat in range(4)
        ]
        assert len(set(orders)) == 4
        assert all(sorted(order) == list(range(1, 13)) for order in orders)


def turns(experiment: Experiment, repeat: int) -> list[int]:
    return [turn_of(experiment, context, repeat) for context in contexts(experiment)]


@given(experiments(), st.integers(1, 50))
def test_a_turn_is_one_of_as_many_as_there_are_levels(experiment: Experiment, repeat: int) -> None:
    compared = experiment.compared
    many = len(compared.levels) if compared is not None else 1
    assert set(turns(experiment, repeat)) <= set(range(many))


@pytest.mark.parametrize("contexts_", [1, 5, 6, 7, 12])
@pytest.mark.parametrize("levels", [2, 3])
def test_each_server_serves_each_level_equally_often(levels: int, contexts_: int) -> None:
    """Over the contexts of each repeat as nearly as their number allows, and in as many repeats as
    there are levels each context has each turn."""
    experiment = make(
        {
            "server.options.x": tuple(range(levels)),
            "load.connections": tuple(range(1, contexts_ + 1)),
        },
        "server.options.x",
        change="in_place",
    )
    for repeat in range(1, 10):
        counted = Counter(turns(experiment, repeat))
        least, most = min(counted[turn] for turn in range(levels)), max(counted.values())
        assert most - least <= 1
    for first in range(1, 5):
        by_repeat = [turns(experiment, first + more) for more in range(levels)]
        for of_context in zip(*by_repeat, strict=True):
            assert sorted(of_context) == list(range(levels))


def test_which_contexts_share_a_turn_is_drawn() -> None:
    """The halves of the columns would be confounded with the servers otherwise."""
    levels: dict[str, tuple[Level, ...]] = {
        "server.options.x": (0, 1),
        "load.connections": tuple(range(1, 13)),
    }
    patterns = {
        tuple(turns(make(levels, "server.options.x", change="in_place", seed=seed), 1))
        for seed in range(6)
    }
    assert len(patterns) == 6
    plain = {tuple(n % 2 for n in range(12)), tuple((n + 1) % 2 for n in range(12))}
    assert not patterns & plain


def test_levels_that_take_a_restart_change_servers_by_repeat() -> None:
    experiment = make(
        {"server.options.x": (0, 1, 2), "load.connections": (1, 8, 64)},
        "server.options.x",
        change="restart",
    )
    by_repeat = [turns(experiment, repeat) for repeat in range(1, 7)]
    assert all(len(set(of_repeat)) == 1 for of_repeat in by_repeat), "and not from block to block"
    assert sorted(of_repeat[0] for of_repeat in by_repeat) == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("path", ["data.engine", "server.kind"])
def test_levels_that_need_data_of_their_own_change_folders_by_repeat(path: str) -> None:
    experiment = make({path: POOL[path], "load.connections": (1, 8)}, path)
    many = len(POOL[path])
    by_repeat = [turns(experiment, repeat) for repeat in range(1, 3 * many + 1)]
    assert all(len(set(of_repeat)) == 1 for of_repeat in by_repeat), "and not from block to block"
    assert Counter(one[0] for one in by_repeat) == dict.fromkeys(range(many), 3)
    assert all(one != other for one, other in itertools.pairwise(by_repeat)), "a copy of their own"


def test_which_level_has_which_folder_first_is_drawn() -> None:
    first = {
        turns(make({"data.engine": POOL["data.engine"]}, "data.engine", seed=seed), 1)[0]
        for seed in range(20)
    }
    assert first == set(range(len(POOL["data.engine"])))


@pytest.mark.parametrize("levels", [2, 3])
def test_blocks_of_a_context_in_one_repeat_have_each_turn(levels: int) -> None:
    """So that what the servers of a repeat differ by cancels in each cell."""
    experiment = make(
        {"server.options.x": tuple(range(levels)), "load.connections": (1, 8, 64)},
        "server.options.x",
        change="in_place",
    )
    for context in contexts(experiment):
        turns = [turn_of(experiment, context, 3, again) for again in range(levels)]
        assert sorted(turns) == list(range(levels))
    more = next_repeat(experiment, (), in_slices=True, blocks=levels)
    connections = [block[0].cell["load.connections"] for block in blocks(more)]
    passes = [connections[3 * again : 3 * (again + 1)] for again in range(levels)]
    assert all(sorted(one) == [1, 8, 64] for one in passes), "each context once, then once more"


def test_nothing_compared_takes_no_turns() -> None:
    experiment = make({"load.connections": (1, 8)}, None)
    assert set(turns(experiment, 1) + turns(experiment, 2)) == {0}


def test_contexts_of_one_turn_come_together() -> None:
    """To change the servers of the levels takes a moment, so it is done once a repeat and turn."""
    experiment = make(
        {"server.options.x": (0, 1, 2), "load.connections": tuple(range(1, 13))},
        "server.options.x",
        change="in_place",
    )
    for repeat in range(1, 4):
        of_repeat = [
            turn_of(experiment, {"load.connections": block[0].cell["load.connections"]}, repeat)
            for block in blocks(in_slices(experiment))
            if block[0].repeat == repeat
        ]
        assert len([turn for turn, _ in itertools.groupby(of_repeat)]) == 3
