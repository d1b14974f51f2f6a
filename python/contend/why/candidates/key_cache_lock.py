"""All who read an index of MyISAM take turns at the lock of the key cache."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Seen, Side, Sign
from contend.why.candidates._common import (
    NO_DATABASE,
    NOTHING,
    fewer,
    is_database,
    setting,
)


def _contention(pair: Pair, _: Side) -> float | None:
    """How many times the slower side's switches, or its CPU time for a query, are those of the
    faster one, whichever is more. On some hosts those who meet at a lock sleep, on others it is the
    line of the lock that has to come from the other CPU."""
    both = (pair.times("switches_per_query"), pair.times("server_cpu_us_per_query"))
    return max((one for one in both if one is not None), default=None)


CONTENTION = Seen("switches_or_server_cpu_per_query_over", _contention)

ONE_WALK = setting(
    "one walk down the index for each point in place of three, so a third of the visits to the "
    "key cache",
    eq_range_index_dive_limit=1,
)


def no_walks_to_leave_out(pair: Pair) -> str | None:
    """Why queries cannot be had with fewer visits; None if they can."""
    if pair.figure("key_requests_per_point", "slower") is None:
        return "the queries are not known to look for points, whose estimates could be left out"
    if pair.number("eq_range_index_dive_limit", 200) == 1:
        return "the server makes no estimates by walks as it is (eq_range_index_dive_limit = 1)"
    return None


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    if pair.connections < 2:
        return "one connection waits for nobody's lock"
    why_not = no_walks_to_leave_out(pair)
    if why_not is not None:
        return why_not
    return Proposal(doses=(*fewer(pair), ONE_WALK), placebo=NOTHING, least=0.3)


CANDIDATE = Candidate(
    name="key-cache-lock",
    title="readers of the index wait for the key cache's lock",
    limit="visits to the key cache a second: one at a time in each segment",
    signature=(
        Sign("status.Key_read_requests_per_query", "slower", least=2),
        Sign("switches_per_query", "slower", least=0.2),
        Sign(CONTENTION, "slower", least=1.1),
    ),
    propose=_propose,
    refuted_by="a difference that stays if a query visits the lock a third as often",
)
