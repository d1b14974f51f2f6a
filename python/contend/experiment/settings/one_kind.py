"""Workloads whose kinds of event can be asked one at a time, and the workload of one kind alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Workload = Mapping[str, Any]

_TPCC = ("new_order", "payment", "order_status", "delivery", "stock_level")
_READS = ("point_select", "simple_range", "sum_range", "order_range", "distinct_range")
_WRITES = ("index_update", "non_index_update", "delete_insert")

OLTP: Mapping[str, tuple[str, ...]] = {
    "read_write": (*_READS, *_WRITES),
    "read_only": _READS,
    "write_only": _WRITES,
}
"""Kinds of workload whose event is one transaction, and the parts that it can be of. A row is
deleted and inserted again, so these two are one part."""

_OF_PART = {"delete": "delete_insert", "insert": "delete_insert"}


def part_of(statement: str) -> str:
    """The part of a transaction that a class of its statements belongs to."""
    return _OF_PART.get(statement, statement)


def _of_script(workload: Workload, kind: str) -> dict[str, Any]:
    return {**workload, "shares": {kind: 100}}


def _of_mix(workload: Workload, kind: str) -> dict[str, Any]:
    weights = {name: int(name == kind) for name in _TPCC}
    return {**workload, "mix": "weights", "mix_weights": weights}


def _of_transaction(workload: Workload, kind: str) -> dict[str, Any]:
    """One such part, without BEGIN and COMMIT, which would be most of a short one."""
    counts = {f"{name}s": int(name == kind) for name in OLTP[workload["kind"]]}
    return {**workload, **counts, "transaction": False}


_ALONE: Mapping[str, Callable[[Workload, str], dict[str, Any]]] = {
    "sql": _of_script,
    "tpcc": _of_mix,
    **dict.fromkeys(OLTP, _of_transaction),
}

DIVISIBLE = tuple(_ALONE)
"""The kinds of workload that can be asked one kind of event at a time."""


def of_one_kind(workload: Workload, kind: str) -> dict[str, Any]:
    """The same workload with events of one kind only."""
    return _ALONE[workload["kind"]](workload, kind)
