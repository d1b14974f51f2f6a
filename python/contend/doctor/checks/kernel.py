"""The kernel: known regressions, interrupts, autogroup, what it was built or booted to check."""

from __future__ import annotations

import re

from contend.doctor.dated import WRITTEN, regressions_of
from contend.doctor.model import (
    SEVERITIES,
    DoctorCheck,
    Result,
    Subject,
    Unseen,
    fine,
    found,
    missing,
)
from contend.host.kernel import boot_parameters

_AUTOGROUP = "proc/sys/kernel/sched_autogroup_enabled"
_ONE_SIDED = 0.9
_COUNTED_MIN = 100_000
_COSTLY = re.compile(
    r"(kasan|kmemleak|slub_debug|slab_debug|init_on_alloc|init_on_free|lockdep|page_poison"
    r"|debug_pagealloc)(=(?!off|0)\S+)?$"
)


def _regression(subject: Subject) -> Result:
    release = subject.tree.text("proc/sys/kernel/osrelease")
    if not release:
        return missing(subject, "proc/sys/kernel/osrelease")
    known = regressions_of(release)
    dated = f"by a table of {WRITTEN.isoformat()}"
    if not known:
        return fine(f"no regression of {release} is known {dated}", kernel=release)
    worst = min((one.severity for one in known), key=SEVERITIES.index)
    said = "; ".join(f"{one.what} ({one.source})" for one in known)
    return found(worst, f"kernel {release}, {dated}: {said}", kernel=release)


def _interrupts(subject: Subject) -> Result:
    text = subject.tree.text("proc/interrupts")
    if text is None:
        return missing(subject, "proc/interrupts")
    lines = text.splitlines()
    cpus = len(lines[0].split()) if lines else 0
    if cpus < 2:
        return fine("one CPU takes all interrupts")
    sums = [0] * cpus
    for line in lines[1:]:
        name, _, rest = line.partition(":")
        words = rest.split()[:cpus]
        # Numbered ones are of devices; the others are each CPU's own.
        if name.strip().isdecimal() and len(words) == cpus and all(w.isdecimal() for w in words):
            sums = [one + int(w[:15]) for one, w in zip(sums, words, strict=True)]
    total = sum(sums)
    runs = _has_process(subject, "irqbalance")
    balance = "irqbalance runs" if runs else "irqbalance does not run"
    state = {"irqbalance": runs}
    if total < _COUNTED_MIN:
        return fine(f"devices interrupted {total} times so far; {balance}", **state)
    share, cpu = max(sums) / total, sums.index(max(sums))
    said = f"CPU {cpu} took {share:.0%} of the interrupts of devices; {balance}"
    if share > _ONE_SIDED:
        return found("note", said, **state)
    return fine(said, **state)


def _has_process(subject: Subject, name: str) -> bool:
    return any(
        subject.tree.text(f"proc/{pid}/comm") == name
        for pid in subject.tree.names("proc")
        if pid.isdecimal()
    )


def _autogroup(subject: Subject) -> Result:
    value = subject.number(_AUTOGROUP)
    if value is None:
        return Unseen(subject.tree.why_not(_AUTOGROUP))
    if value:
        return found(
            "warning",
            "CPU time is shared between sessions first: as much for a load generator as for all "
            "threads of a server",
            autogroup=value,
        )
    return fine("autogroup is off", autogroup=value)


def _parameters(subject: Subject) -> Result:
    words = boot_parameters(subject.tree)
    if words is None:
        return missing(subject, "proc/cmdline")
    costly = [word for word in words if _COSTLY.match(word)]
    if costly:
        return found(
            "warning", f"the kernel was booted with {' '.join(costly)}", costly=" ".join(costly)
        )
    return fine("the kernel was booted with nothing that checks or clears memory", costly="")


def _lowest(subject: Subject) -> Result:
    text = subject.tree.text("proc/self/stat") or ""
    words = text.rpartition(")")[2].split()
    if len(words) < 17 or not words[16].lstrip("-").isdecimal():
        return missing(subject, "proc/self/stat")
    nice = int(words[16][:4])
    if nice > 0:
        return found("warning", f"a process started from here has nice {nice}", nice=nice)
    return fine(f"a process started from here has nice {nice}", nice=nice)


CHECKS = (
    DoctorCheck(
        id="kernel-regression",
        title="known regressions of the kernel",
        why="Some kernels were slower than their neighbours, or lost data, for databases among "
        "others.",
        costs="As its source says; not measured here, since that takes another kernel.",
        mend="Boot another kernel of the distribution.",
        look=_regression,
    ),
    DoctorCheck(
        id="irq-balance",
        title="interrupts of devices",
        why="A CPU that takes all interrupts of disk and network has less time for the server, and "
        "threads there wait.",
        costs="Part of one CPU; uneven response times.",
        mend="systemctl enable --now irqbalance, or write CPUs into "
        "/proc/irq/NUMBER/smp_affinity_list",
        look=_interrupts,
        touches=(),
    ),
    DoctorCheck(
        id="autogroup",
        title="autogroup",
        why="The scheduler first divides CPU time between sessions: as much for a load generator "
        "as for all threads of a server in another session, whatever their niceness.",
        costs="15 % (±6) of the queries a second at 64 connections, 16 % (±9) at 512, on a host of "
        "2 CPUs; at 8 it was not certain. The main job's gain was the same with it and without.",
        mend="sysctl kernel.sched_autogroup_enabled=0, then start the server anew: its threads "
        "keep the group that they began in",
        look=_autogroup,
        files=lambda _subject: {_AUTOGROUP: "0"},
    ),
    DoctorCheck(
        id="boot-parameters",
        title="checks that the kernel was booted with",
        why="Clearing or checking all memory costs at each allocation, in every system call.",
        costs="Touching fresh memory shows part of it.",
        mend="Take them off the kernel's command line.",
        look=_parameters,
        measure="fault_us_per_mib",
    ),
    DoctorCheck(
        id="nice",
        title="priority that servers inherit",
        why="A server started from here gets less CPU time than anything else that runs.",
        costs="Nothing on an idle host, most of the CPU time beside a busy neighbour.",
        mend="renice -n 0 -p $$",
        look=_lowest,
    ),
)
