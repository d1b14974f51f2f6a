"""CPUs and nodes by name: "0-5", "node:0", "one-thread-a-core", "apart"; resolved against the CPUs
that the host has and this process may use."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from contend.errors import RequestError
from contend.host.kernel import host_nodes, with_memory
from contend.host.placement.model import as_list
from contend.host.tree import Tree, cpu_list

_CPUS = "sys/devices/system/cpu"

APART, TOGETHER, ONE_EACH = "apart", "together", "one-each"
RELATIONS = (APART, TOGETHER, ONE_EACH)
"""Placements of server and client relative to each other. Each decides both."""

HALF = "half"
"""For the client: its half under `apart`, independent of the server's place."""

ALL, ONE_THREAD = "all", "one-thread-a-core"

PATTERN = rf"{ALL}|{ONE_THREAD}|node:[0-9]+|[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*"
"""Names for the CPUs of one process, independent of the other."""

NODE = "node"
"""For memory: bound to a node, with that node's CPUs unless others are named."""

MEMORY_PATTERN = (
    r"default|local|interleave|(node|preferred):[0-9]+"
    r"|(bind|interleave):[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*"
)
"""The kernel prefers one node: if there are several, the first."""


@dataclass(frozen=True, slots=True)
class Processors:
    """The CPUs of a host that this process may use.

    Args:
        online: all CPUs that are on.
        allowed: the online CPUs that this process may use; in order of node, core and thread.
        cores: the allowed CPUs of each core, in the same order.
        nodes: the CPUs of each node, allowed or not; a host without nodes has one.
        memory: all nodes that have memory.
        allowed_memory: the nodes among these that this process may take memory from.
    """

    online: tuple[int, ...]
    allowed: tuple[int, ...]
    cores: tuple[tuple[int, ...], ...]
    nodes: dict[int, tuple[int, ...]]
    memory: tuple[int, ...]
    allowed_memory: tuple[int, ...]


def layout(root: Path = Path("/")) -> Processors:
    """The CPUs of the host below `root`."""
    tree = Tree(root)
    online = tuple(_list(tree.text(f"{_CPUS}/online")) or _listed(tree))
    status = dict(
        line.split(":", 1)
        for line in (tree.text("proc/self/status") or "").splitlines()
        if ":" in line
    )
    listed = _list(status.get("Cpus_allowed_list", "").strip())
    may = set(listed or os.sched_getaffinity(0))
    seen = host_nodes(tree)
    nodes = {node.number: node.cpus for node in seen} or {0: online}
    memory = tuple(node.number for node in with_memory(seen)) or tuple(nodes)
    take = set(_list(status.get("Mems_allowed_list", "").strip()) or memory)
    node_of = {cpu: node for node, cpus in nodes.items() for cpu in cpus}
    cores: dict[tuple[int, str, str], list[int]] = {}
    for cpu in online:
        folder = f"{_CPUS}/cpu{cpu}/topology"
        package = tree.text(f"{folder}/physical_package_id") or "0"
        core = tree.text(f"{folder}/core_id")
        key = (node_of.get(cpu, 0), package, core if core is not None else f"cpu{cpu}")
        cores.setdefault(key, []).append(cpu)
    # A core's position is that of its first CPU.
    in_order = sorted(cores.items(), key=lambda each: (each[0][0], each[1][0]))
    allowed_cores = [tuple(cpu for cpu in cpus if cpu in may) for _, cpus in in_order]
    kept = tuple(core for core in allowed_cores if core)
    allowed = tuple(cpu for core in kept for cpu in core)
    may_take = tuple(node for node in memory if node in take)
    return Processors(online, allowed, kept, nodes, memory, may_take)


