"""What the host and a process have used so far: CPU time, stalls, swapping, throttling, faults.

A snapshot before a run and one after it give what happened between. Nothing here judges; see
`disturbances`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from contend.host.machine import cgroup_file
from contend.host.tree import Tree

_CPU_STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_STALLS = ("cpu", "memory", "io")
_VMSTAT = ("pswpin", "pswpout", "pgmajfault", "oom_kill", "workingset_refault_file")


@dataclass(frozen=True, slots=True)
class Pressure:
    """Counters of the host at one moment. What the host does not show is None or left out.

    at_s: monotonic clock.
    cpu_s: seconds of all CPUs since boot, by kind; time of guests is part of `user`.
    stall_us: `cpu.some`, `memory.full`, …: microseconds that some or all tasks stood still.
    load_1m: load average of a minute.
    vm: pages swapped in and out, major faults, kills for lack of memory, and pages of files that
        were read again not long after the kernel had taken them out of memory.
    throttled_us: how long the CPU quota held this control group back.
    thermal_events: how often CPUs slowed down for heat.
    """

    at_s: float
    cpus: int
    cpu_s: dict[str, float]
    stall_us: dict[str, int]
    load_1m: float | None
    vm: dict[str, int]
    throttled_us: int | None
    thermal_events: int | None


@dataclass(frozen=True, slots=True)
class PressureChange:
    """What happened between two snapshots. Shares are of all CPUs' time, 0 to 1.

    stall_share: as in `Pressure.stall_us`, of the elapsed time.
    """

    elapsed_s: float
    cpus: int
    busy_share: float
    steal_share: float
    iowait_share: float
    stall_share: dict[str, float]
    load_1m_before: float | None
    vm: dict[str, int]
    throttled_s: float | None
    thermal_events: int | None


def pressure(root: Path = Path("/"), *, clock: Callable[[], float] = time.monotonic) -> Pressure:
    """A snapshot of the host's counters."""
    tree = Tree(root)
    lines = (tree.text("proc/stat") or "").splitlines()
    return Pressure(
        at_s=clock(),
        cpus=sum(line.startswith("cpu") and line[3:4].isdigit() for line in lines),
        cpu_s=_cpu_seconds(lines),
        stall_us=_stalls(tree),
        load_1m=_first_number(tree.text("proc/loadavg")),
        vm=_counters(tree.text("proc/vmstat"), _VMSTAT),
        throttled_us=_throttled_us(tree),
        thermal_events=_thermal_events(tree),
    )


def change(before: Pressure, after: Pressure) -> PressureChange:
    """What happened from one snapshot to a later one."""
    elapsed_s = max(after.at_s - before.at_s, 0.0)
    spent = {
        kind: max(after.cpu_s[kind] - before.cpu_s.get(kind, 0.0), 0.0) for kind in after.cpu_s
    }
    total = sum(spent.values())

    def share(*kinds: str) -> float:
        return sum(spent.get(kind, 0.0) for kind in kinds) / total if total > 0 else 0.0

    return PressureChange(
        elapsed_s=elapsed_s,
        cpus=after.cpus,
        busy_share=share("user", "nice", "system", "irq", "softirq"),
        steal_share=share("steal"),
        iowait_share=share("iowait"),
        stall_share={
            name: (after.stall_us[name] - before.stall_us[name]) / 1e6 / elapsed_s
            for name in after.stall_us
            if name in before.stall_us and elapsed_s > 0
        },
        load_1m_before=before.load_1m,
        vm={name: after.vm[name] - before.vm[name] for name in after.vm if name in before.vm},
        throttled_s=_difference(after.throttled_us, before.throttled_us, 1e-6),
        thermal_events=_whole(_difference(after.thermal_events, before.thermal_events, 1)),
    )


def _cpu_seconds(lines: list[str]) -> dict[str, float]:
    for line in lines:
        words = line.split()
        if words[:1] == ["cpu"]:
            ticks = os.sysconf("SC_CLK_TCK")
            return {
                kind: int(value) / ticks
                for kind, value in zip(_CPU_STATES, words[1:], strict=False)
                if value.isdigit()
            }
    return {}


def _stalls(tree: Tree) -> dict[str, int]:
    """Totals of `some avg10=0.00 avg60=0.00 avg300=0.00 total=89980605`."""
    stalls = {}
    for resource in _STALLS:
        for line in (tree.text(f"proc/pressure/{resource}") or "").splitlines():
            words = line.split()
            total = words[-1].removeprefix("total=") if words else ""
            if total.isdigit():
                stalls[f"{resource}.{words[0]}"] = int(total)
    return stalls


def _counters(text: str | None, names: tuple[str, ...]) -> dict[str, int]:
    pairs = (line.split() for line in (text or "").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] in names}


def _throttled_us(tree: Tree) -> int | None:
    counters = _counters(
        cgroup_file(tree, "cpu", "cpu.stat", "cpu.stat"), ("throttled_usec", "throttled_time")
    )
    if "throttled_usec" in counters:
        return counters["throttled_usec"]
    # The older hierarchy counts nanoseconds.
    return counters["throttled_time"] // 1000 if "throttled_time" in counters else None


def _thermal_events(tree: Tree) -> int | None:
    folder = "sys/devices/system/cpu"
    texts = [
        tree.text(f"{folder}/{cpu}/thermal_throttle/core_throttle_count")
        for cpu in tree.names(folder)
        if cpu.removeprefix("cpu").isdigit()
    ]
    counts = [int(text) for text in texts if text is not None and text.isdigit()]
    return sum(counts) if counts else None


def _first_number(text: str | None) -> float | None:
    words = (text or "").split()
    try:
        return float(words[0]) if words else None
    except ValueError:
        return None


def _difference(after: float | None, before: float | None, unit: float) -> float | None:
    return None if after is None or before is None else (after - before) * unit


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


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
    counters = {}
    for line in (text or "").splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdigit():
            counters[name.strip()] = int(words[0])
    return counters
