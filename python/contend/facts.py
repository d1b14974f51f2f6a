"""Facts by dotted name, `cpu.model`, and the nested form in which they are kept and read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """`{"cpu.model": "x"}` as `{"cpu": {"model": "x"}}`."""
    tree: dict[str, Any] = {}
    for name, value in values.items():
        *groups, last = name.split(".")
        node = tree
        for group in groups:
            node = node.setdefault(group, {})
        node[last] = value
    return tree


def fact(tree: Mapping[str, Any], name: str) -> Any:
    """One fact of a nested tree; None if it is not known."""
    value: Any = tree
    for key in name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
