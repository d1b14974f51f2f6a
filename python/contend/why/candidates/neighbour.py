"""Other processes of the host take CPU time: a burst of load, a backup, another service."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Sign, Treatment
from contend.why.candidates._common import NEIGHBOURS_SHARE, NOT_OURS, NOT_ROOT


def _propose(pair: Pair) -> Proposal | str:
    if not pair.own:
        return NOT_OURS
    if not pair.host.root:
        return NOT_ROOT
    return Proposal(
        doses=(_before_others(-5), _before_others(-15)),
        placebo=Treatment(
            "the usual class, named",
            {"place.server.class": "other", "place.client.class": "other"},
        ),
        least=0.4,
    )


def _before_others(nice: int) -> Treatment:
    return Treatment(
        f"server and client before all others (niceness {nice})",
        {"place.server.nice": nice, "place.client.nice": nice},
    )


CANDIDATE = Candidate(
    name="neighbour",
    title="other processes of the host take the CPUs",
    limit="queries a second: what is left of the CPUs",
    signature=(Sign(NEIGHBOURS_SHARE, "either", least=0.1),),
    propose=_propose,
    refuted_by="a difference that stays if the kernel runs the server before all others",
)
