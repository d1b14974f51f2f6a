"""Readers of the kernel's files: CPUs, limits, boot parameters, memory and its reclaim."""

from __future__ import annotations

from pathlib import Path

from contend.host.tree import Tree, is_whole

_DAMON = "sys/kernel/mm/damon/admin/kdamonds"
_DAMON_RECLAIM = "sys/module/damon_reclaim/parameters/enabled"

LIMITS = {
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
"""The kernel's names for the limits of `ulimit -a`, and the names in the facts."""


def cpuinfo(tree: Tree) -> list[dict[str, str]]:
    """/proc/cpuinfo, one dict per processor."""
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


def limits(tree: Tree, pid: int | str = "self") -> dict[str, dict[str, int | str]]:
    """Limits of a process: `{"open_files": {"soft": 1024, "hard": "unlimited"}, …}`."""
    sizes: dict[str, dict[str, int | str]] = {}
    for line in (tree.text(f"proc/{pid}/limits") or "").splitlines():
        for words, name in LIMITS.items():
            if line.startswith(words):
                values = line.removeprefix(words).split()
                if len(values) >= 2 and all(v == "unlimited" or is_whole(v) for v in values[:2]):
                    soft, hard = (int(v) if is_whole(v) else v for v in values[:2])
                    sizes[name] = {"soft": soft, "hard": hard}
    return sizes


def boot_parameters(tree: Tree) -> list[str] | None:
    """The kernel's boot parameters; None if they cannot be read."""
    text = tree.text("proc/cmdline")
    words = [] if text is None else text.split()
    # Parameters after a bare "--" belong to init, not to the kernel.
    words = words[: words.index("--")] if "--" in words else words
    return None if text is None else words


def memory_available_bytes(tree: Tree | None = None) -> int:
    """Memory available without swapping; 0 if the kernel does not report it."""
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
    """Actions of the kernel's DAMON on memory that was idle for a while, such as `pageout`: it then
    empties the page cache even if much memory is free. None if the kernel has no DAMON."""
    reclaims = tree.text(_DAMON_RECLAIM)
    if reclaims is None and not tree.exists(f"{_DAMON}/nr_kdamonds"):
        return None
    # The module has its own scheme, which is not listed with the others.
    actions = ["pageout"] if reclaims in ("Y", "1") else []
    for kdamond in tree.names(_DAMON):
        if tree.text(f"{_DAMON}/{kdamond}/state") != "on":
            continue
        for context in tree.names(f"{_DAMON}/{kdamond}/contexts"):
            schemes = f"{_DAMON}/{kdamond}/contexts/{context}/schemes"
            found = [tree.text(f"{schemes}/{name}/action") for name in tree.names(schemes)]
            actions.extend(action for action in found if action and action != "stat")
    return actions
