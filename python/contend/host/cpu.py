"""Processors: model, topology, frequency policy, idle states, NUMA nodes."""

from __future__ import annotations

from contend.host.nodes import FOLDER, HostNode, host_nodes
from contend.host.tree import Facts, Tree, cpu_list

_CPUS = "sys/devices/system/cpu"


def record_cpu(facts: Facts) -> None:
    """Everything below `cpu.`."""
    tree = facts.tree
    info = cpuinfo(tree)
    first = info[0] if info else {}
    reason = "/proc/cpuinfo does not say"
    facts.put("cpu.model", _model(first), reason=reason)
    facts.put("cpu.vendor", first.get("vendor_id") or first.get("CPU implementer"), reason=reason)
    facts.put("cpu.microcode", first.get("microcode"), reason=reason)
    online = _online(tree, len(info))
    facts.put("cpu.count", len(online) or None, reason=reason)
    packages, cores = _topology(tree, online)
    no_topology = "the kernel shows no topology"
    facts.put("cpu.sockets", len(packages) or None, reason=no_topology)
    facts.put("cpu.cores", len(cores) or None, reason=no_topology)
    siblings = _siblings(tree, online)
    facts.put("cpu.thread_siblings", siblings or None, reason=no_topology)
    _record_allowed(facts)
    facts.read("cpu.smt_active", f"{_CPUS}/smt/active", lambda text: bool(int(text)))
    mhz = [float(cpu["cpu MHz"]) for cpu in info if _is_number(cpu.get("cpu MHz", ""))]
    facts.put("cpu.mhz_now", round(sum(mhz) / len(mhz), 1) if mhz else None, reason=reason)
    no_caches = "the kernel shows no caches"
    facts.put("cpu.caches", _caches(tree) or None, reason=no_caches)
    facts.put("cpu.cache_groups", _cache_groups(tree, online) or None, reason=no_caches)
    flags = set((first.get("flags") or first.get("Features") or "").split())
    clock_flags = [f for f in ("constant_tsc", "nonstop_tsc", "hypervisor") if f in flags]
    facts.put("cpu.flags", clock_flags if flags else None, reason=reason)
    _record_frequency(facts, online)
    _record_idle(facts)


def record_numa(facts: Facts) -> None:
    """Everything below `numa.`: one entry a node, with its CPUs, memory and distances."""
    tree = facts.tree
    nodes = host_nodes(tree)
    reason = f"/{FOLDER} lists no nodes"
    facts.put("numa.nodes", [_entry(node) for node in nodes] or None, reason=reason)
    facts.put("numa.node_count", len(nodes) or None, reason=reason)
    facts.read("numa.balancing", "proc/sys/kernel/numa_balancing", lambda text: bool(int(text)))
    facts.read("numa.zone_reclaim_mode", "proc/sys/vm/zone_reclaim_mode", int)


def cpuinfo(tree: Tree) -> list[dict[str, str]]:
    """/proc/cpuinfo, one dict a processor."""
    processors: list[dict[str, str]] = []
    for paragraph in (tree.text("proc/cpuinfo") or "").split("\n\n"):
        fields = {}
        for line in paragraph.splitlines():
            name, colon, value = line.partition(":")
            if colon:
                fields[name.strip()] = value.strip()
        if "processor" in fields:
            processors.append(fields)
    return processors


def _model(first: dict[str, str]) -> str | None:
    if "model name" in first:
        return " ".join(first["model name"].split())
    # ARM kernels give numbers in place of a name.
    if "CPU implementer" in first:
        return f"implementer {first['CPU implementer']} part {first.get('CPU part', 'unknown')}"
    return first.get("cpu")


def _online(tree: Tree, listed: int) -> list[int]:
    try:
        online = cpu_list(tree.text(f"{_CPUS}/online") or "")
    except ValueError:
        online = []
    return online or list(range(listed))


def _topology(tree: Tree, online: list[int]) -> tuple[set[str], set[tuple[str, str]]]:
    packages, cores = set(), set()
    for cpu in online:
        package = tree.text(f"{_CPUS}/cpu{cpu}/topology/physical_package_id")
        core = tree.text(f"{_CPUS}/cpu{cpu}/topology/core_id")
        if package is not None:
            packages.add(package)
            cores.add((package, core or str(cpu)))
    return packages, cores


