"""Memory: sizes, swap, huge pages, and the kernel's policies for writing back and reclaiming."""

from __future__ import annotations

from contend.host.tree import Facts, Tree, chosen

_VM = "proc/sys/vm"
_THP = "sys/kernel/mm/transparent_hugepage"
_DAMON = "sys/kernel/mm/damon/admin/kdamonds"


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
    idle = _idle_schemes(facts.tree)
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


def meminfo(tree: Tree) -> dict[str, int]:
    """/proc/meminfo by name; bytes, or plain counts if the kernel counts."""
    values = {}
    for line in (tree.text("proc/meminfo") or "").splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdigit():
            values[name] = int(words[0]) * (1024 if words[1:] == ["kB"] else 1)
    return values


def _idle_schemes(tree: Tree) -> list[str] | None:
    """What the kernel's DAMON does with memory that nobody has used for a while, such as `pageout`:
    it then empties the page cache however much memory is free. None if the kernel has none."""
    if not tree.exists(f"{_DAMON}/nr_kdamonds"):
        return None
    actions: list[str] = []
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
