"""The load generator has not the CPU time to ask more."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Sign, Treatment
from contend.why.candidates._common import NOT_ROOT


def _propose(pair: Pair) -> Proposal | str:
    if not pair.host.root:
        return NOT_ROOT
    return Proposal(
        doses=(_of(-5), _of(-15)),
        placebo=Treatment("the usual class of the client, named", {"place.client.class": "other"}),
        least=0.4,
    )


def _of(nice: int) -> Treatment:
    return Treatment(
        f"contend-load before all others (niceness {nice})", {"place.client.nice": nice}
    )


CANDIDATE = Candidate(
    name="client-bound",
    title="contend-load has not the CPU time to ask more",
    limit="queries a second: those that the client can ask",
    signature=(Sign("client_ceiling_share", "either", least=0.7),),
    propose=_propose,
    refuted_by="a difference that stays if the client has CPUs whenever it wants them",
)
