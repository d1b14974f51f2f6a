"""Every candidate by its name, in the order in which contend tries them; one file per theme."""

from __future__ import annotations

from contend.why.candidate import Candidate
from contend.why.candidates import caches, cpu, disk, locks, queries, untreated

_THEMES = (caches, cpu, disk, locks, queries, untreated)

_ORDER = (
    *("missing-index", "temporary-tables-on-disk", "sort-passes", "table-cache", "thread-cache"),
    *("query-cache-lock", "statement-log", "quota", "binary-log-flush", "log-flush", "log-device"),
    *("redo-log", "dirty-pages", "doublewrite", "buffer-pool-reads", "key-cache-reads"),
    *("adaptive-hash-index", "row-lock", "table-lock", "key-cache-lock", "key-cache-visits"),
    *("index-estimates", "plan-changed", "connection-setup", "round-trips", "bandwidth"),
    *("instrumentation", "superfluous-index", "scan-beside", "bulk-load-beside", "burst-beside"),
    *("disk-beside", "cpus-far-apart", "cpu-contention", "preempted-holders", "run-queue"),
    *("wake-up", "neighbour", "client-bound", "memory-of-another-node", "frequency"),
    *("mitigations", "steal"),
)

_BY_NAME = {one.name: one for theme in _THEMES for one in theme.CANDIDATES}

CANDIDATES: dict[str, Candidate] = {name: _BY_NAME.pop(name) for name in _ORDER}
"""The most specific first: those that fit a pair are tried in this order."""

assert not _BY_NAME, f"candidates without a place in the order: {sorted(_BY_NAME)}"
