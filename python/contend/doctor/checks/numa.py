"""NUMA: memory that is nearer to some CPUs than to others."""

from __future__ import annotations

from contend.doctor.model import DoctorCheck, Result, Subject, Unseen, fine, found, missing
from contend.host.nodes import FOLDER, HostNode, host_nodes, with_memory

_BALANCING = "proc/sys/kernel/numa_balancing"
_RECLAIM = "proc/sys/vm/zone_reclaim_mode"
_UNEVEN_RATIO = 1.5
_EMPTY_SHARE = 0.02


def _count(subject: Subject) -> Unseen | int:
    """Nodes that memory can be taken from: pages lie on one of these, or move between them."""
    nodes = host_nodes(subject.tree)
    return len(with_memory(nodes)) or Unseen(f"/{FOLDER} lists no nodes")


def _balancing(subject: Subject) -> Result:
    nodes, value = _count(subject), subject.number(_BALANCING)
    if isinstance(nodes, Unseen):
        return nodes
    if value is None:
        return missing(subject, _BALANCING)
    if value and nodes > 1:
        return found("note", f"the kernel moves pages between {nodes} nodes", numa_balancing=value)
    return fine(f"kernel.numa_balancing is {value}, with {nodes} node(s)", numa_balancing=value)


def _reclaim(subject: Subject) -> Result:
    value = subject.number(_RECLAIM)
    if value is None:
        return missing(subject, _RECLAIM)
    if value:
        return found(
            "severe",
            f"vm.zone_reclaim_mode is {value}: a full node drops its page cache rather "
            "than use another's memory",
            zone_reclaim_mode=value,
        )
    return fine("vm.zone_reclaim_mode is 0", zone_reclaim_mode=0)


def _memory(subject: Subject) -> Result:
    nodes = [node for node in host_nodes(subject.tree) if node.memory_bytes is not None]
    if not nodes:
        return Unseen(f"/{FOLDER} shows no memory")
    said = ", ".join(f"node{node.number} {_total(node) >> 20:,} MiB" for node in nodes)
    state = {"memory_of_nodes": said}
    if len(nodes) == 1:
        return fine(f"one node: {said}", **state)
    # Where the kernel lists no CPUs of any node, none is known to have none.
    known = any(node.cpus for node in nodes)
    if bare := [node for node in nodes if not node.has_memory and (node.cpus or not known)]:
        return found(
            "severe", f"{_names(bare)} has CPUs and no memory of its own ({said})", **state
        )
    beside = [node for node in nodes if node.cpus or not known]
    totals = [_total(node) for node in beside]
    if max(totals) / min(totals) > _UNEVEN_RATIO:
        return found("warning", f"memory is spread unevenly: {said}", **state)
    if far := [node for node in nodes if node.has_memory and node not in beside]:
        return found(
            "note", f"{_names(far)} has memory and no CPUs: it is far from all of them", **state
        )
    full = [node for node in beside if (node.free_bytes or 0) / _total(node) < _EMPTY_SHARE]
    if full and len(full) < len(beside):
        return found("note", f"{_names(full)} has no free memory and others have", **state)
    return fine(f"memory is spread evenly: {said}", **state)


def _total(node: HostNode) -> int:
    return node.memory_bytes or 0


def _names(nodes: list[HostNode]) -> str:
    return ", ".join(f"node{node.number}" for node in nodes)


def _interleave(subject: Subject) -> Result:
    nodes = _count(subject)
    if isinstance(nodes, Unseen):
        return nodes
    if nodes == 1:
        return fine("one node has memory: there is nothing to interleave", policy="one node")
    path = f"proc/{subject.pid}/numa_maps"
    lines = (subject.tree.text(path) or "").splitlines()
    policies = {line.split()[1].partition(":")[0] for line in lines if len(line.split()) > 1}
    if not policies:
        return missing(subject, path)
    placed = sorted(policies - {"default"})
    if placed:
        return fine(
            f"{subject.whose} has the memory policy {', '.join(placed)}", policy=", ".join(placed)
        )
    return found(
        "warning",
        f"{subject.whose} takes memory of the node that it happens to run on, of {nodes}",
        policy="default",
    )


CHECKS = (
    DoctorCheck(
        id="numa-balancing",
        title="automatic NUMA balancing",
        why="The kernel unmaps pages to see who uses them, and moves them after the thread; a "
        "server whose threads all use one buffer pool gains nothing.",
        costs="Faults and copies while it runs; not measured.",
        mend="sysctl kernel.numa_balancing=0",
        look=_balancing,
        measure="far_memory_ns",
        files=lambda _subject: {_BALANCING: "0"},
    ),
    DoctorCheck(
        id="zone-reclaim",
        title="vm.zone_reclaim_mode",
        why="Files that a database reads are dropped from memory while another node has room.",
        costs="Reads of the disk with memory free.",
        mend="sysctl vm.zone_reclaim_mode=0",
        look=_reclaim,
        measure="refault_pages",
        files=lambda _subject: {_RECLAIM: "0"},
    ),
    DoctorCheck(
        id="node-memory",
        title="memory of each node",
        why="CPUs of a node without memory of its own load everything from another one.",
        costs="The distances in /sys/devices/system/node say by how much a load from another node "
        "is slower.",
        mend="Put memory modules into both sockets alike, or place the server on the node with "
        'memory (place.server.cpus = "node:0").',
        look=_memory,
        measure="far_memory_ns",
    ),
    DoctorCheck(
        id="numa-interleave",
        title="memory policy on several nodes",
        why="A buffer pool that is filled by one thread lies on that thread's node, and the other "
        "CPUs load from afar. A published study's server was 1.7 times as fast when bound to one.",
        costs="In that study: 64 clients, bound 17.6 s, unbound 29.9 s.",
        mend="numactl --cpunodebind=0 --membind=0 mysqld, or --interleave=all, or "
        "innodb_numa_interleave=ON",
        look=_interleave,
        measure="far_memory_ns",
    ),
)
