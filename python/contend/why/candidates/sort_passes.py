"""Sorts outgrow their buffer and go through files."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Sign
from contend.why.candidates._common import NO_DATABASE, NOTHING, is_database, setting

_USUAL = 2 << 20
_MOST = 256 << 20


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    now = pair.number("sort_buffer_size", _USUAL)
    whole = int(min(_MOST, max(4 * _USUAL, 64 * now)))
    half = int(min(whole // 2, 4 * now))
    return Proposal(
        doses=tuple(
            setting(f"a sort buffer of {size >> 10:,} KiB", sort_buffer_size=size)
            for size in (half, whole)
        ),
        placebo=NOTHING,
        least=0.5,
    )


CANDIDATE = Candidate(
    name="sort-passes",
    title="sorts go through files, for want of room in their buffer",
    limit="queries a second: as many passes over files as a sort takes",
    signature=(
        Sign("status.Sort_merge_passes_per_query", "slower", least=0.001),
        Sign("status.Sort_merge_passes_per_query", "over", least=1.5),
    ),
    propose=_propose,
    refuted_by="a difference that stays if a sort fits into its buffer",
)
