"""All facts about the host that can change a figure, as plain values to store with the results."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

from contend.host.kernel import (
    FOLDER,
    LIMITS,
    boot_parameters,
    cpuinfo,
    host_nodes,
    idle_schemes,
    limits,
    meminfo,
)
from contend.host.machine import (
    block_device,
    container,
    cpu_quota,
    memory_limit,
    mount_of,
    virtualisation,
)
from contend.host.tree import Facts, Tree, chosen, cpu_list
from contend.metrics.probed import SessionFacts

_CPUS = "sys/devices/system/cpu"
_VULNERABILITIES = f"{_CPUS}/vulnerabilities"
_CLOCK = "sys/devices/system/clocksource/clocksource0"
_THP = "sys/kernel/mm/transparent_hugepage"


def _flag(text: str) -> bool:
    return bool(int(text))


def _spaced(text: str) -> str:
    """The kernel separates several numbers by tabs."""
    return " ".join(text.split())


Parse = Callable[[str], object]

_FILES: tuple[tuple[str, str, Parse], ...] = (
    ("cpu.smt_active", f"{_CPUS}/smt/active", _flag),
    ("cpu.idle_driver", f"{_CPUS}/cpuidle/current_driver", str),
    ("cpu.idle_governor", f"{_CPUS}/cpuidle/current_governor", str),
    ("numa.balancing", "proc/sys/kernel/numa_balancing", _flag),
    ("numa.zone_reclaim_mode", "proc/sys/vm/zone_reclaim_mode", int),
    ("memory.transparent_hugepage", f"{_THP}/enabled", chosen),
    ("memory.transparent_hugepage_defrag", f"{_THP}/defrag", chosen),
    ("memory.ksm", "sys/kernel/mm/ksm/run", int),
    # The limit, unlike the dirty bytes of now.
    ("memory.dirty_bytes_limit", "proc/sys/vm/dirty_bytes", int),
    ("kernel.release", "proc/sys/kernel/osrelease", str),
    ("kernel.version", "proc/sys/kernel/version", str),
    ("kernel.uptime_s", "proc/uptime", lambda text: float(text.split()[0])),
    ("kernel.clocksource", f"{_CLOCK}/current_clocksource", str),
    ("kernel.clocksources", f"{_CLOCK}/available_clocksource", str.split),
    ("kernel.isolated_cpus", f"{_CPUS}/isolated", str),
    ("kernel.aslr", "proc/sys/kernel/randomize_va_space", int),
    ("kernel.perf_event_paranoid", "proc/sys/kernel/perf_event_paranoid", int),
    ("kernel.sched_autogroup", "proc/sys/kernel/sched_autogroup_enabled", int),
    ("network.loopback_mtu", "sys/class/net/lo/mtu", int),
)
"""Facts from files of the kernel: name, path, how it is read."""

_FOLDERS: tuple[tuple[str, str, Parse, str], ...] = (
    (
        *("memory", "proc/sys/vm", int),
        "swappiness dirty_ratio dirty_background_ratio dirty_background_bytes "
        "dirty_expire_centisecs dirty_writeback_centisecs overcommit_memory overcommit_ratio "
        "vfs_cache_pressure min_free_kbytes",
    ),
    ("kernel", "proc/sys/fs", int, "file-max nr_open aio-max-nr"),
    ("kernel", "proc/sys/kernel", int, "threads-max pid_max"),
    (
        *("network", "proc/sys/net/core", int),
        "somaxconn netdev_max_backlog rmem_max wmem_max busy_poll",
    ),
    (
        *("network", "proc/sys/net/ipv4", _spaced),
        "ip_local_port_range tcp_congestion_control tcp_max_syn_backlog tcp_rmem tcp_wmem "
        "tcp_tw_reuse",
    ),
)
"""Facts with the names of their files: group, folder, how each is read, files."""

_MEMINFO = {
    "total_bytes": "MemTotal",
    "available_bytes": "MemAvailable",
    "swap_total_bytes": "SwapTotal",
    "swap_free_bytes": "SwapFree",
    "dirty_bytes": "Dirty",
    "huge_pages": "HugePages_Total",
    "huge_page_bytes": "Hugepagesize",
}

_FREQUENCY = {
    "governor": "scaling_governor",
    "energy_preference": "energy_performance_preference",
    "frequency_driver": "scaling_driver",
    "max_khz": "cpuinfo_max_freq",
}

_QUEUE = ("rotational", "read_ahead_kb", "nr_requests", "write_cache", "discard_max_bytes")

_SPEED_PARAMETERS = re.compile(
    r"mitigations|(no)?(pti|spectre_v\d|ibrs|ibpb|smt|tsx|kaslr|hz(_full)?|aslr|watchdog|numa)\b"
    r"|spec_|spectre|l1tf|mds|mmio_|retbleed|srbds|tsx|gather_data|reg_file|spec_rstack|vmscape"
    r"|isolcpus|rcu_nocb|irqaffinity|kthread_cpus|maxcpus|nr_cpus|possible_cpus|mem=|numa"
    r"|idle=|intel_idle|processor\.|cpuidle|haltpoll|intel_pstate|amd_pstate|cpufreq"
    r"|transparent_hugepage|hugepage|default_hugepagesz|clocksource|tsc|psi|preempt|threadirqs"
    r"|skew_tick|elevator|audit|split_lock|init_on_|slub_debug|kasan|cgroup|swapaccount|pvm"
    r"|nopti|nospec|nosmt|nohz|nokaslr|noibrs|noibpb|clearcpuid|kvm"
)
"""Boot parameters that can change speed. The others are left out: they name disks and services, and
results are meant to be shared."""


def facts(root: Path = Path("/"), *, folder: Path | None = None) -> SessionFacts:
    """The facts of a host, nested by group; JSON values only.

    Sizes are bytes.

    Args:
        root: contains /proc, /sys and /etc.
        folder: a folder on the disk to describe, normally the one of the data.
    """
    facts = Facts(Tree(root))
    for name, path, parse in _FILES:
        facts.read(name, path, parse)
    for group, where, parse, files in _FOLDERS:
        for file in files.split():
            facts.read(f"{group}.{file.replace('-', '_')}", f"{where}/{file}", parse)
    _record_cpu(facts)
    _record_memory(facts)
    _record_kernel(facts)
    _record_disk(facts, folder)
    _record_machine(facts)
    return cast("SessionFacts", facts.nested())


def _record_cpu(facts: Facts) -> None:
    tree = facts.tree
    info = cpuinfo(tree)
    first = info[0] if info else {}
    reason = "not in /proc/cpuinfo"
    facts.put("cpu.model", _model(first), reason=reason)
    facts.put("cpu.vendor", first.get("vendor_id") or first.get("CPU implementer"), reason=reason)
    facts.put("cpu.microcode", first.get("microcode"), reason=reason)
    mhz = [float(cpu["cpu MHz"]) for cpu in info if _is_number(cpu.get("cpu MHz", ""))]
    facts.put("cpu.mhz_now", round(sum(mhz) / len(mhz), 1) if mhz else None, reason=reason)
    flags = set((first.get("flags") or first.get("Features") or "").split())
    clock_flags = [f for f in ("constant_tsc", "nonstop_tsc", "hypervisor") if f in flags]
    facts.put("cpu.flags", clock_flags if flags else None, reason=reason)
    online = _online(tree, len(info))
    facts.put("cpu.count", len(online) or None, reason=reason)
    no_topology = "the kernel shows no topology"
    packages = _of_each(tree, online, "topology/physical_package_id")
    cores = {
        (package, _of(tree, cpu, "topology/core_id") or str(cpu))
        for cpu in online
        if (package := _of(tree, cpu, "topology/physical_package_id")) is not None
    }
    siblings = _of_each(tree, online, "topology/thread_siblings_list")
    facts.put("cpu.sockets", len(packages) or None, reason=no_topology)
    facts.put("cpu.cores", len(cores) or None, reason=no_topology)
    facts.put("cpu.thread_siblings", siblings or None, reason=no_topology)
    no_caches = "the kernel shows no caches"
    facts.put("cpu.caches", _caches(tree) or None, reason=no_caches)
    facts.put("cpu.cache_groups", _cache_groups(tree, online) or None, reason=no_caches)
    for name, file in _FREQUENCY.items():
        # CPUs may differ, and then all their settings matter.
        values = ", ".join(sorted(_of_each(tree, online, f"cpufreq/{file}")))
        no_control = "the kernel shows no frequency control here, as usual in a virtual machine"
        facts.put(f"cpu.{name}", values or None, reason=no_control)
    no_turbo = tree.text(f"{_CPUS}/intel_pstate/no_turbo")
    boost = tree.text(f"{_CPUS}/cpufreq/boost")
    turbo = no_turbo == "0" if no_turbo in ("0", "1") else boost == "1" if boost else None
    facts.put("cpu.turbo", turbo, reason="neither intel_pstate/no_turbo nor cpufreq/boost exists")
    no_states = f"/{_CPUS}/cpu0/cpuidle lists no states"
    facts.put("cpu.idle_states", _idle_states(tree) or None, reason=no_states)


def _of(tree: Tree, cpu: int, file: str) -> str | None:
    return tree.text(f"{_CPUS}/cpu{cpu}/{file}")


def _of_each(tree: Tree, cpus: Iterable[int], file: str) -> list[str]:
    """The file's different texts over these CPUs, without empty ones."""
    return list(dict.fromkeys(text for cpu in cpus if (text := _of(tree, cpu, file))))


