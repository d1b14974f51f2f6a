"""Each statement is written into a log."""

from __future__ import annotations

from contend.metrics import Metric, Run
from contend.why.candidate import Candidate, Pair, Proposal, Sign
from contend.why.candidates._common import NO_DATABASE, NOTHING, is_database, setting


def _logs(run: Run) -> float | None:
    """How many logs of statements are on."""
    differs = run.probes.get("variables_that_differ")
    if differs is None:
        return None
    found = (differs.get(name) for name in ("general_log", "slow_query_log"))
    return float(sum(str(one["value"]).upper() in ("ON", "1") for one in found if one))


LOGS = Metric("statement_logs", "Logs of statements that are on", "", _logs)


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    return Proposal(
        doses=(
            setting("no log of slow statements", slow_query_log="OFF"),
            setting("no log of statements at all", slow_query_log="OFF", general_log="OFF"),
        ),
        placebo=NOTHING,
        least=0.5,
    )


CANDIDATE = Candidate(
    name="statement-log",
    title="each statement is written into a log",
    limit="queries a second: as many lines as are written one after the other",
    signature=(Sign(LOGS, "slower", least=1), Sign(LOGS, "over", least=1.5)),
    propose=_propose,
    refuted_by="a difference that stays if no statement is written down",
)
