"""Who else uses this host: the hypervisor's other guests, other processes."""

from __future__ import annotations

from contend.doctor.model import (
    NOT_MEASURED,
    DoctorCheck,
    Result,
    Subject,
    Unseen,
    as_number,
    fine,
    found,
)
from contend.host.counters import OTHERS_SHARE_MAX, STEAL_SHARE_MAX
from contend.host.machine import container, virtualisation

_SEVERE_STEAL, _SEVERE_OTHERS = 0.10, 0.25


def _steal(subject: Subject) -> Result:
    share = subject.seen("steal_share")
    if share is None:
        return Unseen(NOT_MEASURED)
    said = f"the hypervisor gave {share:.1%} of the CPU time to others"
    if share > STEAL_SHARE_MAX:
        return found("severe" if share > _SEVERE_STEAL else "warning", said)
    return fine(said)


def _others(subject: Subject) -> Result:
    share = subject.seen("busy_share")
    if share is None:
        return Unseen(NOT_MEASURED)
    said = f"other processes used {share:.1%} of the CPU time while doctor did nothing"
    if share > OTHERS_SHARE_MAX:
        return found("severe" if share > _SEVERE_OTHERS else "warning", said)
    return fine(said)


def _waiting(subject: Subject) -> Result:
    """Pressure, which needs no window: what the last ten seconds were like."""
    text = subject.tree.text("proc/pressure/cpu")
    if text is None:
        return Unseen(subject.tree.why_not("proc/pressure/cpu"))
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["some"] and len(words) > 1:
            share = as_number(words[1].removeprefix("avg10="))
            if share is not None:
                said = f"tasks waited for a CPU {share:g} % of the last 10 s"
                return found("warning", said) if share > 20 else fine(said)
    return Unseen("/proc/pressure/cpu holds something else")


def _virtual(subject: Subject) -> Result:
    kind, box = virtualisation(subject.tree), container(subject.tree)
    state = {"virtualisation": kind, "container": box}
    if kind == "none" and box == "none":
        return fine("this is a machine of its own", **state)
    parts = [f"a virtual machine ({kind})"] if kind != "none" else []
    parts += [f"a container ({box})"] if box != "none" else []
    return found("note", f"this is {' in '.join(reversed(parts))}", **state)


CHECKS = (
    DoctorCheck(
        id="steal",
        title="time stolen by the hypervisor",
        why="A thread that holds a lock is stopped with it, and all wait.",
        costs="At least its own share of throughput; more of the slow percentiles.",
        mend="None from here: another hour, another host, or CPUs of one's own.",
        look=_steal,
        measure="steal_share",
        is_measured=True,
    ),
    DoctorCheck(
        id="noisy-neighbours",
        title="other processes",
        why="They take CPU time, caches and the disk from both sides of a comparison, and not "
        "evenly.",
        costs="At least their own share of CPU time; wider intervals.",
        mend="Stop them; `top` names them.",
        look=_others,
        measure="busy_share",
        is_measured=True,
    ),
    DoctorCheck(
        id="cpu-pressure",
        title="tasks that wait for a CPU",
        why="More wants to run than there are CPUs, before a run has begun.",
        costs="CPU time that server and client do not get, and wider intervals.",
        mend="Wait until the host is quiet; `top` names who is at work.",
        look=_waiting,
        measure="busy_share",
    ),
    DoctorCheck(
        id="virtual-machine",
        title="virtual machine or container",
        why="Its CPUs, memory and disk may be shared, and much that a host shows is decided above.",
        costs="See steal, cpus-move and fsync-latency, which are measured.",
        mend="None: know it when you read the figures.",
        look=_virtual,
        measure="steal_share",
        touches=(),
    ),
)
