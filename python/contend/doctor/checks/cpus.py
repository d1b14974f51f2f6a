"""The CPUs: threads that share a core, mitigations, unequal cores, how far they are apart."""

from __future__ import annotations

from contend.doctor.checks.cpu_power import CPUS
from contend.doctor.model import (
    LATENCY,
    NOT_MEASURED,
    DoctorCheck,
    Result,
    Subject,
    Unseen,
    fine,
    found,
)
from contend.metrics.read import NEAR_NS_MAX

_MOVED_RATIO = 2.0
_WAKE_SLOW_US = 100


def _smt(subject: Subject) -> Result:
    active = subject.tree.text(f"{CPUS}/smt/active")
    if active == "0":
        return fine("each CPU is a core of its own", smt=False)
    if active == "1":
        return found("note", "two or more CPUs share each core", smt=True)
    siblings = subject.tree.text(f"{CPUS}/cpu0/topology/thread_siblings_list")
    if siblings is None:
        return Unseen("the kernel does not tell which CPUs share a core")
    shares = "," in siblings or "-" in siblings
    if shares:
        return found("note", f"CPUs {siblings} share a core", smt=True)
    return fine("each CPU is a core of its own, as far as the kernel knows", smt=False)


def _mitigations(subject: Subject) -> Result:
    folder = f"{CPUS}/vulnerabilities"
    texts = {
        name: subject.tree.text(f"{folder}/{name}") or "" for name in subject.tree.names(folder)
    }
    if not texts:
        return Unseen(f"/{folder} lists none")
    at_work = sorted(name for name, text in texts.items() if text.startswith("Mitigation"))
    is_open = sorted(name for name, text in texts.items() if text.startswith("Vulnerable"))
    state = {"mitigated": ", ".join(at_work), "vulnerable": ", ".join(is_open)}
    # Separate page tables, and a branch barrier at each way into the kernel.
    heavy = [
        name for name in at_work if "PTI" in texts[name] or "IBRS" in texts[name].split("; ")[0]
    ]
    if heavy:
        names = ", ".join(heavy)
        return found("warning", f"mitigations that make system calls dear: {names}", **state)
    if at_work:
        return found("note", f"mitigations at work: {', '.join(at_work)}", **state)
    return fine("no mitigation is at work", **state)


def _unequal(subject: Subject) -> Result:
    cpus = [n for n in subject.tree.names(CPUS) if n.startswith("cpu") and n[3:].isdecimal()]
    for file, what in (("cpu_capacity", "capacity"), ("cpufreq/cpuinfo_max_freq", "frequency")):
        paths = (f"{CPUS}/{cpu}/{file}" for cpu in cpus)
        values = {value for path in paths if (value := subject.number(path)) is not None}
        if len(values) > 1:
            low, high = min(values), max(values)
            kinds = f"{low} to {high}"
            if low > 0 and high / low < 1.1:
                continue  # Favoured cores of one kind differ by some percent.
            return found("warning", f"CPUs are not equal: {what} {kinds}", capacities=kinds)
    kinds_of = [n for n in ("cpu_core", "cpu_atom") if subject.tree.exists(f"sys/devices/{n}")]
    if len(kinds_of) > 1:
        return found("warning", "CPUs are of two kinds (cores and atoms)", capacities="two kinds")
    if not cpus:
        return Unseen(f"/{CPUS} lists no CPUs")
    return fine(f"all {len(cpus)} CPUs are of one kind", capacities="equal")


def _distance(subject: Subject) -> Result:
    apart = subject.measured.get("handover_ns")
    if apart is None:
        return Unseen(f"{NOT_MEASURED}, or no pair of CPUs had time to answer")
    said = f"a line of cache goes over and comes back in {apart.value:.0f} ns"
    if apart.value >= NEAR_NS_MAX:
        return found("warning", f"{said}, and near CPUs take less than {NEAR_NS_MAX:.0f}")
    return fine(said)


def _moving(subject: Subject) -> Result:
    apart = subject.measured.get("handover_ns")
    if apart is None:
        return Unseen(f"{NOT_MEASURED}, or no pair of CPUs had time to answer")
    said = f"{apart.low:.0f} to {apart.high:.0f} ns over the looks"
    if apart.low > 0 and apart.high / apart.low >= _MOVED_RATIO and apart.high >= NEAR_NS_MAX:
        return found("warning", f"the distance of the CPUs changed while doctor looked: {said}")
    return fine(f"the distance of the CPUs stayed: {said}")


def _wake(subject: Subject) -> Result:
    took = subject.seen("wake_us")
    if took is None:
        return Unseen(f"{NOT_MEASURED}, or no pair of CPUs had time to answer")
    if took > _WAKE_SLOW_US:
        return found("warning", f"a thread runs {took:.0f} µs after it was woken")
    return fine(f"a thread runs {took:.0f} µs after it was woken")


CHECKS = (
    DoctorCheck(
        id="smt",
        title="threads that share a core (SMT)",
        why="Two threads on one core are less than two cores, and which of them share one is the "
        "scheduler's choice at each moment.",
        costs="A server at half of its CPUs is nearer to its limit than the half says.",
        mend="None is needed for throughput, which two threads a core usually raise. Where an even "
        "pace is worth more: echo off > /sys/devices/system/cpu/smt/control",
        look=_smt,
        files=lambda _subject: {f"{CPUS}/smt/control": "off"},
    ),
    DoctorCheck(
        id="mitigations",
        title="mitigations of CPU flaws",
        why="A statement makes several system calls and thread switches, each of which some "
        "mitigations make dearer.",
        costs="About 2 % in a published study, with noibrs noibpb nopti.",
        mend="mitigations=off on the kernel's command line, only if nobody else's code runs there",
        look=_mitigations,
        measure="system_call_ns",
    ),
    DoctorCheck(
        id="unequal-cpus",
        title="CPUs of unequal strength",
        why="Which core a thread runs on decides its pace, so the same statement takes two times.",
        costs="Scatter between slices and runs; placement of threads decides.",
        mend="Run server and client on cores of one kind (taskset, or the setting place.*.cpus).",
        look=_unequal,
    ),
    DoctorCheck(
        id="cpu-distance",
        title="distance of the CPUs",
        why="Threads of a server hand locks and cache lines to one another; each hand-over takes "
        "this long.",
        costs="With far CPUs a server with contended locks was seen at half its pace, and its "
        "slices scattered two to three times as much.",
        mend="compare.wait_for_calm has a run wait; otherwise place the server on near CPUs.",
        look=_distance,
        measure="handover_ns",
        is_measured=True,
    ),
    DoctorCheck(
        id="cpus-move",
        title="CPUs that move",
        why="A hypervisor may move virtual CPUs between near and far cores while a run lasts.",
        costs="Blocks of one run are then of two hosts; the report marks them (cpus-moved).",
        mend='compare.wait_for_calm, compare.adjust = ["distance"]; a machine with cores of its '
        "own ends it.",
        look=_moving,
        measure="handover_ns",
        is_measured=True,
    ),
    DoctorCheck(
        id="wake-up",
        title="time until a woken thread runs",
        why="Server and client wake one another for each statement.",
        costs="Twice this in each response time at few connections.",
        mend="See idle-states and governor; in a virtual machine halt polling "
        "(cpuidle_haltpoll) of the guest.",
        look=_wake,
        measure="wake_us",
        touches=(LATENCY,),
        is_measured=True,
    ),
)
