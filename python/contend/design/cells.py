"""The cells of an experiment, and what it costs to go from one to another."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from enum import IntEnum

from contend.spec import SCRIPT_SCHEMA, Cell, Experiment, Factor, Level


class Need(IntEnum):
    """What a change of a factor's level asks of the lab, from cheap to dear."""

    NOTHING = 0
    """The load changes, or a dynamic variable is set."""
    RESTART = 1
    """The server starts again with other options."""
    DATA = 2
    """Another dataset, or another server, takes the place of the present one."""


def need_of(path: str, experiment: Experiment) -> Need:
    """What it takes to change the level of `path`."""
    section = path.partition(".")[0]
    if section == "data" or path == "server.kind":
        return Need.DATA
    if path == "workload.script" and experiment.base.data.schema == SCRIPT_SCHEMA:
        return Need.DATA
    if path == "server.change":
        return Need.RESTART
    if section == "server":
        # Where the way of changing is itself a factor, some of the cells restart.
        ways = _levels_of(experiment, "server.change") or (experiment.base.server.change,)
        return Need.NOTHING if ways == ("in_place",) else Need.RESTART
    return Need.NOTHING


def cells(experiment: Experiment) -> tuple[Cell, ...]:
    """Every combination of levels, in file order with the last factor fastest.

    Keys of a cell are in the order of the experiment's factors. Without factors there is one
    cell, the empty one.
    """
    return combinations(experiment.factors)


def contexts(experiment: Experiment) -> tuple[Cell, ...]:
    """Every combination of the factors that are not compared: where comparisons are made."""
    compared = experiment.compared
    return combinations(factor for factor in experiment.factors if factor is not compared)


def combinations(factors: Iterable[Factor]) -> tuple[Cell, ...]:
    """The cross product of the factors' levels."""
    listed = tuple(factors)
    return tuple(
        dict(zip((factor.path for factor in listed), levels, strict=True))
        for levels in itertools.product(*(factor.levels for factor in listed))
    )


def _levels_of(experiment: Experiment, path: str) -> tuple[Level, ...] | None:
    return next((f.levels for f in experiment.factors if f.path == path), None)
