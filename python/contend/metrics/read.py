"""Reading figures off a run. A reader answers None if the run does not have the figure.

The state of the host is how far apart its CPUs were while a block was measured: near, far, or first
one and then the other. The virtual CPUs of a host move between cores that share a cache and cores
that do not. Who shares lines of cache, as a server with locks does, changes pace with that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from contend.metrics.model import Read, Run
from contend.outcome import ClassFigures, Done, KindFigures, OpenLoop, ProcessDelta
from contend.plan import Workload
from contend.probed import CalibrationRecord, CpuState, DelayLine, HostState, SegmentLock

Name = Literal["near", "far", "changed"]

NAMES: tuple[Name, ...] = ("near", "changed", "far")

NEAR_NS_MAX = 200.0
"""A line of cache goes over and comes back in 70 to 160 ns between cores that share a cache, and in
400 to 1,300 between cores that do not."""

THREAD_SHARE_MAX = 0.85
"""A worker thread of contend-load that computes longer than this share of the time cannot ask
faster."""

MOVED_MIN = 2.5
"""A pair whose two looks differ by more was moved; looks at one that stays differ by up to 2."""


def distance_ns(states: Sequence[CpuState]) -> float | None:
    """For a line of cache to go over and to come back: geometric mean over all pairs and looks;
    None if no pair was seen."""
    logs = [math.log(pair["handover_ns"]) for state in states for pair in state["pairs"]]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None


def name_of(state: HostState) -> Name | None:
    """What the state is called; None if no pair was seen before and after."""
    before, after = (_by_pair(state[when]) for when in ("before", "after"))
    both = before.keys() & after.keys()
    if not both:
        return None
    if any(abs(math.log(after[pair] / before[pair])) > math.log(MOVED_MIN) for pair in both):
        return "changed"
    ns = distance_ns((state["before"], state["after"]))
    return "near" if ns is not None and ns < NEAR_NS_MAX else "far"


def _by_pair(state: CpuState) -> dict[tuple[int, ...], float]:
    return {tuple(pair["cpus"]): pair["handover_ns"] for pair in state["pairs"]}


def state_of(run: Run) -> HostState | None:
    return run.probes.get("state")


def ln_distance(run: Run) -> float | None:
    """Natural logarithm of the distance in ns, over both looks: twice as far is 0.69 more."""
    state = state_of(run)
    ns = None if state is None else distance_ns((state["before"], state["after"]))
    return None if ns is None else math.log(ns)


POINT_KIND = "random_points"
POINT_SCRIPT = "select_random_points"

Document = TypeVar("Document")
Value = TypeVar("Value")
Part = TypeVar("Part", ClassFigures, KindFigures)

Find = Callable[[Run], Document | None]
"""Finds a document in the outcome of a run; None if it is not there."""


def number(value: object) -> float | None:
    """A figure. What is below 0 is a gauge that fell, and no cost of anything."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value < math.inf else None


def outcome(run: Run) -> Done | None:
    return run.done


def open_loop(run: Run) -> OpenLoop | None:
    """What an open loop adds to the outcome."""
    return run.done.get("open") if run.done else None


def server(run: Run) -> ProcessDelta | None:
    """Counters of the server's process over the window."""
    return run.done.get("server") if run.done else None


def client(run: Run) -> ProcessDelta | None:
    """Counters of contend-load's process over the window."""
    return run.done.get("client") if run.done else None


def classes(run: Run) -> Sequence[ClassFigures]:
    """The queries of each class of statements."""
    return (run.done.get("classes") if run.done else None) or ()


def kinds(run: Run) -> Sequence[KindFigures]:
    """The events of each kind."""
    return (run.done.get("kinds") if run.done else None) or ()


def status(run: Run) -> Mapping[str, int] | None:
    """What the counters of SHOW GLOBAL STATUS rose by; one that did not change may be missing."""
    return run.probes.get("status")


def calibration(run: Run) -> CalibrationRecord | None:
    return run.probes.get("calibration")


def line(run: Run) -> DelayLine | None:
    """The delay line before the server."""
    return run.probes.get("line")


def named(parts: Callable[[Run], Sequence[Part]], name: str) -> Find[Part]:
    """The one of that name."""
    return lambda run: next((part for part in parts(run) if part.get("name") == name), None)


def recorded(find: Find[Document], pick: Callable[[Document], Value]) -> Find[Value]:
    """What `pick` takes from a document; None if it is not in there."""

    def read(run: Run) -> Value | None:
        document = find(run)
        try:
            return None if document is None else pick(document)
        except (KeyError, TypeError):
            return None

    return read


def field(find: Find[Document], pick: Callable[[Document], float | None]) -> Read:
    """A figure of a document; None if it is not in there."""
    found = recorded(find, pick)
    return lambda run: number(found(run))


def counter(name: str) -> Read:
    """What a counter of SHOW GLOBAL STATUS rose by."""
    return field(status, lambda counters: counters[name])


def total(*reads: Read) -> Read:
    """The sum, if all of them are known."""

    def read(run: Run) -> float | None:
        values = [value for each in reads if (value := each(run)) is not None]
        return sum(values) if len(values) == len(reads) else None

    return read


def over(above: Read, below: Read) -> Read:
    """One divided by the other; None if that is 0."""

    def read(run: Run) -> float | None:
        part, whole = above(run), below(run)
        return part / whole if part is not None and whole else None

    return read


queries = field(outcome, lambda done: done["queries"])
events = field(outcome, lambda done: done["events"])
events_in_parts = field(outcome, lambda done: done["events_in_parts"])
round_trips_per_event = over(queries, events)
measured_s = field(outcome, lambda done: done["measured_s"])
server_cpu_us = field(server, lambda used: used["cpu_us"])
client_cpu_us = field(client, lambda used: used["cpu_us"])


