"""Others ask the server more meanwhile: a burst of load."""

from __future__ import annotations

from contend.metrics import Metric, Run
from contend.why.candidate import Candidate, Pair, Sign
from contend.why.candidates.scan_beside import OTHERS


def _questions(run: Run) -> float | None:
    """What all asked, for each query that was measured. What contend asks before those is among it,
    and is the same share on both sides."""
    asked = (run.probes.get("status") or {}).get("Questions")
    measured = run.done.get("queries") if run.done else None
    return asked / measured if asked and measured else None


ASKED = Metric("questions_per_query", "Questions of all per query of ours", "", _questions)


def _propose(pair: Pair) -> str:
    del pair
    return OTHERS


CANDIDATE = Candidate(
    name="burst-beside",
    title="others ask the server more meanwhile (a burst of load)",
    limit="queries a second: what is left of CPUs, and of each lock",
    signature=(
        Sign(ASKED, "slower", least=1.3),
        Sign(ASKED, "over", least=1.3),
    ),
    propose=_propose,
    refuted_by="a difference that stays without them",
)
