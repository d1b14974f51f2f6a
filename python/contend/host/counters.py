"""Resources used so far by the host and its processes: CPU time, stalls, swapping, throttling; and
whether that disturbed a run.

The difference between a snapshot before a run and one after it covers the run. A disturbance marks
a run; it never removes it. The analysis decides whether to leave out marked runs, for both sides of
a comparison alike.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from contend.host.machine import cgroup_file
from contend.host.tree import Tree, is_whole
from contend.metrics.probed import PressureChange, RunWarning

_CPU_STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_STALLS = ("cpu", "memory", "io")
_VMSTAT = ("pswpin", "pswpout", "pgmajfault", "oom_kill", "workingset_refault_file")


@dataclass(frozen=True, slots=True)
class Pressure:
    """Counters of the host at one moment. Those that it does not show are None or left out.

    at_s: monotonic clock.
    cpu_s: seconds of all CPUs since boot, by kind; time of guests is part of `user`.
    stall_us: `cpu.some`, `memory.full`, …: microseconds that some or all tasks stood still.
    load_1m: load average of a minute.
    vm: pages swapped in and out, major faults, kills for lack of memory, and pages of files that
    were read again soon after the kernel had evicted them.
    throttled_us: time for which the CPU quota throttled this control group.
    thermal_events: number of times that CPUs slowed down because of heat.
    """

    at_s: float
    cpus: int
    cpu_s: dict[str, float]
    stall_us: dict[str, int]
    load_1m: float | None
    vm: dict[str, int]
    throttled_us: int | None
    thermal_events: int | None


def pressure(root: Path = Path("/"), *, clock: Callable[[], float] = time.monotonic) -> Pressure:
    """A snapshot of the host's counters."""
    tree = Tree(root)
    lines = (tree.text("proc/stat") or "").splitlines()
    return Pressure(
        at_s=clock(),
        cpus=sum(line.startswith("cpu") and is_whole(line[3:4]) for line in lines),
        cpu_s=_cpu_seconds(lines),
        stall_us=_stalls(tree),
        load_1m=_first_number(tree.text("proc/loadavg")),
        vm=counters_in(tree.text("proc/vmstat"), _VMSTAT),
        throttled_us=_throttled_us(tree),
        thermal_events=_thermal_events(tree),
    )


def change(before: Pressure, after: Pressure) -> PressureChange:
    """The changes from one snapshot to a later one."""
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
                if is_whole(value)
            }
    return {}


def _stalls(tree: Tree) -> dict[str, int]:
    """Totals of `some avg10=0.00 avg60=0.00 avg300=0.00 total=89980605`."""
    stalls = {}
    for kind in _STALLS:
        for line in (tree.text(f"proc/pressure/{kind}") or "").splitlines():
            words = line.split()
            total = words[-1].removeprefix("total=") if words else ""
            if is_whole(total):
                stalls[f"{kind}.{words[0]}"] = int(total)
    return stalls


def counters_in(text: str | None, names: tuple[str, ...]) -> dict[str, int]:
    """The counters with these names, from lines of a name and a whole number."""
    pairs = (line.split() for line in (text or "").splitlines())
    return {
        pair[0]: int(pair[1])
        for pair in pairs
        if len(pair) == 2 and pair[0] in names and is_whole(pair[1])
    }


def _throttled_us(tree: Tree) -> int | None:
    counters = counters_in(
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
        if is_whole(cpu.removeprefix("cpu"))
    ]
    counts = [int(text) for text in texts if text is not None and is_whole(text)]
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


def own_cpu_s(servers: Sequence[int] = (), root: Path = Path("/")) -> float | None:
    """CPU seconds so far of this process, of all that it started, directly or not (load generators
    and their workers, delay lines, private servers), and of these servers, by pid; None if one of
    those is not visible."""
    tree = Tree(root)
    started = _cpu_of_started(os.getpid(), tree)
    others = [process_cpu_s(pid, root) for pid in servers if pid not in started]
    seen_s = [seconds for seconds in others if seconds is not None]
    return None if len(seen_s) < len(others) else sum(seen_s) + sum(started.values())


def process_cpu_s(pid: int, root: Path = Path("/")) -> float | None:
    """CPU seconds of all threads of a process so far; None if it is gone or not visible."""
    stat = _stat(pid, Tree(root))
    return None if stat is None else stat.own_s


def process_memory_bytes(pid: int, root: Path = Path("/")) -> int | None:
    """Resident memory of a process; None if it is gone or not visible."""
    text = Tree(root).text(f"proc/{pid}/statm")
    parts = (text or "").split()
    return int(parts[1]) * mmap.PAGESIZE if len(parts) > 1 else None


