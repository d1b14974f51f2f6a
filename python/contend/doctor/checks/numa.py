"""NUMA: memory that is nearer to some CPUs than to others."""

from __future__ import annotations

from contend.doctor.model import DoctorCheck, Result, Subject, Unseen, fine, found, missing

_NODES = "sys/devices/system/node"
_BALANCING = "proc/sys/kernel/numa_balancing"
_RECLAIM = "proc/sys/vm/zone_reclaim_mode"
_UNEVEN_RATIO = 1.5
_EMPTY_SHARE = 0.02


def _nodes(subject: Subject) -> list[str]:
    return [
        name
        for name in subject.tree.names(_NODES)
        if name.startswith("node") and name[4:].isdecimal()
    ]


def _count(subject: Subject) -> Unseen | int:
    nodes = _nodes(subject)
    return len(nodes) or Unseen(f"/{_NODES} lists no nodes")


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
    sizes: dict[str, tuple[int, int]] = {}
    for node in _nodes(subject):
        fields = _meminfo(subject.tree.text(f"{_NODES}/{node}/meminfo") or "")
        if "MemTotal" in fields:
            sizes[node] = fields["MemTotal"], fields.get("MemFree", 0)
    if not sizes:
        return Unseen(f"/{_NODES} shows no memory")
    said = ", ".join(f"{node} {total >> 20:,} MiB" for node, (total, _) in sizes.items())
    state = {"memory_of_nodes": said}
    if len(sizes) == 1:
        return fine(f"one node: {said}", **state)
    totals = [total for total, _ in sizes.values()]
    if min(totals) == 0:
        bare = ", ".join(node for node, (total, _) in sizes.items() if total == 0)
        return found("severe", f"{bare} has CPUs and no memory of its own ({said})", **state)
    if max(totals) / min(totals) > _UNEVEN_RATIO:
        return found("warning", f"memory is spread unevenly: {said}", **state)
    full = [node for node, (total, free) in sizes.items() if free / total < _EMPTY_SHARE]
    if full and len(full) < len(sizes):
        return found("note", f"{', '.join(full)} has no free memory and others have", **state)
    return fine(f"memory is spread evenly: {said}", **state)


def _meminfo(text: str) -> dict[str, int]:
    """`Node 0 MemTotal:  8192000 kB`, in bytes."""
    found_of = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 5 and words[3].isdecimal() and words[4] == "kB":
            found_of[words[2].rstrip(":")] = int(words[3][:15]) * 1024
    return found_of


def _interleave(subject: Subject) -> Result:
    nodes = _count(subject)
    if isinstance(nodes, Unseen):
        return nodes
    if nodes == 1:
        return fine("one node: there is nothing to interleave", policy="one node")
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
        "CPUs load from afar. Study B's server was 1.7 times as fast bound to one node as unbound.",
        costs="Study B's published figures: 64 clients, bound 17.6 s, unbound 29.9 s.",
        mend="numactl --cpunodebind=0 --membind=0 mysqld, or --interleave=all, or "
        "innodb_numa_interleave=ON",
        look=_interleave,
        measure="far_memory_ns",
    ),
)
