"""InnoDB's adaptive hash index: one latch before all that look into it, and work to keep it up."""

from __future__ import annotations

from contend.metrics import Metric, Run
from contend.why.candidate import Candidate, Pair, Proposal, Sign
from contend.why.candidates._common import (
    NO_DATABASE,
    NOTHING,
    fewer,
    is_database,
    per_question,
    setting,
)


def _searches(run: Run) -> float | None:
    """Rows found by it, for each statement: of MariaDB among the status, of MySQL among
    INNODB_METRICS."""
    metrics = run.probes.get("innodb_metrics") or {}
    usual = metrics.get("adaptive_hash_searches", 0)
    return per_question(
        run, lambda status: max(0, status.get("Innodb_adaptive_hash_hash_searches", usual))
    )


SEARCHES = Metric(
    "adaptive_hash_searches_per_question", "Searches by the adaptive hash index", "", _searches
)


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    return Proposal(
        doses=(
            *fewer(pair),
            setting("without the adaptive hash index", innodb_adaptive_hash_index="OFF"),
        ),
        placebo=NOTHING,
        least=0.5,
    )


CANDIDATE = Candidate(
    name="adaptive-hash-index",
    title="threads are in one another's way at the latches of InnoDB's adaptive hash index",
    limit="queries a second at many connections: as many as a latch lets through",
    signature=(
        Sign(SEARCHES, "slower", least=0.5),
        Sign(SEARCHES, "over", least=0.9),
        Sign("switches_per_query", "over", least=1.02),
    ),
    propose=_propose,
    refuted_by="a difference that stays if nobody looks into it",
)
