"""Every candidate by its name, each in a file of its own; which of them are tried on a pair."""

from __future__ import annotations

from contend.findings.candidate import Candidate
from contend.findings.candidates import (
    buffer_pool_reads,
    cpu_contention,
    key_cache_lock,
    log_flush,
)

CANDIDATES: dict[str, Candidate] = {
    one.name: one
    for one in (
        log_flush.CANDIDATE,
        buffer_pool_reads.CANDIDATE,
        key_cache_lock.CANDIDATE,
        cpu_contention.CANDIDATE,
    )
}
"""In the order in which those that fit are tried: the most specific first."""
