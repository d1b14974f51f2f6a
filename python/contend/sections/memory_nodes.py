"""How far the memory of each node is from the CPUs of each node, as measured before the runs.

Measured once per session: these are descriptions of the host, and not findings.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from contend.metrics.probed import NodeMatrix, NodePair
from contend.sections.model import Inputs, Section, Shown, TextTable
from contend.sections.words import significant
from contend.units import format_size

TITLE = "The memory of each node"
_CACHES_MAX = 0.5
"""Caches may hold this share of the data; above it, part of the reads came from caches."""

Read = Callable[[NodePair], float | None]


def _latency(pair: NodePair) -> float | None:
    return pair["latency_ns"]


def _bandwidth(pair: NodePair) -> float | None:
    return pair["bandwidth_gb_s"]


def _read(inputs: Inputs) -> Shown | None:
    """From the session that measured first; None if none did, or the host has one node."""
    known = (session.facts.get("memory_nodes") for session in inputs.study.meta.sessions)
    found = next(filter(None, known), None)
    if found is None or len(found["nodes"]) == 1:
        return None
    lead = " ".join(filter(None, (*_distances(found), _of_caches(found), *_missing(found))))
    if not found["pairs"]:
        return Shown(TITLE, lead, ())
    matrices = (
        ("Latency", "ns of one load", _latency),
        ("Bandwidth", "GB/s (10^9 bytes) read by all CPUs of a node", _bandwidth),
    )
    return Shown(TITLE, lead, tuple(_table(found, *one) for one in matrices))


def _distances(found: NodeMatrix) -> tuple[str, ...]:
    own = [pair for pair in found["pairs"] if pair["cpus_of"] == pair["memory_of"]]
    other = [pair for pair in found["pairs"] if pair["cpus_of"] != pair["memory_of"]]
    sentences = []
    for of, verb, unit in (
        (_latency, "A load takes", "ns"),
        (_bandwidth, "All CPUs of a node read", "GB/s"),
    ):
        near, far = _values(own, of), _values(other, of)
        if near and far:
            times = significant(statistics.median(far) / statistics.median(near), 2)
            sentences.append(
                f"{verb} {_spread(near)} {unit} from a node's own memory, and {_spread(far)} "
                f"{unit} from a different node's ({times} times that, by the medians)."
            )
        elif near or far:
            whose = "a node's own memory" if near else "a different node's memory"
            sentences.append(f"{verb} {_spread(near or far)} {unit} from {whose}.")
    if sentences:
        sentences.append("This was measured once before the runs; no verdict depends on it.")
    return tuple(sentences)


def _values(pairs: Sequence[NodePair], read: Read) -> list[float]:
    return [value for pair in pairs if (value := read(pair)) is not None]


def _spread(values: Sequence[float]) -> str:
    low, high = significant(min(values), 3), significant(max(values), 3)
    return low if low == high else f"{low} to {high}"


def _of_caches(found: NodeMatrix) -> str:
    if found["caches_bytes"] <= _CACHES_MAX * found["bytes"]:
        return ""
    return (
        f"The caches of a node hold {format_size(found['caches_bytes'])}, and "
        f"{format_size(found['bytes'])} were read, so this is partly the speed of caches."
    )


def _missing(found: NodeMatrix) -> tuple[str, ...]:
    return tuple(
        f"Missing: {part} of node {node['node']}, {why}."
        for node in found["nodes"]
        for part, why in (("memory", node["no_memory"]), ("CPUs", node["no_cpus"]))
        if why
    )


def _axes(found: NodeMatrix) -> tuple[list[int], list[int]]:
    """Nodes that read, and nodes whose memory was read."""
    readers = {pair["cpus_of"] for pair in found["pairs"]}
    read = {pair["memory_of"] for pair in found["pairs"]}
    return sorted(readers), sorted(read)


def _table(found: NodeMatrix, name: str, unit: str, read: Read) -> TextTable:
    readers, memories = _axes(found)
    cells = {(pair["cpus_of"], pair["memory_of"]): read(pair) for pair in found["pairs"]}
    return TextTable(
        caption=f"{name}, {unit}",
        columns=("CPUs of", *(f"memory of node {node}" for node in memories)),
        rows=tuple(
            (f"node {reader}", *(_cell(cells.get((reader, memory))) for memory in memories))
            for reader in readers
        ),
    )


def _cell(value: float | None) -> str:
    return "not measured" if value is None else significant(value, 3)


SECTION = Section("memory_nodes", TITLE, _read, lambda shown, _inputs: shown)
