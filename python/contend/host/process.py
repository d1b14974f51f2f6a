"""What a process has used so far: CPU, switches, faults, bytes. Differences are per-run costs."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from contend.host.tree import Tree

_VOLUNTARY, _INVOLUNTARY = "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"


@dataclass(frozen=True, slots=True)
class ProcessCounters:
    """Counters of all threads since the process began; None if the kernel does not show them.

    Switches are summed over the threads alive at that moment: those of threads that ended are
    lost, so a server that ends threads during a run shows too few, never too many.
    """

    user_s: float
    system_s: float
    minor_faults: int
    major_faults: int
    voluntary_switches: int | None
    involuntary_switches: int | None
    read_bytes: int | None
    write_bytes: int | None

    @property
    def cpu_s(self) -> float:
        return self.user_s + self.system_s

    def since(self, earlier: ProcessCounters) -> ProcessCounters:
        """What was used from `earlier` to now; never below 0."""
        values: dict[str, Any] = {}
        for field in fields(self):
            now, then = getattr(self, field.name), getattr(earlier, field.name)
            values[field.name] = None if now is None or then is None else max(now - then, 0)
        return ProcessCounters(**values)


def process_counters(pid: int, root: Path = Path("/")) -> ProcessCounters | None:
    """Counters of a process; None if it is gone or cannot be seen."""
    tree = Tree(root)
    stat = (tree.text(f"proc/{pid}/stat") or "").rpartition(")")[2].split()
    if len(stat) < 13:
        return None
    ticks = os.sysconf("SC_CLK_TCK")
    voluntary, involuntary = _switches(tree, pid)
    io = _fields(tree.text(f"proc/{pid}/io"))
    return ProcessCounters(
        user_s=int(stat[11]) / ticks,
        system_s=int(stat[12]) / ticks,
        minor_faults=int(stat[7]),
        major_faults=int(stat[9]),
        voluntary_switches=voluntary,
        involuntary_switches=involuntary,
        read_bytes=io.get("read_bytes"),
        write_bytes=io.get("write_bytes"),
    )


def _switches(tree: Tree, pid: int) -> tuple[int | None, int | None]:
    voluntary, involuntary, seen = 0, 0, False
    for thread in tree.names(f"proc/{pid}/task"):
        status = _fields(tree.text(f"proc/{pid}/task/{thread}/status"))
        if _VOLUNTARY in status and _INVOLUNTARY in status:
            voluntary += status[_VOLUNTARY]
            involuntary += status[_INVOLUNTARY]
            seen = True
    return (voluntary, involuntary) if seen else (None, None)


def _fields(text: str | None) -> dict[str, int]:
    """`name: number` lines; other lines are left out."""
    found = {}
    for line in (text or "").splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdigit():
            found[name.strip()] = int(words[0])
    return found
