"""CPUs of the host and their users: quotas, neighbours, sleep, frequency, caches, memory."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

from contend.metrics import DISTURBANCES, Metric, Run
from contend.metrics.read import NEAR_NS_MAX, ln_distance
from contend.why.candidate import (
    NOT_ROOT,
    START_PLACEBO,
    Candidate,
    Pair,
    Proposal,
    Sign,
    Treatment,
    at_start,
    database,
    fewer,
    mariadb,
    more_of,
    own,
    root,
)

_CPUS, _QUOTA = "place.server.cpus", "place.server.cpu_quota"
_POOL, _NO_LIMIT = "pool-of-threads", 128
_DEFAULT_CLASS = "the default scheduling class, set explicitly"


def _instrumented(run: Run) -> float | None:
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


_INSTRUMENTED = Metric("variable.performance_schema", "performance_schema", "", _instrumented)
_HAS_QUOTA = Metric("server_has_quota", "Whether the server has a CPU quota", "", _has_quota)
_DISTANCE = Metric("cpu_distance_ns", "Cache-line round trip between CPUs", "ns", _distance)
_IDLE_SHARE = Metric("host_idle_share", "Share of CPU time that was idle", "", _idle_share)
_NEIGHBOURS_SHARE = Metric(
    "host_neighbours_share", "CPU time of other processes", "", DISTURBANCES["neighbours"]
)


def _here(pair: Pair) -> str | None:
    return None if pair.here else "the server's CPUs are on a different host"


def _two_nodes(pair: Pair) -> str | None:
    return None if pair.host.nodes > 1 else "this host has one memory node, so all memory is local"


def _of_class(*sides: str) -> Treatment:
    return Treatment(_DEFAULT_CLASS, {f"place.{side}.class": "other" for side in sides})


def _nice(processes: str, *sides: str) -> tuple[Treatment, ...]:
    return tuple(
        Treatment(
            f"{processes} ahead of all other processes (niceness {nice})",
            {f"place.{side}.nice": nice for side in sides},
        )
        for nice in (-5, -15)
    )


def _neighbour(share: float, behaviour: str) -> Treatment:
    return Treatment(
        f"an idle-class process that {behaviour}",
        {"place.neighbour.share": share, "place.neighbour.class": "idle"},
    )


_HARDLY = _neighbour(0.01, "hardly runs")


def _quota(pair: Pair) -> Proposal | str:
    quota, cpus = pair.cells["slower"].values.get(_QUOTA), pair.host.cpus
    if quota is None:
        return "contend did not set this quota and does not change it"
    if not pair.host.groups:
        return NOT_ROOT
    if quota >= cpus:
        return f"the quota of {quota:g} CPUs already covers this host's {cpus}"
    more = (quota + cpus) / 2
    return Proposal(
        (
            Treatment(f"a quota of {more:g} CPUs", {_QUOTA: more}),
            Treatment(f"a quota of {cpus} CPUs, all of them", {_QUOTA: float(cpus)}),
        ),
        Treatment(f"the same quota; {_DEFAULT_CLASS}", {"place.server.class": "other"}),
    )


def _near_caches(pair: Pair) -> Proposal | str:
    groups = pair.host.caches
    if len(groups) < 2:
        return "all CPUs of this host share a cache, as far as the kernel reports"
    near = max(groups, key=len)
    if len(near) < 2:
        return "no two CPUs of this host share a cache; cpu-contention tries one CPU"
    far = [cpu for turn in itertools.zip_longest(*groups) for cpu in turn if cpu is not None]
    return Proposal(
        (_on("the server on CPUs that share a cache", near),),
        _on("the server on as many CPUs, spread over several caches", far[: len(near)]),
        least=0.3,
    )


def _on(text: str, cpus: Iterable[int]) -> Treatment:
    return Treatment(text, {_CPUS: ",".join(map(str, sorted(cpus)))})


def _fewer_cpus(pair: Pair) -> Proposal | str:
    if pair.host.cpus < 2:
        return "this host has one CPU"
    if not pair.host.groups:
        return "its placebo is a CPU quota, which needs a control group (root)"
    if pair.connections < 2:
        return "one connection uses one CPU at a time"
    half = pair.host.cpus // 2
    smaller = (
        (Treatment(f"the server on {half} CPUs", {_CPUS: f"0-{half - 1}"}),)
        if half > 1
        else fewer(pair)
    )
    return Proposal(
        (*smaller, Treatment("the server on one CPU", {_CPUS: "0"})),
        Treatment("the server on all CPUs, with a quota of one CPU", {_QUOTA: 1.0}),
    )


def _pool(pair: Pair) -> Proposal | str:
    cpus = pair.host.cpus
    if pair.connections <= 2 * cpus:
        return f"there are at most two connections per CPU ({pair.connections} for {cpus})"
    if pair.option("thread_handling") == _POOL:
        return "the server already uses a thread pool"
    doses = tuple(_pool_of(groups, f"about {groups} threads") for groups in (2 * cpus, cpus))
    return Proposal(doses, _pool_of(_NO_LIMIT, "all requests"))


def _pool_of(groups: int, running: str) -> Treatment:
    return at_start(
        f"a thread pool that runs {running} at once",
        thread_handling=_POOL,
        thread_pool_size=groups,
    )


def _awake(pair: Pair) -> Proposal | str:
    if pair.cells["slower"].values.get("place.neighbour.share"):
        return "the experiment already runs a neighbour"
    return Proposal(
        (
            _neighbour(0.5, "runs half of the time"),
            _neighbour(1.0, "always runs, so that no CPU sleeps"),
        ),
        _HARDLY,
    )


def _frequency(pair: Pair) -> Proposal | str:
    if not pair.host.frequency:
        return "contend cannot set the CPU frequency of this host"
    return Proposal(
        (
            Treatment("the schedutil governor", {"host.governor": "schedutil"}),
            Treatment("CPUs at their highest frequency", {"host.governor": "performance"}),
        ),
        _HARDLY,
    )


CANDIDATES = (
    Candidate(
        "quota",
        title="a CPU quota stops the server in each period",
        limit="queries per second: the quota divided by the CPU time per query",
        signature=(Sign(_HAS_QUOTA, "slower", least=1),),
        treat=_quota,
        refuted_by="a difference that remains when the quota covers all CPUs",
    ),
    Candidate(
        "instrumentation",
        title="the server spends time on instrumentation (performance_schema)",
        limit="queries per second: CPU time divided by that per query, instrumentation included",
        signature=(
            *more_of(_INSTRUMENTED, 1, 1.5),
            Sign("server_cpu_us_per_query", "over", least=1.02),
        ),
        needs=(database, own),
        treat=Proposal(
            (at_start("without performance_schema", performance_schema="OFF"),), START_PLACEBO
        ),
        refuted_by="a difference that remains without instrumentation",
    ),
    Candidate(
        "cpus-far-apart",
        title="data shared by the server's threads moves between CPUs without a common cache",
        limit="queries per second at many connections: the rate at which a cache line can change "
        "CPUs",
        signature=(
            Sign(_DISTANCE, "either", least=NEAR_NS_MAX),
            Sign("cpus_busy", "slower", least=1.1),
        ),
        needs=(own,),
        treat=_near_caches,
        refuted_by="a difference that remains when all CPUs of the server share a cache, or that "
        "also disappears on as many CPUs of several caches",
    ),
    Candidate(
        "cpu-contention",
        title="the server's threads on different CPUs get in each other's way",
        limit="how much more work the server does on several CPUs than on one",
        signature=(
            Sign("cpus_busy", "slower", least=1.1),
            Sign("switches_per_query", "either", least=0.1),
        ),
        needs=(own,),
        treat=_fewer_cpus,
        refuted_by="a difference that remains when one CPU does all the work, or that also "
        "disappears with a quota of one CPU",
    ),
    Candidate(
        "run-queue",
        title="more threads want to run than there are CPUs, and lose theirs while holding what "
        "others wait for",
        limit="queries per second at many connections: the CPU time that is not lost to waiting",
        signature=(
            Sign("server.involuntary_switches_per_query", "slower", least=0.02),
            Sign("switches_per_query", "over", least=1.1),
            Sign("cpus_busy", "slower", least=0.8),
        ),
        needs=(mariadb, own),
        treat=_pool,
        refuted_by="a difference that remains when no more threads run at once than there are CPUs",
    ),
    Candidate(
        "wake-up",
        title="CPUs go to sleep between queries and have to be woken",
        limit="queries per second at few connections: the rate at which CPUs wake up",
        signature=(
            Sign(_IDLE_SHARE, "either", least=0.15),
            Sign("switches_per_query", "either", least=0.5),
        ),
        needs=(_here,),
        treat=_awake,
        refuted_by="a difference that remains when no CPU ever sleeps",
    ),
    Candidate(
        "neighbour",
        title="other processes on the host use the CPUs",
        limit="queries per second: the remaining CPU time",
        signature=(Sign(_NEIGHBOURS_SHARE, "either", least=0.1),),
        needs=(own, root),
        treat=Proposal(
            _nice("server and client", "server", "client"),
            _of_class("server", "client"),
            least=0.4,
        ),
        refuted_by="a difference that remains when the kernel runs the server ahead of all others",
    ),
    Candidate(
        "client-bound",
        title="contend-load lacks the CPU time to send more queries",
        limit="queries per second: the rate at which the client can send them",
        signature=(Sign("client_ceiling_share", "either", least=0.7),),
        needs=(root,),
        treat=Proposal(
            _nice("contend-load", "client"),
            _of_class("client"),
            least=0.4,
        ),
        refuted_by="a difference that remains when the client gets a CPU whenever it needs one",
    ),
    Candidate(
        "memory-of-another-node",
        title="the server's memory is on a different node from its CPUs",
        limit="queries per second: the rate of memory loads from the other node",
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
        refuted_by="a difference that remains when all memory is local",
    ),
    Candidate(
        "frequency",
        title="CPUs run below their highest frequency",
        limit="queries per second: the CPU frequency divided by the cycles per query",
        signature=(
            Sign("server_cpu_us_per_query", "over", least=1.05),
            Sign("client_cpu_us_per_query", "over", least=1.05),
        ),
        needs=(_here,),
        treat=_frequency,
        refuted_by="a difference that remains when all CPUs run at their highest frequency",
    ),
)
