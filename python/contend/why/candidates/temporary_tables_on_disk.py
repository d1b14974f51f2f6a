"""Temporary tables outgrow the memory that they may have."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Sign, Treatment
from contend.why.candidates._common import NO_DATABASE, NOTHING, is_database, setting

_USUAL = 16 << 20
_MOST = 1 << 30


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    now = min(pair.number(name, _USUAL) for name in ("tmp_table_size", "max_heap_table_size"))
    whole = int(min(_MOST, max(_USUAL * 4, now * 64)))
    half = int(min(whole // 2, max(now * 4, 1 << 16)))
    return Proposal(doses=(_of(half), _of(whole)), placebo=NOTHING, least=0.5)


def _of(size: int) -> Treatment:
    return setting(
        f"temporary tables of up to {size >> 10:,} KiB in memory",
        tmp_table_size=size,
        max_heap_table_size=size,
    )


CANDIDATE = Candidate(
    name="temporary-tables-on-disk",
    title="temporary tables are written to files",
    limit="queries a second: as many files as the server makes and removes",
    signature=(
        Sign("status.Created_tmp_disk_tables_per_query", "slower", least=0.002),
        Sign("status.Created_tmp_disk_tables_per_query", "over", least=1.5),
    ),
    propose=_propose,
    refuted_by="a difference that stays if they have room in memory, or that have columns of TEXT "
    "or BLOB, for which there is none",
)
