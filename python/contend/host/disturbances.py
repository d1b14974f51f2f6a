"""Was the host quiet during a run? A judgement over what happened, pure and with its reasons.

A disturbance marks a run; it never removes it. Whether marked runs are left out is for the
analysis to say, for both sides of a comparison alike.
"""

from __future__ import annotations

import mmap

from contend.probed import PressureChange, RunWarning

STEAL_SHARE_MAX = 0.01
"""One percent of stolen time moves a figure by about as much, half the usual margin."""

OTHERS_SHARE_MAX = 0.05
"""Kernel threads and the lab itself use a percent or two; beyond 5 % another program is at work."""

MEMORY_STALL_SHARE_MAX = 0.01
IO_STALL_SHARE_MAX = 0.05

REREAD_BYTES_MIN = 1_000_000
"""Less than this explains no stall."""


def disturbances(change: PressureChange, *, own_cpu_s: float | None = None) -> list[RunWarning]:
    """What disturbed a run, worst first; empty if the host was quiet.

    Args:
        change: the host between the snapshots around the run.
        own_cpu_s: CPU seconds that the experiment's own processes (server, load generator, lab)
            used in that time. None: not known, and neighbours are not looked for.
    """
    checks = [
        _steal(change),
        _quota(change),
        _neighbours(change, own_cpu_s),
        _swapping(change),
        _memory(change),
        _storage(change),
        _heat(change),
    ]
    return [warning for warning in checks if warning is not None]


def _steal(change: PressureChange) -> RunWarning | None:
    if change["steal_share"] <= STEAL_SHARE_MAX:
        return None
    return _warning(
        "host-steal",
        f"the hypervisor gave {change['steal_share']:.1%} of this machine's CPU time to others",
    )


def _quota(change: PressureChange) -> RunWarning | None:
    if not change["throttled_s"]:
        return None
    return _warning(
        "cpu-quota",
        f"the CPU quota of the control group held processes back for {change['throttled_s']:.2f} s",
    )


def _neighbours(change: PressureChange, own_cpu_s: float | None) -> RunWarning | None:
    capacity_s = change["elapsed_s"] * change["cpus"]
    if own_cpu_s is None or capacity_s <= 0:
        return None
    others = change["busy_share"] - own_cpu_s / capacity_s
    if others <= OTHERS_SHARE_MAX:
        return None
    return _warning(
        "noisy-neighbour",
        f"other processes of this machine used {others:.1%} of its CPU time",
    )


def _swapping(change: PressureChange) -> RunWarning | None:
    pages = change["vm"].get("pswpin", 0) + change["vm"].get("pswpout", 0)
    if pages == 0:
        return None
    return _warning("swapping", f"{pages} memory pages were swapped in or out")


def _memory(change: PressureChange) -> RunWarning | None:
    stalled = change["stall_share"].get("memory.full", 0.0)
    if change["vm"].get("oom_kill", 0) > 0:
        return _warning("out-of-memory", "the kernel killed a process for lack of memory")
    if stalled <= MEMORY_STALL_SHARE_MAX:
        return None
    return _warning("memory-pressure", f"all tasks waited for memory {stalled:.1%} of the time")


def _storage(change: PressureChange) -> RunWarning | None:
    stalled = change["stall_share"].get("io.full", 0.0)
    if stalled <= IO_STALL_SHARE_MAX:
        return None
    again_bytes = change["vm"].get("workingset_refault_file", 0) * mmap.PAGESIZE
    why = (
        f"; {again_bytes / 1e6:.0f} MB of files were read again that the kernel had taken out of "
        "memory"
        if again_bytes >= REREAD_BYTES_MIN
        else ""
    )
    return _warning("io-pressure", f"all tasks waited for storage {stalled:.1%} of the time{why}")


def _heat(change: PressureChange) -> RunWarning | None:
    if not change["thermal_events"]:
        return None
    return _warning("thermal", f"CPUs slowed down for heat {change['thermal_events']} times")


def _warning(code: str, message: str) -> RunWarning:
    return {"code": code, "message": message}
