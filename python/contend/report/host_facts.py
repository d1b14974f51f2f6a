"""Facts of the host as a reader wants them: what is asked first, then everything, by group."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from contend.facts import fact
from contend.report.model import FactGroup
from contend.store import Session
from contend.units import format_size

_TOLD_APART_BY = ("machine.id", "kernel.release", "cpu.model", "cpu.count", "memory.total_bytes")
"""Facts of the host that stay the same while a host is the same."""

_MEMORY_TOLERANCE = 0.01
"""The memory that a kernel counts differs a little from boot to boot; a module more or less, by
far more than this."""


def cpu_count(facts: Mapping[str, Any]) -> float | None:
    """CPUs that this machine lets us use: those online, or the quota where one is set."""
    count, quota = fact(facts, "cpu.count"), fact(facts, "machine.cpu_quota")
    known = [float(v) for v in (count, quota) if isinstance(v, int | float) and v > 0]
    return min(known, default=None)


def sessions_differ(sessions: Sequence[Session]) -> list[str]:
    """Names of the lasting facts in which the sessions' hosts differ."""
    first, *later = [session.facts for session in sessions] or [{}]
    return [
        name.replace(".", " ")
        for name in _TOLD_APART_BY
        if any(not _is_same(name, fact(first, name), fact(facts, name)) for facts in later)
    ]


def _is_same(name: str, one: Any, other: Any) -> bool:
    both = isinstance(one, int | float) and isinstance(other, int | float)
    if name == "memory.total_bytes" and both:
        return math.isclose(one, other, rel_tol=_MEMORY_TOLERANCE)
    return bool(one == other)


_NOT_OF_THE_HOST = ("missing", "load_generator")


def host_groups(facts: Mapping[str, Any]) -> tuple[FactGroup, ...]:
    """The host's headlines, then each group of its facts whole."""
    groups = [FactGroup("Host", _headlines(facts))]
    for name, group in facts.items():
        if name not in _NOT_OF_THE_HOST and isinstance(group, Mapping):
            rest = tuple(flat(group).items())
            groups.append(FactGroup(f"Host: {name.replace('_', ' ')}", rest))
    return tuple(group for group in groups if group.facts)


_HEADLINES = (
    ("CPU", "cpu.model"),
    ("CPUs", "cpu.count"),
    ("Sockets", "cpu.sockets"),
    ("NUMA nodes", "numa.node_count"),
    ("Governor", "cpu.governor"),
    ("Turbo", "cpu.turbo"),
    ("Memory", "memory.total_bytes"),
    ("Swap", "memory.swap_total_bytes"),
    ("Transparent huge pages", "memory.transparent_hugepage"),
    ("Disk of the data", "disk.device"),
    ("Disk scheduler", "disk.scheduler"),
    ("Kernel", "kernel.release"),
    ("Mitigations", "kernel.mitigations"),
    ("Clock source", "kernel.clocksource"),
    ("Open files", "limits.open_files"),
    ("Operating system", "os.name"),
    ("Virtualisation", "machine.virtualisation"),
    ("Container", "machine.container"),
)


def _headlines(facts: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    missing = facts.get("missing") or {}
    found = []
    for title, dotted in _HEADLINES:
        value = fact(facts, dotted)
        if value is None:
            reason = missing.get(dotted)
            if reason:
                found.append((title, f"not known: {reason}"))
        elif dotted == "kernel.mitigations":
            found.append((title, _mitigations(value)))
        else:
            found.append((title, fact_text(value, dotted)))
    return tuple(found)


def _mitigations(found: Mapping[str, str]) -> str:
    """What costs or is open; the flaws that the CPU does not have are only counted."""
    affected = {name: text for name, text in found.items() if text != "Not affected"}
    parts = [f"{name}: {text}" for name, text in affected.items()]
    harmless = len(found) - len(affected)
    if harmless:
        parts.append(
            f"{harmless} known {'flaw does' if harmless == 1 else 'flaws do'} not affect it"
        )
    return "; ".join(parts)


def flat(document: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested facts as name and text; what is empty or unknown is left out."""
    found: dict[str, str] = {}
    for key, value in document.items():
        name = f"{prefix}{str(key).removesuffix('_bytes').replace('_', ' ')}"
        if isinstance(value, Mapping) and not value.keys() <= {"soft", "hard"}:
            found.update(flat(value, f"{name}, "))
        elif value is not None and value != [] and value != "":
            found[name] = fact_text(value, str(key))
    return found


def fact_text(value: object, name: str = "") -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        if value.keys() <= {"soft", "hard"}:
            soft, hard = fact_text(value.get("soft"), name), fact_text(value.get("hard"), name)
            return soft if soft == hard else f"{soft} (hard limit {hard})"
        return ", ".join(f"{key} {fact_text(item, str(key))}" for key, item in value.items())
    if isinstance(value, list):
        return "; ".join(fact_text(item) for item in value)
    if isinstance(value, int | float) and name.endswith("_bytes"):
        return format_size(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value)
