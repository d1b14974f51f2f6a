"""The server walks down the index to estimate how many rows each point has, before it reads any."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Sign
from contend.why.candidates._common import NO_DATABASE, NOTHING, is_database, setting

_LIMIT = "eq_range_index_dive_limit"
_USUAL = 200


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    if pair.number(_LIMIT, _USUAL) == 1:
        return f"the server makes no estimates by walks as it is ({_LIMIT} = 1)"
    points = pair.cells["slower"]["workload"].get("points", 0)
    if points < 2:
        return "a query asks for less than two points, and nothing has to be estimated"
    return Proposal(
        doses=(setting("estimates from statistics in place of walks", **{_LIMIT: 1}),),
        placebo=NOTHING,
        least=0.4,
    )


CANDIDATE = Candidate(
    name="index-estimates",
    title="the server walks down the index to estimate what a query will find",
    limit="points a second: one walk for what is read, and as many as are estimated",
    signature=(
        Sign("status.Innodb_buffer_pool_read_requests_per_query", "slower", least=10),
        Sign("status.Innodb_buffer_pool_read_requests_per_query", "over", least=1.3),
        Sign("status.Handler_read_key_per_query", "slower", least=2),
    ),
    propose=_propose,
    refuted_by="a difference that stays if nothing is estimated by walks",
)
