"""Whether this machine has memory for all servers that are one level, before any is started."""

from __future__ import annotations

from contend import host
from contend.datasets import estimated_bytes
from contend.errors import RequestError
from contend.lab.design import SERVER_BYTES, cache_bytes
from contend.settings.topology import BACKENDS, FRONTS, GALERA, SINGLE, TOPOLOGY, members_in
from contend.spec import CellSpec, Experiment, cell_specs
from contend.units import format_size


def refuse_without_memory(experiment: Experiment) -> None:
    """Raises RequestError if the servers of a level take more memory than is available."""
    several = (cell for cell in cell_specs(experiment) if cell[TOPOLOGY.path] != SINGLE)
    most = max(several, key=members_bytes, default=None)
    if most is None:
        return
    needed, available = members_bytes(most), host.memory_available_bytes()
    if needed > available:
        raise RequestError(
            f"the {members_in(most.values)} servers of a level take about {format_size(needed)} of "
            f"memory together, and {format_size(available)} are available",
            hint="Take fewer of them, or smaller caches (server.options.innodb_buffer_pool_size).",
        )


def members_bytes(cell: CellSpec) -> int:
    """What all servers of a level take: of tables only what their caches hold."""
    tables = estimated_bytes(cell.data)
    if cell[TOPOLOGY.path] == GALERA:
        return members_in(cell.values) * (SERVER_BYTES + cache_bytes(cell, tables))
    # A front has no rows, and each backend its share of them.
    backends: int = cell[BACKENDS.path]
    of_backends = backends * (SERVER_BYTES + cache_bytes(cell, tables // backends))
    of_fronts: int = cell[FRONTS.path] * SERVER_BYTES
    return of_backends + of_fronts
