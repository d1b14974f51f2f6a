"""Memory: swapping, eviction of pages, dirty pages, latency of a load; NUMA."""

from __future__ import annotations

from contend.host.doctor.model import NotChecked, Result, Severity, Subject, check, over, result
from contend.host.kernel import idle_schemes, meminfo
from contend.host.machine import memory_limit
from contend.host.nodes import FOLDER, HostNode, host_nodes, with_memory
from contend.units import format_size

_VM = "proc/sys/vm"
_UNEVEN_RATIO = 1.5
_EMPTY_SHARE = 0.02


@check("memory-limit")
def _limit(subject: Subject) -> Result:
    subject.text("proc/self/cgroup")
    limit, total = memory_limit(subject.tree), meminfo(subject.tree).get("MemTotal")
    if limit is None or (total is not None and limit >= total):
        return result(None, "no memory limit is set below what there is", memory_limit=None)
    of = f" of {format_size(total)}" if total else ""
    said = f"the control group may use {format_size(limit)}{of}, page cache included"
    return result("warning", said, memory_limit=limit)


def _swap_bytes(subject: Subject) -> tuple[int, int] | None:
    """Total swap, and the part in use."""
    info = meminfo(subject.tree)
    if "SwapTotal" not in info:
        return None
    return info["SwapTotal"], info["SwapTotal"] - info.get("SwapFree", info["SwapTotal"])


@check("swappiness")
def _swappiness(subject: Subject) -> Result:
    value, swap = subject.number(f"{_VM}/swappiness"), _swap_bytes(subject)
    said = f"vm.swappiness is {value}"
    if swap is None or swap[0] == 0:
        return result(None, f"{said}, and there is no swap", swappiness=value)
    if value > 10:
        return result("warning", f"{said}, with swap", swappiness=value)
    return result(None, said, swappiness=value)


@check("swap-in-use")
def _swap_used(subject: Subject) -> Result:
    swap = _swap_bytes(subject)
    if swap is None:
        raise NotChecked("/proc/meminfo has no SwapTotal")
    total, used = swap
    moving = subject.seen("swapped_pages") or 0
    if moving > 1:
        return result("severe", f"{moving:.0f} pages a second are swapped now")
    if total == 0:
        return result(None, "there is no swap")
    said = f"{format_size(used)} of {format_size(total)} of swap are in use"
    return result(over(used, 64 << 20), said)


@check("damon-pageout")
def _damon(subject: Subject) -> Result:
    schemes = idle_schemes(subject.tree)
    if schemes is None:
        return result(None, "this kernel has no DAMON")
    listed = ", ".join(schemes)
    if any(action in ("pageout", "cold") for action in schemes):
        more = subject.seen("refault_pages")
        now = f"; {more:.0f} pages a second come back from the disk now" if more else ""
        said = f"the kernel pages out what looks unused (DAMON: {listed}){now}"
        return result("warning", said, damon=listed)
    return result(None, "DAMON pages nothing out", damon=listed)


@check("dirty-pages")
def _dirty(subject: Subject) -> Result:
    limit = subject.number_or_none(f"{_VM}/dirty_bytes")
    if not limit:
        ratio, total = subject.number(f"{_VM}/dirty_ratio"), meminfo(subject.tree).get("MemTotal")
        if total is None:
            raise subject.unclear(f"{_VM}/dirty_ratio")
        limit = total * ratio // 100
    said = f"up to {format_size(limit)} may wait to be written"
    return result("note" if limit > 4 << 30 else None, said, dirty_limit_bytes=limit)


@check("memory-latency")
def _load(subject: Subject) -> Result:
    took_ns = subject.measure("memory_ns").value
    return result(over(took_ns, 150), f"a load from memory takes {took_ns:.0f} ns")


def _count(subject: Subject) -> int:
    """Nodes with usable memory: pages lie on one of these, or move between them."""
    count = len(with_memory(host_nodes(subject.tree)))
    if not count:
        raise NotChecked(f"/{FOLDER} lists no nodes")
    return count


@check("numa-balancing")
def _balancing(subject: Subject) -> Result:
    nodes, value = _count(subject), subject.number("proc/sys/kernel/numa_balancing")
    if value and nodes > 1:
        said = f"the kernel moves pages between {nodes} nodes"
        return result("note", said, numa_balancing=value)
    said = f"kernel.numa_balancing is {value}, with {nodes} node(s)"
    return result(None, said, numa_balancing=value)


@check("node-memory")
def _memory(subject: Subject) -> Result:
    nodes = [node for node in host_nodes(subject.tree) if node.memory_bytes is not None]
    if not nodes:
        raise NotChecked(f"/{FOLDER} shows no memory")
    said = ", ".join(f"node{node.number} {_total(node) >> 20:,} MiB" for node in nodes)
    severity, evidence = _judged(nodes, said)
    return result(severity, evidence, memory_of_nodes=said)


def _judged(nodes: list[HostNode], said: str) -> tuple[Severity | None, str]:
    if len(nodes) == 1:
        return None, f"one node: {said}"
    # If the kernel lists no CPUs for any node, a node without CPUs cannot be identified.
    known = any(node.cpus for node in nodes)
    if bare := [node for node in nodes if not node.has_memory and (node.cpus or not known)]:
        return "severe", f"{_names(bare)} has CPUs and no memory of its own ({said})"
    near = [node for node in nodes if node.cpus or not known]
    totals = [_total(node) for node in near]
    if max(totals) / min(totals) > _UNEVEN_RATIO:
        return "warning", f"memory is spread unevenly: {said}"
    if far := [node for node in nodes if node.has_memory and node not in near]:
        return "note", f"{_names(far)} has memory and no CPUs: it is far from all of them"
    full = [node for node in near if (node.free_bytes or 0) / _total(node) < _EMPTY_SHARE]
    if full and len(full) < len(near):
        return "note", f"{_names(full)} has no free memory and others have"
    return None, f"memory is spread evenly: {said}"


def _total(node: HostNode) -> int:
    return node.memory_bytes or 0


def _names(nodes: list[HostNode]) -> str:
    return ", ".join(f"node{node.number}" for node in nodes)


@check("numa-interleave")
def _interleave(subject: Subject) -> Result:
    nodes = _count(subject)
    if nodes == 1:
        said = "one node has memory: there is nothing to interleave"
        return result(None, said, policy="one node")
    path = f"proc/{subject.pid}/numa_maps"
    lines = [line.split() for line in subject.text(path).splitlines()]
    policies = {words[1].partition(":")[0] for words in lines if len(words) > 1}
    if not policies:
        raise subject.unclear(path)
    if placed := ", ".join(sorted(policies - {"default"})):
        return result(None, f"{subject.whose} has the memory policy {placed}", policy=placed)
    said = f"{subject.whose} takes memory of the node that it happens to run on, of {nodes}"
    return result("warning", said, policy="default")
