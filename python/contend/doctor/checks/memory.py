"""Memory: huge pages, swapping, what takes pages away, dirty pages, how long a load takes."""

from __future__ import annotations

from contend.doctor.model import (
    LATENCY,
    NOT_MEASURED,
    WRITES,
    DoctorCheck,
    Result,
    Subject,
    Unseen,
    fine,
    found,
    missing,
)
from contend.host.kernel import idle_schemes, meminfo
from contend.host.tree import chosen
from contend.units import format_size

_THP = "sys/kernel/mm/transparent_hugepage"
_VM = "proc/sys/vm"
_KSM = "sys/kernel/mm/ksm/run"
_SWAPPINESS_MOST = 10
_SWAPPED_WARN = 64 << 20
_DIRTY_MOST = 4 << 30
_MEMORY_SLOW_NS = 150


def _thp(subject: Subject) -> Result:
    text = subject.tree.text(f"{_THP}/enabled")
    if text is None:
        return missing(subject, f"{_THP}/enabled")
    name = chosen(text)
    if name == "always":
        return found("warning", "transparent huge pages are used for all memory", thp=name)
    if name in ("madvise", "never"):
        return fine(f"transparent huge pages: {name}", thp=name)
    return missing(subject, f"{_THP}/enabled")


def _swap_bytes(subject: Subject) -> tuple[int, int] | None:
    info = meminfo(subject.tree)
    if "SwapTotal" not in info:
        return None
    return info["SwapTotal"], info["SwapTotal"] - info.get("SwapFree", info["SwapTotal"])


def _swappiness(subject: Subject) -> Result:
    value, swap = subject.number(f"{_VM}/swappiness"), _swap_bytes(subject)
    if value is None:
        return missing(subject, f"{_VM}/swappiness")
    if swap is None or swap[0] == 0:
        return fine(f"vm.swappiness is {value}, and there is no swap", swappiness=value)
    if value > _SWAPPINESS_MOST:
        return found("warning", f"vm.swappiness is {value}, with swap", swappiness=value)
    return fine(f"vm.swappiness is {value}", swappiness=value)


def _swap_used(subject: Subject) -> Result:
    swap = _swap_bytes(subject)
    if swap is None:
        return Unseen("/proc/meminfo has no SwapTotal")
    total, used = swap
    moving = subject.seen("swapped_pages") or 0
    if moving > 1:
        return found("severe", f"{moving:.0f} pages a second are swapped now")
    if total == 0:
        return fine("there is no swap")
    said = f"{format_size(used)} of {format_size(total)} of swap are in use"
    return found("warning", said) if used > _SWAPPED_WARN else fine(said)


def _damon(subject: Subject) -> Result:
    schemes = idle_schemes(subject.tree)
    if schemes is None:
        return fine("this kernel has no DAMON")
    if any(action in ("pageout", "cold") for action in schemes):
        more = subject.seen("refault_pages")
        now = "" if not more else f"; {more:.0f} pages a second come back from the disk now"
        return found(
            "warning",
            f"the kernel pages out what looks unused (DAMON: {', '.join(schemes)}){now}",
            damon=", ".join(schemes),
        )
    return fine("DAMON pages nothing out", damon=", ".join(schemes))


def _ksm(subject: Subject) -> Result:
    value = subject.number(_KSM)
    if value is None:
        return missing(subject, _KSM)
    if value == 1:
        return found("note", "the kernel compares pages to merge equal ones (KSM)", ksm=value)
    return fine("the kernel merges no pages", ksm=value)


def _huge_unused(subject: Subject) -> Result:
    info = meminfo(subject.tree)
    free, size = info.get("HugePages_Free"), info.get("Hugepagesize")
    reserved, total = info.get("HugePages_Rsvd", 0), info.get("MemTotal", 0)
    if free is None or size is None:
        return Unseen("/proc/meminfo has no HugePages_Free")
    idle = max(free - reserved, 0) * size
    if idle and total and idle / total > 0.05:
        return found(
            "warning",
            f"{format_size(idle)} are kept as huge pages that nobody uses",
            huge_pages=info.get("HugePages_Total", 0),
        )
    return fine(
        "no memory is kept as huge pages that nobody uses",
        huge_pages=info.get("HugePages_Total", 0),
    )


