"""Pages that do not fit into the buffer pool come from the disk."""

from __future__ import annotations

from contend.metrics import Run
from contend.why.candidate import GLOBALS, Candidate, Pair, Proposal, Sign, Treatment
from contend.why.candidates._common import NO_DATABASE, is_database, setting

_SMALLEST = 128 << 20
_CHUNK = 16 << 20


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    tables = max((_bytes(run) for run in pair.runs["slower"]), default=0)
    whole = max(_SMALLEST, -(-2 * tables // _CHUNK) * _CHUNK)
    name = "innodb_buffer_pool_size"
    halfway = max(_CHUNK, whole // 4 // _CHUNK * _CHUNK)
    return Proposal(
        doses=(
            setting(f"a buffer pool of {halfway >> 20} MiB", **{name: halfway}),
            setting(
                f"a buffer pool of {whole >> 20} MiB, which all tables fit into", **{name: whole}
            ),
        ),
        placebo=Treatment(
            "another cache of the same size, which these tables are not in",
            {f"{GLOBALS}key_buffer_size": whole},
        ),
        least=0.5,
    )


def _bytes(run: Run) -> int:
    return int((run.probes.get("dataset") or {}).get("bytes") or 0)


CANDIDATE = Candidate(
    name="buffer-pool-reads",
    title="pages that do not fit into the buffer pool are read again and again",
    limit="queries a second: as many pages as the disk, or the page cache, reads",
    signature=(Sign("status.Innodb_buffer_pool_reads_per_query", "slower", least=0.02),),
    propose=_propose,
    refuted_by="a difference that stays if all pages fit into the buffer pool",
)
