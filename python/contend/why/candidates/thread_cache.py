"""A thread is made for each new connection, where one could have been kept."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Sign
from contend.why.candidates._common import NO_DATABASE, NOTHING, is_database, setting


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    if pair.option("thread_handling") == "pool-of-threads":
        return "the server has a pool of threads, which keeps them by another rule"
    whole = max(16, 2 * pair.connections)
    return Proposal(
        doses=(
            setting(
                f"a thread cache of {max(1, pair.connections // 4)}",
                thread_cache_size=max(1, pair.connections // 4),
            ),
            setting(
                f"a thread cache of {whole}, twice the connections at least",
                thread_cache_size=whole,
            ),
        ),
        placebo=NOTHING,
        least=0.5,
    )


CANDIDATE = Candidate(
    name="thread-cache",
    title="the server makes a thread for each new connection",
    limit="new connections a second: as many threads as the kernel makes and ends",
    signature=(
        Sign("status.Threads_created_per_query", "slower", least=0.005),
        Sign("status.Threads_created_per_query", "over", least=1.5),
    ),
    propose=_propose,
    refuted_by="a difference that stays if all threads are kept",
)