def _dirty(subject: Subject) -> Result:
    limit = subject.number(f"{_VM}/dirty_bytes")
    ratio = subject.number(f"{_VM}/dirty_ratio")
    total = meminfo(subject.tree).get("MemTotal")
    if not limit:
        if ratio is None or total is None:
            return missing(subject, f"{_VM}/dirty_ratio")
        limit = total * ratio // 100
    said = f"up to {format_size(limit)} may wait to be written"
    state = {"dirty_limit_bytes": limit}
    return found("note", said, **state) if limit > _DIRTY_MOST else fine(said, **state)


def _load(subject: Subject) -> Result:
    took_ns = subject.seen("memory_ns")
    if took_ns is None:
        return Unseen(NOT_MEASURED)
    said = f"a load from memory takes {took_ns:.0f} ns"
    return found("warning", said) if took_ns > _MEMORY_SLOW_NS else fine(said)


CHECKS = (
    DoctorCheck(
        id="transparent-huge-pages",
        title="transparent huge pages",
        why="The kernel clears and gathers 2 MiB at once when a server touches new memory, and "
        "allocators of servers give memory back in small parts; both show as pauses.",
        costs="Pauses and memory that is not given back; a gain in some read loads. Touching fresh "
        "memory shows what a fault costs here.",
        mend="echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        look=_thp,
        measure="fault_us_per_mib",
        files=lambda _subject: {f"{_THP}/enabled": "madvise"},
    ),
    DoctorCheck(
        id="swappiness",
        title="vm.swappiness",
        why="The kernel swaps a buffer pool out in favour of files that somebody reads.",
        costs="A page that was swapped out costs a read of the disk, in the middle of a statement.",
        mend="sysctl vm.swappiness=1",
        look=_swappiness,
        measure="swapped_pages",
        files=lambda _subject: {f"{_VM}/swappiness": "1"},
    ),
    DoctorCheck(
        id="swap-in-use",
        title="swap in use",
        why="What lies in swap must be read back when it is touched.",
        costs="A read of the disk for each page, at a moment that nobody chose.",
        mend="Make room in memory, then swapoff -a && swapon -a.",
        look=_swap_used,
        measure="swapped_pages",
    ),
    DoctorCheck(
        id="damon-pageout",
        title="page-out of what looks unused (DAMON)",
        why="What is only read by system calls never looks in use, so MyISAM's rows and every file "
        "that is not mapped go to the disk again and again, however much memory is free.",
        costs="Reads of the disk in runs that were meant to be in memory.",
        mend="server.lock_files = true keeps the files of a private server in memory; the scheme "
        "itself is the host owner's.",
        look=_damon,
        measure="refault_pages",
    ),
    DoctorCheck(
        id="ksm",
        title="merging of equal pages (KSM)",
        why="It takes CPU time, and a page that was merged is copied when it is written.",
        costs="Part of one CPU, and a fault at the first write.",
        mend="echo 0 > /sys/kernel/mm/ksm/run",
        look=_ksm,
        files=lambda _subject: {_KSM: "0"},
    ),
    DoctorCheck(
        id="huge-pages-unused",
        title="huge pages that nobody uses",
        why="Memory kept as huge pages is lost to buffer pool and page cache unless the server "
        "asks for it (large_pages).",
        costs="That much memory.",
        mend="sysctl vm.nr_hugepages=0, or large_pages=1 of the server",
        look=_huge_unused,
        files=lambda _subject: {f"{_VM}/nr_hugepages": "0"},
    ),
    DoctorCheck(
        id="dirty-pages",
        title="pages that wait to be written",
        why="What is written through the page cache (MyISAM, logs, dumps) gathers, then goes to "
        "the disk at once, and flushes of the log wait behind it.",
        costs="Pauses of writes; seconds on a slow disk.",
        mend="sysctl vm.dirty_background_bytes=67108864 vm.dirty_bytes=268435456",
        look=_dirty,
        touches=(WRITES, LATENCY),
        files=lambda _subject: {
            f"{_VM}/dirty_background_bytes": "67108864",
            f"{_VM}/dirty_bytes": "268435456",
        },
    ),
    DoctorCheck(
        id="memory-latency",
        title="a load from memory",
        why="Rows in a buffer pool larger than the caches are found by such loads, several in "
        "turn.",
        costs="A search down an index of four levels waits for at least four of them.",
        mend="None by a setting: another host, nearer memory (place.server.memory), or neighbours "
        "that use less of it.",
        look=_load,
        measure="memory_ns",
        is_measured=True,
    ),
)
