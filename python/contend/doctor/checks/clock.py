"""The clock: what it is read from, how late timers are, whether it is set."""

from __future__ import annotations

from contend.doctor.model import (
    LATENCY,
    DoctorCheck,
    Found,
    Result,
    Subject,
    Unseen,
    fine,
    found,
    missing,
)

_SOURCE = "sys/devices/system/clocksource/clocksource0/current_clocksource"
_QUICK = frozenset(
    {
        "tsc",
        "kvm-clock",
        "arch_sys_counter",
        "hyperv_clocksource_tsc_page",
        "timebase",
        "stp",
        "tod",
    }
)
_TIMER_LATE_US, _SLACK_NS = 200, 100_000
_ERROR_MOST_US = 1_000_000
_SYNC_FILES = (
    "run/systemd/timesync/synchronized",
    "run/chrony/chronyd.pid",
    "run/chronyd.pid",
    "run/ntpd.pid",
)


def _source(subject: Subject) -> Result:
    name = subject.tree.text(_SOURCE)
    if not name:
        return missing(subject, _SOURCE)
    if name in _QUICK:
        return fine(f"the clock is read from {name}", clocksource=name)
    offered = subject.tree.text(_SOURCE.replace("current", "available")) or ""
    better = [one for one in offered.split() if one in _QUICK]
    mend = f"echo {better[0]} > /{_SOURCE}" if better else None
    return Found(
        "severe",
        f"the clock is read from {name}, by a system call or slower",
        {"clocksource": name},
        mend,
    )


def _source_files(subject: Subject) -> dict[str, str]:
    offered = subject.tree.text(_SOURCE.replace("current", "available")) or ""
    better = [one for one in offered.split() if one in _QUICK]
    return {_SOURCE: better[0]} if better else {}


def _timer(subject: Subject) -> Result:
    late = subject.seen("timer_late_us")
    slack = subject.number("proc/self/timerslack_ns")
    if late is not None and late > _TIMER_LATE_US:
        return found("warning", f"a sleep of 100 µs ends {late:.0f} µs late", timerslack_ns=slack)
    if slack is not None and slack > _SLACK_NS:
        return found(
            "warning",
            f"timers may be {slack / 1000:.0f} µs late (timer slack)",
            timerslack_ns=slack,
        )
    if late is None and slack is None:
        return Unseen("timers were not measured, and /proc/self/timerslack_ns does not say")
    known = f"{late:.0f} µs late" if late is not None else f"at most {slack} ns late"
    return fine(f"timers are {known}", timerslack_ns=slack)


def _sync(subject: Subject) -> Result:
    error = subject.seen("clock_error_us")
    by = [path for path in _SYNC_FILES if subject.tree.exists(path)]
    if error is not None and error < _ERROR_MOST_US:
        return fine(f"the kernel knows the time to {error / 1000:.0f} ms", synchronised=True)
    if by:
        return fine(f"a program sets the clock (/{by[0]})", synchronised=True)
    if error is None and not subject.tree.exists("run"):
        return Unseen("neither the kernel nor /run tells whether the clock is set")
    return found("note", "nothing seems to set the clock", synchronised=False)


CHECKS = (
    DoctorCheck(
        id="clock-source",
        title="clock source",
        why="Server and client read the clock several times a statement; from a slow source each "
        "look is a system call, or a trap into the hypervisor.",
        costs="A system call a look, or a trap into the hypervisor; performance_schema looks more "
        "often.",
        mend="echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
        look=_source,
        measure="clock_ns",
        files=_source_files,
    ),
    DoctorCheck(
        id="timer",
        title="lateness of timers",
        why="contend-load begins events by timers, and servers sleep before they try a lock again.",
        costs="That much in response times of an open loop; contend reports its own lag.",
        mend="See governor, idle-states and steal; timer slack is set by who started contend.",
        look=_timer,
        measure="timer_late_us",
        touches=(LATENCY,),
    ),
    DoctorCheck(
        id="clock-sync",
        title="clock synchronisation",
        why="Logs of servers on several hosts are laid side by side by their times, and replicas "
        "tell their lag by it.",
        costs="Nothing on one host: contend measures by the monotonic clock.",
        mend="systemctl enable --now systemd-timesyncd, or chrony",
        look=_sync,
        measure="clock_error_us",
        touches=(),
    ),
)
