"""The kernel: version, mitigations, clock, scheduling, limits; its network settings; its memory and
the policies for writing back and reclaiming it."""

from __future__ import annotations

import re
from pathlib import Path

from contend.host.tree import Facts, Tree, chosen, is_whole

_CLOCK = "sys/devices/system/clocksource/clocksource0"
_VULNERABILITIES = "sys/devices/system/cpu/vulnerabilities"

_SPEED_PARAMETERS = re.compile(
    r"mitigations|(no)?(pti|spectre_v\d|ibrs|ibpb|smt|tsx|kaslr|hz(_full)?|aslr|watchdog|numa)\b"
    r"|spec_|spectre|l1tf|mds|mmio_|retbleed|srbds|tsx|gather_data|reg_file|spec_rstack|vmscape"
    r"|isolcpus|rcu_nocb|irqaffinity|kthread_cpus|maxcpus|nr_cpus|possible_cpus|mem=|numa"
    r"|idle=|intel_idle|processor\.|cpuidle|haltpoll|intel_pstate|amd_pstate|cpufreq"
    r"|transparent_hugepage|hugepage|default_hugepagesz|clocksource|tsc|psi|preempt|threadirqs"
    r"|skew_tick|elevator|audit|split_lock|init_on_|slub_debug|kasan|cgroup|swapaccount|pvm"
    r"|nopti|nospec|nosmt|nohz|nokaslr|noibrs|noibpb|clearcpuid|kvm"
)
"""Boot parameters that can change speed. The others are left out: they name disks and services,
and results are meant to be shared."""

_LIMITS = {
    "Max cpu time": "cpu_time_s",
    "Max file size": "file_size_bytes",
    "Max data size": "data_size_bytes",
    "Max stack size": "stack_size_bytes",
    "Max core file size": "core_file_size_bytes",
    "Max resident set": "max_memory_size_bytes",
    "Max processes": "processes",
    "Max open files": "open_files",
    "Max locked memory": "locked_memory_bytes",
    "Max address space": "virtual_memory_bytes",
    "Max file locks": "file_locks",
    "Max pending signals": "pending_signals",
    "Max msgqueue size": "message_queues_bytes",
    "Max nice priority": "nice_priority",
    "Max realtime priority": "realtime_priority",
    "Max realtime timeout": "realtime_timeout_us",
}
"""The kernel's words for what `ulimit -a` shows, and the names that the facts use."""


def record_kernel(facts: Facts) -> None:
    """Everything below `kernel.`."""
    tree = facts.tree
    facts.read("kernel.release", "proc/sys/kernel/osrelease")
    facts.read("kernel.version", "proc/sys/kernel/version")
    facts.read("kernel.uptime_s", "proc/uptime", lambda text: float(text.split()[0]))
    _record_parameters(facts)
    names = tree.names(_VULNERABILITIES)
    mitigations = {name: tree.text(f"{_VULNERABILITIES}/{name}") for name in names}
    reason = f"/{_VULNERABILITIES} lists none"
    facts.put("kernel.mitigations", mitigations or None, reason=reason)
    facts.read("kernel.clocksource", f"{_CLOCK}/current_clocksource")
    facts.read("kernel.clocksources", f"{_CLOCK}/available_clocksource", str.split)
    facts.read("kernel.isolated_cpus", "sys/devices/system/cpu/isolated")
    facts.read("kernel.aslr", "proc/sys/kernel/randomize_va_space", int)
    facts.read("kernel.perf_event_paranoid", "proc/sys/kernel/perf_event_paranoid", int)
    facts.read("kernel.sched_autogroup", "proc/sys/kernel/sched_autogroup_enabled", int)
    facts.put("kernel.pressure_stall", tree.exists("proc/pressure/cpu"))
    for name in ("file-max", "nr_open", "aio-max-nr"):
        facts.read(f"kernel.{name.replace('-', '_')}", f"proc/sys/fs/{name}", int)
    for name in ("threads-max", "pid_max"):
        facts.read(f"kernel.{name.replace('-', '_')}", f"proc/sys/kernel/{name}", int)


def record_limits(facts: Facts) -> None:
    """Everything below `limits.`: soft and hard, as `ulimit -a` of this process."""
    known = limits(facts.tree)
    for name in _LIMITS.values():
        facts.put(f"limits.{name}", known.get(name), reason="/proc/self/limits does not show it")


def limits(tree: Tree, pid: int | str = "self") -> dict[str, dict[str, int | str]]:
    """Limits of a process: `{"open_files": {"soft": 1024, "hard": "unlimited"}, …}`."""
    sizes: dict[str, dict[str, int | str]] = {}
    for line in (tree.text(f"proc/{pid}/limits") or "").splitlines():
        for words, name in _LIMITS.items():
            if line.startswith(words):
                values = line.removeprefix(words).split()
                if len(values) >= 2 and all(v == "unlimited" or is_whole(v) for v in values[:2]):
                    soft, hard = (int(v) if is_whole(v) else v for v in values[:2])
                    sizes[name] = {"soft": soft, "hard": hard}
    return sizes


def _record_parameters(facts: Facts) -> None:
    words = boot_parameters(facts.tree)
    reason = facts.tree.why_not("proc/cmdline")
    if words is None:
        facts.put("kernel.parameters", None, reason=reason)
        facts.put("kernel.parameters_left_out", None, reason=reason)
        return
    kept = [word for word in words if _SPEED_PARAMETERS.match(word)]
    facts.put("kernel.parameters", kept)
    facts.put("kernel.parameters_left_out", len(words) - len(kept))


