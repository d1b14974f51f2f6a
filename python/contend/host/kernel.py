"""Readers of the kernel's files: CPUs, limits, boot parameters, memory, its reclaim and nodes, and
the TCP connections of a process."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from contend.host.tree import Tree, cpu_list, is_whole

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


_ESTABLISHED = "01"


def tcp_peers(pid: int, root: Path = Path("/")) -> set[tuple[str, int]]:
    """Address and port of the peer of each established IPv4 connection of a process; empty if it is
    gone or not visible."""
    own = _sockets_of(pid, root)
    found = set()
    for line in (Tree(root).text(f"proc/{pid}/net/tcp") or "").splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and fields[3] == _ESTABLISHED and fields[9] in own:
            found.add(_address(fields[2]))
    return found


def _sockets_of(pid: int, root: Path) -> set[str]:
    """The inodes of its sockets."""
    tree, folder = Tree(root), f"proc/{pid}/fd"
    inodes = set()
    for name in tree.names(folder):
        try:
            target = str((root / folder / name).readlink())
        except OSError:
            continue  # closed meanwhile
        if target.startswith("socket:["):
            inodes.add(target.removeprefix("socket:[").rstrip("]"))
    return inodes


def _address(text: str) -> tuple[str, int]:
    """Parse `0100007F:0CEA`, an address in this machine's byte order."""
    address, port = text.split(":")
    there = socket.inet_ntoa(int(address, 16).to_bytes(4, "little"))
    return there, int(port, 16)


FOLDER = "sys/devices/system/node"
_DISTANCE_MAX = 255


@dataclass(frozen=True, slots=True)
class HostNode:
    """A node.

    Args:
        cpu_list, cpus: its online CPUs, allowed or not; in the kernel's notation, and as numbers.
        memory_bytes, free_bytes: None if the kernel does not report it.
        distances: to each node, in their order, including itself; 10 is near.
    """

    number: int
    cpu_list: str | None
    cpus: tuple[int, ...]
    memory_bytes: int | None
    free_bytes: int | None
    distances: tuple[int, ...]

    @property
    def has_memory(self) -> bool:
        """True if the kernel does not report it."""
        return self.memory_bytes != 0


def host_nodes(tree: Tree) -> list[HostNode]:
    """The nodes by number; none if the kernel shows none."""
    return list(_nodes(tree))


def with_memory(nodes: list[HostNode]) -> list[HostNode]:
    """The nodes with usable memory: memory policies apply to these."""
    return [node for node in nodes if node.has_memory]


def _nodes(tree: Tree) -> Iterator[HostNode]:
    for name in tree.names(FOLDER):
        number = name.removeprefix("node")
        if name.startswith("node") and is_whole(number):
            sizes = _sizes(tree.text(f"{FOLDER}/{name}/meminfo") or "")
            listed = tree.text(f"{FOLDER}/{name}/cpulist")
            yield HostNode(
                int(number),
                listed,
                _cpus(listed or ""),
                sizes.get("MemTotal"),
                sizes.get("MemFree"),
                _distances(tree.text(f"{FOLDER}/{name}/distance") or ""),
            )


def _cpus(text: str) -> tuple[int, ...]:
    try:
        return tuple(cpu_list(text))
    except ValueError:
        return ()


def _sizes(text: str) -> dict[str, int]:
    """`Node 0 MemTotal:  8192000 kB`, in bytes."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 5 and is_whole(words[3]) and words[4] == "kB":
            found[words[2].rstrip(":")] = int(words[3]) * 1024
    return found


def _distances(text: str) -> tuple[int, ...]:
    return tuple(
        int(word) for word in text.split() if is_whole(word) and int(word) <= _DISTANCE_MAX
    )
