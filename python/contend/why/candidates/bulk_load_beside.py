"""Others write many rows to the server meanwhile."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Sign
from contend.why.candidates.scan_beside import OTHERS


def _propose(pair: Pair) -> str:
    del pair
    return OTHERS


CANDIDATE = Candidate(
    name="bulk-load-beside",
    title="others write many rows to the server meanwhile",
    limit="queries a second: what is left of CPUs, caches and disk",
    signature=(
        Sign("status.Handler_write_per_query", "slower", least=1),
        Sign("status.Handler_write_per_query", "over", least=3),
        Sign("status.Com_insert_per_query", "slower", most=0.2),
    ),
    propose=_propose,
    refuted_by="a difference that stays without them",
)
