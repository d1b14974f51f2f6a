"""The order of the runs: randomised blocks, so that only neighbours are compared.

A block is one context (a level of every factor but the compared one) in one repeat. It holds each
compared level once, in random order, so slow changes of the host fall on all of them alike.
Contexts are in random order within a repeat, so no context always comes after the same other.

Changing data or restarting the server costs more than the run itself, so contexts that share data
and restart needs stay together: data outermost, then restarts, then repeats. Pairs are not torn
apart by that, because a block never leaves its group.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from contend.settings import SETTINGS
from contend.settings.model import Need
from contend.spec.cell import cell_spec, combinations
from contend.spec.model import Cell, CellSpec, Experiment, Planned


def planned_runs(experiment: Experiment) -> tuple[Planned, ...]:
    """Every run in the order it should be made; the experiment's load seed decides the order.

    Each cell has `compare.repeats` runs. Where nothing is compared a block holds a single run.
    """
    # A stream of its own: the queries' streams start from the same seed.
    chance = random.Random(f"order of runs {experiment.base['load.seed']}")
    compared = experiment.compared
    levels: list[Cell] = list(combinations([compared])) if compared is not None else [{}]
    runs: list[Planned] = []
    block = 0
    for group in _groups(experiment, chance):
        for repeat in range(1, experiment.compare.repeats + 1):
            for context in _shuffled(group, chance):
                block += 1
                for level in _shuffled(levels, chance):
                    cell = _in_factor_order(experiment, {**context, **level})
                    runs.append(Planned(len(runs) + 1, block, repeat, cell))
    return tuple(runs)


def planned_load_s(experiment: Experiment) -> float:
    """Seconds of warm-up and measurement over all runs; what happens between them is not in it."""
    total = 0.0
    for planned in planned_runs(experiment):
        cell = cell_spec(experiment, planned.cell)
        total += cell["load.warmup"] + cell["load.measure"]
    return total


def _groups(experiment: Experiment, chance: random.Random) -> Iterator[list[Cell]]:
    """Contexts that one server with one dataset can run one after another."""
    compared = experiment.compared
    others = [factor for factor in experiment.factors if factor is not compared]
    # What is done to a server that runs costs less than the run.
    needs = {factor.path: max(need_of(factor.path, experiment), Need.IN_PLACE) for factor in others}
    by_need = {
        need: combinations(factor for factor in others if needs[factor.path] is need)
        for need in (Need.IN_PLACE, Need.RESTART, Need.DATA)
    }
    for data in _shuffled(by_need[Need.DATA], chance):
        for restart in _shuffled(by_need[Need.RESTART], chance):
            yield [{**data, **restart, **free} for free in by_need[Need.IN_PLACE]]


def _shuffled(items: list[Cell] | tuple[Cell, ...], chance: random.Random) -> list[Cell]:
    result = list(items)
    chance.shuffle(result)
    return result


def _in_factor_order(experiment: Experiment, cell: Cell) -> Cell:
    return {factor.path: cell[factor.path] for factor in experiment.factors}


def need_of(path: str, experiment: Experiment) -> Need:
    """What it takes to change the level of `path`, at most: whatever the other factors are at, as
    long as all of them but one are at their first level."""
    varied = next(factor for factor in experiment.factors if factor.path == path)
    need = Need.NOTHING
    for around in _around(path, experiment):
        # Levels that cost nothing from the first one cost nothing from one another.
        first, *others = (cell_spec(experiment, {**around, path: one}) for one in varied.levels)
        for other in others:
            need = max(need, between(first, other), between(other, first))
    return need


def between(before: CellSpec, after: CellSpec) -> Need:
    """What it takes to get from one cell to another, beyond what every run takes."""
    needs = [
        (setting.between(before.values, after.values), setting.between(after.values, after.values))
        for setting in SETTINGS
    ]
    return max((need for need, anyway in needs if need > anyway), default=Need.NOTHING)


def contexts(experiment: Experiment) -> tuple[Cell, ...]:
    """Every combination of the factors that are not compared: where comparisons are made."""
    compared = experiment.compared
    return combinations(factor for factor in experiment.factors if factor is not compared)


def _around(path: str, experiment: Experiment) -> Iterator[Cell]:
    others = [factor for factor in experiment.factors if factor.path != path]
    first: Cell = {factor.path: factor.levels[0] for factor in others}
    yield first
    for factor in others:
        for level in factor.levels[1:]:
            yield {**first, factor.path: level}
