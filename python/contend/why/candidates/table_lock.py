"""Those who write to MyISAM lock the whole table."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Sign
from contend.why.candidates._common import NO_DATABASE, NOTHING, fewer, is_database, setting

_ADDS_ROWS = ("insert", "bulk_insert", "batch_insert")


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    if pair.connections < 2:
        return "one connection waits for nobody's lock"
    if pair.cells["slower"].workload.kind not in _ADDS_ROWS:
        return "who changes rows locks the whole table, whatever is set"
    return Proposal(
        doses=(*fewer(pair), setting("rows added beside readers", concurrent_insert="ALWAYS")),
        placebo=NOTHING,
        least=0.4,
    )


CANDIDATE = Candidate(
    name="table-lock",
    title="writers lock whole tables, and all others wait",
    limit="queries a second: one writer at a time, and nobody beside it",
    signature=(
        Sign("status.Table_locks_waited_per_query", "slower", least=0.01),
        Sign("status.Table_locks_waited_per_query", "over", least=1.2),
    ),
    propose=_propose,
    refuted_by="a difference that stays if rows are added without the lock",
)
