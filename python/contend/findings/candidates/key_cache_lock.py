"""All who read an index of MyISAM take turns at the lock of the key cache."""

from __future__ import annotations

from contend.findings.candidate import Candidate, Pair, Proposal, Sign
from contend.findings.candidates._common import NO_DATABASE, NOTHING, is_database, setting


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    if pair.connections < 2:
        return "one connection waits for nobody's lock"
    requests = pair.figure("key_requests_per_point", "slower")
    if requests is None:
        return "the queries are not known to look for points, whose estimates could be left out"
    if pair.number("eq_range_index_dive_limit", 200) == 1:
        return "the server makes no estimates by walks as it is (eq_range_index_dive_limit = 1)"
    return Proposal(
        doses=(
            setting(
                "one walk down the index for each point in place of three, so a third of the "
                "visits to the lock",
                eq_range_index_dive_limit=1,
            ),
        ),
        placebo=NOTHING,
        least=0.3,
    )


CANDIDATE = Candidate(
    name="key-cache-lock",
    title="readers of the index wait for the key cache's lock",
    limit="visits to the key cache a second: one at a time in each segment",
    signature=(
        Sign("status.Key_read_requests_per_query", "slower", least=2),
        Sign("switches_per_query", "slower", least=0.2),
        Sign("switches_per_query", "over", least=1.1),
    ),
    propose=_propose,
    refuted_by="a difference that stays if a query visits the lock a third as often",
)
