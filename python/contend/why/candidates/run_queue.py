"""More threads want to run than there are CPUs, and are taken off theirs in the middle of work."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Sign, Treatment
from contend.why.candidates._common import NOT_MARIADB, NOT_OURS, started

_POOL = "pool-of-threads"
_NO_LIMIT = 128


def _propose(pair: Pair) -> Proposal | str:
    if pair.kind != "mariadb":
        return NOT_MARIADB
    if not pair.own:
        return NOT_OURS
    cpus = pair.host.cpus
    if pair.connections <= 2 * cpus:
        return f"there are hardly more connections than CPUs ({pair.connections} and {cpus})"
    if pair.option("thread_handling") == _POOL:
        return "the server has a pool of threads as it is"
    return Proposal(
        doses=(_of(2 * cpus), _of(cpus)),
        placebo=_of(_NO_LIMIT),
        least=0.5,
    )


def _of(groups: int) -> Treatment:
    what = "as many as ask" if groups == _NO_LIMIT else f"about {groups}"
    return started(
        f"a pool of threads in which {what} work at once",
        thread_handling=_POOL,
        thread_pool_size=groups,
    )


CANDIDATE = Candidate(
    name="run-queue",
    title="more threads want to run than there are CPUs, and are taken off theirs while they hold "
    "what others wait for",
    limit="queries a second at many connections: what is left of the CPUs beside the waiting",
    signature=(
        Sign("server.involuntary_switches_per_query", "slower", least=0.02),
        Sign("switches_per_query", "over", least=1.1),
        Sign("cpus_busy", "slower", least=0.8),
    ),
    propose=_propose,
    refuted_by="a difference that stays if no more threads work at once than there are CPUs",
)
