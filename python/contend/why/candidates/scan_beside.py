"""Others read whole tables of the server meanwhile: a backup, a badly written query."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Sign

OTHERS = "it is the work of others, which contend does not stop; run it again without them"


def _propose(pair: Pair) -> str:
    del pair
    return OTHERS


CANDIDATE = Candidate(
    name="scan-beside",
    title="others read whole tables of the server meanwhile (a backup, a badly written query)",
    limit="queries a second: what is left of CPUs and caches",
    signature=(
        Sign("status.Handler_read_rnd_next_per_query", "slower", least=10),
        Sign("status.Handler_read_rnd_next_per_query", "over", least=3),
        Sign("status.Select_scan_per_query", "slower", most=0.2),
    ),
    propose=_propose,
    refuted_by="a difference that stays without them",
)
