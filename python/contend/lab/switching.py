"""Levels that one server takes on in turn: the statements that switch it while nothing is asked."""

from __future__ import annotations

from collections.abc import Sequence

from contend.servers.options import assignment, normal_name
from contend.spec import CellSpec, Experiment, cell_specs, imported_name
from contend.warm.key_caches import reloading
from contend.warm.model import disturbs

OPTIONS = "server.options."


def why_not_switched(experiment: Experiment) -> str | None:
    """Why one server cannot take on the compared levels in turn; None if it may try."""
    compared = experiment.compared
    assert compared is not None
    if not compared.path.startswith(OPTIONS):
        return f"{compared.path} is no option that a running server could be switched by"
    name = normal_name(compared.path.removeprefix(OPTIONS))
    if any(imported_name(cell.data.schema) is not None for cell in cell_specs(experiment)):
        return "which caches the tables of a dump are in is not known before it is loaded"
    engines = {cell.data.engine for cell in cell_specs(experiment)}
    if any(_refill(engine, [name], ()) is None for engine in engines):
        return f"{name} empties a cache that takes longer than a slice to fill again"
    return None


def entering(cells: Sequence[CellSpec]) -> list[tuple[str, ...]]:
    """For each cell the statements that bring a server from any of the others to it."""
    options = [
        {normal_name(name): value for name, value in cell["server.options"].items()}
        for cell in cells
    ]
    differ = [name for name in options[0] if any(o.get(name) != options[0][name] for o in options)]
    data = cells[0].data
    refill = _refill(data.engine, differ, data.table_names) or ()
    return [(*(assignment(name, of_cell[name]) for name in differ), *refill) for of_cell in options]


def _refill(engine: str, changed: Sequence[str], tables: Sequence[str]) -> tuple[str, ...] | None:
    """Statements that fill the caches that a change of these options empties."""
    return reloading(engine, tables) if disturbs(engine, changed) else ()