def _model(first: dict[str, str]) -> str | None:
    if "model name" in first:
        return " ".join(first["model name"].split())
    # ARM kernels give numbers instead of a name.
    if "CPU implementer" in first:
        return f"implementer {first['CPU implementer']} part {first.get('CPU part', 'unknown')}"
    return first.get("cpu")


def _online(tree: Tree, listed: int) -> list[int]:
    try:
        online = cpu_list(tree.text(f"{_CPUS}/online") or "")
    except ValueError:
        online = []
    return online or list(range(listed))


_KINDS = {"Data": "d", "Instruction": "i"}


def _caches(tree: Tree) -> list[str]:
    """`L1d 48K`, `L2 1024K`, …, from CPU 0."""
    caches = []
    for index in tree.names(f"{_CPUS}/cpu0/cache"):
        level, size = (_of(tree, 0, f"cache/{index}/{file}") for file in ("level", "size"))
        if level is not None and size is not None:
            kind = _of(tree, 0, f"cache/{index}/type") or ""
            caches.append(f"L{level}{_KINDS.get(kind, '')} {size}")
    return caches


def _cache_groups(tree: Tree, online: list[int]) -> list[str]:
    """CPUs that share their last cache, one group per entry."""
    groups = []
    for cpu in online:
        levels = {
            index: int(_of(tree, cpu, f"cache/{index}/level") or 0)
            for index in tree.names(f"{_CPUS}/cpu{cpu}/cache")
        }
        if levels:
            last = max(levels, key=lambda index: levels[index])
            groups.append(_of(tree, cpu, f"cache/{last}/shared_cpu_list") or str(cpu))
    return list(dict.fromkeys(groups))