def _siblings(tree: Tree, online: list[int]) -> list[str]:
    """CPUs that share a core, a group an entry."""
    paths = (f"{_CPUS}/cpu{cpu}/topology/thread_siblings_list" for cpu in online)
    return list(dict.fromkeys(text for path in paths if (text := tree.text(path))))


def _record_allowed(facts: Facts) -> None:
    """Where this process, and so what it starts, may run and take memory from."""
    status = facts.tree.text("proc/self/status") or ""
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    reason = "/proc/self/status does not say"
    for name, field in (
        ("cpu.allowed", "Cpus_allowed_list"),
        ("numa.allowed", "Mems_allowed_list"),
    ):
        facts.put(name, fields.get(field, "").strip() or None, reason=reason)


def _caches(tree: Tree) -> list[str]:
    """`L1d 48K`, `L2 1024K`, … as CPU 0 has them."""
    caches = []
    for index in tree.names(f"{_CPUS}/cpu0/cache"):
        folder = f"{_CPUS}/cpu0/cache/{index}"
        level, size = tree.text(f"{folder}/level"), tree.text(f"{folder}/size")
        if level is not None and size is not None:
            kind = {"Data": "d", "Instruction": "i"}.get(tree.text(f"{folder}/type") or "", "")
            caches.append(f"L{level}{kind} {size}")
    return caches


def _cache_groups(tree: Tree, online: list[int]) -> list[str]:
    """CPUs that share their last cache, a group an entry."""
    groups = []
    for cpu in online:
        folder = f"{_CPUS}/cpu{cpu}/cache"
        levels = {
            index: int(tree.text(f"{folder}/{index}/level") or 0) for index in tree.names(folder)
        }
        if levels:
            last = max(levels, key=lambda index: levels[index])
            groups.append(tree.text(f"{folder}/{last}/shared_cpu_list") or str(cpu))
    return list(dict.fromkeys(groups))


def _record_frequency(facts: Facts, online: list[int]) -> None:
    for name, file in (
        ("governor", "scaling_governor"),
        ("energy_preference", "energy_performance_preference"),
        ("frequency_driver", "scaling_driver"),
        ("max_khz", "cpuinfo_max_freq"),
    ):
        paths = [f"{_CPUS}/cpu{cpu}/cpufreq/{file}" for cpu in online]
        values = sorted({text for path in paths if (text := facts.tree.text(path)) is not None})
        # CPUs may differ, and then all their settings matter.
        reason = "the kernel offers no frequency control here, as is usual in a virtual machine"
        facts.put(f"cpu.{name}", ", ".join(values) or None, reason=reason)
    no_turbo = facts.tree.text(f"{_CPUS}/intel_pstate/no_turbo")
    boost = facts.tree.text(f"{_CPUS}/cpufreq/boost")
    turbo = no_turbo == "0" if no_turbo in ("0", "1") else boost == "1" if boost else None
    facts.put("cpu.turbo", turbo, reason="neither intel_pstate/no_turbo nor cpufreq/boost exists")


def _record_idle(facts: Facts) -> None:
    facts.read("cpu.idle_driver", f"{_CPUS}/cpuidle/current_driver")
    facts.read("cpu.idle_governor", f"{_CPUS}/cpuidle/current_governor")
    states = []
    for state in facts.tree.names(f"{_CPUS}/cpu0/cpuidle"):
        folder = f"{_CPUS}/cpu0/cpuidle/{state}"
        name = facts.tree.text(f"{folder}/name")
        if name is not None:
            disabled = facts.tree.text(f"{folder}/disable") == "1"
            latency = facts.tree.text(f"{folder}/latency")
            states.append(f"{name} {latency} µs{' (disabled)' if disabled else ''}")
    reason = f"/{_CPUS}/cpu0/cpuidle lists no states"
    facts.put("cpu.idle_states", states or None, reason=reason)


def _entry(node: HostNode) -> dict[str, object]:
    return {
        "node": node.number,
        "cpus": node.cpu_list,
        "memory_bytes": node.memory_bytes,
        "distances": list(node.distances),
    }


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
