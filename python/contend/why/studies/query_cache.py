"""Why the query cache helps or hurts: how often it answers, and how many wait for its one lock.

SHOW GLOBAL STATUS before and after each run gives hits, answers stored and answers dropped for lack
of memory. Samples of the process list show how many of the running queries wait for the lock.
"""

from contend.metrics import FIXED, Metric, Run
from contend.why.candidate import Candidate
from contend.why.explain import Evidence, Explanation, counted

WAITS_MATTER = 0.1
"""A share of the running queries: from a tenth on, the lock is a part of a query's time."""


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
        waits = evidence.say("Whether queries waited for the lock was not seen.")
    else:
        waits = evidence.say(
            "Of the running queries at most {waiting:share} waited for the lock ({waiting:at}): "
            + (
                "there the lock is what clients queue for, and more CPUs make it worse."
                if waiting.mean >= WAITS_MATTER
                else "at this load the lock is not what limits the server."
            ),
            waiting=waiting,
        )
    table = evidence.table_of(
        "What the cache did (intervals after ±)",
        (
            ("answered from it", _ANSWERED, "share"),
            ("waiting for its lock", _WAITING, "share"),
            ("answers stored per query", counted("Qcache_inserts"), ""),
            ("thrown away for memory per query", counted("Qcache_lowmem_prunes"), ""),
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
    "Before a SELECT is parsed its text is looked up in the cache, under a lock that the whole "
    "server shares; an answer that is stored takes it again, block by block. A write takes it to "
    "throw away every answer that has to do with its table, whichever rows it changed. So the "
    "cache pays if the same texts come again, answers are dear, writes are rare, and few ask at "
    "the same time; in mode demand only statements with SQL_CACHE are stored."
)

CANDIDATE = Candidate(
    "query-cache",
    title="Why: one lock for all, and a write throws away every answer of its table",
    look=_look,
    refuted_by="A gain in a cell in which the cache answered nothing would refute this, and so "
    "would a loss in one in which hardly a query waited for the lock and hardly an answer was "
    "stored.",
)