def _idle_states(tree: Tree) -> list[str]:
    states = []
    for state in tree.names(f"{_CPUS}/cpu0/cpuidle"):
        if (name := _of(tree, 0, f"cpuidle/{state}/name")) is not None:
            disabled = " (disabled)" if _of(tree, 0, f"cpuidle/{state}/disable") == "1" else ""
            states.append(f"{name} {_of(tree, 0, f'cpuidle/{state}/latency')} µs{disabled}")
    return states


def _record_memory(facts: Facts) -> None:
    """Memory, its nodes, and where this process may run and take memory from."""
    tree, info = facts.tree, meminfo(facts.tree)
    for name, line in _MEMINFO.items():
        facts.put(f"memory.{name}", info.get(line), reason=f"/proc/meminfo has no {line}")
    swaps = tree.text("proc/swaps")
    rows = [line.split() for line in (swaps or "").splitlines()[1:]]
    # The path of a swap file is of no use.
    areas = [f"{row[1]} {row[2]} kB" for row in rows if len(row) >= 3]
    facts.put("memory.swaps", None if swaps is None else areas, reason=tree.why_not("proc/swaps"))
    no_damon = tree.why_not("sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds")
    facts.put("memory.idle_schemes", idle_schemes(tree), reason=no_damon)
    nodes = [
        {
            "node": node.number,
            "cpus": node.cpu_list,
            "memory_bytes": node.memory_bytes,
            "distances": list(node.distances),
        }
        for node in host_nodes(tree)
    ]
    facts.put("numa.nodes", nodes or None, reason=f"/{FOLDER} lists no nodes")
    facts.put("numa.node_count", len(nodes) or None, reason=f"/{FOLDER} lists no nodes")
    status = tree.text("proc/self/status") or ""
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    for name, field in (("cpu", "Cpus_allowed_list"), ("numa", "Mems_allowed_list")):
        allowed = fields.get(field, "").strip() or None
        facts.put(f"{name}.allowed", allowed, reason="not in /proc/self/status")


