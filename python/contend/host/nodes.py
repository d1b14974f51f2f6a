"""NUMA nodes: CPUs and memory that are near one another. A node may lack its own memory, or have
memory but no CPUs (memory behind a bus, such as CXL)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from contend.host.tree import Tree, cpu_list, is_whole

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
