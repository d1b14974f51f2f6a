"""A visit to MyISAM's key cache costs more by itself, whoever else is there."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Sign
from contend.why.candidates import key_cache_lock
from contend.why.candidates._common import NO_DATABASE, NOTHING, is_database


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    why_not = key_cache_lock.no_walks_to_leave_out(pair)
    if why_not is not None:
        return why_not
    # Of what a query takes the visits are a part, and the two thirds that are left out make the
    # rest a larger one.
    return Proposal(doses=(key_cache_lock.ONE_WALK,), placebo=NOTHING, least=0.3)


CANDIDATE = Candidate(
    name="key-cache-visits",
    title="each visit to the key cache costs more by itself, and nobody waits",
    limit="queries a second of one connection: as many visits as it makes one after the other",
    signature=(
        Sign("status.Key_read_requests_per_query", "slower", least=2),
        Sign("server.involuntary_switches_per_query", "either", most=0.5),
        Sign("server_cpu_us_per_query", "over", least=1.01),
        Sign("switches_per_query", "either", most=2.0),
    ),
    propose=_propose,
    refuted_by="a difference that stays if a query makes a third of the visits",
)
