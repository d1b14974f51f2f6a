"""CPU time and CPUs: other users of it, quotas, SMT, frequency, distance."""

from __future__ import annotations

from collections.abc import Iterable

from contend.host.counters import OTHERS_SHARE_MAX, STEAL_SHARE_MAX, counters_in
from contend.host.doctor.model import NotChecked, Result, Subject, as_number, check, over, result
from contend.host.machine import cgroup_file, container, cpu_quota, virtualisation
from contend.host.tree import cpu_list
from contend.metrics.read import NEAR_NS_MAX

CPUS = "sys/devices/system/cpu"
_DEEP_US = 100
_MOVED_RATIO = 2.0
_NO_PAIR = ", or no two CPUs answered in time"


@check("steal")
def _steal(subject: Subject) -> Result:
    share = subject.measure("steal_share").value
    evidence = f"the hypervisor took {share:.1%} of the CPU time (limit {STEAL_SHARE_MAX:.0%})"
    return result(over(share, STEAL_SHARE_MAX, severe=0.10), evidence)


@check("noisy-neighbours")
def _others(subject: Subject) -> Result:
    share = subject.measure("busy_share").value
    evidence = f"other processes used {share:.1%} of the CPU time (limit {OTHERS_SHARE_MAX:.0%})"
    return result(over(share, OTHERS_SHARE_MAX, severe=0.25), evidence)


@check("cpu-pressure")
def _waiting(subject: Subject) -> Result:
    """Pressure over the last ten seconds, which needs no measured window."""
    for line in subject.text("proc/pressure/cpu").splitlines():
        words = line.split()
        if words[:1] == ["some"] and len(words) > 1:
            share = as_number(words[1].removeprefix("avg10="))
            if share is not None:
                evidence = f"tasks waited for a CPU in {share:g} % of the last 10 s (limit 20 %)"
                return result(over(share, 20), evidence)
    raise NotChecked("/proc/pressure/cpu has unexpected content")


@check("virtual-machine")
def _virtual(subject: Subject) -> Result:
    kind, box = virtualisation(subject.tree), container(subject.tree)
    parts = [f"a container ({box})"] if box != "none" else []
    parts += [f"a virtual machine ({kind})"] if kind != "none" else []
    evidence = f"this is {' in '.join(parts) or 'a physical machine'}"
    return result("note" if parts else None, evidence, virtualisation=kind, container=box)


@check("smt")
def _smt(subject: Subject) -> Result:
    active = subject.tree.text(f"{CPUS}/smt/active")
    if active in ("0", "1"):
        evidence = (
            "two or more CPUs share each core" if active == "1" else "each CPU has its own core"
        )
        return result("note" if active == "1" else None, evidence, smt=active == "1")
    siblings = subject.tree.text(f"{CPUS}/cpu0/topology/thread_siblings_list")
    if siblings is None:
        raise NotChecked("the kernel does not report which CPUs share a core")
    if "," in siblings or "-" in siblings:
        return result("note", f"CPUs {siblings} share a core", smt=True)
    return result(None, "each CPU has its own core, as far as the kernel knows", smt=False)


@check("mitigations")
def _mitigations(subject: Subject) -> Result:
    folder = f"{CPUS}/vulnerabilities"
    texts = {
        name: subject.tree.text(f"{folder}/{name}") or "" for name in subject.tree.names(folder)
    }
    if not texts:
        raise NotChecked(f"/{folder} lists none")
    active = sorted(name for name, text in texts.items() if text.startswith("Mitigation"))
    vulnerable = sorted(name for name, text in texts.items() if text.startswith("Vulnerable"))
    state = {"mitigated": ", ".join(active), "vulnerable": ", ".join(vulnerable)}
    # Separate page tables, and a branch barrier at each entry into the kernel.
    heavy = [
        name for name in active if "PTI" in texts[name] or "IBRS" in texts[name].split("; ")[0]
    ]
    if heavy:
        return result("warning", f"mitigations slow system calls: {', '.join(heavy)}", **state)
    if active:
        return result("note", f"active mitigations: {', '.join(active)}", **state)
    return result(None, "no mitigation is active", **state)


@check("unequal-cpus")
def _unequal(subject: Subject) -> Result:
    cpus = _numbered(subject)
    for file, quantity in (("cpu_capacity", "capacity"), ("cpufreq/cpuinfo_max_freq", "frequency")):
        values = _numbers(subject, (f"{CPUS}/{cpu}/{file}" for cpu in cpus))
        # Favoured cores of one kind differ by a few percent.
        if values and (min(values) <= 0 < max(values) or max(values) >= 1.1 * min(values)):
            kinds = f"{min(values)} to {max(values)}"
            return result("warning", f"CPUs are not equal: {quantity} {kinds}", capacities=kinds)
    if all(subject.tree.exists(f"sys/devices/{kind}") for kind in ("cpu_core", "cpu_atom")):
        return result(
            "warning", "CPUs are of two kinds (cpu_core, cpu_atom)", capacities="two kinds"
        )
    if not cpus:
        raise NotChecked(f"/{CPUS} lists no CPUs")
    return result(None, f"all {len(cpus)} CPUs are of one kind", capacities="equal")


@check("cpu-distance")
def _distance(subject: Subject) -> Result:
    apart_ns = subject.measure("handover_ns", _NO_PAIR).value
    evidence = (
        f"a cache line takes {apart_ns:.0f} ns to another CPU and back (limit {NEAR_NS_MAX:g} ns)"
    )
    return result("warning" if apart_ns >= NEAR_NS_MAX else None, evidence)


