"""Facts by dotted name."""

from __future__ import annotations

from contend.units import fact, nested


def test_a_nested_fact_has_its_name() -> None:
    values = {"cpu.model": "x", "cpu.cache.l2_bytes": 1, "pid": 7, "disk.device": None}
    tree = nested(values)
    assert tree["cpu"] == {"model": "x", "cache": {"l2_bytes": 1}}
    assert {name: fact(tree, name) for name in values} == values


def test_a_missing_fact_is_none() -> None:
    tree = {"cpu": {"model": "x"}, "numa": None}
    for name in ("cpu.count", "cpu.model.name", "numa.nodes", "disk"):
        assert fact(tree, name) is None
