"""Everything about the host that can change a figure, as plain values to store with the results."""

from __future__ import annotations

from pathlib import Path

from contend.host.cpu import record_cpu, record_numa
from contend.host.disk import record_disk
from contend.host.kernel import record_kernel, record_limits
from contend.host.machine import record_machine
from contend.host.memory import record_memory
from contend.host.network import record_network
from contend.host.tree import Facts, Tree


def facts(root: Path = Path("/"), *, folder: Path | None = None) -> dict[str, object]:
    """The facts of a host, nested by group; JSON values only.

    Groups: `cpu`, `numa`, `memory`, `kernel`, `limits`, `network`, `disk`, `os`, `machine`,
    and `missing`: dotted names of the facts that are None, with the reason. Sizes are bytes.

    Args:
        root: where /proc, /sys and /etc are looked for.
        folder: a folder on the disk to describe, normally the one of the data.
    """
    found = Facts(Tree(root))
    record_cpu(found)
    record_numa(found)
    record_memory(found)
    record_kernel(found)
    record_limits(found)
    record_network(found)
    record_disk(found, folder)
    record_machine(found)
    return found.nested()
