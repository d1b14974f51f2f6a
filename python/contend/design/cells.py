"""What it costs to go from one cell to another."""

from __future__ import annotations

from collections.abc import Iterator

from contend.settings.registry import SETTINGS
from contend.spec import Cell, CellSpec, Experiment, Need, cell_spec, combinations


def need_of(path: str, experiment: Experiment) -> Need:
    """What it takes to change the level of `path`, at most: whatever the other factors are at, as
    long as all of them but one are at their first level."""
    varied = next(factor for factor in experiment.factors if factor.path == path)
    need = Need.NOTHING
    for around in _around(path, experiment):
        reached = [cell_spec(experiment, {**around, path: level}) for level in varied.levels]
        for before in reached:
            need = max(need, *(between(before, after) for after in reached))
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