def _record_kernel(facts: Facts) -> None:
    tree = facts.tree
    words = boot_parameters(tree)
    kept = None if words is None else [word for word in words if _SPEED_PARAMETERS.match(word)]
    left_out = None if words is None or kept is None else len(words) - len(kept)
    reason = tree.why_not("proc/cmdline")
    facts.put("kernel.parameters", kept, reason=reason)
    facts.put("kernel.parameters_left_out", left_out, reason=reason)
    names = tree.names(_VULNERABILITIES)
    mitigations = {name: tree.text(f"{_VULNERABILITIES}/{name}") for name in names}
    reason = f"/{_VULNERABILITIES} lists none"
    facts.put("kernel.mitigations", mitigations or None, reason=reason)
    facts.put("kernel.pressure_stall", tree.exists("proc/pressure/cpu"))
    known = limits(tree)
    for name in LIMITS.values():
        facts.put(f"limits.{name}", known.get(name), reason="not in /proc/self/limits")


def _record_disk(facts: Facts, folder: Path | None) -> None:
    """Facts of the device that holds `folder`."""
    tree = facts.tree
    mount = device = None
    no_mount = "no folder was named"
    if folder is not None:
        mount, no_mount = mount_of(tree, folder), "/proc/self/mountinfo has no mount for it"
    no_device = no_mount
    if mount is not None:
        device = block_device(tree, mount)
        no_device = f"no block device is visible below this {mount.filesystem}"
    _record_space(facts, folder)
    facts.put("disk.filesystem", mount and mount.filesystem, reason=no_mount)
    facts.put("disk.options", mount and mount.options, reason=no_mount)
    facts.put("disk.device", device, reason=no_device)
    files: dict[str, tuple[str, Parse]] = {
        "model": ("device/model", str),
        "scheduler": ("queue/scheduler", chosen),
        **{name: (f"queue/{name}", str if name == "write_cache" else int) for name in _QUEUE},
    }
    for name, (file, parse) in files.items():
        if device is None:
            facts.put(f"disk.{name}", None, reason=no_device)
        else:
            facts.read(f"disk.{name}", f"sys/block/{device}/{file}", parse)


def _record_space(facts: Facts, folder: Path | None) -> None:
    total = free = None
    reason = "no folder was named"
    if folder is not None:
        inside = facts.tree.root / folder.relative_to(folder.anchor) if folder.anchor else folder
        while not inside.exists() and inside != inside.parent:
            inside = inside.parent
        try:
            space = os.statvfs(inside)
        except OSError as error:
            reason = f"the free space cannot be read: {error.strerror}"
        else:
            total, free = space.f_blocks * space.f_frsize, space.f_bavail * space.f_frsize
    facts.put("disk.total_bytes", total, reason=reason)
    facts.put("disk.free_bytes", free, reason=reason)


def _record_machine(facts: Facts) -> None:
    """The operating system, and the machine with quotas of the control group."""
    tree = facts.tree
    release = {}
    for line in (tree.text("etc/os-release") or "").splitlines():
        name, equals, value = line.partition("=")
        if equals:
            release[name.strip()] = value.strip().strip("\"'")
    facts.put("os.name", release.get("PRETTY_NAME"), reason="not in /etc/os-release")
    facts.put("machine.virtualisation", virtualisation(tree))
    facts.put("machine.container", container(tree))
    facts.put("machine.cpu_quota", cpu_quota(tree), reason="no CPU quota is set")
    facts.put("machine.memory_limit_bytes", memory_limit(tree), reason="no memory limit is set")
    facts.put("machine.id", _machine_id(facts))


def _machine_id(facts: Facts) -> str:
    """12 hex digits that distinguish machines without naming them: results of two are never pooled.

    The hash also covers the CPUs' model and number and the memory size: copies of one virtual
    machine share their /etc/machine-id. Memory counts in GiB, because kernels reserve different
    numbers of MiB for themselves.
    """
    memory = facts.values.get("memory.total_bytes")
    parts = [
        facts.tree.text("etc/machine-id"),
        facts.values.get("cpu.model"),
        facts.values.get("cpu.count"),
        round(memory / 2**30) if isinstance(memory, int) else None,
    ]
    text = json.dumps(["contend machine", *parts])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