def process_age_s(pid: int, root: Path = Path("/")) -> float | None:
    """Seconds since a process began; None if it is gone or not visible."""
    stat = _stat(pid, Tree(root))
    return None if stat is None else time.clock_gettime(time.CLOCK_BOOTTIME) - stat.began_s


@dataclass(frozen=True, slots=True)
class _Stat:
    """A process's parent, its CPU seconds, those of its children that ended, and its beginning in
    seconds since the host's."""

    parent: int
    own_s: float
    ended_s: float
    began_s: float


def _stat(pid: int, tree: Tree) -> _Stat | None:
    fields = (tree.text(f"proc/{pid}/stat") or "").rpartition(")")[2].split()
    if len(fields) < 20:
        return None
    user, system, ended_user, ended_system = (int(field) / _TICKS for field in fields[11:15])
    began = int(fields[19]) / _TICKS
    return _Stat(int(fields[1]), user + system, ended_user + ended_system, began)


_TICKS = os.sysconf("SC_CLK_TCK")


def _cpu_of_started(pid: int, tree: Tree) -> dict[int, float]:
    """CPU seconds of a process and of each descendant, with those of its children that ended."""
    stats = {int(name): _stat(int(name), tree) for name in tree.names("proc") if is_whole(name)}
    below: dict[int, list[int]] = {}
    for each, stat in stats.items():
        if stat is not None:
            below.setdefault(stat.parent, []).append(each)
    found: dict[int, float] = {}
    waiting = [pid]
    while waiting:
        each = waiting.pop()
        if (stat := stats.get(each)) is not None:
            found[each] = stat.own_s + stat.ended_s
            waiting += below.get(each, [])
    return found


STEAL_SHARE_MAX = 0.01
"""One percent of stolen time changes a figure by about as much, half the usual margin."""

OTHERS_SHARE_MAX = 0.05
"""Kernel threads and the lab use a percent or two; beyond 5 % a different program is at work."""

MEMORY_STALL_SHARE_MAX = 0.01
IO_STALL_SHARE_MAX = 0.05

REREAD_BYTES_MIN = 1_000_000
"""Less than this does not explain a stall."""


def disturbances(change: PressureChange, *, own_cpu_s: float | None = None) -> list[RunWarning]:
    """The disturbances of a run, worst first; empty if the host was quiet.

    Args:
        own_cpu_s: CPU seconds that the experiment's own processes (server, load generator, lab)
            used in that time. None: not known, and neighbours are not checked.
    """
    return list(_disturbances(change, own_cpu_s))


def _disturbances(change: PressureChange, own_cpu_s: float | None) -> Iterator[RunWarning]:
    stalls, vm = change["stall_share"], change["vm"]
    if (stolen := change["steal_share"]) > STEAL_SHARE_MAX:
        message = f"the hypervisor took {stolen:.1%} of this machine's CPU time"
        yield _warning("host-steal", message)
    if held_s := change["throttled_s"]:
        message = f"the CPU quota paused processes for {held_s:.2f} s"
        yield _warning("cpu-quota", message)
    capacity_s = change["elapsed_s"] * change["cpus"]
    if own_cpu_s is not None and capacity_s > 0:
        others = change["busy_share"] - own_cpu_s / capacity_s
        if others > OTHERS_SHARE_MAX:
            message = f"other processes used {others:.1%} of this machine's CPU time"
            yield _warning("noisy-neighbour", message)
    if pages := vm.get("pswpin", 0) + vm.get("pswpout", 0):
        yield _warning("swapping", f"{pages} memory pages were swapped in or out")
    if vm.get("oom_kill", 0) > 0:
        yield _warning("out-of-memory", "the kernel killed a process because memory ran out")
    elif (stalled := stalls.get("memory.full", 0.0)) > MEMORY_STALL_SHARE_MAX:
        yield _warning("memory-pressure", f"all tasks waited for memory {stalled:.1%} of the time")
    if (stalled := stalls.get("io.full", 0.0)) > IO_STALL_SHARE_MAX:
        message = f"all tasks waited for storage {stalled:.1%} of the time"
        again_bytes = vm.get("workingset_refault_file", 0) * mmap.PAGESIZE
        if again_bytes >= REREAD_BYTES_MIN:
            message += (
                f"; {again_bytes / 1e6:.0f} MB of files were read again after the kernel dropped "
                "them from memory"
            )
        yield _warning("io-pressure", message)
    if times := change["thermal_events"]:
        yield _warning("thermal", f"heat slowed down CPUs {times} times")


def _warning(code: str, message: str) -> RunWarning:
    return {"code": code, "message": message}
