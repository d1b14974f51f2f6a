"""The cells of an experiment, with their levels applied; the order of its runs; the role of each
factor in a report.

Runs come in randomised blocks, so that only neighbours are compared. A block is one context (a
level of every factor but the compared one) in one repeat. It holds each compared level once. If
levels are compared by runs, they come in random order, so slow changes of the host affect all of
them alike; in slices all of them are measured in turn. Contexts are in random order within a
repeat, so they do not always follow the same context.

Changing data or restarting the server costs more than a run, so contexts that share data and
restart needs stay together: data outermost, then restarts, then repeats. This does not separate
pairs, because a block never leaves its group. In slices every repeat has freshly started servers
anyway. If the number of repeats is open, each repeat must be complete, so it is outermost then.
"""

from __future__ import annotations

import functools
import itertools
import os
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contend.experiment.goal import RATE, first_rate
from contend.experiment.keys import resolve
from contend.experiment.model import (
    Cell,
    CellKey,
    CellSpec,
    Experiment,
    Factor,
    Planned,
    SpecError,
    cell_key,
    same_level,
)
from contend.experiment.screen import round_of_lines
from contend.experiment.scripts import is_file, reference
from contend.experiment.settings import SETTINGS
from contend.experiment.settings.model import Need
from contend.experiment.settings.plan_keys import SCRIPT, TWINS
from contend.experiment.settings.schemas import SCRIPT_SCHEMA
from contend.experiment.settings.screen import options_with_lines
from contend.experiment.settings.tables import Tagged
from contend.experiment.settings.treatments import TREATMENT, treatment_of
from contend.experiment.settings.values import Level, Refused


class CellError(SpecError):
    """A level that is invalid at its path.

    Attributes:
        path, sentence: the level's path, and what is wrong with it.
    """

    def __init__(self, path: str, sentence: str, *, hint: str | None) -> None:
        super().__init__(f"a cell of the experiment: {sentence}", hint=hint)
        self.path = path
        self.sentence = sentence


def cell_spec(experiment: Experiment, cell: Cell) -> CellSpec:
    """All that the lab needs to run `cell`: the base with the cell's levels, defaults filled in.

    Paths that `cell` does not name keep the value of the base. Parameters that the cell's workload
    does not have (because the kind is itself a factor) are left out. A cell is computed once and
    shared, so it must not be changed: `having` makes a copy.
    """
    key = cell_key(cell)
    if key not in experiment.computed:
        experiment.computed[key] = _computed(experiment, cell)
    return experiment.computed[key]


def cell_specs(experiment: Experiment) -> Iterator[CellSpec]:
    """Every cell of the experiment with its levels applied, in the order of `cells`."""
    return (cell_spec(experiment, cell) for cell in each_combination(experiment.factors))


def refuse_settings(experiment: Experiment, *, own: bool) -> None:
    """Refuse cells that are not possible here; raises RequestError."""
    for cell in cell_specs(experiment):
        for setting in SETTINGS:
            setting.refuse(cell.values, own=own)


def _computed(experiment: Experiment, cell: Cell) -> CellSpec:
    merged = dict(experiment.base.values)
    _put(merged, cell)
    _put(merged, treatment_of(merged))
    merged.update(options_with_lines(merged))
    values = dict(merged)
    for setting in SETTINGS:
        if isinstance(setting.key.kind, Tagged):
            values[setting.path] = setting.key.kind.completed(merged[setting.path])
    if values["workload"]["kind"] == SCRIPT:
        _fill_script(experiment, values, merged)
    return CellSpec(values)


