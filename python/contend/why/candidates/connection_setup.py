"""Connections are opened again and again: greeting, login, variables of a session."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Sign, Treatment
from contend.why.candidates._common import NOTHING


def _propose(pair: Pair) -> Proposal | str:
    path = "load.reconnect_every"
    every = pair.cells["slower"].values.get(path)
    if not every:
        return "each connection is opened once, and whoever else opens some is not contend"
    return Proposal(
        doses=(
            Treatment(f"a new connection after {4 * every} events", {path: 4 * every}),
            Treatment(f"a new connection after {1000 * every} events", {path: 1000 * every}),
        ),
        placebo=NOTHING,
        least=0.5,
    )


CANDIDATE = Candidate(
    name="connection-setup",
    title="opening connections takes the time",
    limit="events a second: as many logins as the server takes",
    signature=(Sign("status.Connections_per_query", "either", least=0.005),),
    propose=_propose,
    refuted_by="a difference that stays if connections last",
    contains=("thread-cache",),
)
