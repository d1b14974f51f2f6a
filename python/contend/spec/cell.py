"""A cell with its levels put in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from contend.spec.errors import SpecError
from contend.spec.model import SCRIPT_SCHEMA, Cell, CellSpec, Experiment, Level
from contend.spec.paths import resolve
from contend.spec.scripts import is_file, reference
from contend.spec.values import Refused, attribute_name
from contend.spec.workloads import SCRIPT, WORKLOAD


def cell_spec(experiment: Experiment, cell: Cell) -> CellSpec:
    """All that the lab needs to run `cell`: the base with the cell's levels, defaults filled in.

    Paths that `cell` does not name keep the value of the base. Parameters that the cell's
    workload does not have (because the kind is itself a factor) are left out.
    """
    base = experiment.base
    attributes: dict[str, dict[str, Any]] = {"server": {}, "data": {}, "load": {}}
    options = dict(base.server.options)
    workload: dict[str, Any] = {"kind": base.workload.kind, **base.workload.parameters}
    for path, level in cell.items():
        section, *rest = _steps(path)
        value = _read(path, level)
        if section == "workload":
            _put(workload, rest, value)
        elif section == "server" and rest[0] == "options":
            options[rest[1]] = level
        else:
            attributes[section][attribute_name(resolve(path).key)] = value
    kind = str(workload.pop("kind"))
    parameters = WORKLOAD.complete(kind, workload)
    spec = CellSpec(
        server=replace(base.server, options=options, **attributes["server"]),
        data=replace(base.data, **attributes["data"]),
        workload=replace(base.workload, kind=kind, parameters=parameters),
        load=replace(base.load, **attributes["load"]),
    )
    return _with_script(experiment, spec, workload) if kind == SCRIPT else spec


def _with_script(experiment: Experiment, cell: CellSpec, given: Mapping[str, Any]) -> CellSpec:
    """The cell of a script: where its file is, and what its options refer to."""
    script = str(cell.workload.parameters["script"])
    if is_file(script):
        script = os.path.normpath(Path(experiment.folder, script))
    options = _filled(cell.workload.parameters["options"], cell, given)
    cell = replace(
        cell, workload=replace(cell.workload, parameters={"script": script, "options": options})
    )
    if cell.data.schema != SCRIPT_SCHEMA:
        return cell
    # Tables are made once: by what the file says, whatever the factors are in this cell.
    base = experiment.base
    fixed = _filled(base.workload.parameters.get("options"), base, base.workload.parameters)
    return replace(cell, data=replace(cell.data, prepare={"script": script, "options": fixed}))


def _filled(options: object, cell: CellSpec, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options with the values that they refer to in place of the references."""
    filled = dict(options) if isinstance(options, Mapping) else {}
    for name, value in filled.items():
        if (path := reference(value)) is not None:
            filled[name] = _value_at(path, cell, given)
    return filled


def _value_at(path: str, cell: CellSpec, given: Mapping[str, Any]) -> Any:
    target = resolve(path)
    section, *rest = target.steps
    if section != "workload":
        return getattr(getattr(cell, section), attribute_name(target.key))
    node: Any = given
    for step in rest:
        node = node.get(step) if isinstance(node, Mapping) else None
    return target.key.default if node is None else node


def _steps(path: str) -> tuple[str, ...]:
    try:
        return resolve(path).steps
    except Refused as refused:
        raise SpecError(f"a cell of the experiment: {refused.reason}", hint=refused.hint) from None


def _read(path: str, level: Level) -> object:
    try:
        return resolve(path).key.kind.read(level)
    except Refused as refused:
        raise SpecError(f"a cell of the experiment: {path} {refused.reason}") from None


def _put(table: dict[str, Any], steps: list[str], value: object) -> None:
    """Set a nested key, leaving the tables of the base as they are."""
    name, *rest = steps
    if not rest:
        table[name] = value
        return
    inner = table.get(name)
    copied = dict(inner) if isinstance(inner, Mapping) else {}
    _put(copied, rest, value)
    table[name] = copied
