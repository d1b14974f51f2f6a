"""The server's memory is on another node than its CPUs."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Sign, Treatment
from contend.why.candidates._common import NOT_OURS

_MEMORY = "place.server.memory"


def _propose(pair: Pair) -> Proposal | str:
    if pair.host.nodes < 2:
        return "this host has one memory node, so all memory is near"
    if not pair.own:
        return NOT_OURS
    return Proposal(
        doses=(
            Treatment("memory on the first node if there is room", {_MEMORY: "preferred:0"}),
            Treatment("CPUs and memory of the first node", {_MEMORY: "node:0"}),
        ),
        placebo=Treatment("the usual class, named", {"place.server.class": "other"}),
        least=0.5,
    )


CANDIDATE = Candidate(
    name="memory-of-another-node",
    title="memory of the server is on another node than its CPUs",
    limit="queries a second: as many as loads from the other node allow",
    signature=(
        Sign("server_cpu_us_per_query", "over", least=1.1),
        Sign("client_cpu_us_per_query", "over", most=1.1),
    ),
    propose=_propose,
    refuted_by="a difference that stays if all memory is near",
)