def whole_work_s(run: Run) -> float | None:
    """How long a fixed number of events took, in slices in the mean over them; a run that ends by
    the clock says nothing of it."""
    if run.done is None or run.done.get("ended") != "events":
        return None
    slices = run.plan.get("load", {}).get("slices")
    took_s = measured_s(run)
    return took_s if took_s is None or slices is None else took_s / slices["rounds"]


def warming(run: Run) -> Mapping[str, Any] | None:
    """How the buffer pool was warmed after a cold start."""
    return run.probes.get("warming")


_key_requests = counter("Key_read_requests")
_requests_per_lookup = over(lambda run: _key_requests(run) or None, counter("Handler_read_key"))
_questions = counter("Questions")


def asked(run: Run) -> float | None:
    """Queries that the server counted over the time in which its counters rose, which the warm-up
    and the settling of slices belong to; if it did not say, those of the measured window."""
    return _questions(run) or queries(run)


_key_misses = over(counter("Key_reads"), asked)


_cache_hits = counter("Qcache_hits")
_cache_inserts = counter("Qcache_inserts")
_selects = counter("Com_select")


def query_cache_miss_share(run: Run) -> float | None:
    """SELECTs that the query cache did not answer, of all, which MariaDB counts with its hits.
    None if the cache neither answered nor stored anything."""
    hits, selects = _cache_hits(run), _selects(run)
    if hits is None or not selects or not (hits or _cache_inserts(run)):
        return None
    return max(0.0, 1 - hits / selects)


def query_cache_wait_share(run: Run) -> float | None:
    """Of the queries that were seen to run, those that waited for the query cache's lock."""
    seen = run.probes.get("query_cache_waits")
    return seen["waiting"] / seen["running"] if seen and seen["running"] else None


def _steal_share(run: Run) -> float | None:
    host = run.probes.get("host")
    return number(host["steal_share"]) if host is not None else None


def _neighbours_share(run: Run) -> float | None:
    """CPU time of processes that are not the experiment's, over all CPUs' time."""
    host = run.probes.get("host")
    if host is None or host["own_cpu_s"] is None:
        return None
    own = host["own_cpu_s"] / (host["elapsed_s"] * host["cpus"])
    return max(0.0, host["busy_share"] - own)


def _io_stall_share(run: Run) -> float | None:
    """Time in which all tasks of the host waited for storage."""
    host = run.probes.get("host")
    return number(host["stall_share"].get("io.full")) if host is not None else None


DISTURBANCES: dict[str, Read] = {
    "steal": _steal_share,
    "neighbours": _neighbours_share,
    "io": _io_stall_share,
    "distance": ln_distance,
}
"""What disturbed a run, by the names that `compare.adjust` takes: shares from 0 to 1, and how far
apart the CPUs were."""


def key_requests_per_point(run: Run) -> float | None:
    """Requests for each point that was looked up; a point that a query names twice is looked up
    once. None if the run did not ask for points of a MyISAM table."""
    workload: Workload | None = run.plan.get("workload")
    if workload is None:
        return None
    kind: str | None = workload.get("kind")
    script: str | None = workload.get("script")
    if kind != POINT_KIND and script != POINT_SCRIPT:
        return None
    return _requests_per_lookup(run)


def key_misses_per_query(run: Run) -> float | None:
    """Index blocks fetched from outside the key cache, per statement that the server counted."""
    return _key_misses(run) if _key_requests(run) else None


def lock_wait_share(run: Run) -> float | None:
    """Of the visits to the locks of a model server's key cache, those that had to wait."""
    locks = _locks(run)
    visits = sum(lock["visits"] for lock in locks)
    return sum(lock["waits"] for lock in locks) / visits if visits else None


def lock_held_ns(run: Run) -> float | None:
    """How long a visit holds one of these locks, ns."""
    locks = _locks(run)
    visits = sum(lock["visits"] for lock in locks)
    return math.fsum(map(_held_ns, locks)) / visits if visits else None


def lock_held_share(run: Run) -> float | None:
    """The share of the time in which that lock is held which is held the longest. The server counts
    over all of its time, in which others have their turn, so it goes by the time for each query."""
    queries = (run.probes.get("model") or {}).get("queries")
    qps = None if run.done is None else run.done.get("qps")
    held_ns = max(map(_held_ns, _locks(run)), default=None)
    if not queries or qps is None or held_ns is None:
        return None
    return held_ns / queries * qps / 1e9


def _locks(run: Run) -> Sequence[SegmentLock]:
    """Those of the segments of a model server; none of another server."""
    return (run.probes.get("model") or {}).get("segments", ())


def _held_ns(lock: SegmentLock) -> float:
    """By all visits together; the times of some were taken."""
    return lock["held_ns"] / lock["sampled"] * lock["visits"] if lock["sampled"] else 0.0


def error_share(run: Run) -> float | None:
    """Queries that ended in an error, of all that were asked."""
    if run.done is None:
        return None
    failed = sum(float(error.get("count") or 0) for error in run.done.get("errors") or [])
    ended = (queries(run) or 0.0) + failed
    return failed / ended if ended > 0 else None


_cpu_us_per_s = over(total(server_cpu_us, client_cpu_us), measured_s)


def cpus_busy(run: Run) -> float | None:
    """CPUs that server and client kept busy together."""
    busy_us = _cpu_us_per_s(run)
    return None if busy_us is None else busy_us / 1e6
