"""Rows are written into an index that nobody asks by."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Sign


def _propose(pair: Pair) -> str:
    del pair
    return (
        "which index nobody asks by, contend does not know; as a step of `setup` that is compared, "
        "an experiment tells what it costs"
    )


CANDIDATE = Candidate(
    name="superfluous-index",
    title="rows are written into indexes that nobody asks by",
    limit="rows a second: as many as all their indexes take",
    signature=(
        Sign("status.Handler_write_per_query", "slower", least=0.1),
        Sign("status.Innodb_buffer_pool_write_requests_per_query", "over", least=1.3),
    ),
    propose=_propose,
    refuted_by="a difference that stays if the index is dropped",
)