def cpus_of(text: str, host: Processors, path: str) -> tuple[int, ...]:
    """The CPUs named by `text`, which match `PATTERN`.

    Args:
        path: of the setting, for the message.

    Raises:
        RequestError: these CPUs do not exist, or this process may not use them.
    """
    if text == ALL:
        return host.allowed
    if text == ONE_THREAD:
        return tuple(core[0] for core in host.cores)
    if text.startswith("node:"):
        (node,) = nodes_of(text.removeprefix("node:"), host, path)
        cpus = tuple(cpu for cpu in host.nodes[node] if cpu in host.allowed)
        if not host.nodes[node]:
            raise RequestError(
                f'{path} = "{text}": node {node} has memory but no CPUs',
                hint=f'To bind memory alone, use place.*.memory = "bind:{node}".',
            )
        if not cpus:
            raise RequestError(
                f'{path} = "{text}": this process may not use CPUs of node {node}',
                hint=f"Use CPUs from {as_list(host.allowed)}.",
            )
        return cpus
    wanted = tuple(sorted(set(_wanted(text, path, "CPUs"))))
    if missing := [cpu for cpu in wanted if cpu not in host.online]:
        raise RequestError(
            f'{path} = "{text}": this host has no CPU {as_list(tuple(missing))}',
            hint=f"Use CPUs from {as_list(host.online)}.",
        )
    if outside := [cpu for cpu in wanted if cpu not in host.allowed]:
        raise RequestError(
            f'{path} = "{text}": this process may not use CPU {as_list(tuple(outside))} '
            "(its control group or its affinity at startup)",
            hint=f"Use CPUs from {as_list(host.allowed)}.",
        )
    return wanted


def both(relation: str, host: Processors, path: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The CPUs of server and client for a relation.

    `apart` gives each half of the cores, undivided; the server gets the extra one of an odd number.
    `together` gives both the half that the server has under `apart`. `one-each` gives each one CPU,
    on two cores.

    Raises:
        RequestError: this process may use only one CPU.
    """
    # With one core, its threads, which are as far apart as possible.
    units = host.cores if len(host.cores) > 1 else tuple((cpu,) for cpu in host.allowed)
    if len(units) < 2:
        raise RequestError(
            f'{path} = "{relation}" needs two CPUs, but this process may use only CPU '
            f"{as_list(host.allowed)}",
            hint="Remove it on this host.",
        )
    if relation == ONE_EACH:
        return (units[0][0],), (units[len(units) // 2][0],)
    half = (len(units) + 1) // 2
    server = tuple(cpu for unit in units[:half] for cpu in unit)
    client = tuple(cpu for unit in units[half:] for cpu in unit)
    return server, server if relation == TOGETHER else client


def nodes_of(text: str, host: Processors, path: str) -> tuple[int, ...]:
    """The nodes of a list such as `0-1`; raises RequestError if the host lacks one of them."""
    wanted = tuple(sorted(set(_wanted(text, path, "nodes"))))
    if missing := [node for node in wanted if node not in host.nodes]:
        have = tuple(host.nodes)
        nodes = f"nodes {as_list(have)}" if len(have) > 1 else f"one node, {have[0]}"
        raise RequestError(
            f"{path} names node {as_list(tuple(missing))}, but this host has {nodes}",
            hint="Remove it or change it with `contend run --set`.",
        )
    return wanted


def memory_of(text: str, host: Processors, path: str) -> tuple[str, tuple[int, ...]]:
    """Policy and nodes named by `text`, which match `MEMORY_PATTERN`.

    Raises:
        RequestError: a node does not exist or has no memory, or this process may not use it.
    """
    policy, _, named = text.partition(":")
    if policy == NODE:
        policy = "bind"
    if not named:
        return policy, host.allowed_memory if policy == "interleave" else ()
    nodes = nodes_of(named, host, path)
    if bare := tuple(node for node in nodes if node not in host.memory):
        raise RequestError(
            f'{path} = "{text}": node {as_list(bare)} has no memory of its own',
            hint=f"Use nodes with memory: {as_list(host.memory)}.",
        )
    if outside := tuple(node for node in nodes if node not in host.allowed_memory):
        raise RequestError(
            f'{path} = "{text}": this process may not use memory of node {as_list(outside)} '
            "(its control group)",
            hint=f"Use nodes from {as_list(host.allowed_memory)}.",
        )
    return policy, nodes


def _wanted(text: str, path: str, unit: str) -> Sequence[int]:
    numbers = _list(text)
    if not numbers:
        raise RequestError(f'{path} = "{text}" is not a list of {unit}', hint='Write "0-3,8".')
    return numbers


def _list(text: str | None) -> list[int]:
    try:
        return cpu_list(text or "")
    except ValueError:
        return []


def _listed(tree: Tree) -> list[int]:
    """For a host that does not list its online CPUs, as in a container that hides /sys: at least
    those that this process may use."""
    names = tree.names(_CPUS)
    seen = [int(name[3:]) for name in names if re.fullmatch("cpu[0-9]+", name)]
    return seen or sorted(os.sched_getaffinity(0))
