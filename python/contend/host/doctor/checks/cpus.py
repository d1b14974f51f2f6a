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
_NO_PAIR = ", or no pair of CPUs had time to answer"


@check("steal")
def _steal(subject: Subject) -> Result:
    share = subject.measure("steal_share").value
    said = f"the hypervisor gave {share:.1%} of the CPU time to others"
    return result(over(share, STEAL_SHARE_MAX, severe=0.10), said)


@check("noisy-neighbours")
def _others(subject: Subject) -> Result:
    share = subject.measure("busy_share").value
    said = f"other processes used {share:.1%} of the CPU time while doctor did nothing"
    return result(over(share, OTHERS_SHARE_MAX, severe=0.25), said)


@check("cpu-pressure")
def _waiting(subject: Subject) -> Result:
    """Pressure over the last ten seconds, which needs no measured window."""
    for line in subject.text("proc/pressure/cpu").splitlines():
        words = line.split()
        if words[:1] == ["some"] and len(words) > 1:
            share = as_number(words[1].removeprefix("avg10="))
            if share is not None:
                said = f"tasks waited for a CPU {share:g} % of the last 10 s"
                return result(over(share, 20), said)
    raise NotChecked("/proc/pressure/cpu holds something else")


@check("virtual-machine")
def _virtual(subject: Subject) -> Result:
    kind, box = virtualisation(subject.tree), container(subject.tree)
    parts = [f"a container ({box})"] if box != "none" else []
    parts += [f"a virtual machine ({kind})"] if kind != "none" else []
    said = f"this is {' in '.join(parts) or 'a machine of its own'}"
    return result("note" if parts else None, said, virtualisation=kind, container=box)


@check("smt")
def _smt(subject: Subject) -> Result:
    active = subject.tree.text(f"{CPUS}/smt/active")
    if active in ("0", "1"):
        said = (
            "two or more CPUs share each core" if active == "1" else "each CPU is a core of its own"
        )
        return result("note" if active == "1" else None, said, smt=active == "1")
    siblings = subject.tree.text(f"{CPUS}/cpu0/topology/thread_siblings_list")
    if siblings is None:
        raise NotChecked("the kernel does not tell which CPUs share a core")
    if "," in siblings or "-" in siblings:
        return result("note", f"CPUs {siblings} share a core", smt=True)
    return result(None, "each CPU is a core of its own, as far as the kernel knows", smt=False)


@check("mitigations")
def _mitigations(subject: Subject) -> Result:
    folder = f"{CPUS}/vulnerabilities"
    texts = {
        name: subject.tree.text(f"{folder}/{name}") or "" for name in subject.tree.names(folder)
    }
    if not texts:
        raise NotChecked(f"/{folder} lists none")
    at_work = sorted(name for name, text in texts.items() if text.startswith("Mitigation"))
    is_open = sorted(name for name, text in texts.items() if text.startswith("Vulnerable"))
    state = {"mitigated": ", ".join(at_work), "vulnerable": ", ".join(is_open)}
    # Separate page tables, and a branch barrier at each entry into the kernel.
    heavy = [
        name for name in at_work if "PTI" in texts[name] or "IBRS" in texts[name].split("; ")[0]
    ]
    if heavy:
        said = f"mitigations that make system calls dear: {', '.join(heavy)}"
        return result("warning", said, **state)
    if at_work:
        return result("note", f"mitigations at work: {', '.join(at_work)}", **state)
    return result(None, "no mitigation is at work", **state)


@check("unequal-cpus")
def _unequal(subject: Subject) -> Result:
    cpus = _numbered(subject)
    for file, what in (("cpu_capacity", "capacity"), ("cpufreq/cpuinfo_max_freq", "frequency")):
        values = _numbers(subject, (f"{CPUS}/{cpu}/{file}" for cpu in cpus))
        # Favoured cores of one kind differ by a few percent.
        if values and (min(values) <= 0 < max(values) or max(values) >= 1.1 * min(values)):
            kinds = f"{min(values)} to {max(values)}"
            return result("warning", f"CPUs are not equal: {what} {kinds}", capacities=kinds)
    if all(subject.tree.exists(f"sys/devices/{kind}") for kind in ("cpu_core", "cpu_atom")):
        said = "CPUs are of two kinds (cores and atoms)"
        return result("warning", said, capacities="two kinds")
    if not cpus:
        raise NotChecked(f"/{CPUS} lists no CPUs")
    return result(None, f"all {len(cpus)} CPUs are of one kind", capacities="equal")


@check("cpu-distance")
def _distance(subject: Subject) -> Result:
    apart_ns = subject.measure("handover_ns", _NO_PAIR).value
    said = f"a line of cache goes over and comes back in {apart_ns:.0f} ns"
    if apart_ns >= NEAR_NS_MAX:
        return result("warning", f"{said}, and near CPUs take less than {NEAR_NS_MAX:.0f}")
    return result(None, said)


