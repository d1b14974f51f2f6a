"""The log is flushed to the disk at each commit."""

from __future__ import annotations

from contend.metrics import Metric, Run
from contend.why.candidate import Candidate, Pair, Proposal, Sign
from contend.why.candidates._common import (
    NO_DATABASE,
    NOTHING,
    is_database,
    per_question,
    setting,
)


def _flushes(run: Run) -> float | None:
    """Flushes of InnoDB's files and of its log, for each statement."""
    names = ("Innodb_data_fsyncs", "Innodb_os_log_fsyncs")
    return per_question(run, lambda status: max(0, sum(status.get(name, 0) for name in names)))


FLUSHES = Metric("innodb_flushes_per_question", "Flushes of InnoDB per question", "", _flushes)


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    if pair.number("innodb_flush_log_at_trx_commit", 1) != 1:
        return "the log is not flushed at each commit (innodb_flush_log_at_trx_commit is not 1)"
    return Proposal(
        doses=(
            setting(
                "the log written at each commit, and flushed once a second",
                innodb_flush_log_at_trx_commit=2,
            ),
            setting("the log written and flushed once a second", innodb_flush_log_at_trx_commit=0),
        ),
        placebo=NOTHING,
        least=0.5,
    )


CANDIDATE = Candidate(
    name="log-flush",
    title="commits wait until the log is on the disk",
    limit="transactions a second: as many groups of commits as the disk flushes",
    signature=(Sign(FLUSHES, "slower", least=0.01),),
    propose=_propose,
    refuted_by="a difference that stays if no commit waits for a flush",
)
