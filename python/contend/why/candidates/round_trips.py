"""An event waits for one answer after the other."""

from __future__ import annotations

import math

from contend.why.candidate import Candidate, Pair, Proposal, Seen, Side, Sign, Treatment
from contend.why.candidates._common import NOTHING

_WAYS = {
    "batch_select": ("workload.select_by", "select", ("pipeline",)),
    "batch_insert": ("workload.insert_by", "insert", ("pipeline",)),
    "tpcc": ("workload.ask", "each", ("in", "procedure")),
}
"""By kind of workload: what says how it asks, the way that waits for each answer, and ways that
wait for fewer. In a pipeline the statements stay the same, and so does whatever each of them
costs."""


def _added_by_cpu(pair: Pair, _: Side) -> float | None:
    """Of what an event takes longer on the slower side, the server's CPU time. A server that sleeps
    after each query uses more of it for that alone."""
    slower, faster = _times_us(pair, "slower"), _times_us(pair, "faster")
    if slower is None or faster is None:
        return None
    added_us = slower[0] - faster[0]
    return (slower[1] - faster[1]) / added_us if added_us > 0 else math.inf


def _times_us(pair: Pair, side: Side) -> tuple[float, float] | None:
    """What an event takes, and the server's CPU time of it."""
    response_us = pair.figure("response_us_mean", side)
    trips = pair.figure("round_trips_per_event", side)
    cpu_us = pair.figure("server_cpu_us_per_query", side)
    if response_us is None or trips is None or cpu_us is None:
        return None
    return response_us, trips * cpu_us


ADDED_BY_CPU = Seen("server_cpu_share_of_added_response", _added_by_cpu)


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
        Sign("response_us_mean", "over", least=1.1),
        Sign(ADDED_BY_CPU, "slower", most=0.5),
    ),
    propose=_propose,
    refuted_by="a difference that stays if an event waits for few answers",
)
