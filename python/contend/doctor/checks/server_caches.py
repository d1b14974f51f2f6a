"""A server's caches of tables, threads and results, and its connections."""

from __future__ import annotations

from contend.doctor.model import (
    DoctorCheck,
    Result,
    SeenServer,
    Subject,
    Unseen,
    fine,
    found,
    not_told,
    of_server,
)

_MISS_RATE, _UP_MIN_S = 0.1, 60
_THREADS_SHARE = 0.1
_CONNECTIONS_MIN = 100
_NEAR = 0.85


@of_server
def _table_cache(server: SeenServer, _subject: Subject) -> Result:
    size, opened = server.number("table_open_cache"), server.counter("Opened_tables")
    up_s, overflows = server.counter("Uptime"), server.counter("Table_open_cache_overflows")
    if size is None or opened is None:
        return not_told(server, "table_open_cache")
    said = f"table_open_cache is {size:.0f}, {opened:.0f} tables were opened"
    state = {"table_open_cache": size}
    if overflows and up_s and up_s > _UP_MIN_S and overflows / up_s > _MISS_RATE:
        return found("warning", f"{said}, {overflows:.0f} times beyond it", **state)
    files = server.number("open_files_limit")
    if files is not None and files < 2 * size:
        return found(
            "note", f"{said}; open_files_limit of {files:.0f} is less than two for each", **state
        )
    return fine(said, **state)


@of_server
def _thread_cache(server: SeenServer, _subject: Subject) -> Result:
    if server.variables.get("thread_handling") == "pool-of-threads":
        return fine("a pool of threads serves all connections")
    size = server.number("thread_cache_size")
    made, asked = server.counter("Threads_created"), server.counter("Connections")
    if size is None or made is None or asked is None:
        return not_told(server, "thread_cache_size")
    said = f"thread_cache_size is {size:.0f}; {made:.0f} threads for {asked:.0f} connections"
    state = {"thread_cache_size": size}
    if asked >= _CONNECTIONS_MIN and made / asked > _THREADS_SHARE and made > size:
        return found("warning", said, **state)
    return found("warning", said, **state) if size == 0 else fine(said, **state)


@of_server
def _query_cache(server: SeenServer, _subject: Subject) -> Result:
    kind = server.variables.get("query_cache_type")
    if kind is None:
        return fine("this server has no query cache")
    size = server.number("query_cache_size") or 0
    state = {"query_cache_type": kind, "query_cache_size": size}
    if kind.upper() in ("OFF", "0") or size == 0:
        return fine("the query cache is off", **state)
    return found("warning", f"the query cache is on ({kind}, {size / 1048576:.0f} MiB)", **state)


@of_server
def _connections(server: SeenServer, _subject: Subject) -> Result:
    most, used = server.number("max_connections"), server.counter("Max_used_connections")
    if not most or used is None:
        return not_told(server, "max_connections")
    refused = server.counter("Connection_errors_max_connections") or 0
    said = f"at most {used:.0f} of {most:.0f} connections were in use, {refused:.0f} were refused"
    if refused or used > _NEAR * most:
        return found("warning", said, max_connections=most)
    return fine(said, max_connections=most)


@of_server
def _disk_tables(server: SeenServer, _subject: Subject) -> Result:
    disk, all_of = server.counter("Created_tmp_disk_tables"), server.counter("Created_tmp_tables")
    if disk is None or all_of is None:
        return Unseen("the server counts no temporary tables")
    said = f"{disk:.0f} of {all_of:.0f} temporary tables went to the disk"
    if all_of >= 1000 and disk / all_of > 0.25:
        return found("note", said)
    return fine(said)


CHECKS = (
    DoctorCheck(
        id="server-table-open-cache",
        title="table_open_cache",
        why="Each connection needs each of its tables open. Beyond the cache a table is closed and "
        "opened at each statement, under a lock.",
        costs="The time to open a table, in statements that find it closed.",
        mend="SET GLOBAL table_open_cache = …; connections times tables of a statement",
        look=_table_cache,
    ),
    DoctorCheck(
        id="server-thread-cache",
        title="thread_cache_size",
        why="A connection without a cached thread has one made.",
        costs="The time to make a thread; counts if clients connect often.",
        mend="SET GLOBAL thread_cache_size = 256",
        look=_thread_cache,
        variables=lambda _subject: {"thread_cache_size": "256"},
    ),
    DoctorCheck(
        id="server-query-cache",
        title="query cache",
        why="One lock guards it, and every statement takes that, also one that is not cached; "
        "writes empty it.",
        costs="It can also gain: study B at 64 clients took 27.2 s with it and 29.9 s without; "
        "`contend run query-cache` measures yours.",
        mend="SET GLOBAL query_cache_size = 0; SET GLOBAL query_cache_type = 0",
        look=_query_cache,
        variables=lambda _subject: {"query_cache_size": "0"},
    ),
    DoctorCheck(
        id="server-connections",
        title="max_connections",
        why="Beyond it clients are refused.",
        costs="Errors in place of answers.",
        mend="SET GLOBAL max_connections = …, with memory for each",
        look=_connections,
    ),
    DoctorCheck(
        id="server-disk-tables",
        title="temporary tables on the disk",
        why="What does not fit into memory is sorted and grouped by files.",
        costs="Files written and read in statements that have such a table.",
        mend="SET GLOBAL tmp_table_size = …; SET GLOBAL max_heap_table_size = …; better an index",
        look=_disk_tables,
    ),
)
