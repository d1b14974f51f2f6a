"""Threads of the server on several CPUs are in one another's way."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Sign, Treatment
from contend.why.candidates._common import NOT_OURS, ONE_CPU, fewer

_CPUS = "place.server.cpus"


def _propose(pair: Pair) -> Proposal | str:
    if not pair.own:
        return NOT_OURS
    if pair.host.cpus < 2:
        return ONE_CPU
    if not pair.host.groups:
        return "its placebo is a quota of CPU time, which takes a control group (root)"
    if pair.connections < 2:
        return "one connection keeps one CPU busy at a time"
    half = pair.host.cpus // 2
    smaller = (
        (Treatment(f"the server on {half} CPUs", {_CPUS: f"0-{half - 1}"}),)
        if half > 1
        else fewer(pair)
    )
    return Proposal(
        doses=(*smaller, Treatment("the server on one CPU", {_CPUS: "0"})),
        placebo=Treatment(
            "the server on all CPUs, with a quota of one", {"place.server.cpu_quota": 1.0}
        ),
        least=0.5,
    )


CANDIDATE = Candidate(
    name="cpu-contention",
    title="threads of the server on several CPUs are in one another's way",
    limit="how many CPUs' work the server does with several CPUs",
    signature=(
        Sign("cpus_busy", "slower", least=1.1),
        Sign("switches_per_query", "either", least=0.1),
    ),
    propose=_propose,
    refuted_by="a difference that stays if one CPU does all of the work, and one that a quota of "
    "one CPU removes as well",
)
