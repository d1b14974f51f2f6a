"""What the report says of the memory nodes of a host, and how it draws them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shown import report_of as built
from synthetic_run import CONNECTIONS, FACTS, POINTS, SEGMENTS, study, write_slices

from contend.report import Report
from contend.sections.model import Shown

MIB = 1 << 20


def node(number: int, **missing: str) -> dict[str, Any]:
    found: dict[str, Any] = {"node": number, "cpus": 2, "no_cpus": None, "no_memory": None}
    return {**found, **missing}


def pair(cpus_of: int, memory_of: int, ns: float | None, gb_s: float | None) -> dict[str, Any]:
    return {
        "cpus_of": cpus_of,
        "memory_of": memory_of,
        "latency_ns": ns,
        "bandwidth_gb_s": gb_s,
    }


def matrix(nodes: list[Any], pairs: list[Any], caches: int = 16) -> dict[str, Any]:
    return {"bytes": 128 * MIB, "caches_bytes": caches * MIB, "nodes": nodes, "pairs": pairs}


TWO = matrix(
    [node(0), node(1)],
    [
        pair(0, 0, 96.0, 41.2),
        pair(1, 0, 158.0, 17.5),
        pair(0, 1, 163.0, 17.1),
        pair(1, 1, 98.0, 40.8),
    ],
)


def report_of(path: Path, nodes: dict[str, Any] | None) -> Report:
    sets = (f"{CONNECTIONS}=[8]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]", "compare.repeats=4")
    facts = FACTS if nodes is None else {**FACTS, "memory_nodes": nodes}
    write_slices(path, study(sets=sets), facts=facts)
    return built(path)


def section(path: Path, nodes: dict[str, Any]) -> Shown:
    found = report_of(path, nodes).shown("memory_nodes")
    assert found is not None
    return found


def test_a_run_that_did_not_measure_them_has_no_section(tmp_path: Path) -> None:
    assert report_of(tmp_path / "run", None).shown("memory_nodes") is None


def test_one_node_says_nothing(tmp_path: Path) -> None:
    alone = matrix([node(0)], [pair(0, 0, 97.4, 21.3)])
    assert report_of(tmp_path / "run", alone).shown("memory_nodes") is None


def test_two_nodes_are_matrices_with_their_figures(tmp_path: Path) -> None:
    report = report_of(tmp_path / "run", TWO)
    assert all("memory nodes" not in group.title for group in report.facts)
    found = report.shown("memory_nodes")
    assert found is not None
    for own, other, times in (
        ("96.0 to 98.0 ns", "158 to 163 ns", "1.7 times"),
        ("40.8 to 41.2 GB/s", "17.1 to 17.5 GB/s", "0.42 times"),
    ):
        assert f"{own} from a node's own" in found.lead
        assert f"{other} from a different node's ({times}" in found.lead
    assert "Missing" not in found.lead and "caches" not in found.lead
    latency, bandwidth = found.tables
    assert latency.columns == ("CPUs of", "memory of node 0", "memory of node 1")
    assert latency.rows == (("node 0", "96.0", "163"), ("node 1", "158", "98.0"))
    assert bandwidth.rows == (("node 0", "41.2", "17.1"), ("node 1", "17.5", "40.8"))


def test_what_is_missing_is_named_with_its_reason(tmp_path: Path) -> None:
    nodes = [
        node(0),
        node(1, no_cpus="it has no CPUs", cpus=0),  # type: ignore[arg-type]
        node(2, no_memory="it has no memory"),
    ]
    pairs = [
        pair(0, 0, 96.0, 41.2),
        pair(2, 0, None, None),
        pair(0, 1, 240.0, 9.0),
        pair(2, 1, 260.0, 8.0),
    ]
    found = section(tmp_path / "run", matrix(nodes, pairs, caches=100))
    assert "CPUs of node 1, it has no CPUs." in found.lead
    assert "memory of node 2, it has no memory." in found.lead
    assert "caches of a node hold 100 MiB, and 128" in found.lead
    assert found.tables[0].rows == (("node 0", "96.0", "240"), ("node 2", "not measured", "260"))


def test_nodes_that_cannot_be_had_at_all_are_words_alone(tmp_path: Path) -> None:
    why = "the kernel refuses to place memory on a node (mbind: Operation not permitted)"
    found = section(tmp_path / "run", matrix([node(0, no_memory=why), node(1, no_memory=why)], []))
    assert found.lead == " ".join(f"Missing: memory of node {at}, {why}." for at in (0, 1))
    assert found.tables == ()
