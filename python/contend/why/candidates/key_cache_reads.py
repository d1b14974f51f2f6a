"""Blocks of MyISAM's indexes that do not fit into the key cache come from files."""

from __future__ import annotations

from contend.why.candidate import GLOBALS, Candidate, Pair, Proposal, Sign, Treatment
from contend.why.candidates._common import NO_DATABASE, is_database, setting

_LEAST = 8 << 20


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    tables = max(
        (int((run.probes.get("dataset") or {}).get("bytes") or 0) for run in pair.runs["slower"]),
        default=0,
    )
    whole = max(16 << 20, tables)
    half = max(_LEAST // 2, whole // 8)
    name = "key_buffer_size"
    return Proposal(
        doses=(
            setting(f"a key cache of {half >> 20} MiB", **{name: half}),
            setting(
                f"a key cache of {whole >> 20} MiB, which all indexes fit into", **{name: whole}
            ),
        ),
        placebo=Treatment(
            "another cache made larger, which these tables are not in",
            {f"{GLOBALS}innodb_buffer_pool_size": (128 << 20) + (whole >> 24 << 24)},
        ),
        least=0.5,
    )


CANDIDATE = Candidate(
    name="key-cache-reads",
    title="index blocks that do not fit into the key cache are read again and again",
    limit="queries a second: as many blocks as files, or the page cache, give",
    signature=(Sign("key_misses_per_query", "slower", least=0.02),),
    propose=_propose,
    refuted_by="a difference that stays if all blocks fit",
)
