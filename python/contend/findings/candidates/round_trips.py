"""An event waits for one answer after the other."""

from __future__ import annotations

from contend.findings.candidate import Candidate, Pair, Proposal, Sign, Treatment
from contend.findings.candidates._common import NOTHING

_WAYS = {
    "batch_select": ("workload.select_by", "select", ("pipeline", "in")),
    "batch_insert": ("workload.insert_by", "insert", ("pipeline", "multi_row")),
    "tpcc": ("workload.ask", "each", ("in", "procedure")),
}
"""By kind of workload: what says how it asks, the way that waits for each answer, and two that wait
for fewer."""


def _propose(pair: Pair) -> Proposal | str:
    kind = pair.cells["slower"].workload.kind
    if kind not in _WAYS:
        return f"queries of {kind} cannot be asked together"
    path, each, ways = _WAYS[kind]
    now = pair.cells["slower"]["workload"][path.removeprefix("workload.")]
    if now != each:
        return f"they are asked together as it is ({path} = {now})"
    return Proposal(
        doses=tuple(Treatment(f"asked together ({way})", {path: way}) for way in ways),
        placebo=NOTHING,
        least=0.5,
    )


CANDIDATE = Candidate(
    name="round-trips",
    title="an event waits for one answer after the other over the network",
    limit="events a second of a connection: one over its round trips",
    signature=(
        Sign("round_trips_per_event", "slower", least=2),
        Sign("server_cpu_us_per_query", "over", most=1.2),
        Sign("response_us_mean", "over", least=1.1),
    ),
    propose=_propose,
    refuted_by="a difference that stays if an event waits for few answers",
)
