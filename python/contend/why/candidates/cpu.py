"""CPUs of the host and who uses them: quotas, neighbours, sleep, frequency, caches, memory."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

from contend.metrics import DISTURBANCES, Metric, Run
from contend.metrics.read import NEAR_NS_MAX, ln_distance
from contend.why.candidate import (
    NOT_ROOT,
    STARTED,
    Candidate,
    Pair,
    Proposal,
    Sign,
    Treatment,
    database,
    fewer,
    mariadb,
    more_of,
    own,
    root,
    started,
)

_CPUS, _QUOTA = "place.server.cpus", "place.server.cpu_quota"
_POOL, _NO_LIMIT = "pool-of-threads", 128


def _watches(run: Run) -> float | None:
    """1 if the server's performance_schema was switched on, 0 if it has its default."""
    differs = run.probes.get("variables_that_differ")
    if differs is None:
        return None
    found = differs.get("performance_schema")
    return float(found is not None and str(found["value"]).upper() in ("ON", "1"))


def _has_quota(run: Run) -> float | None:
    """1 if the kernel reports a quota for the server's process."""
    placed = (run.probes.get("placement") or {}).get("server")
    return None if placed is None else float("cpu_quota" in placed)


def _distance(run: Run) -> float | None:
    found = ln_distance(run)
    return None if found is None else math.exp(found)


def _idle_share(run: Run) -> float | None:
    host = run.probes.get("host")
    return None if host is None else max(0.0, 1 - host["busy_share"])


_WATCHES = Metric("variable.performance_schema", "performance_schema", "", _watches)
_HAS_QUOTA = Metric(
    "server_has_quota", "Whether the server has a quota of CPU time", "", _has_quota
)
_DISTANCE = Metric("cpu_distance_ns", "A line of cache goes over and comes back", "ns", _distance)
_IDLE_SHARE = Metric(
    "host_idle_share", "Share of the CPUs' time in which they slept", "", _idle_share
)
_NEIGHBOURS_SHARE = Metric(
    "host_neighbours_share", "CPU time of others", "", DISTURBANCES["neighbours"]
)


def _here(pair: Pair) -> str | None:
    return None if pair.here else "the server's CPUs are on another host"


def _two_nodes(pair: Pair) -> str | None:
    return None if pair.host.nodes > 1 else "this host has one memory node, so all memory is near"


def _of_class(*sides: str) -> Treatment:
    return Treatment("the usual class, named", {f"place.{side}.class": "other" for side in sides})


def _nice(words: str, *sides: str) -> tuple[Treatment, ...]:
    return tuple(
        Treatment(
            f"{words} before all others (niceness {nice})",
            {f"place.{side}.nice": nice for side in sides},
        )
        for nice in (-5, -15)
    )


def _neighbour(share: float, words: str) -> Treatment:
    return Treatment(
        f"a process of the idle class that {words}",
        {"place.neighbour.share": share, "place.neighbour.class": "idle"},
    )


_HARDLY = _neighbour(0.01, "hardly runs")


def _quota(pair: Pair) -> Proposal | str:
    quota, cpus = pair.cells["slower"].values.get(_QUOTA), pair.host.cpus
    if quota is None:
        return "the quota is not contend's, which leaves what others set"
    if not pair.host.groups:
        return NOT_ROOT
    if quota >= cpus:
        return f"a quota of {quota:g} CPUs is no less than this host has"
    more = (quota + cpus) / 2
    return Proposal(
        (
            Treatment(f"a quota of {more:g} CPUs", {_QUOTA: more}),
            Treatment(f"a quota of {cpus} CPUs, which is all", {_QUOTA: float(cpus)}),
        ),
        Treatment(
            "the same quota, and the usual class named as well", {"place.server.class": "other"}
        ),
    )


def _near_caches(pair: Pair) -> Proposal | str:
    groups = pair.host.caches
    if len(groups) < 2:
        return "all CPUs of this host share a cache, as far as it says"
    near = max(groups, key=len)
    if len(near) < 2:
        return "no two CPUs of this host share a cache; cpu-contention has the server on one"
    far = [cpu for turn in itertools.zip_longest(*groups) for cpu in turn if cpu is not None]
    return Proposal(
        (_on("the server on CPUs that share a cache", near),),
        _on("the server on as many CPUs, of several caches", far[: len(near)]),
        least=0.3,
    )


def _on(words: str, cpus: Iterable[int]) -> Treatment:
    return Treatment(words, {_CPUS: ",".join(map(str, sorted(cpus)))})


def _fewer_cpus(pair: Pair) -> Proposal | str:
    if pair.host.cpus < 2:
        return "this host has one CPU"
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
        (*smaller, Treatment("the server on one CPU", {_CPUS: "0"})),
        Treatment("the server on all CPUs, with a quota of one", {_QUOTA: 1.0}),
    )


def _pool(pair: Pair) -> Proposal | str:
    cpus = pair.host.cpus
    if pair.connections <= 2 * cpus:
        return f"there are hardly more connections than CPUs ({pair.connections} and {cpus})"
    if pair.option("thread_handling") == _POOL:
        return "the server has a pool of threads as it is"
    doses = tuple(_pool_of(groups, f"about {groups}") for groups in (2 * cpus, cpus))
    return Proposal(doses, _pool_of(_NO_LIMIT, "as many as ask"))


def _pool_of(groups: int, what: str) -> Treatment:
    return started(
        f"a pool of threads in which {what} work at once",
        thread_handling=_POOL,
        thread_pool_size=groups,
    )


