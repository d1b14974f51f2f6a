"""The part of each factor: one is compared, one makes the columns, each combination of the rest a
table."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from contend.settings.values import Level
from contend.spec.model import Experiment, Factor, same_level

_CONNECTIONS = "load.connections"


@dataclass(frozen=True, slots=True)
class Roles:
    """`baseline` is the level of `compared` that the others are compared with.

    If nothing is compared, `compared` is the factor that makes the rows, and `baseline` None.
    `order` has the paths of all factors as the file has them.
    """

    compared: Factor | None
    baseline: Level | None
    columns: Factor | None
    tables: tuple[Factor, ...]
    order: tuple[str, ...]

    @property
    def levels(self) -> tuple[Level | None, ...]:
        """The rows: the baseline first; one nameless row if there is no factor for them."""
        if self.compared is None:
            return (None,)
        return tuple(
            sorted(self.compared.levels, key=lambda level: not same_level(level, self.baseline))
        )

    @property
    def others(self) -> list[Level]:
        """The levels that are compared with the baseline; none if nothing is compared."""
        if self.compared is None or self.baseline is None:
            return []
        return [level for level in self.compared.levels if not same_level(level, self.baseline)]

    @property
    def column_levels(self) -> tuple[Level | None, ...]:
        return self.columns.levels if self.columns else (None,)

    def table_contexts(self) -> list[dict[str, Level]]:
        """The levels of each table, in file order; one empty context if there is one table."""
        paths = [factor.path for factor in self.tables]
        combinations = itertools.product(*(factor.levels for factor in self.tables))
        return [dict(zip(paths, levels, strict=True)) for levels in combinations]

    def cell(
        self, table: Mapping[str, Level], column: Level | None, level: Level | None
    ) -> dict[str, Level]:
        """The cell at one place of the layout."""
        cell = dict(table)
        if self.columns is not None and column is not None:
            cell[self.columns.path] = column
        if self.compared is not None and level is not None:
            cell[self.compared.path] = level
        return {path: cell[path] for path in self.order if path in cell}


def roles_of(experiment: Experiment) -> Roles:
    """The published tables' columns if there are such, else the connections, else the factor
    with most levels."""
    compared = experiment.compared
    baseline = experiment.compare.baseline[compared.path] if compared else None
    rest = [factor for factor in experiment.factors if factor is not compared]
    columns = _columns(experiment, rest)
    rest = [factor for factor in rest if factor is not columns]
    if compared is None and rest:
        compared = max(rest, key=lambda factor: len(factor.levels))
        rest = [factor for factor in rest if factor is not compared]
    order = tuple(factor.path for factor in experiment.factors)
    return Roles(compared, baseline, columns, tuple(rest), order)


def _columns(experiment: Experiment, candidates: list[Factor]) -> Factor | None:
    wanted = [published.columns_path for published in experiment.published] + [_CONNECTIONS]
    for path in wanted:
        for factor in candidates:
            if factor.path == path:
                return factor
    return max(candidates, key=lambda factor: len(factor.levels), default=None)
