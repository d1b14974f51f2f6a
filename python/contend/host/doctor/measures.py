"""Small measurements of this host: the current cost of a write to the disk, a wake-up, reading the
clock, a system call and fresh memory; the distance of the CPUs; and the CPU use of others.

Each returns its value with the minimum and maximum of its parts. Two hosts count as different only
if those ranges do not overlap.
"""

from __future__ import annotations

import itertools
import mmap
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from contend import host
from contend.errors import ContendError
from contend.metrics.host import Measure, quarters
from contend.metrics.probed import CpuState, NodeMatrix

_PARTS = 5
_WRITES = 40
_WRITES_S = 3.0
WINDOW_S = 3.0
"""Time in which contend runs nothing, to count the activity of others."""


def measure(
    folder: Path | None,
    cpu_state: Callable[[bool], CpuState],
    memory_nodes: Callable[[], NodeMatrix],
) -> dict[str, Measure]:
    """Measure all that is possible here, within about ten seconds; the rest is left out.

    Args:
        folder: on the disk of the data; one small file is written there and removed. None if there
            is none to write to.
        cpu_state, memory_nodes: query contend-load, the first with or without a memory load.
    """
    measured = quiet_window(WINDOW_S)
    takes: dict[str, Callable[[], Measure]] = {
        "timer_late_us": timer_late_us,
        "clock_ns": lambda: _call_ns(time.monotonic),
        "system_call_ns": lambda: _call_ns(os.getppid),
        "fault_us_per_mib": fault_us_per_mib,
    }
    if folder is not None:
        takes["fsync_us"] = lambda: fsync_us(folder)
    for name, take in takes.items():
        with suppress(OSError):
            measured[name] = take()
    return measured | cpus(cpu_state) | nodes(memory_nodes)


def same_disk(one: Path, other: Path) -> bool:
    """Whether two folders, or their nearest existing parents, lie on one filesystem."""
    with suppress(OSError):
        return _there(one).stat().st_dev == _there(other).stat().st_dev
    return False


def _there(folder: Path) -> Path:
    """The folder, or its nearest existing parent."""
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return folder


def quiet_window(seconds: float) -> dict[str, Measure]:
    """The host's counters over some seconds in which contend runs nothing."""
    samples = [host.pressure()]
    for _ in range(_PARTS):
        time.sleep(seconds / _PARTS)
        samples.append(host.pressure())
    known: dict[str, list[float]] = {}
    for part in (host.change(one, other) for one, other in itertools.pairwise(samples)):
        elapsed_s, vm = part["elapsed_s"], part["vm"]
        found = {"steal_share": part["steal_share"], "busy_share": part["busy_share"]}
        if elapsed_s > 0:
            if part["throttled_s"] is not None:
                found["throttled_share"] = part["throttled_s"] / elapsed_s
            if "pswpin" in vm or "pswpout" in vm:
                swapped = vm.get("pswpin", 0) + vm.get("pswpout", 0)
                found["swapped_pages"] = swapped / elapsed_s
            if "workingset_refault_file" in vm:
                found["refault_pages"] = vm["workingset_refault_file"] / elapsed_s
        for name, value in found.items():
            known.setdefault(name, []).append(value)
    return {
        name: Measure(statistics.fmean(values), min(values), max(values))
        for name, values in known.items()
    }


def fsync_us(folder: Path) -> Measure:
    """The wait of a database at each commit, with the quartiles as low and high."""
    page = os.urandom(4096)
    took: list[float] = []
    with tempfile.TemporaryFile(dir=_there(folder), buffering=0) as file:
        end = time.monotonic() + _WRITES_S
        while len(took) < _WRITES and time.monotonic() < end:
            begun = time.perf_counter()
            os.pwrite(file.fileno(), page, (len(took) % 8) * len(page))
            os.fdatasync(file.fileno())
            took.append((time.perf_counter() - begun) * 1e6)
    return quarters(took)


def timer_late_us() -> Measure:
    late = []
    for _ in range(60):
        begun = time.perf_counter()
        time.sleep(100e-6)
        late.append((time.perf_counter() - begun) * 1e6 - 100)
    return quarters(late)


def _call_ns(call: Callable[[], object]) -> Measure:
    """Cost of a call beyond one that does nothing; the fastest of a few tries counts, since
    disturbances only slow it down."""
    times = range(20_000)

    def nothing() -> None:
        return None

    def took(call: Callable[[], object]) -> float:
        begun = time.perf_counter_ns()
        for _ in times:
            call()
        return (time.perf_counter_ns() - begun) / len(times)

    empty = min(took(nothing) for _ in range(_PARTS))
    each = sorted(max(took(call) - empty, 1.0) for _ in range(_PARTS))
    return Measure(each[0], each[0], each[-2])


def fault_us_per_mib(mib: int = 16) -> Measure:
    took = []
    for _ in range(_PARTS):
        with mmap.mmap(-1, mib << 20) as memory:
            begun = time.perf_counter()
            for at in range(0, mib << 20, mmap.PAGESIZE):
                memory[at] = 1
            took.append((time.perf_counter() - begun) * 1e6 / mib)
    return quarters(took)


def cpus(measure_cpus: Callable[[bool], CpuState]) -> dict[str, Measure]:
    """The distance of the CPUs, measured several times: they may move."""
    states: list[CpuState] = []
    with suppress(ContendError, OSError):
        for number in range(_PARTS):
            states.append(measure_cpus(number % 2 == 0))
            time.sleep(0.2)
    found: dict[str, Measure] = {}
    if pairs := [pair for state in states for pair in state["pairs"]]:
        found["handover_ns"] = _around_middle(
            [
                statistics.fmean(pair["handover_ns"] for pair in state["pairs"])
                for state in states
                if state["pairs"]
            ]
        )
        found["wake_us"] = quarters([pair["wake_us"] for pair in pairs])
    if loads := [ns for state in states if (ns := state["memory_ns"]) is not None]:
        found["memory_ns"] = _around_middle(loads)
    return found


def nodes(measure_nodes: Callable[[], NodeMatrix]) -> dict[str, Measure]:
    """The distance of other nodes' memory; empty on a host with one node."""
    far: list[float] = []
    with suppress(ContendError, OSError):
        far = [
            ns
            for pair in measure_nodes()["pairs"]
            if pair["cpus_of"] != pair["memory_of"] and (ns := pair["latency_ns"]) is not None
        ]
    return {"far_memory_ns": _around_middle(far)} if far else {}


def _around_middle(values: list[float]) -> Measure:
    return Measure(statistics.median(values), min(values), max(values))
