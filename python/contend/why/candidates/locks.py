"""Locks and latches of the server that many threads want at once."""

from __future__ import annotations

from contend.experiment.settings.plan_keys import SCRIPT
from contend.findings.figures import HELD_SHARE, SWITCHES, held_share
from contend.metrics import Metric, Run
from contend.why.candidate import (
    SESSION,
    Candidate,
    Derived,
    Pair,
    Proposal,
    Side,
    Sign,
    Treatment,
    database,
    fewer,
    more_of,
    own,
    per_question,
    setting,
    several,
)

_ADDS_ROWS = ("insert", "bulk_insert", "batch_insert")
_CACHE_BYTES = 1 << 20
_VOID_WITHOUT_CACHE = ("query_cache_limit", "query_cache_min_res_unit")


def _cache_visits(run: Run) -> float | None:
    """Hits, inserts and refusals of the query cache per statement."""
    names = ("Qcache_hits", "Qcache_inserts", "Qcache_not_cached")
    return per_question(run, lambda status: sum(max(0, status.get(name, 0)) for name in names))


def _searches(run: Run) -> float | None:
    """Its searches per statement, from the status (MariaDB) or INNODB_METRICS (MySQL)."""
    metrics = run.probes.get("innodb_metrics") or {}
    usual = metrics.get("adaptive_hash_searches", 0)
    return per_question(
        run, lambda status: max(0, status.get("Innodb_adaptive_hash_hash_searches", usual))
    )


def _contention(pair: Pair, _: Side) -> float | None:
    """The ratio, slower over faster side, of switches or of server CPU time per query, whichever is
    larger. On some hosts threads that meet at a lock sleep; on others the lock's cache line has to
    come from a different CPU."""
    both = (pair.times("switches_per_query"), pair.times("server_cpu_us_per_query"))
    return max((one for one in both if one is not None), default=None)


def _held(pair: Pair, side: Side) -> float | None:
    """The share of the response time that a query sleeps for a preempted thread. It comes from a
    diagnostic pass that traces each switch: no counter says which thread held what."""
    figures = pair.diagnosed(SWITCHES, side)
    return None if figures is None else held_share(figures)


_CACHE_VISITS = Metric(
    "query_cache_visits", "Visits to the query cache per question", "", _cache_visits
)
_SEARCHES = Metric(
    "adaptive_hash_searches_per_question", "Searches by the adaptive hash index", "", _searches
)
_CONTENTION = Derived("switches_or_server_cpu_per_query_over", _contention)
_HELD = Derived("asleep_for_preempted_share", _held)

_WITHOUT_HASH = setting("without the adaptive hash index", innodb_adaptive_hash_index="OFF")
_ONE_WALK = setting(
    "one walk down the index per point instead of three, so a third of the key cache visits",
    eq_range_index_dive_limit=1,
)


def _query_cache(pair: Pair) -> Proposal | str:
    if pair.number("query_cache_size", _CACHE_BYTES) == 0:
        return "the query cache is already disabled (query_cache_size = 0)"
    stores_none = setting("a query cache that stores no results", query_cache_limit=0)
    if pair.cells["slower"].workload.kind == SCRIPT:
        voids = (*_VOID_WITHOUT_CACHE, "query_cache_type")
        return Proposal((stores_none, setting("no query cache", *voids, query_cache_size=0)))
    # Switching the cache off for the whole server empties it. For a while the server then differs
    # from the one that was compared.
    whole = Treatment(
        "connections that do not use the query cache",
        {f"{SESSION}query_cache_type": "OFF"},
        (*_VOID_WITHOUT_CACHE, "query_cache_size"),
    )
    placebo = Treatment(
        "an unrelated variable, set by each connection",
        {f"{SESSION}lock_wait_timeout": 86_399},
    )
    return Proposal((stores_none, whole), placebo)


def _rows(pair: Pair) -> Proposal | str:
    drawn = pair.cells["slower"]["workload"].get("distribution")
    if drawn is None:
        return "the rows are part of the queries and cannot be changed alone"
    if drawn["kind"] == "uniform":
        return "all rows are already equally likely"
    path = "workload.distribution"
    return Proposal(
        (
            Treatment("rows drawn less unevenly", {path: {"kind": "gaussian", "iter": 3}}),
            Treatment("all rows equally likely", {path: {"kind": "uniform"}}),
        )
    )


