"""CPUs that fall asleep between two queries have to be woken for the next."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Sign, Treatment
from contend.why.candidates._common import IDLE_SHARE


def _propose(pair: Pair) -> Proposal | str:
    if not pair.here:
        return "the server's CPUs are on another host"
    if pair.cells["slower"].values.get("place.neighbour.share"):
        return "there is a neighbour of contend's as it is"
    return Proposal(
        doses=(
            _neighbour(0.5, "a process of the idle class that runs half of the time"),
            _neighbour(1.0, "a process of the idle class that always runs, so that no CPU sleeps"),
        ),
        placebo=_neighbour(0.01, "a process of the idle class that hardly runs"),
        least=0.5,
    )


def _neighbour(share: float, words: str) -> Treatment:
    return Treatment(words, {"place.neighbour.share": share, "place.neighbour.class": "idle"})


CANDIDATE = Candidate(
    name="wake-up",
    title="CPUs fall asleep between two queries and have to be woken",
    limit="queries a second of few connections: as many as CPUs are woken",
    signature=(
        Sign(IDLE_SHARE, "either", least=0.15),
        Sign("switches_per_query", "either", least=0.5),
    ),
    propose=_propose,
    refuted_by="a difference that stays if no CPU ever sleeps",
)
