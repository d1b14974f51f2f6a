"""Answers are so long that the network between is full."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Sign


def _propose(pair: Pair) -> str:
    del pair
    return (
        "shorter answers are other queries, which take less of everything else as well: what "
        "went could not be told apart"
    )


CANDIDATE = Candidate(
    name="bandwidth",
    title="answers fill the network",
    limit="queries a second: bytes that the network carries over bytes of an answer",
    signature=(
        Sign("status.Bytes_sent_per_query", "slower", least=8192),
        Sign("server_cpu_us_per_query", "over", most=1.1),
        Sign("response_us_mean", "over", least=1.1),
    ),
    propose=_propose,
    refuted_by="a difference that stays if answers are short",
)
