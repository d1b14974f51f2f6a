"""Memory: swapping, eviction of pages, dirty pages, latency of a load; NUMA."""

from __future__ import annotations

from contend.host.doctor.model import NotChecked, Result, Severity, Subject, check, over, result
from contend.host.kernel import FOLDER, HostNode, host_nodes, idle_schemes, meminfo, with_memory
from contend.host.machine import memory_limit
from contend.units import format_size

_VM = "proc/sys/vm"
_UNEVEN_RATIO = 1.5
_EMPTY_SHARE = 0.02


@check("memory-limit")
def _limit(subject: Subject) -> Result:
    subject.text("proc/self/cgroup")
    limit, total = memory_limit(subject.tree), meminfo(subject.tree).get("MemTotal")
    if limit is None or (total is not None and limit >= total):
        return result(None, "no memory limit below the installed memory", memory_limit=None)
    of = f" of {format_size(total)}" if total else ""
    evidence = f"the control group is limited to {format_size(limit)}{of}, page cache included"
    return result("warning", evidence, memory_limit=limit)


def _swap_bytes(subject: Subject) -> tuple[int, int] | None:
    """Total swap, and the part in use."""
    info = meminfo(subject.tree)
    if "SwapTotal" not in info:
        return None
    return info["SwapTotal"], info["SwapTotal"] - info.get("SwapFree", info["SwapTotal"])


@check("swappiness")
def _swappiness(subject: Subject) -> Result:
    value, swap = subject.number(f"{_VM}/swappiness"), _swap_bytes(subject)
    evidence = f"vm.swappiness is {value}"
    if swap is None or swap[0] == 0:
        return result(None, f"{evidence}, but there is no swap", swappiness=value)
    if value > 10:
        return result("warning", f"{evidence} (limit 10), and swap is on", swappiness=value)
    return result(None, evidence, swappiness=value)


@check("swap-in-use")
def _swap_used(subject: Subject) -> Result:
    swap = _swap_bytes(subject)
    if swap is None:
        raise NotChecked("/proc/meminfo has no SwapTotal")
    total, used = swap
    moving = subject.seen("swapped_pages") or 0
    if moving > 1:
        return result("severe", f"{moving:.0f} pages per second are being swapped (limit 1)")
    if total == 0:
        return result(None, "there is no swap")
    evidence = f"{format_size(used)} of {format_size(total)} of swap is in use (limit 64 MiB)"
    return result(over(used, 64 << 20), evidence)


@check("damon-pageout")
def _damon(subject: Subject) -> Result:
    schemes = idle_schemes(subject.tree)
    if schemes is None:
        return result(None, "this kernel has no DAMON")
    listed = ", ".join(schemes)
    if any(action in ("pageout", "cold") for action in schemes):
        more = subject.seen("refault_pages")
        now = f"; {more:.0f} pages per second are read back from disk" if more else ""
        evidence = f"the kernel pages out idle memory (DAMON: {listed}){now}"
        return result("warning", evidence, damon=listed)
    return result(None, "DAMON pages nothing out", damon=listed)


@check("dirty-pages")
def _dirty(subject: Subject) -> Result:
    limit = subject.number_or_none(f"{_VM}/dirty_bytes")
    if not limit:
        ratio, total = subject.number(f"{_VM}/dirty_ratio"), meminfo(subject.tree).get("MemTotal")
        if total is None:
            raise subject.unclear(f"{_VM}/dirty_ratio")
        limit = total * ratio // 100
    evidence = f"up to {format_size(limit)} of memory may wait to be written (limit 4 GiB)"
    return result("note" if limit > 4 << 30 else None, evidence, dirty_limit_bytes=limit)


@check("memory-latency")
def _load(subject: Subject) -> Result:
    took_ns = subject.measure("memory_ns").value
    return result(over(took_ns, 150), f"a load from memory takes {took_ns:.0f} ns (limit 150 ns)")


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
        return result("note", f"the kernel moves pages between {nodes} nodes", numa_balancing=value)
    evidence = f"kernel.numa_balancing is {value}, with {nodes} node(s)"
    return result(None, evidence, numa_balancing=value)


@check("node-memory")
def _memory(subject: Subject) -> Result:
    nodes = [node for node in host_nodes(subject.tree) if node.memory_bytes is not None]
    if not nodes:
        raise NotChecked(f"/{FOLDER} shows no memory")
    sizes = ", ".join(f"node{node.number} {_total(node) >> 20:,} MiB" for node in nodes)
    severity, evidence = _judged(nodes, sizes)
    return result(severity, evidence, memory_of_nodes=sizes)


def _judged(nodes: list[HostNode], sizes: str) -> tuple[Severity | None, str]:
    if len(nodes) == 1:
        return None, f"one node: {sizes}"
    # If the kernel lists no CPUs for any node, a node without CPUs cannot be identified.
    known = any(node.cpus for node in nodes)
    if bare := [node for node in nodes if not node.has_memory and (node.cpus or not known)]:
        return "severe", f"{_names(bare)} has CPUs but no memory of its own ({sizes})"
    near = [node for node in nodes if node.cpus or not known]
    totals = [_total(node) for node in near]
    if max(totals) / min(totals) > _UNEVEN_RATIO:
        return "warning", f"one node has over {_UNEVEN_RATIO} times another's memory: {sizes}"
    if far := [node for node in nodes if node.has_memory and node not in near]:
        return "note", f"{_names(far)} has memory but no CPUs: it is far from every CPU"
    full = [node for node in near if (node.free_bytes or 0) / _total(node) < _EMPTY_SHARE]
    if full and len(full) < len(near):
        return (
            "note",
            f"{_names(full)} has less than {_EMPTY_SHARE:.0%} free memory, others have more",
        )
    return None, f"the nodes have similar memory: {sizes}"


def _total(node: HostNode) -> int:
    return node.memory_bytes or 0


def _names(nodes: list[HostNode]) -> str:
    return ", ".join(f"node{node.number}" for node in nodes)


@check("numa-interleave")
def _interleave(subject: Subject) -> Result:
    nodes = _count(subject)
    if nodes == 1:
        return result(None, "only one node has memory", policy="one node")
    path = f"proc/{subject.pid}/numa_maps"
    lines = [line.split() for line in subject.text(path).splitlines()]
    policies = {words[1].partition(":")[0] for words in lines if len(words) > 1}
    if not policies:
        raise subject.unclear(path)
    if placed := ", ".join(sorted(policies - {"default"})):
        return result(None, f"{subject.whose} has the memory policy {placed}", policy=placed)
    evidence = f"{subject.whose} takes memory from the node it runs on, one of {nodes}"
    return result("warning", evidence, policy="default")
