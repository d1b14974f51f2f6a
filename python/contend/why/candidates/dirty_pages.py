"""Pages are written soon after they were changed, because few may be dirty."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Sign, Treatment
from contend.why.candidates._common import NO_DATABASE, NOTHING, is_database, setting

_MOST, _EARLY = "innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm"


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    if pair.number(_MOST, 90) >= 90 and pair.number(_EARLY, 0) == 0:
        return "nine of ten pages may be dirty as it is"
    return Proposal(doses=(_of(50), _of(99)), placebo=NOTHING, least=0.5)


def _of(percent: int) -> Treatment:
    return setting(f"{percent} % of the pages may be dirty", **{_MOST: percent, _EARLY: 0})


CANDIDATE = Candidate(
    name="dirty-pages",
    title="pages are written again and again, because few may be dirty",
    limit="changes a second: as many as the disk writes pages for",
    signature=(
        Sign("status.Innodb_buffer_pool_pages_flushed_per_query", "slower", least=0.01),
        Sign("status.Innodb_buffer_pool_pages_flushed_per_query", "over", least=1.3),
    ),
    propose=_propose,
    refuted_by="a difference that stays if nearly all pages may be dirty",
)
