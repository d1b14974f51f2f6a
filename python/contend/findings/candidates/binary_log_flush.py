"""The binary log is flushed to the disk at each commit."""

from __future__ import annotations

from contend.findings.candidate import Candidate, Pair, Proposal, Sign
from contend.findings.candidates._common import NO_DATABASE, NOTHING, is_database, setting


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
    signature=(
        Sign("status.Binlog_commits_per_query", "slower", least=0.001),
        Sign("status.Binlog_commits_per_query", "over", least=1.2),
    ),
    propose=_propose,
    refuted_by="a difference that stays if no commit waits for the binary log",
)
