"""A cell with its levels put in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from contend.spec.errors import SpecError
from contend.spec.model import Cell, CellSpec, Experiment, Level
from contend.spec.paths import resolve
from contend.spec.values import Refused, attribute_name
from contend.spec.workloads import WORKLOAD


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
        elif rest[0] == "options":
            options[rest[1]] = level
        else:
            attributes[section][attribute_name(resolve(path).key)] = value
    kind = str(workload.pop("kind"))
    return CellSpec(
        server=replace(base.server, options=options, **attributes["server"]),
        data=replace(base.data, **attributes["data"]),
        workload=replace(base.workload, kind=kind, parameters=WORKLOAD.complete(kind, workload)),
        load=replace(base.load, **attributes["load"]),
    )


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
