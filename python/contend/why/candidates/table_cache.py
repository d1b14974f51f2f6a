"""The cache of open tables has no room for what is asked at once."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Sign
from contend.why.candidates._common import NO_DATABASE, NOTHING, is_database, setting

_USUAL = 2000


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    tables = len(pair.cells["slower"].data.table_names) or 1
    now = int(pair.number("table_open_cache", _USUAL))
    # A join has a table open several times, so this is the least that is needed.
    whole = max(_USUAL, 4 * tables * pair.connections)
    if now >= whole:
        return f"the cache has room for {now:,} open tables as it is"
    return Proposal(
        doses=tuple(
            setting(f"room for {room:,} open tables", table_open_cache=room)
            for room in (min((now + whole) // 2, 2 * now), whole)
        ),
        placebo=NOTHING,
        least=0.5,
    )


CANDIDATE = Candidate(
    name="table-cache",
    title="tables are closed and opened again, for want of room for open ones",
    limit="queries a second: as many tables as the server opens, one at a time",
    signature=(
        Sign("status.Opened_tables_per_query", "slower", least=0.005),
        Sign("status.Opened_tables_per_query", "over", least=1.5),
    ),
    propose=_propose,
    refuted_by="a difference that stays if all tables stay open",
)
