"""Every SELECT looks its text up in the query cache, one at a time."""

from __future__ import annotations

from contend.metrics import Metric, Run
from contend.settings.plan_keys import SCRIPT
from contend.why.candidate import SESSION, Candidate, Pair, Proposal, Sign, Treatment
from contend.why.candidates._common import (
    NO_DATABASE,
    NOTHING,
    NOTHING_OF_SESSION,
    is_database,
    per_question,
    setting,
)

_SIZE = 1 << 20
_VOID = ("query_cache_limit", "query_cache_min_res_unit")


def _visits(run: Run) -> float | None:
    """Answers, stores and refusals of the query cache for each statement."""
    names = ("Qcache_hits", "Qcache_inserts", "Qcache_not_cached")
    return per_question(run, lambda status: sum(max(0, status.get(name, 0)) for name in names))


VISITS = Metric("query_cache_visits", "Visits to the query cache per question", "", _visits)


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    if pair.number("query_cache_size", _SIZE) == 0:
        return "the query cache has no room as it is (query_cache_size = 0)"
    stores_none = setting("a query cache that stores no answer", query_cache_limit=0)
    if pair.cells["slower"].workload.kind == SCRIPT:
        whole = setting("no query cache", *_VOID, "query_cache_type", query_cache_size=0)
        return Proposal(doses=(stores_none, whole), placebo=NOTHING, least=0.5)
    # Whatever takes the cache from a whole server empties it, and then for a while the server is
    # not the one that was compared.
    whole = Treatment(
        "connections that do without the query cache",
        {f"{SESSION}query_cache_type": "OFF"},
        (*_VOID, "query_cache_size"),
    )
    return Proposal(doses=(stores_none, whole), placebo=NOTHING_OF_SESSION, least=0.5)


CANDIDATE = Candidate(
    name="query-cache-lock",
    title="queries wait for the query cache's lock, or store answers that nobody asks for again",
    limit="queries a second: as many visits to the query cache as fit one after the other",
    signature=(
        Sign(VISITS, "slower", least=0.1),
        Sign(VISITS, "over", least=1.5),
        Sign("status.Qcache_hits_per_query", "slower", most=0.5),
    ),
    propose=_propose,
    refuted_by="a difference that stays if neither server has a query cache",
)
