"""Which workloads leave the tables as they found them.

Runs are compared, so each must find the same rows. What may write is not trusted to have left
them: whoever plays the cells makes the tables anew after it, or marks the runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from contend.spec.model import WorkloadSpec
from contend.spec.workloads import SCRIPT, WRITES

_READING_SCRIPTS = frozenset(
    {"oltp_point_select", "oltp_read_only", "select_random_points", "select_random_ranges"}
)

_WRITING_WORDS = re.compile(
    r"\b(ALTER|ANALYZE|CALL|CREATE|DELETE|DROP|EXECUTE|IMPORT|INSERT|LOAD|MERGE|OPTIMIZE|RENAME"
    r"|REPAIR|REPLACE|TRUNCATE|UPDATE)\b",
    re.IGNORECASE,
)
"""Statements without any of these words change no table, wherever in them the word would stand."""


def may_write(workload: WorkloadSpec) -> bool:
    """Whether a run of it may leave other rows than it found. A script of the user's own may."""
    if workload.kind == SCRIPT:
        return workload.parameters.get("script") not in _READING_SCRIPTS
    known = WRITES.get(workload.kind)
    if known is not None:
        return known
    return any(_WRITING_WORDS.search(text) for text in _texts(workload.parameters.values()))


def _texts(values: Iterable[object]) -> Iterator[str]:
    """The statements among the parameters, whatever they are called there."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from _texts(value)
