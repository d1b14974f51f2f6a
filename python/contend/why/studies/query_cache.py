"""Why the query cache helps or hurts: its hits, and the queries that wait for its one lock.

SHOW GLOBAL STATUS before and after each run gives hits, answers stored and answers dropped for lack
of memory. Samples of the process list show the share of running queries that wait for the lock.
"""

from contend.metrics import FIXED, Metric, Run
from contend.why.candidate import Candidate
from contend.why.explain import Evidence, Explanation, counted

WAITS_MATTER = 0.1
"""The share of the running queries from which on the lock is part of a query's time."""


def _answered(run: Run) -> float | None:
    missed = FIXED["query_cache_miss_share"].value(run)
    return None if missed is None else 1 - missed


_ANSWERED = Metric("query_cache_hit_share", "Share answered", "", _answered)
_WAITING = "query_cache_wait_share"


def _look(evidence: Evidence) -> Explanation | None:
    answered = evidence.figures(_ANSWERED)
    if not answered:
        return None
    lead = evidence.say(
        "The cache answered between {fewest:share} of the SELECTs ({fewest:at}) and {most:share} "
        "({most:at}).",
        fewest=min(answered, key=lambda one: one.mean),
        most=max(answered, key=lambda one: one.mean),
    )
    waiting = max(evidence.figures(_WAITING), key=lambda one: one.mean, default=None)
    if waiting is None:
        waits = evidence.say("It was not recorded whether queries waited for the lock.")
    else:
        then = "there clients queue for the lock, and more CPUs make it worse."
        if waiting.estimate.high < WAITS_MATTER:
            then = "at this load the lock does not limit the server."
        elif not waiting.estimate.low >= WAITS_MATTER:
            then = "whether the lock limits the server there is not certain."
        waits = evidence.say(
            "At most {waiting:share} of running queries waited for the lock ({waiting:at}): {then}",
            waiting=waiting,
            then=then,
        )
    table = evidence.table_of(
        "Work of the cache (intervals after ±)",
        (
            ("answered from it", _ANSWERED, "share"),
            ("waiting for its lock", _WAITING, "share"),
            ("answers stored per query", counted("Qcache_inserts"), ""),
            ("answers dropped for lack of memory per query", counted("Qcache_lowmem_prunes"), ""),
        ),
    )
    return Explanation(
        lead,
        (evidence.say(FOLLOWS), waits),
        (table,),
        refuted_by=CANDIDATE.refuted_by,
        certain=evidence.is_certain,
    )


FOLLOWS = (
    "Before the server parses a SELECT, it looks up the text in the cache, under a lock that all "
    "connections share. Storing an answer takes the lock again, block by block. A write takes it "
    "to drop every answer that uses its table, whichever rows it changed. So the cache pays if the "
    "same texts return, answers are costly, writes are rare, and few clients query at the same "
    "time. In mode demand, only statements with SQL_CACHE are stored."
)

CANDIDATE = Candidate(
    "query-cache",
    title="Why: one lock for all, and a write drops every answer of its table",
    look=_look,
    refuted_by="A gain in a cell where the cache answered nothing would refute this. So would a "
    "loss in a cell where hardly any query waited for the lock and hardly any answer was stored.",
)
