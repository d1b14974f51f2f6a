"""The server counts its own waits and statements (performance_schema)."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Sign
from contend.why.candidates._common import (
    NO_DATABASE,
    NOT_OURS,
    STARTED,
    is_database,
    started,
    variable,
)

ON = variable("performance_schema", "ON", "1")


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    if not pair.own:
        return NOT_OURS
    return Proposal(
        doses=(started("without performance_schema", performance_schema="OFF"),),
        placebo=STARTED,
        least=0.5,
    )


CANDIDATE = Candidate(
    name="instrumentation",
    title="the server watches itself (performance_schema)",
    limit="queries a second: CPU time over what a query takes, with what is counted of it",
    signature=(
        Sign(ON, "slower", least=1),
        Sign(ON, "over", least=1.5),
        Sign("server_cpu_us_per_query", "over", least=1.02),
    ),
    propose=_propose,
    refuted_by="a difference that stays if nothing is counted",
)