def boot_parameters(tree: Tree) -> list[str] | None:
    """The words that the kernel was booted with; None if they cannot be read."""
    text = tree.text("proc/cmdline")
    words = [] if text is None else text.split()
    # What follows a bare "--" belongs to init, not to the kernel.
    words = words[: words.index("--")] if "--" in words else words
    return None if text is None else words


_CORE = ("somaxconn", "netdev_max_backlog", "rmem_max", "wmem_max", "busy_poll")
_TCP = (
    "ip_local_port_range",
    "tcp_congestion_control",
    "tcp_max_syn_backlog",
    "tcp_rmem",
    "tcp_wmem",
    "tcp_tw_reuse",
)


def record_network(facts: Facts) -> None:
    """Everything below `network.`."""
    facts.read("network.loopback_mtu", "sys/class/net/lo/mtu", int)
    for name in _CORE:
        facts.read(f"network.{name}", f"proc/sys/net/core/{name}", int)
    for name in _TCP:
        facts.read(f"network.{name}", f"proc/sys/net/ipv4/{name}", _spaced)


def _spaced(text: str) -> str:
    """The kernel separates several numbers by tabs."""
    return " ".join(text.split())


_VM = "proc/sys/vm"
_THP = "sys/kernel/mm/transparent_hugepage"
_DAMON = "sys/kernel/mm/damon/admin/kdamonds"
_DAMON_RECLAIM = "sys/module/damon_reclaim/parameters/enabled"


def record_memory(facts: Facts) -> None:
    """Everything below `memory.`; sizes in bytes."""
    info = meminfo(facts.tree)
    for name, line in (
        ("total_bytes", "MemTotal"),
        ("available_bytes", "MemAvailable"),
        ("swap_total_bytes", "SwapTotal"),
        ("swap_free_bytes", "SwapFree"),
        ("dirty_bytes", "Dirty"),
        ("huge_pages", "HugePages_Total"),
        ("huge_page_bytes", "Hugepagesize"),
    ):
        facts.put(f"memory.{name}", info.get(line), reason=f"/proc/meminfo has no {line}")
    swaps = _swaps(facts.tree)
    facts.put("memory.swaps", swaps, reason=facts.tree.why_not("proc/swaps"))
    facts.read("memory.transparent_hugepage", f"{_THP}/enabled", chosen)
    facts.read("memory.transparent_hugepage_defrag", f"{_THP}/defrag", chosen)
    facts.read("memory.ksm", "sys/kernel/mm/ksm/run", int)
    idle = idle_schemes(facts.tree)
    facts.put("memory.idle_schemes", idle, reason=facts.tree.why_not(f"{_DAMON}/nr_kdamonds"))
    for setting in (
        "swappiness",
        "dirty_ratio",
        "dirty_background_ratio",
        "dirty_bytes",
        "dirty_background_bytes",
        "dirty_expire_centisecs",
        "dirty_writeback_centisecs",
        "overcommit_memory",
        "overcommit_ratio",
        "vfs_cache_pressure",
        "min_free_kbytes",
    ):
        # dirty_bytes the limit is another thing than the dirty bytes of now.
        name = f"{setting}_limit" if setting == "dirty_bytes" else setting
        facts.read(f"memory.{name}", f"{_VM}/{setting}", int)


def memory_available_bytes(tree: Tree | None = None) -> int:
    """Memory that can be had without swapping; 0 if the kernel does not say."""
    return meminfo(tree or Tree(Path("/"))).get("MemAvailable", 0)


def meminfo(tree: Tree) -> dict[str, int]:
    """/proc/meminfo by name; bytes, or plain counts if the kernel counts."""
    values = {}
    for line in (tree.text("proc/meminfo") or "").splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and is_whole(words[0]):
            values[name] = int(words[0]) * (1024 if words[1:] == ["kB"] else 1)
    return values


def idle_schemes(tree: Tree) -> list[str] | None:
    """What the kernel's DAMON does with memory that nobody has used for a while, such as `pageout`:
    it then empties the page cache however much memory is free. None if the kernel has none."""
    reclaims = tree.text(_DAMON_RECLAIM)
    if reclaims is None and not tree.exists(f"{_DAMON}/nr_kdamonds"):
        return None
    # The module has a scheme of its own, which is not among those of the others.
    actions = ["pageout"] if reclaims in ("Y", "1") else []
    for kdamond in tree.names(_DAMON):
        if tree.text(f"{_DAMON}/{kdamond}/state") != "on":
            continue
        for context in tree.names(f"{_DAMON}/{kdamond}/contexts"):
            schemes = f"{_DAMON}/{kdamond}/contexts/{context}/schemes"
            found = [tree.text(f"{schemes}/{name}/action") for name in tree.names(schemes)]
            actions.extend(action for action in found if action and action != "stat")
    return actions


def _swaps(tree: Tree) -> list[str] | None:
    """Kind and size of each swap area. The path of a swap file says nothing of use."""
    text = tree.text("proc/swaps")
    if text is None:
        return None
    rows = [line.split() for line in text.splitlines()[1:]]
    return [f"{row[1]} {row[2]} kB" for row in rows if len(row) >= 3]