def _put(merged: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Put values at their paths; raises CellError."""
    for path, value in values.items():
        try:
            target = resolve(path)
            if target.setting is None:
                raise Refused(f'"{path}" is not a setting of a cell')
            merged[target.setting.path] = target.put(merged, value)
        except Refused as refused:
            named = "" if refused.whole or path in refused.reason else f"{path} "
            raise CellError(path, f"{named}{refused.reason}", hint=refused.hint) from None


def cells(experiment: Experiment) -> tuple[Cell, ...]:
    """Every combination of levels, in file order with the last factor fastest.

    Keys of a cell are in the order of the experiment's factors. Without factors there is one
    cell, the empty one.
    """
    return combinations(experiment.factors)


def combinations(factors: Iterable[Factor]) -> tuple[Cell, ...]:
    """The cross product of the factors' levels."""
    return tuple(each_combination(factors))


def each_combination(factors: Iterable[Factor]) -> Iterator[Cell]:
    """The same, lazily."""
    listed = tuple(factors)
    paths = [factor.path for factor in listed]
    for levels in itertools.product(*(factor.levels for factor in listed)):
        yield dict(zip(paths, levels, strict=True))


def _fill_script(experiment: Experiment, values: dict[str, Any], merged: Mapping[str, Any]) -> None:
    """Fill in the path of the cell's script, and the values that its options refer to."""
    script = str(values["workload"]["script"])
    if is_file(script):
        script = os.path.normpath(Path(experiment.folder, script))
    options = _filled(values["workload"]["options"], merged)
    values["workload"] = {"kind": SCRIPT, "script": script, "options": options}
    if values["data.schema"] == SCRIPT_SCHEMA:
        # Tables are made once, from the values in the file, without the factors of this cell.
        base = experiment.base.values
        fixed = _filled(base["workload"].get("options"), base)
        values["data.prepare"] = {"script": script, "options": fixed}


def _filled(options: object, merged: Mapping[str, Any]) -> dict[str, Any]:
    """Options with references replaced by the values they refer to."""
    filled = dict(options) if isinstance(options, Mapping) else {}
    for name, value in filled.items():
        if (path := reference(value)) is not None:
            filled[name] = _value_at(path, merged)
    return filled


def _value_at(path: str, merged: Mapping[str, Any]) -> Any:
    target = resolve(path)
    assert target.setting is not None
    node: Any = merged[target.setting.path]
    for step in target.steps[len(target.setting.steps) :]:
        node = node.get(step) if isinstance(node, Mapping) else None
    return target.key.default if node is None else node


PILOT_BLOCKS = 2
"""Blocks of each context in the first repeats, which show how much sets of connections differ."""

Block = tuple[int, list[Cell]]
"""The repeat, and the cells in their order."""


def planned_runs(experiment: Experiment, *, in_slices: bool = False) -> tuple[Planned, ...]:
    """Every run in its order, as far as known before the first one; the experiment's load seed
    decides the order.

    Each cell has `compare.repeats` runs; if their number is open, those of the first repeat. If
    nothing is compared, a block holds a single run.
    """
    if experiment.lines:
        return round_of_lines(experiment, ())
    if experiment.goal is not None:
        rate = first_rate(experiment.goal)
        first = [[(cell, rate) for cell in block] for block in blocks_of_levels(experiment)]
        return runs_at_rates(experiment, (), 1, first)
    repeats = range(1, experiment.compare.repeats + 1)
    if is_open(experiment):
        blocks = blocks_at_first(experiment) if in_slices else 1
        return next_repeat(experiment, (), in_slices=in_slices, blocks=blocks)
    if in_slices:
        each = (_blocks_of_repeat(experiment, repeat, in_slices=True) for repeat in repeats)
        return _numbered(itertools.chain.from_iterable(each))
    # A separate stream: the queries' streams start from the same seed.
    chance = random.Random(f"order of runs {experiment.base['load.seed']}")
    return _numbered(
        block
        for group in _groups(experiment, chance)
        for repeat in repeats
        for block in _blocks(experiment, _shuffled(group, chance), repeat, chance)
    )


def blocks_at_first(experiment: Experiment) -> int:
    """Blocks of each context in the first repeats; one for treatments, since their repeats are as
    long as the first."""
    return 1 if is_of_treatments(experiment) or asks_twins(experiment) else PILOT_BLOCKS


def asks_twins(experiment: Experiment) -> bool:
    """Whether it asks each statement of a recording by itself, instead of driving a load."""
    return any(cell["workload"]["kind"] == TWINS for cell in cell_specs(experiment))


def is_of_treatments(experiment: Experiment) -> bool:
    """Whether it tests treatments, which may remove a difference."""
    return any(factor.path == TREATMENT.path for factor in experiment.factors)


def is_open(experiment: Experiment) -> bool:
    """Whether the number of repeats is decided while they are made."""
    compare = experiment.compare
    is_limited = compare.is_by_width or compare.at_most_s is not None
    return is_limited or experiment.goal is not None or bool(experiment.lines)


def next_repeat(
    experiment: Experiment,
    planned: Sequence[Planned],
    *,
    in_slices: bool,
    blocks: int = 1,
    wanted: Callable[[Cell], bool] = lambda _: True,
) -> tuple[Planned, ...]:
    """The runs of one more repeat, with `blocks` blocks of each context that is still wanted."""
    repeat = max((run.repeat for run in planned), default=0) + 1
    every = _blocks_of_repeat(experiment, repeat, in_slices=in_slices, blocks=blocks)
    more = (block for block in every if wanted(block[1][0]))
    return _numbered(more, after=planned[-1] if planned else None)


def blocks_of_levels(experiment: Experiment) -> list[list[Cell]]:
    """For each context the cells of all compared levels."""
    compared = experiment.compared
    levels: list[Cell] = list(combinations([compared])) if compared is not None else [{}]
    return [
        [_in_factor_order(experiment, {**context, **level}) for level in levels]
        for context in contexts(experiment)
    ]


def runs_at_rates(
    experiment: Experiment,
    planned: Sequence[Planned],
    repeat: int,
    blocks: Iterable[Sequence[tuple[Cell, float]]],
) -> tuple[Planned, ...]:
    """More runs of a search for a rate: each block has cells with the rate of each, in random
    order."""
    number = planned[-1].block if planned else 0
    chance = random.Random(f"order of rates {number} {experiment.base['load.seed']}")
    with_rates = (
        (repeat, _shuffled([{**cell, RATE: rate} for cell, rate in block], chance))
        for block in blocks
    )
    return _numbered(with_rates, after=planned[-1] if planned else None)


def _blocks_of_repeat(
    experiment: Experiment, repeat: int, *, in_slices: bool, blocks: int = 1
) -> Iterator[Block]:
    chance = random.Random(f"order of repeat {repeat} {experiment.base['load.seed']}")
    for group in _groups(experiment, chance):
        # Each context once, then each again: the blocks of one context have different turns.
        for again in range(blocks):
            ordered = _shuffled(group, chance)
            if in_slices:
                # Group blocks of one turn: changing the levels' servers takes a moment.
                turns = functools.partial(turn_of, experiment, repeat=repeat, again=again)
                ordered.sort(key=turns)
            yield from _blocks(experiment, ordered, repeat, chance)


def _blocks(
    experiment: Experiment, contexts: list[Cell], repeat: int, chance: random.Random
) -> Iterator[Block]:
    """One block for each context."""
    compared = experiment.compared
    levels: list[Cell] = list(combinations([compared])) if compared is not None else [{}]
    for context in contexts:
        shuffled = _shuffled(levels, chance)
        yield repeat, [_in_factor_order(experiment, {**context, **level}) for level in shuffled]


def _numbered(blocks: Iterable[Block], after: Planned | None = None) -> tuple[Planned, ...]:
    """The runs of the blocks, numbered consecutively."""
    planned: list[Planned] = []
    run, first = (after.run, after.block + 1) if after is not None else (0, 1)
    for block, (repeat, cells) in enumerate(blocks, start=first):
        for cell in cells:
            run += 1
            planned.append(Planned(run, block, repeat, cell))
    return tuple(planned)


def turn_of(experiment: Experiment, context: Cell, repeat: int, again: int = 0) -> int:
    """The number of places by which a block rotates the compared levels over the servers of its
    repeat. The repeat has had `again` earlier blocks of this context.

    Servers that are started alike differ for as long as they live. Levels that are changed while a
    server runs take turns on them. The contexts of a repeat are divided evenly over the turns, so
    that differences between servers cancel over the contexts; each context has each turn, block by
    block and repeat by repeat. Levels that need a restart change servers and copies of the data
    between repeats. Levels that need their own data change folders, into which their data are
    copied again: an effect of one place for the whole run would look like the level's.
    """
    compared = experiment.compared
    if compared is None:
        return 0
    in_place = need_of(compared.path, experiment) <= Need.IN_PLACE
    rank = again + _ranks(experiment)[cell_key(context)] if in_place else _first_turn(experiment)
    return (repeat + rank) % len(compared.levels)


def _first_turn(experiment: Experiment) -> int:
    assert experiment.compared is not None
    chance = random.Random(f"first turn {experiment.base['load.seed']}")
    return chance.randrange(len(experiment.compared.levels))


def _ranks(experiment: Experiment) -> dict[CellKey, int]:
    every = list(contexts(experiment))
    random.Random(f"turns {experiment.base['load.seed']}").shuffle(every)
    return {cell_key(context): rank for rank, context in enumerate(every)}


def planned_load_s(experiment: Experiment) -> float:
    """Seconds of warm-up and measurement over all runs, without the time between them."""
    total = 0.0
    for planned in planned_runs(experiment):
        cell = cell_spec(experiment, planned.cell)
        total += cell["load.warmup"] + cell["load.measure"]
    return total


def _groups(experiment: Experiment, chance: random.Random) -> Iterator[list[Cell]]:
    """Contexts that one server with one dataset can run in succession."""
    compared = experiment.compared
    others = [factor for factor in experiment.factors if factor is not compared]
    # Changes to a running server cost less than the run.
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
    """The maximum cost of changing the level of `path`: at all levels of the other factors, of
    which at most one is not at its first level."""
    varied = next(factor for factor in experiment.factors if factor.path == path)
    need = Need.NOTHING
    for around in _around(path, experiment):
        # Levels that can be changed freely from the first one can be exchanged freely.
        first, *others = (cell_spec(experiment, {**around, path: level}) for level in varied.levels)
        for other in others:
            need = max(need, between(first, other), between(other, first))
    return need


def between(before: CellSpec, after: CellSpec) -> Need:
    """The cost of changing from one cell to another, beyond the cost of every run."""
    was, wanted = before.values, after.values
    needs = [
        (setting.between(was, wanted), setting.between(wanted, wanted))
        for setting in SETTINGS
        if was[setting.path] != wanted[setting.path]
    ]
    return max((need for need, anyway in needs if need > anyway), default=Need.NOTHING)


def contexts(experiment: Experiment) -> tuple[Cell, ...]:
    """Every combination of the factors that are not compared; each has its comparison."""
    compared = experiment.compared
    return combinations(factor for factor in experiment.factors if factor is not compared)


def _around(path: str, experiment: Experiment) -> Iterator[Cell]:
    others = [factor for factor in experiment.factors if factor.path != path]
    first: Cell = {factor.path: factor.levels[0] for factor in others}
    yield first
    for factor in others:
        for level in factor.levels[1:]:
            yield {**first, factor.path: level}


_CONNECTIONS = "load.connections"


@dataclass(frozen=True, slots=True)
class Roles:
    """`baseline` is the level of `compared` that the others are compared with.

    If nothing is compared, `compared` is the factor that makes the rows, and `baseline` None.
    `order` has the paths of all factors in file order.
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
        return [dict(cell) for cell in each_combination(self.tables)]

    def cell(
        self, table: Mapping[str, Level], column: Level | None, level: Level | None
    ) -> dict[str, Level]:
        """The cell at one position of the layout."""
        cell = dict(table)
        if self.columns is not None and column is not None:
            cell[self.columns.path] = column
        if self.compared is not None and level is not None:
            cell[self.compared.path] = level
        return {path: cell[path] for path in self.order if path in cell}


def roles_of(experiment: Experiment) -> Roles:
    """The published tables' columns if there are any, else the connections, else the factor with
    most levels."""
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
