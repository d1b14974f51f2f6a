"""The server's caches and buffers: threads, tables, sorts, temporary tables, pages, blocks."""

from __future__ import annotations

from contend.why.candidate import (
    Candidate,
    Pair,
    Proposal,
    Sign,
    Treatment,
    database,
    more_of,
    setting,
)

_TMP_USUAL, _TMP_MOST = 16 << 20, 1 << 30
_SORT_USUAL, _SORT_MOST = 2 << 20, 256 << 20
_TABLES_USUAL = 2000
_POOL_LEAST, _CHUNK = 128 << 20, 16 << 20
_KEYS_LEAST = 8 << 20


def _temporary_tables(pair: Pair) -> Proposal:
    now = min(pair.number(name, _TMP_USUAL) for name in ("tmp_table_size", "max_heap_table_size"))
    whole = int(min(_TMP_MOST, max(_TMP_USUAL * 4, now * 64)))
    half = int(min(whole // 2, max(now * 4, 1 << 16)))
    return Proposal(
        tuple(
            setting(
                f"temporary tables of up to {size >> 10:,} KiB in memory",
                tmp_table_size=size,
                max_heap_table_size=size,
            )
            for size in (half, whole)
        )
    )


def _sort_buffer(pair: Pair) -> Proposal:
    now = pair.number("sort_buffer_size", _SORT_USUAL)
    whole = int(min(_SORT_MOST, max(4 * _SORT_USUAL, 64 * now)))
    half = int(min(whole // 2, 4 * now))
    return Proposal(
        tuple(
            setting(f"a sort buffer of {size >> 10:,} KiB", sort_buffer_size=size)
            for size in (half, whole)
        )
    )


def _open_tables(pair: Pair) -> Proposal | str:
    tables = len(pair.cells["slower"].data.table_names) or 1
    now = int(pair.number("table_open_cache", _TABLES_USUAL))
    # A join has a table open several times, so this is the least that is needed.
    whole = max(_TABLES_USUAL, 4 * tables * pair.connections)
    if now >= whole:
        return f"the cache already has room for {now:,} open tables"
    return Proposal(
        tuple(
            setting(f"room for {room:,} open tables", table_open_cache=room)
            for room in (min((now + whole) // 2, 2 * now), whole)
        )
    )


def _threads(pair: Pair) -> Proposal | str:
    if pair.option("thread_handling") == "pool-of-threads":
        return "the server uses a thread pool, which keeps threads by different rules"
    few, whole = max(1, pair.connections // 4), max(16, 2 * pair.connections)
    text = f"a thread cache of {whole}, at least twice the connections"
    return Proposal(
        (
            setting(f"a thread cache of {few}", thread_cache_size=few),
            setting(text, thread_cache_size=whole),
        )
    )


def _data_bytes(pair: Pair) -> int:
    datasets = (run.probes.get("dataset") or {} for run in pair.runs["slower"])
    return max((int(one.get("bytes") or 0) for one in datasets), default=0)


def _buffer_pool(pair: Pair) -> Proposal:
    whole = max(_POOL_LEAST, -(-2 * _data_bytes(pair) // _CHUNK) * _CHUNK)
    halfway = max(_CHUNK, whole // 4 // _CHUNK * _CHUNK)
    text = f"a buffer pool of {whole >> 20} MiB, enough for all tables"
    return Proposal(
        (
            setting(f"a buffer pool of {halfway >> 20} MiB", innodb_buffer_pool_size=halfway),
            setting(text, innodb_buffer_pool_size=whole),
        ),
        setting(
            "a different cache of this size, which these tables do not use", key_buffer_size=whole
        ),
    )


def _key_cache(pair: Pair) -> Proposal:
    whole = max(16 << 20, _data_bytes(pair))
    half = max(_KEYS_LEAST // 2, whole // 8)
    text = f"a key cache of {whole >> 20} MiB, enough for all indexes"
    return Proposal(
        (
            setting(f"a key cache of {half >> 20} MiB", key_buffer_size=half),
            setting(text, key_buffer_size=whole),
        ),
        setting(
            "a different cache, enlarged, which these tables do not use",
            innodb_buffer_pool_size=(128 << 20) + (whole >> 24 << 24),
        ),
    )


def _new_connections(pair: Pair) -> Proposal | str:
    path = "load.reconnect_every"
    every = pair.cells["slower"].values.get(path)
    if not every:
        return "contend opens each connection once; other clients open the new ones"
    return Proposal(
        tuple(
            Treatment(f"a new connection every {events} events", {path: events})
            for events in (4 * every, 1000 * every)
        )
    )


CANDIDATES = (
    Candidate(
        "temporary-tables-on-disk",
        title="temporary tables are written to disk",
        limit="queries per second: the rate at which the server creates and removes files",
        signature=more_of("status.Created_tmp_disk_tables_per_query", 0.002, 1.5),
        needs=(database,),
        treat=_temporary_tables,
        refuted_by="a difference that remains when temporary tables fit in memory (those with TEXT "
        "or BLOB columns never do)",
    ),
    Candidate(
        "sort-passes",
        title="sorts use temporary files because the sort buffer is too small",
        limit="queries per second: the passes over files that a sort takes",
        signature=more_of("status.Sort_merge_passes_per_query", 0.001, 1.5),
        needs=(database,),
        treat=_sort_buffer,
        refuted_by="a difference that remains when each sort fits in its buffer",
    ),
    Candidate(
        "table-cache",
        title="tables are closed and reopened because the table cache is too small",
        limit="queries per second: the rate at which the server opens tables, one at a time",
        signature=more_of("status.Opened_tables_per_query", 0.005, 1.5),
        needs=(database,),
        treat=_open_tables,
        refuted_by="a difference that remains when all tables stay open",
    ),
    Candidate(
        "thread-cache",
        title="the server creates a thread for each new connection",
        limit="new connections per second: the rate at which the kernel creates and ends threads",
        signature=more_of("status.Threads_created_per_query", 0.005, 1.5),
        needs=(database,),
        treat=_threads,
        refuted_by="a difference that remains when all threads are kept",
    ),
    Candidate(
        "connection-setup",
        title="the time goes into opening connections",
        limit="events per second: the rate of logins that the server accepts",
        signature=(Sign("status.Connections_per_query", "either", least=0.005),),
        treat=_new_connections,
        refuted_by="a difference that remains when connections stay open",
        contains=("thread-cache",),
    ),
    Candidate(
        "buffer-pool-reads",
        title="pages are read again and again because they do not fit in the buffer pool",
        limit="queries per second: the rate at which the disk, or the page cache, supplies pages",
        signature=(Sign("status.Innodb_buffer_pool_reads_per_query", "slower", least=0.02),),
        needs=(database,),
        treat=_buffer_pool,
        refuted_by="a difference that remains when all pages fit in the buffer pool",
    ),
    Candidate(
        "key-cache-reads",
        title="index blocks are read again and again because they do not fit in the key cache",
        limit="queries per second: the rate at which files, or the page cache, supply blocks",
        signature=(Sign("key_misses_per_query", "slower", least=0.02),),
        needs=(database,),
        treat=_key_cache,
        refuted_by="a difference that remains when all blocks fit in the key cache",
    ),
)
