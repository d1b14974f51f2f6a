"""Why the query cache helps or hurts: how often it answers, and how many wait for its one lock.

From SHOW GLOBAL STATUS before and after each run come hits, answers stored and answers thrown away
for want of memory; from looks at the process list how many of the running queries wait for the
lock.
"""

from contend.metrics import FIXED, Metric, Run
from contend.why.evidence import Above, Cause, Pick, Rule, figures_table, per_question

WAITS_MATTER = 0.1
"""Of the running queries: from a tenth on, the lock is a part of what a query takes."""

_MODES = {"0": "off", "OFF": "off", "1": "on", "ON": "on", "2": "demand", "DEMAND": "demand"}


def _answered(run: Run) -> float | None:
    missed = FIXED["query_cache_miss_share"].value(run)
    return None if missed is None else 1 - missed


QUERY_CACHE = Cause(
    name="query-cache",
    title="Why: one lock for all, and a write throws away every answer of its table",
    looks={
        "answered": Metric("query_cache_hit_share", "Share answered", "", _answered),
        "waiting": "query_cache_wait_share",
        "stored": per_question("Qcache_inserts"),
        "pruned": per_question("Qcache_lowmem_prunes"),
    },
    lead=Rule(
        picks={"fewest": Pick("answered", "least"), "most": Pick("answered", "most")},
        cases=(
            (
                None,
                "The cache answered between {fewest:share} of the SELECTs ({fewest:at}) and "
                "{most:share} ({most:at}).",
            ),
        ),
    ),
    follows="Before a SELECT is parsed its text is looked up in the cache, under a lock that the "
    "whole server shares; an answer that is stored takes it again, block by block. A write takes "
    "it to throw away every answer that has to do with its table, whichever rows it changed. So "
    "the cache pays if the same texts come again, answers are dear, writes are rare, and few ask "
    "at the same time; in mode demand only statements with SQL_CACHE are stored.",
    says=(
        Rule(
            picks={"waiting": Pick("waiting", "most")},
            cases=(
                (
                    Above("waiting", WAITS_MATTER),
                    "Of the running queries at most {waiting:share} waited for the lock "
                    "({waiting:at}): there the lock is what clients queue for, and more CPUs make "
                    "it worse.",
                ),
                (
                    None,
                    "Of the running queries at most {waiting:share} waited for the lock "
                    "({waiting:at}): at this load the lock is not what limits the server.",
                ),
            ),
            unknown="Whether queries waited for the lock was not seen.",
        ),
    ),
    tables=(
        figures_table(
            "What the cache did (intervals after ±)",
            (
                ("answered from it", "answered", "share"),
                ("waiting for its lock", "waiting", "share"),
                ("answers stored per query", "stored", ""),
                ("thrown away for memory per query", "pruned", ""),
            ),
        ),
    ),
    refuted_by="A gain in a cell in which the cache answered nothing would refute this, and so "
    "would a loss in one in which hardly a query waited for the lock and hardly an answer was "
    "stored.",
    levels=_MODES,
)
