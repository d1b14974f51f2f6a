"""CPUs run slower than they could: the governor, heat, a limit of power."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Sign, Treatment

_GOVERNOR = "host.governor"


def _propose(pair: Pair) -> Proposal | str:
    if not pair.here:
        return "the server's CPUs are on another host"
    if not pair.host.frequency:
        return "this host lets nobody choose the frequency of its CPUs"
    return Proposal(
        doses=(
            Treatment("the governor schedutil", {_GOVERNOR: "schedutil"}),
            Treatment("CPUs at their highest frequency", {_GOVERNOR: "performance"}),
        ),
        placebo=Treatment(
            "a process of the idle class that hardly runs",
            {"place.neighbour.share": 0.01, "place.neighbour.class": "idle"},
        ),
        least=0.5,
    )


CANDIDATE = Candidate(
    name="frequency",
    title="CPUs run slower than they could",
    limit="queries a second: the CPUs' frequency over what a query takes",
    signature=(
        Sign("server_cpu_us_per_query", "over", least=1.05),
        Sign("client_cpu_us_per_query", "over", least=1.05),
    ),
    propose=_propose,
    refuted_by="a difference that stays if all CPUs run at their highest frequency",
)
