"""The server's CPUs have no cache together, so that what its threads share goes back and forth."""

from __future__ import annotations

import itertools
import math

from contend.metrics import Metric, Run
from contend.metrics.read import NEAR_NS_MAX, ln_distance
from contend.why.candidate import Candidate, Pair, Proposal, Sign, Treatment
from contend.why.candidates._common import NOT_OURS

_CPUS = "place.server.cpus"


def _distance(run: Run) -> float | None:
    found = ln_distance(run)
    return None if found is None else math.exp(found)


DISTANCE = Metric("cpu_distance_ns", "A line of cache goes over and comes back", "ns", _distance)


def _propose(pair: Pair) -> Proposal | str:
    if not pair.own:
        return NOT_OURS
    groups = pair.host.caches
    if len(groups) < 2:
        return "all CPUs of this host share a cache, as far as it says"
    near = max(groups, key=len)
    if len(near) < 2:
        return "no two CPUs of this host share a cache; cpu-contention has the server on one"
    far = [cpu for turn in itertools.zip_longest(*groups) for cpu in turn if cpu is not None]
    return Proposal(
        doses=(Treatment("the server on CPUs that share a cache", {_CPUS: _listed(near)}),),
        placebo=Treatment(
            "the server on as many CPUs, of several caches", {_CPUS: _listed(far[: len(near)])}
        ),
        least=0.3,
    )


def _listed(cpus: tuple[int, ...] | list[int]) -> str:
    return ",".join(map(str, sorted(cpus)))


CANDIDATE = Candidate(
    name="cpus-far-apart",
    title="what the server's threads share goes back and forth between CPUs without a common cache",
    limit="queries a second at many connections: as many as a line of cache can change its CPU",
    signature=(
        Sign(DISTANCE, "either", least=NEAR_NS_MAX),
        Sign("cpus_busy", "slower", least=1.1),
    ),
    propose=_propose,
    refuted_by="a difference that stays if all CPUs of the server share a cache, and one that as "
    "many CPUs of several caches remove as well",
)
