"""Locks and latches of the server that many threads want at once."""

from __future__ import annotations

from contend.experiment.settings.plan_keys import SCRIPT
from contend.findings.switches import HELD_SHARE, SWITCHES, held_share
from contend.metrics import Metric, Run
from contend.why.candidate import (
    SESSION,
    Candidate,
    Pair,
    Proposal,
    Seen,
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
    """Answers, stores and refusals of the query cache for each statement."""
    names = ("Qcache_hits", "Qcache_inserts", "Qcache_not_cached")
    return per_question(run, lambda status: sum(max(0, status.get(name, 0)) for name in names))


def _searches(run: Run) -> float | None:
    """Rows found by it, for each statement: of MariaDB among the status, of MySQL among
    INNODB_METRICS."""
    metrics = run.probes.get("innodb_metrics") or {}
    usual = metrics.get("adaptive_hash_searches", 0)
    return per_question(
        run, lambda status: max(0, status.get("Innodb_adaptive_hash_hash_searches", usual))
    )


def _contention(pair: Pair, _: Side) -> float | None:
    """How many times the faster side's switches, or CPU time per query, the slower side has,
    whichever is more. On some hosts threads that meet at a lock sleep; on others the lock's cache
    line has to come from the other CPU."""
    both = (pair.times("switches_per_query"), pair.times("server_cpu_us_per_query"))
    return max((one for one in both if one is not None), default=None)


def _held(pair: Pair, side: Side) -> float | None:
    """The share of the response time that a query sleeps for a preempted thread. It comes from a
    diagnostic pass that traces each switch: no counter says which thread held what."""
    figures = pair.looked(SWITCHES, side)
    return None if figures is None else held_share(figures)


_CACHE_VISITS = Metric(
    "query_cache_visits", "Visits to the query cache per question", "", _cache_visits
)
_SEARCHES = Metric(
    "adaptive_hash_searches_per_question", "Searches by the adaptive hash index", "", _searches
)
_CONTENTION = Seen("switches_or_server_cpu_per_query_over", _contention)
_HELD = Seen("asleep_for_preempted_share", _held)

_WITHOUT_HASH = setting("without the adaptive hash index", innodb_adaptive_hash_index="OFF")
_ONE_WALK = setting(
    "one walk down the index for each point in place of three, so a third of the visits to the "
    "key cache",
    eq_range_index_dive_limit=1,
)


def _query_cache(pair: Pair) -> Proposal | str:
    if pair.number("query_cache_size", _CACHE_BYTES) == 0:
        return "the query cache has no room as it is (query_cache_size = 0)"
    stores_none = setting("a query cache that stores no answer", query_cache_limit=0)
    if pair.cells["slower"].workload.kind == SCRIPT:
        voids = (*_VOID_WITHOUT_CACHE, "query_cache_type")
        return Proposal((stores_none, setting("no query cache", *voids, query_cache_size=0)))
    # Removing the cache from a whole server empties it. For a while the server then differs from
    # the one that was compared.
    whole = Treatment(
        "connections that do without the query cache",
        {f"{SESSION}query_cache_type": "OFF"},
        (*_VOID_WITHOUT_CACHE, "query_cache_size"),
    )
    placebo = Treatment(
        "another variable that each connection sets for itself, which nobody asks for",
        {f"{SESSION}lock_wait_timeout": 86_399},
    )
    return Proposal((stores_none, whole), placebo)


def _rows(pair: Pair) -> Proposal | str:
    drawn = pair.cells["slower"]["workload"].get("distribution")
    if drawn is None:
        return "which rows are asked for is part of the queries, and cannot be changed alone"
    if drawn["kind"] == "uniform":
        return "all rows are asked for alike as it is"
    path = "workload.distribution"
    return Proposal(
        (
            Treatment("rows drawn less unevenly", {path: {"kind": "gaussian", "iter": 3}}),
            Treatment("all rows drawn alike", {path: {"kind": "uniform"}}),
        )
    )


def _table(pair: Pair) -> Proposal | str:
    if pair.cells["slower"].workload.kind not in _ADDS_ROWS:
        return "who changes rows locks the whole table, whatever is set"
    beside = setting("rows added beside readers", concurrent_insert="ALWAYS")
    return Proposal((*fewer(pair), beside), least=0.4)


def walks_to_leave_out(pair: Pair) -> str | None:
    """Whether a query can do with fewer visits to the key cache."""
    if pair.figure("key_requests_per_point", "slower") is None:
        return "the queries are not known to look for points, whose estimates could be left out"
    if pair.number("eq_range_index_dive_limit", 200) == 1:
        return "the server makes no estimates by walks as it is (eq_range_index_dive_limit = 1)"
    return None


def _of_class(name: str, words: str) -> Treatment:
    return Treatment(words, {"place.server.class": name})


CANDIDATES = (
    Candidate(
        "query-cache-lock",
        title="queries wait for the query cache's lock, or store answers that nobody asks for "
        "again",
        limit="queries a second: as many visits to the query cache as fit one after the other",
        signature=(
            *more_of(_CACHE_VISITS, 0.1, 1.5),
            Sign("status.Qcache_hits_per_query", "slower", most=0.5),
        ),
        needs=(database,),
        treat=_query_cache,
        refuted_by="a difference that stays if neither server has a query cache",
    ),
    Candidate(
        "adaptive-hash-index",
        title="threads are in one another's way at the latches of InnoDB's adaptive hash index",
        limit="queries a second at many connections: as many as a latch lets through",
        signature=(
            *more_of(_SEARCHES, 0.5, 0.9),
            Sign("switches_per_query", "over", least=1.02),
        ),
        needs=(database,),
        treat=lambda pair: Proposal((*fewer(pair), _WITHOUT_HASH)),
        refuted_by="a difference that stays if nobody looks into it",
    ),
    Candidate(
        "row-lock",
        title="writers wait for a few rows that all of them want",
        limit="transactions a second: one at a time for the row that most want",
        signature=more_of("status.Innodb_row_lock_waits_per_query", 0.001, 1.2),
        needs=(database, several),
        treat=_rows,
        refuted_by="a difference that stays if all rows are asked for alike",
    ),
    Candidate(
        "table-lock",
        title="writers lock whole tables, and all others wait",
        limit="queries a second: one writer at a time, and nobody beside it",
        signature=more_of("status.Table_locks_waited_per_query", 0.01, 1.2),
        needs=(database, several),
        treat=_table,
        refuted_by="a difference that stays if rows are added without the lock",
    ),
    Candidate(
        "key-cache-lock",
        title="readers of the index wait for the key cache's lock",
        limit="visits to the key cache a second: one at a time in each segment",
        signature=(
            Sign("status.Key_read_requests_per_query", "slower", least=2),
            Sign("switches_per_query", "slower", least=0.2),
            Sign(_CONTENTION, "slower", least=1.1),
        ),
        needs=(database, several, walks_to_leave_out),
        treat=lambda pair: Proposal((*fewer(pair), _ONE_WALK), least=0.3),
        refuted_by="a difference that stays if a query visits the lock a third as often",
    ),
    Candidate(
        "key-cache-visits",
        title="each visit to the key cache costs more by itself, and nobody waits",
        limit="queries a second of one connection: as many visits as it makes one after the other",
        signature=(
            Sign("status.Key_read_requests_per_query", "slower", least=2),
            Sign("server.involuntary_switches_per_query", "either", most=0.5),
            Sign("server_cpu_us_per_query", "over", least=1.01),
            Sign("switches_per_query", "either", most=2.0),
        ),
        needs=(database, walks_to_leave_out),
        # The visits are a part of a query's time, and leaving out two thirds makes the rest a
        # larger one.
        treat=Proposal((_ONE_WALK,), least=0.3),
        refuted_by="a difference that stays if a query makes a third of the visits",
    ),
    Candidate(
        "preempted-holders",
        title="threads are taken off their CPUs while they hold what others sleep for",
        limit="queries a second at many connections: a lock is held as long as its holder waits "
        "for a CPU",
        signature=more_of(_HELD, HELD_SHARE, 1.1),
        needs=(own,),
        # In the class batch, holders go on; the number of runnable threads stays unchanged.
        treat=Proposal(
            (_of_class("batch", "a woken thread of the server takes no CPU from one that runs"),),
            _of_class("other", "the usual class, named"),
            least=0.3,
        ),
        refuted_by="a difference that stays if no thread that wakes takes the CPU of one that runs",
    ),
)
