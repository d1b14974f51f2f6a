"""The binary log is flushed to the disk at each commit."""

from __future__ import annotations

from contend.metrics import Metric, Run
from contend.why.candidate import Candidate, Pair, Proposal, Sign
from contend.why.candidates._common import NO_DATABASE, NOTHING, is_database, setting


def _flushes(run: Run) -> float | None:
    """Groups of commits that the binary log was flushed for, for each statement. The server counts
    its groups (MariaDB alone does) and not its flushes: those follow from the setting."""
    status = run.probes.get("status")
    differs = run.probes.get("variables_that_differ")
    asked = (status or {}).get("Questions")
    if status is None or differs is None or not asked:
        return None
    set_to = differs.get("sync_binlog")
    every = 0 if set_to is None else int(set_to["value"] or 0)
    return float(status.get("Binlog_group_commits", 0) / every / asked) if every else 0.0


FLUSHES = Metric(
    "binary_log_flushes_per_question", "Flushes of the binary log per question", "", _flushes
)


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    usual = 0 if pair.kind == "mariadb" else 1
    if pair.number("sync_binlog", usual) == 0:
        return "the binary log is not flushed at commits (sync_binlog = 0)"
    return Proposal(
        doses=(
            setting("the binary log flushed at every 100th group of commits", sync_binlog=100),
            setting("the binary log flushed when the system likes", sync_binlog=0),
        ),
        placebo=NOTHING,
        least=0.5,
    )


CANDIDATE = Candidate(
    name="binary-log-flush",
    title="commits wait until the binary log is on the disk",
    limit="transactions a second: as many groups of commits as the disk flushes",
    signature=(Sign(FLUSHES, "slower", least=0.001),),
    propose=_propose,
    refuted_by="a difference that stays if no commit waits for the binary log",
)
