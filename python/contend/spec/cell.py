"""A cell with its levels put in."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from contend.settings import SETTINGS
from contend.settings.plan_keys import SCRIPT
from contend.settings.schemas import SCRIPT_SCHEMA
from contend.settings.tables import Tagged
from contend.settings.treatments import treatment_of
from contend.settings.values import Refused
from contend.spec.keys import resolve
from contend.spec.model import Cell, CellSpec, Experiment, Factor, SpecError, cell_key
from contend.spec.scripts import is_file, reference


class CellError(SpecError):
    """A level that cannot be put where its path says.

    Attributes:
        path, sentence: of the level, and what is wrong with it.
    """

    def __init__(self, path: str, sentence: str, *, hint: str | None) -> None:
        super().__init__(f"a cell of the experiment: {sentence}", hint=hint)
        self.path = path
        self.sentence = sentence


def cell_spec(experiment: Experiment, cell: Cell) -> CellSpec:
    """All that the lab needs to run `cell`: the base with the cell's levels, defaults filled in.

    Paths that `cell` does not name keep the value of the base. Parameters that the cell's
    workload does not have (because the kind is itself a factor) are left out. A cell is computed
    once and belongs to all who ask for it: `having` makes another one, nobody changes this one.
    """
    key = cell_key(cell)
    if key not in experiment.computed:
        experiment.computed[key] = _computed(experiment, cell)
    return experiment.computed[key]


def cell_specs(experiment: Experiment) -> Iterator[CellSpec]:
    """Every cell of the experiment with its levels put in, in the order of `cells`."""
    return (cell_spec(experiment, cell) for cell in each_combination(experiment.factors))


def refuse_settings(experiment: Experiment, *, own: bool) -> None:
    """Refuse what a cell wants and cannot have here; raises RequestError."""
    for cell in cell_specs(experiment):
        for setting in SETTINGS:
            setting.refuse(cell.values, own=own)


def _computed(experiment: Experiment, cell: Cell) -> CellSpec:
    given = dict(experiment.base.values)
    _put(given, cell)
    _put(given, treatment_of(given))
    values = dict(given)
    for setting in SETTINGS:
        if isinstance(setting.key.kind, Tagged):
            values[setting.path] = setting.key.kind.completed(given[setting.path])
    if values["workload"]["kind"] == SCRIPT:
        _fill_script(experiment, values, given)
    return CellSpec(values)


def _put(given: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Put values where their paths say; raises CellError."""
    for path, value in values.items():
        try:
            target = resolve(path)
            if target.setting is None:
                raise Refused(f'"{path}" is nothing that a cell has')
            given[target.setting.path] = target.put(given, value)
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
    """The same, one after another."""
    listed = tuple(factors)
    paths = [factor.path for factor in listed]
    for levels in itertools.product(*(factor.levels for factor in listed)):
        yield dict(zip(paths, levels, strict=True))


def _fill_script(experiment: Experiment, values: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Say where the cell's script is, and what its options refer to."""
    script = str(values["workload"]["script"])
    if is_file(script):
        script = os.path.normpath(Path(experiment.folder, script))
    options = _filled(values["workload"]["options"], given)
    values["workload"] = {"kind": SCRIPT, "script": script, "options": options}
    if values["data.schema"] == SCRIPT_SCHEMA:
        # Tables are made once: by what the file says, whatever the factors are in this cell.
        base = experiment.base.values
        fixed = _filled(base["workload"].get("options"), base)
        values["data.prepare"] = {"script": script, "options": fixed}


def _filled(options: object, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options with the values that they refer to in place of the references."""
    filled = dict(options) if isinstance(options, Mapping) else {}
    for name, value in filled.items():
        if (path := reference(value)) is not None:
            filled[name] = _value_at(path, given)
    return filled


def _value_at(path: str, given: Mapping[str, Any]) -> Any:
    target = resolve(path)
    assert target.setting is not None
    node: Any = given[target.setting.path]
    for step in target.steps[len(target.setting.steps) :]:
        node = node.get(step) if isinstance(node, Mapping) else None
    return target.key.default if node is None else node
