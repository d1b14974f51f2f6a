"""What a control group or a container allows: CPU quota, CPUs, memory. Both hierarchies."""

from __future__ import annotations

from contend.doctor.checks.cpu_power import CPUS
from contend.doctor.model import DoctorCheck, Result, Subject, Unseen, fine, found, missing
from contend.host.counters import counters_in
from contend.host.kernel import meminfo
from contend.host.machine import cgroup_file, cpu_quota, memory_limit
from contend.host.tree import cpu_list
from contend.units import format_size


def _quota(subject: Subject) -> Result:
    if subject.tree.text("proc/self/cgroup") is None:
        return missing(subject, "proc/self/cgroup")
    quota = cpu_quota(subject.tree)
    if quota is None:
        return fine("no CPU quota is set", cpu_quota=None)
    return found(
        "warning", f"the control group may use {quota:g} CPUs' time a period", cpu_quota=quota
    )


def _throttled(subject: Subject) -> Result:
    text = cgroup_file(subject.tree, "cpu", "cpu.stat", "cpu.stat")
    if text is None:
        return Unseen("the control group shows no cpu.stat")
    counters = counters_in(text, ("nr_throttled", "nr_periods"))
    if "nr_throttled" not in counters:
        return Unseen("the cpu.stat of the control group counts no throttled periods")
    times, periods = counters["nr_throttled"], counters.get("nr_periods", 0)
    now = subject.seen("throttled_share") or 0
    if times or now:
        said = f"the CPU quota held processes back in {times} of {periods} periods so far"
        return found("severe" if now > 0.01 else "warning", said)
    return fine("no period was throttled")


def _cpuset(subject: Subject) -> Result:
    status = subject.tree.text(f"proc/{subject.pid}/status") or ""
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    try:
        allowed = cpu_list(fields.get("Cpus_allowed_list", "").strip())
        online = cpu_list(subject.tree.text(f"{CPUS}/online") or "")
    except ValueError:
        return Unseen("the kernel's lists of CPUs hold something else")
    if not allowed or not online:
        return Unseen(f"/proc/{subject.pid}/status and /{CPUS}/online do not say")
    mine = len(set(allowed) & set(online))
    if mine < len(online):
        return found(
            "warning", f"{subject.whose} may run on {mine} of {len(online)} CPUs", allowed=mine
        )
    return fine(f"{subject.whose} may run on all {len(online)} CPUs", allowed=mine)


def _memory(subject: Subject) -> Result:
    if subject.tree.text("proc/self/cgroup") is None:
        return missing(subject, "proc/self/cgroup")
    limit, total = memory_limit(subject.tree), meminfo(subject.tree).get("MemTotal")
    if limit is None or (total is not None and limit >= total):
        return fine("no memory limit is set below what there is", memory_limit=None)
    of = f" of {format_size(total)}" if total else ""
    return found(
        "warning",
        f"the control group may use {format_size(limit)}{of}, page cache included",
        memory_limit=limit,
    )


CHECKS = (
    DoctorCheck(
        id="cpu-quota",
        title="CPU quota",
        why="When the quota of a period is used up every thread stands still until the next, "
        "holders of locks too.",
        costs="Pauses of up to a period (100 ms by default); server and client share the quota.",
        mend="docker update --cpus 0 NAME; of a control group echo max > cpu.max, in the older "
        "hierarchy echo -1 > cpu.cfs_quota_us; or pin CPUs instead (cpuset)",
        look=_quota,
        measure="throttled_share",
    ),
    DoctorCheck(
        id="cpu-throttled",
        title="throttled periods",
        why="They show that the quota is not only set but in the way.",
        costs="Each is a pause of everything in the group.",
        mend="Raise the quota, or ask less: fewer connections, an open loop.",
        look=_throttled,
        measure="throttled_share",
    ),
    DoctorCheck(
        id="cpuset",
        title="CPUs that may be used",
        why="Server, client and lab share what is allowed here, and what a figure says of CPUs is "
        "of these.",
        costs="The CPUs that are missing.",
        mend="taskset -cp 0-LAST PID; cpuset.cpus of the control group",
        look=_cpuset,
    ),
    DoctorCheck(
        id="memory-limit",
        title="memory limit",
        why="A server sizes its caches by the memory of the host, and the limit kills it; page "
        "cache counts in the limit too.",
        costs="Pages read again and again near the limit; the server beyond it.",
        mend="docker update --memory SIZE NAME; of a control group echo max > memory.max, in the "
        "older hierarchy echo -1 > memory.limit_in_bytes; or smaller caches",
        look=_memory,
    ),
)
