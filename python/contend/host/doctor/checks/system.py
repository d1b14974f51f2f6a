"""The clock, limits of a process, TCP, the kernel's boot parameters, spreading of interrupts."""

from __future__ import annotations

import re

from contend.host import limits
from contend.host.doctor.model import NotChecked, Result, Subject, check, over, result
from contend.host.kernel import boot_parameters

_SOURCE = "sys/devices/system/clocksource/clocksource0/current_clocksource"
_QUICK_SOURCES = (
    *("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"),
    *("timebase", "stp", "tod"),
)
_TIMER_LATE_US, _SLACK_NS = 200, 100_000
_COSTLY = re.compile(
    r"(kasan|kmemleak|slub_debug|slab_debug|init_on_alloc|init_on_free|lockdep|page_poison"
    r"|debug_pagealloc)(=(?!off|0)\S+)?$"
)


@check("clock-source")
def _source(subject: Subject) -> Result:
    name = subject.text(_SOURCE)
    if not name:
        raise subject.unclear(_SOURCE)
    if name in _QUICK_SOURCES:
        return result(None, f"the clock source is {name}", clocksource=name)
    offered = subject.tree.text(_SOURCE.replace("current", "available")) or ""
    better = [one for one in offered.split() if one in _QUICK_SOURCES]
    mend = f"echo {better[0]} > /{_SOURCE}" if better else None
    evidence = f"the clock source is {name}: each read is a system call or slower"
    return Result("severe", evidence, {"clocksource": name}, mend)


@check("timer")
def _timer(subject: Subject) -> Result:
    late = subject.seen("timer_late_us")
    slack = subject.number_or_none("proc/self/timerslack_ns")
    if late is not None and late > _TIMER_LATE_US:
        evidence = f"a sleep of 100 µs ends {late:.0f} µs late (limit {_TIMER_LATE_US} µs)"
        return result("warning", evidence, timerslack_ns=slack)
    if slack is not None and slack > _SLACK_NS:
        evidence = f"timer slack is {slack / 1000:.0f} µs (limit {_SLACK_NS // 1000} µs)"
        return result("warning", evidence, timerslack_ns=slack)
    if late is None and slack is None:
        raise NotChecked("timers were not measured, and /proc/self/timerslack_ns is not readable")
    known = f"{late:.0f} µs late" if late is not None else f"at most {slack} ns late"
    return result(None, f"timers are {known}", timerslack_ns=slack)


def _limited(subject: Subject, name: str, unit: str, severe: int, enough: int) -> Result:
    pair = limits(subject.tree, subject.pid).get(name)
    if pair is None:
        raise subject.unclear(f"proc/{subject.pid}/limits")
    # A process may raise its soft limit to the hard one, and servers do.
    limit = pair["hard"]
    evidence = f"{subject.whose} may have {limit} {unit}"
    if isinstance(limit, str) or limit >= enough:
        return result(None, evidence, **{name: limit})
    evidence += f" (at least {enough} recommended)"
    return result("severe" if limit < severe else "warning", evidence, **{name: limit})


@check("open-files")
def _open_files(subject: Subject) -> Result:
    return _limited(subject, "open_files", "open files", severe=4096, enough=16384)


@check("processes")
def _processes(subject: Subject) -> Result:
    return _limited(subject, "processes", "processes and threads", severe=1024, enough=4096)


@check("aio-requests")
def _aio(subject: Subject) -> Result:
    most, used = subject.number("proc/sys/fs/aio-max-nr"), subject.number("proc/sys/fs/aio-nr")
    evidence = f"{used} of {most} asynchronous disk requests are in use"
    evidence += " (at least 10,000 should be free)"
    return result("warning" if most - used < 10_000 else None, evidence, aio_max_nr=most)


@check("somaxconn")
def _somaxconn(subject: Subject) -> Result:
    value = subject.number("proc/sys/net/core/somaxconn")
    back_log = subject.server.number("back_log") if subject.server is not None else None
    wanted = max(1024.0, back_log or 0)
    evidence = f"{value} connections may wait to be accepted (at least {wanted:.0f} recommended)"
    return result("warning" if value < wanted else None, evidence, somaxconn=value)


@check("tcp-ports")
def _ports(subject: Subject) -> Result:
    path = "proc/sys/net/ipv4/ip_local_port_range"
    words = subject.text(path).split()
    if len(words) != 2 or not all(word.isdecimal() and len(word) < 6 for word in words):
        raise subject.unclear(path)
    count = max(int(words[1]) - int(words[0]) + 1, 0)
    reuse = subject.number_or_none("proc/sys/net/ipv4/tcp_tw_reuse")
    evidence = f"{count} ports per server (at least 20,000 recommended; tcp_tw_reuse {reuse})"
    severity = over(-count, -20_000)
    return result(severity, evidence, ports=count, tcp_tw_reuse=reuse)


@check("boot-parameters")
def _parameters(subject: Subject) -> Result:
    words = boot_parameters(subject.tree)
    if words is None:
        raise NotChecked(subject.tree.why_not("proc/cmdline"))
    if costly := " ".join(word for word in words if _COSTLY.match(word)):
        return result("warning", f"the kernel was booted with {costly}", costly=costly)
    return result(None, "no boot option checks or clears memory", costly="")


@check("nice")
def _nice(subject: Subject) -> Result:
    words = subject.text("proc/self/stat").rpartition(")")[2].split()
    if len(words) < 17 or not words[16].lstrip("-").isdecimal():
        raise subject.unclear("proc/self/stat")
    nice = int(words[16][:4])
    return result(over(nice, 0), f"processes started from here have nice {nice}", nice=nice)
