"""Threads are taken off their CPUs while they hold what others sleep for.

The sign is of a look of its own, which traces each switch (`contend run … --budget`, as root): no
counter says who held what. A woken thread of the class batch takes no CPU from one that runs, so
holders go on; how many want to run, and for how long, stays as it is.
"""

from __future__ import annotations

from contend.findings.switches import HELD_SHARE, SWITCHES, held_share
from contend.why.candidate import Candidate, Pair, Proposal, Seen, Side, Sign, Treatment
from contend.why.candidates._common import NOT_OURS


def _held(pair: Pair, side: Side) -> float | None:
    """The share of the response time that a query sleeps for a preempted thread."""
    figures = pair.looked(SWITCHES, side)
    return None if figures is None else held_share(figures)


HELD = Seen("asleep_for_preempted_share", _held)


def _propose(pair: Pair) -> Proposal | str:
    if not pair.own:
        return NOT_OURS
    return Proposal(
        doses=(_of("batch", "a woken thread of the server takes no CPU from one that runs"),),
        placebo=_of("other", "the usual class, named"),
        least=0.3,
    )


def _of(name: str, words: str) -> Treatment:
    return Treatment(words, {"place.server.class": name})


CANDIDATE = Candidate(
    name="preempted-holders",
    title="threads are taken off their CPUs while they hold what others sleep for",
    limit="queries a second at many connections: a lock is held as long as its holder waits for a "
    "CPU",
    signature=(
        Sign(HELD, "slower", least=HELD_SHARE),
        Sign(HELD, "over", least=1.1),
    ),
    propose=_propose,
    refuted_by="a difference that stays if no thread that wakes takes the CPU of one that runs",
)