@check("cpus-move")
def _moving(subject: Subject) -> Result:
    _, low, high = subject.measure("handover_ns", _NO_PAIR)
    if low > 0 and high / low >= _MOVED_RATIO and high >= NEAR_NS_MAX:
        return result("warning", f"the distance between CPUs changed: {low:.0f} to {high:.0f} ns")
    return result(None, f"the distance between CPUs is stable: {low:.0f} to {high:.0f} ns")


@check("wake-up")
def _wake(subject: Subject) -> Result:
    took_us = subject.measure("wake_us", _NO_PAIR).value
    return result(over(took_us, 100), f"a woken thread runs after {took_us:.0f} µs (limit 100 µs)")


@check("governor")
def _governor(subject: Subject) -> Result:
    paths = (f"{CPUS}/{cpu}/cpufreq/scaling_governor" for cpu in _numbered(subject))
    names = sorted({text for path in paths if (text := subject.tree.text(path)) is not None})
    if not names:
        raise _not_here(subject, "frequency control")
    shown = ", ".join(names)
    if names == ["performance"]:
        return result(None, "all CPUs use the governor performance", governor=shown)
    return result("warning", f"governor {shown}; performance is recommended", governor=shown)


@check("boost")
def _boost(subject: Subject) -> Result:
    no_turbo = subject.tree.text(f"{CPUS}/intel_pstate/no_turbo")
    boost = subject.tree.text(f"{CPUS}/cpufreq/boost")
    if no_turbo not in ("0", "1") and boost not in ("0", "1"):
        raise _not_here(subject, "boost switch")
    if no_turbo == "0" or (no_turbo != "1" and boost == "1"):
        evidence = "CPUs may exceed their nominal frequency while few of them are busy"
        return result("note", evidence, boost=True)
    return result(None, "boost is off: CPUs do not exceed their nominal frequency", boost=False)


@check("idle-states")
def _idle(subject: Subject) -> Result:
    names = subject.tree.names(f"{CPUS}/cpu0/cpuidle")
    if not names:
        raise _not_here(subject, "idle states")
    states: list[tuple[int, str]] = []
    for state in names:
        folder = f"{CPUS}/cpu0/cpuidle/{state}"
        latency_us = subject.number_or_none(f"{folder}/latency")
        if latency_us is not None and subject.tree.text(f"{folder}/disable") != "1":
            states.append((latency_us, subject.tree.text(f"{folder}/name") or state))
    listed = ", ".join(f"{name} {latency_us} µs" for latency_us, name in states)
    latency_us, name = max(states, key=lambda one: one[0], default=(0, ""))
    if latency_us > _DEEP_US:
        evidence = f"waking from idle state {name} takes {latency_us} µs (limit {_DEEP_US} µs)"
        return result("warning", evidence, idle_states=listed)
    return result(None, f"idle states need at most {_DEEP_US} µs to wake", idle_states=listed)


@check("throttling")
def _throttling(subject: Subject) -> Result:
    counts = _numbers(
        subject,
        (
            f"{CPUS}/{cpu}/thermal_throttle/{kind}_throttle_count"
            for cpu in _numbered(subject)
            for kind in ("core", "package")
        ),
    )
    if not counts:
        raise _not_here(subject, "count of heat events")
    if max(counts) > 0:
        return result("warning", f"heat has slowed down a CPU {max(counts)} times since boot")
    return result(None, "heat has slowed down no CPU since boot")


@check("cpu-quota")
def _quota(subject: Subject) -> Result:
    subject.text("proc/self/cgroup")
    quota = cpu_quota(subject.tree)
    if quota is None:
        return result(None, "no CPU quota is set", cpu_quota=None)
    return result("warning", f"the control group is limited to {quota:g} CPUs", cpu_quota=quota)


@check("cpu-throttled")
def _throttled(subject: Subject) -> Result:
    text = cgroup_file(subject.tree, "cpu", "cpu.stat", "cpu.stat")
    if text is None:
        raise NotChecked("the control group has no cpu.stat")
    counters = counters_in(text, ("nr_throttled", "nr_periods"))
    if "nr_throttled" not in counters:
        raise NotChecked("the control group's cpu.stat has no count of throttled periods")
    times, periods = counters["nr_throttled"], counters.get("nr_periods", 0)
    now = subject.seen("throttled_share") or 0
    if times or now:
        evidence = f"the CPU quota has paused processes in {times} of {periods} periods"
        return result("severe" if now > 0.01 else "warning", evidence)
    return result(None, "the CPU quota has paused no process")


@check("cpuset")
def _cpuset(subject: Subject) -> Result:
    status = subject.tree.text(f"proc/{subject.pid}/status") or ""
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    try:
        allowed = cpu_list(fields.get("Cpus_allowed_list", "").strip())
        online = cpu_list(subject.tree.text(f"{CPUS}/online") or "")
    except ValueError as error:
        raise NotChecked("the kernel's lists of CPUs have unexpected content") from error
    if not allowed or not online:
        raise NotChecked(f"/proc/{subject.pid}/status and /{CPUS}/online list no CPUs")
    mine = len(set(allowed) & set(online))
    if mine < len(online):
        share = f"{mine} of {len(online)}"
        return result("warning", f"{subject.whose} may run on {share} CPUs", allowed=mine)
    return result(None, f"{subject.whose} may run on all {len(online)} CPUs", allowed=mine)


def _numbered(subject: Subject) -> list[str]:
    return [
        name for name in subject.tree.names(CPUS) if name.startswith("cpu") and name[3:].isdecimal()
    ]


def _numbers(subject: Subject, paths: Iterable[str]) -> list[int]:
    return [value for path in paths if (value := subject.number_or_none(path)) is not None]


def _not_here(subject: Subject, feature: str) -> NotChecked:
    kind = virtualisation(subject.tree)
    reason = "" if kind == "none" else f"; the hypervisor ({kind}) controls it"
    return NotChecked(f"the kernel shows no {feature} here{reason}")
