"""Which engine is warmed how."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from contend.warm.indexed import LoadedIndex
from contend.warm.model import Warmer
from contend.warm.scanned import Scanned

WARMERS: Mapping[str, Warmer] = {
    "myisam": LoadedIndex(
        counter="Key_reads",
        options=("key_",),
        size="key_buffer_size",
        endings=(".MYD", ".MYI"),
        holds_rows=False,
    ),
    "aria": LoadedIndex(
        counter="Aria_pagecache_reads",
        options=("aria_pagecache_",),
        size="aria_pagecache_buffer_size",
        endings=(".MAD", ".MAI"),
        holds_rows=True,
    ),
    "innodb": Scanned(
        counter="Innodb_buffer_pool_reads",
        options=("innodb_buffer_pool_",),
        size="innodb_buffer_pool_size",
    ),
    "rocksdb": Scanned(
        counter="Rocksdb_block_cache_data_miss",
        options=("rocksdb_block_cache",),
        size="rocksdb_block_cache_size",
    ),
}


def warmer_of(engine: str) -> Warmer | None:
    """The warmer of an engine, or None where there is nothing to warm."""
    return WARMERS.get(engine.lower())


def disturbs(warmer: Warmer, changed: Iterable[str]) -> bool:
    """Whether a change of these options empties the cache."""
    return any(name.startswith(warmer.options) for name in changed)
