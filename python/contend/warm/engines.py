"""Storage engines that have a cache: what counts its misses, and what empties it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineCache:
    """A storage engine with a cache of its own.

    Args:
        requests: the status counter of pages that are asked of the cache; None: there is none.
        misses: that of pages which it had to read from a file.
        options: how the names of the options begin whose change empties the cache.
    """

    requests: str | None
    misses: str
    options: str


ENGINES: Mapping[str, EngineCache] = {
    "innodb": EngineCache(
        "Innodb_buffer_pool_read_requests", "Innodb_buffer_pool_reads", "innodb_buffer_pool_"
    ),
    "myisam": EngineCache("Key_read_requests", "Key_reads", "key_"),
    "aria": EngineCache("Aria_pagecache_read_requests", "Aria_pagecache_reads", "aria_pagecache_"),
    "rocksdb": EngineCache(None, "Rocksdb_block_cache_data_miss", "rocksdb_block_cache"),
}
"""By their names in small letters."""


def disturbs(engine: str, changed: Iterable[str]) -> bool:
    """Whether a change of these options empties the cache of an engine."""
    known = ENGINES.get(engine.lower())
    return known is not None and any(name.startswith(known.options) for name in changed)