def _table(pair: Pair) -> Proposal | str:
    if pair.cells["slower"].workload.kind not in _ADDS_ROWS:
        return "statements that change rows lock the whole table under every setting"
    concurrent = setting("rows inserted while others read", concurrent_insert="ALWAYS")
    return Proposal((*fewer(pair), concurrent), least=0.4)


def walks_to_leave_out(pair: Pair) -> str | None:
    """The reason why a query cannot do with fewer visits to the key cache, or None."""
    if pair.figure("key_requests_per_point", "slower") is None:
        return "the queries are not known to look up points, so no estimate can be left out"
    if pair.number("eq_range_index_dive_limit", 200) == 1:
        return "the server already estimates without index dives (eq_range_index_dive_limit = 1)"
    return None


def _of_class(name: str, text: str) -> Treatment:
    return Treatment(text, {"place.server.class": name})


CANDIDATES = (
    Candidate(
        "query-cache-lock",
        title="queries wait for the query cache's lock, or store results that are not used again",
        limit="queries per second: the rate of query cache visits, one after the other",
        signature=(
            *more_of(_CACHE_VISITS, 0.1, 1.5),
            Sign("status.Qcache_hits_per_query", "slower", most=0.5),
        ),
        needs=(database,),
        treat=_query_cache,
        refuted_by="a difference that remains when neither server has a query cache",
    ),
    Candidate(
        "adaptive-hash-index",
        title="threads contend for the latches of InnoDB's adaptive hash index",
        limit="queries per second at many connections: the rate at which a latch lets them through",
        signature=(
            *more_of(_SEARCHES, 0.5, 0.9),
            Sign("switches_per_query", "over", least=1.02),
        ),
        needs=(database,),
        treat=lambda pair: Proposal((*fewer(pair), _WITHOUT_HASH)),
        refuted_by="a difference that remains without the adaptive hash index",
    ),
    Candidate(
        "row-lock",
        title="writers wait for locks on a few rows that all of them need",
        limit="transactions per second: one at a time for the row that most of them need",
        signature=more_of("status.Innodb_row_lock_waits_per_query", 0.001, 1.2),
        needs=(database, several),
        treat=_rows,
        refuted_by="a difference that remains when all rows are equally likely",
    ),
    Candidate(
        "table-lock",
        title="writers lock whole tables, and all others wait",
        limit="queries per second: one writer at a time, and nothing else meanwhile",
        signature=more_of("status.Table_locks_waited_per_query", 0.01, 1.2),
        needs=(database, several),
        treat=_table,
        refuted_by="a difference that remains when rows are inserted without the lock",
    ),
    Candidate(
        "key-cache-lock",
        title="index readers wait for the key cache's lock",
        limit="key cache visits per second: one at a time in each segment",
        signature=(
            Sign("status.Key_read_requests_per_query", "slower", least=2),
            Sign("switches_per_query", "slower", least=0.2),
            Sign(_CONTENTION, "slower", least=1.1),
        ),
        needs=(database, several, walks_to_leave_out),
        treat=lambda pair: Proposal((*fewer(pair), _ONE_WALK), least=0.3),
        refuted_by="a difference that remains when a query takes the lock a third as often",
    ),
    Candidate(
        "key-cache-visits",
        title="each key cache visit costs more by itself, without waiting",
        limit="queries per second of one connection: its key cache visits, one after the other",
        signature=(
            Sign("status.Key_read_requests_per_query", "slower", least=2),
            Sign("server.involuntary_switches_per_query", "either", most=0.5),
            Sign("server_cpu_us_per_query", "over", least=1.01),
            Sign("switches_per_query", "either", most=2.0),
        ),
        needs=(database, walks_to_leave_out),
        # The visits are part of a query's time; without two thirds of them, the rest is a larger
        # part.
        treat=Proposal((_ONE_WALK,), least=0.3),
        refuted_by="a difference that remains when a query makes a third of the visits",
    ),
    Candidate(
        "preempted-holders",
        title="threads lose their CPU while holding what others sleep for",
        limit="queries per second at many connections: a lock is held while its holder waits for "
        "a CPU",
        signature=more_of(_HELD, HELD_SHARE, 1.1),
        needs=(own,),
        # In the class batch, holders go on; the number of runnable threads stays unchanged.
        treat=Proposal(
            (_of_class("batch", "waking threads of the server do not preempt running ones"),),
            _of_class("other", "the default scheduling class, set explicitly"),
            least=0.3,
        ),
        refuted_by="a difference that remains when waking threads do not preempt running ones",
    ),
)
