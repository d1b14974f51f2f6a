"""What saves power: governor, boost, idle states, heat."""

from __future__ import annotations

from contend.doctor.model import LATENCY, DoctorCheck, Result, Subject, Unseen, fine, found
from contend.host.machine import virtualisation

CPUS = "sys/devices/system/cpu"
_DEEP_US = 100


def _numbered(subject: Subject) -> list[str]:
    return [
        name for name in subject.tree.names(CPUS) if name.startswith("cpu") and name[3:].isdecimal()
    ]


def _not_here(subject: Subject, what: str) -> Unseen:
    kind = virtualisation(subject.tree)
    if kind != "none":
        return Unseen(f"the kernel offers no {what} here: its hypervisor ({kind}) decides")
    return Unseen(f"the kernel offers no {what} here")


def _governor_files(subject: Subject) -> dict[str, str]:
    paths = (f"{CPUS}/{cpu}/cpufreq/scaling_governor" for cpu in _numbered(subject))
    return {path: text for path in paths if (text := subject.tree.text(path)) is not None}


def _governor(subject: Subject) -> Result:
    names = sorted(set(_governor_files(subject).values()))
    if not names:
        return _not_here(subject, "frequency control")
    shown = ", ".join(names)
    if names == ["performance"]:
        return fine("all CPUs have the governor performance", governor=shown)
    return found("warning", f"CPUs have the governor {shown}", governor=shown)


def _boost(subject: Subject) -> Result:
    no_turbo = subject.tree.text(f"{CPUS}/intel_pstate/no_turbo")
    boost = subject.tree.text(f"{CPUS}/cpufreq/boost")
    if no_turbo in ("0", "1"):
        is_on = no_turbo == "0"
    elif boost in ("0", "1"):
        is_on = boost == "1"
    else:
        return _not_here(subject, "switch of boost")
    if is_on:
        return found(
            "note",
            "CPUs may run faster than their nominal frequency while few of them are busy",
            boost=True,
        )
    return fine("boost is off: the frequency is the nominal one at most", boost=False)


def _boost_files(subject: Subject) -> dict[str, str]:
    intel = f"{CPUS}/intel_pstate/no_turbo"
    return {intel: "1"} if subject.tree.exists(intel) else {f"{CPUS}/cpufreq/boost": "0"}


def _deep_states(subject: Subject) -> list[tuple[str, str, int]]:
    """Folder, name and wake-up time in us of each idle state of the first CPU that is on."""
    states = []
    for state in subject.tree.names(f"{CPUS}/cpu0/cpuidle"):
        folder = f"{CPUS}/cpu0/cpuidle/{state}"
        latency = subject.number(f"{folder}/latency")
        if latency is not None and subject.tree.text(f"{folder}/disable") != "1":
            states.append((folder, subject.tree.text(f"{folder}/name") or state, latency))
    return states


def _idle(subject: Subject) -> Result:
    if not subject.tree.names(f"{CPUS}/cpu0/cpuidle"):
        return _not_here(subject, "idle states")
    states = _deep_states(subject)
    deep = [(name, latency) for _, name, latency in states if latency > _DEEP_US]
    listed = ", ".join(f"{name} {latency} µs" for _, name, latency in states)
    if deep:
        name, latency = max(deep, key=lambda one: one[1])
        return found(
            "warning",
            f"CPUs sleep as deep as {name}, from which they take {latency} µs to wake",
            idle_states=listed,
        )
    return fine(f"no idle state takes over {_DEEP_US} µs to wake from", idle_states=listed)


def _idle_files(subject: Subject) -> dict[str, str]:
    paths = (
        f"{CPUS}/{cpu}/cpuidle/{folder.rsplit('/', 1)[1]}/disable"
        for cpu in _numbered(subject)
        for folder, _, latency in _deep_states(subject)
        if latency > _DEEP_US
    )
    return {path: "1" for path in paths if subject.tree.exists(path)}


def _throttling(subject: Subject) -> Result:
    counts = [
        count
        for cpu in _numbered(subject)
        for kind in ("core", "package")
        if (count := subject.number(f"{CPUS}/{cpu}/thermal_throttle/{kind}_throttle_count"))
        is not None
    ]
    if not counts:
        return _not_here(subject, "count of heat events")
    if max(counts) > 0:
        return found("warning", f"CPUs slowed down for heat up to {max(counts)} times since boot")
    return fine("no CPU slowed down for heat since boot")


CHECKS = (
    DoctorCheck(
        id="governor",
        title="frequency governor",
        why="A database is woken for each statement and computes for less than a millisecond. A "
        "governor that raises the frequency afterwards comes too late, and a run at low load is "
        "slower than one at high load.",
        costs="Response times at low load; steps in a sweep over connections.",
        mend="cpupower frequency-set -g performance",
        look=_governor,
        measure="wake_us",
        files=lambda subject: dict.fromkeys(_governor_files(subject), "performance"),
    ),
    DoctorCheck(
        id="boost",
        title="boost (turbo)",
        why="With it one busy CPU is faster than all of them together, so that a curve over "
        "connections bends for no reason of the server's.",
        costs="Scaling looks worse than it is, by the ratio of boost to nominal frequency.",
        mend="echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > "
        "/sys/devices/system/cpu/cpufreq/boost",
        look=_boost,
        files=_boost_files,
    ),
    DoctorCheck(
        id="idle-states",
        title="idle states",
        why="A CPU that sleeps deeply must wake for the next statement, which counts for short "
        "statements at few connections.",
        costs="Up to the wake-up time of the state for each statement that finds its CPU asleep.",
        mend="cpupower idle-set -D 100",
        look=_idle,
        measure="wake_us",
        touches=(LATENCY,),
        files=_idle_files,
    ),
    DoctorCheck(
        id="throttling",
        title="CPUs that slow down for heat",
        why="What is measured last is then measured on a slower host.",
        costs="As much as the frequency falls; later runs more than earlier ones.",
        mend="See to fans, dust and the temperature of the room.",
        look=_throttling,
    ),
)