@check("cpus-move")
def _moving(subject: Subject) -> Result:
    _, low, high = subject.measure("handover_ns", _NO_PAIR)
    said = f"{low:.0f} to {high:.0f} ns over the looks"
    if low > 0 and high / low >= _MOVED_RATIO and high >= NEAR_NS_MAX:
        return result("warning", f"the distance of the CPUs changed while doctor looked: {said}")
    return result(None, f"the distance of the CPUs stayed: {said}")


@check("wake-up")
def _wake(subject: Subject) -> Result:
    took_us = subject.measure("wake_us", _NO_PAIR).value
    return result(over(took_us, 100), f"a thread runs {took_us:.0f} µs after it was woken")


@check("governor")
def _governor(subject: Subject) -> Result:
    paths = (f"{CPUS}/{cpu}/cpufreq/scaling_governor" for cpu in _numbered(subject))
    names = sorted({text for path in paths if (text := subject.tree.text(path)) is not None})
    if not names:
        raise _not_here(subject, "frequency control")
    shown = ", ".join(names)
    if names == ["performance"]:
        return result(None, "all CPUs have the governor performance", governor=shown)
    return result("warning", f"CPUs have the governor {shown}", governor=shown)


@check("boost")
def _boost(subject: Subject) -> Result:
    no_turbo = subject.tree.text(f"{CPUS}/intel_pstate/no_turbo")
    boost = subject.tree.text(f"{CPUS}/cpufreq/boost")
    if no_turbo not in ("0", "1") and boost not in ("0", "1"):
        raise _not_here(subject, "switch of boost")
    if no_turbo == "0" or (no_turbo != "1" and boost == "1"):
        said = "CPUs may run faster than their nominal frequency while few of them are busy"
        return result("note", said, boost=True)
    return result(None, "boost is off: the frequency is the nominal one at most", boost=False)


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
        said = f"CPUs sleep as deep as {name}, from which they take {latency_us} µs to wake"
        return result("warning", said, idle_states=listed)
    said = f"no idle state takes over {_DEEP_US} µs to wake from"
    return result(None, said, idle_states=listed)


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
        said = f"CPUs slowed down for heat up to {max(counts)} times since boot"
        return result("warning", said)
    return result(None, "no CPU slowed down for heat since boot")


@check("cpu-quota")
def _quota(subject: Subject) -> Result:
    subject.text("proc/self/cgroup")
    quota = cpu_quota(subject.tree)
    if quota is None:
        return result(None, "no CPU quota is set", cpu_quota=None)
    said = f"the control group may use {quota:g} CPUs' time a period"
    return result("warning", said, cpu_quota=quota)


@check("cpu-throttled")
def _throttled(subject: Subject) -> Result:
    text = cgroup_file(subject.tree, "cpu", "cpu.stat", "cpu.stat")
    if text is None:
        raise NotChecked("the control group shows no cpu.stat")
    counters = counters_in(text, ("nr_throttled", "nr_periods"))
    if "nr_throttled" not in counters:
        raise NotChecked("the cpu.stat of the control group counts no throttled periods")
    times, periods = counters["nr_throttled"], counters.get("nr_periods", 0)
    now = subject.seen("throttled_share") or 0
    if times or now:
        said = f"the CPU quota held processes back in {times} of {periods} periods so far"
        return result("severe" if now > 0.01 else "warning", said)
    return result(None, "no period was throttled")


@check("cpuset")
def _cpuset(subject: Subject) -> Result:
    status = subject.tree.text(f"proc/{subject.pid}/status") or ""
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    try:
        allowed = cpu_list(fields.get("Cpus_allowed_list", "").strip())
        online = cpu_list(subject.tree.text(f"{CPUS}/online") or "")
    except ValueError as error:
        raise NotChecked("the kernel's lists of CPUs hold something else") from error
    if not allowed or not online:
        raise NotChecked(f"/proc/{subject.pid}/status and /{CPUS}/online do not say")
    mine = len(set(allowed) & set(online))
    if mine < len(online):
        said = f"{subject.whose} may run on {mine} of {len(online)} CPUs"
        return result("warning", said, allowed=mine)
    return result(None, f"{subject.whose} may run on all {len(online)} CPUs", allowed=mine)


def _numbered(subject: Subject) -> list[str]:
    return [
        name for name in subject.tree.names(CPUS) if name.startswith("cpu") and name[3:].isdecimal()
    ]


def _numbers(subject: Subject, paths: Iterable[str]) -> list[int]:
    return [value for path in paths if (value := subject.number_or_none(path)) is not None]


def _not_here(subject: Subject, what: str) -> NotChecked:
    kind = virtualisation(subject.tree)
    decides = "" if kind == "none" else f": its hypervisor ({kind}) decides"
    return NotChecked(f"the kernel offers no {what} here{decides}")