def _awake(pair: Pair) -> Proposal | str:
    if pair.cells["slower"].values.get("place.neighbour.share"):
        return "there is a neighbour of contend's as it is"
    return Proposal(
        (
            _neighbour(0.5, "runs half of the time"),
            _neighbour(1.0, "always runs, so that no CPU sleeps"),
        ),
        _HARDLY,
    )


def _frequency(pair: Pair) -> Proposal | str:
    if not pair.host.frequency:
        return "this host lets nobody choose the frequency of its CPUs"
    return Proposal(
        (
            Treatment("the governor schedutil", {"host.governor": "schedutil"}),
            Treatment("CPUs at their highest frequency", {"host.governor": "performance"}),
        ),
        _HARDLY,
    )


CANDIDATES = (
    Candidate(
        "quota",
        title="a quota of CPU time stops the server in each period",
        limit="queries a second: the quota over what a query takes of a CPU",
        signature=(Sign(_HAS_QUOTA, "slower", least=1),),
        treat=_quota,
        refuted_by="a difference that stays if the quota is all CPUs",
    ),
    Candidate(
        "instrumentation",
        title="the server watches itself (performance_schema)",
        limit="queries a second: CPU time over what a query takes, with what is counted of it",
        signature=(
            *more_of(_WATCHES, 1, 1.5),
            Sign("server_cpu_us_per_query", "over", least=1.02),
        ),
        needs=(database, own),
        treat=Proposal((started("without performance_schema", performance_schema="OFF"),), STARTED),
        refuted_by="a difference that stays if nothing is counted",
    ),
    Candidate(
        "cpus-far-apart",
        title="what the server's threads share goes back and forth between CPUs without a common "
        "cache",
        limit="queries a second at many connections: as many as a line of cache can change its CPU",
        signature=(
            Sign(_DISTANCE, "either", least=NEAR_NS_MAX),
            Sign("cpus_busy", "slower", least=1.1),
        ),
        needs=(own,),
        treat=_near_caches,
        refuted_by="a difference that stays if all CPUs of the server share a cache, and one that "
        "as many CPUs of several caches remove as well",
    ),
    Candidate(
        "cpu-contention",
        title="threads of the server on several CPUs are in one another's way",
        limit="how many CPUs' work the server does with several CPUs",
        signature=(
            Sign("cpus_busy", "slower", least=1.1),
            Sign("switches_per_query", "either", least=0.1),
        ),
        needs=(own,),
        treat=_fewer_cpus,
        refuted_by="a difference that stays if one CPU does all of the work, and one that a quota "
        "of one CPU removes as well",
    ),
    Candidate(
        "run-queue",
        title="more threads want to run than there are CPUs, and are taken off theirs while they "
        "hold what others wait for",
        limit="queries a second at many connections: what is left of the CPUs beside the waiting",
        signature=(
            Sign("server.involuntary_switches_per_query", "slower", least=0.02),
            Sign("switches_per_query", "over", least=1.1),
            Sign("cpus_busy", "slower", least=0.8),
        ),
        needs=(mariadb, own),
        treat=_pool,
        refuted_by="a difference that stays if no more threads work at once than there are CPUs",
    ),
    Candidate(
        "wake-up",
        title="CPUs fall asleep between two queries and have to be woken",
        limit="queries a second of few connections: as many as CPUs are woken",
        signature=(
            Sign(_IDLE_SHARE, "either", least=0.15),
            Sign("switches_per_query", "either", least=0.5),
        ),
        needs=(_here,),
        treat=_awake,
        refuted_by="a difference that stays if no CPU ever sleeps",
    ),
    Candidate(
        "neighbour",
        title="other processes of the host take the CPUs",
        limit="queries a second: what is left of the CPUs",
        signature=(Sign(_NEIGHBOURS_SHARE, "either", least=0.1),),
        needs=(own, root),
        treat=Proposal(
            _nice("server and client", "server", "client"),
            _of_class("server", "client"),
            least=0.4,
        ),
        refuted_by="a difference that stays if the kernel runs the server before all others",
    ),
    Candidate(
        "client-bound",
        title="contend-load has not the CPU time to ask more",
        limit="queries a second: those that the client can ask",
        signature=(Sign("client_ceiling_share", "either", least=0.7),),
        needs=(root,),
        treat=Proposal(
            _nice("contend-load", "client"),
            Treatment("the usual class of the client, named", {"place.client.class": "other"}),
            least=0.4,
        ),
        refuted_by="a difference that stays if the client has CPUs whenever it wants them",
    ),
    Candidate(
        "memory-of-another-node",
        title="memory of the server is on another node than its CPUs",
        limit="queries a second: as many as loads from the other node allow",
        signature=(
            Sign("server_cpu_us_per_query", "over", least=1.1),
            Sign("client_cpu_us_per_query", "over", most=1.1),
        ),
        needs=(_two_nodes, own),
        treat=Proposal(
            (
                Treatment(
                    "memory on the first node if there is room",
                    {"place.server.memory": "preferred:0"},
                ),
                Treatment("CPUs and memory of the first node", {"place.server.memory": "node:0"}),
            ),
            _of_class("server"),
        ),
        refuted_by="a difference that stays if all memory is near",
    ),
    Candidate(
        "frequency",
        title="CPUs run slower than they could",
        limit="queries a second: the CPUs' frequency over what a query takes",
        signature=(
            Sign("server_cpu_us_per_query", "over", least=1.05),
            Sign("client_cpu_us_per_query", "over", least=1.05),
        ),
        needs=(_here,),
        treat=_frequency,
        refuted_by="a difference that stays if all CPUs run at their highest frequency",
    ),
)
