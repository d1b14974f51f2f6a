"""Queries read whole tables, for want of an index."""

from __future__ import annotations

import re
from typing import Any

from contend.findings.candidate import Candidate, Pair, Proposal, Sign, Treatment
from contend.findings.candidates._common import NO_DATABASE, is_database

_BY_K = ("random_points", "random_ranges")


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    cell = pair.cells["slower"]
    if cell.data.schema != "sbtest" or not _asks_by_k(pair):
        return "that k of sbtest is asked for is all that contend knows of columns"
    return Proposal(
        doses=(Treatment("one more index, on what is asked for", _indexed(pair, "k")),),
        placebo=Treatment("one more index, on what nobody asks for", _indexed(pair, "pad")),
        least=0.5,
    )


def _asks_by_k(pair: Pair) -> bool:
    workload = pair.cells["slower"].workload
    text = str(workload.parameters.get("text", "")) if workload.kind == "sql" else ""
    return workload.kind in _BY_K or re.search(r"\bWHERE\s+k\b", text, re.IGNORECASE) is not None


def _indexed(pair: Pair, column: str) -> dict[str, Any]:
    cell = pair.cells["slower"]
    name = f"contend_why_{column}"
    steps = [
        {
            "do": f"ALTER TABLE {table} ADD INDEX {name} ({column})",
            "undo": f"ALTER TABLE {table} DROP INDEX {name}",
        }
        for table in cell.data.table_names
    ]
    before = [{k: v for k, v in step.items() if v is not None} for step in cell["setup"]]
    return {"setup": before + steps}


CANDIDATE = Candidate(
    name="missing-index",
    title="queries read whole tables, for want of an index",
    limit="queries a second: as many as the rows of the table allow",
    signature=(
        Sign("status.Handler_read_rnd_next_per_query", "slower", least=100),
        Sign("status.Handler_read_rnd_next_per_query", "over", least=3),
    ),
    propose=_propose,
    refuted_by="a difference that stays if there is the index",
)
