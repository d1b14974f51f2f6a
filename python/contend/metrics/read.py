"""Reading figures from a run. A reader returns None if the run does not have the figure.

The state of the host is the distance of its CPUs while a block was measured: near, far, or changed.
The virtual CPUs of a host move between cores that share a cache and cores that do not. That changes
the speed of software that shares cache lines, such as a server with locks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from contend.metrics.ceiling import CalibrationRecord
from contend.metrics.model import Read, Run
from contend.metrics.outcome import ClassFigures, Done, KindFigures, OpenLoop, ProcessDelta
from contend.metrics.plan import Workload
from contend.metrics.probed import CpuState, DelayLine, HostState, SegmentLock

Name = Literal["near", "far", "changed"]

NAMES: tuple[Name, ...] = ("near", "changed", "far")

NEAR_NS_MAX = 200.0
"""The round trip of a cache line takes 70 to 160 ns between cores that share a cache, and 400 to
1,300 between cores that do not."""

THREAD_SHARE_MAX = 0.85
"""A worker thread of contend-load that computes for more than this share of the time cannot send
faster."""

MOVED_MIN = 2.5
"""A pair whose two measurements differ by more has moved; an unmoved pair's differ by up to 2."""


def distance_ns(states: Sequence[CpuState]) -> float | None:
    """Round trip of a cache line: geometric mean over all pairs and measurements; None without a
    pair."""
    logs = [math.log(pair["handover_ns"]) for state in states for pair in state["pairs"]]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None


def name_of(state: HostState) -> Name | None:
    """The name of the state; None if no pair was measured before and after."""
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
    """Natural logarithm of the distance in ns, over both measurements: doubling it adds 0.69."""
    state = state_of(run)
    ns = None if state is None else distance_ns((state["before"], state["after"]))
    return None if ns is None else math.log(ns)


POINT_KIND = "random_points"
POINT_SCRIPT = "select_random_points"

Document = TypeVar("Document")
Value = TypeVar("Value")
Part = TypeVar("Part", ClassFigures, KindFigures)

Find = Callable[[Run], Document | None]
"""Finds a document in the outcome of a run; None if it is missing."""


def number(value: object) -> float | None:
    """A figure. A value below 0 comes from a gauge that fell, and is not a cost."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value < math.inf else None


def outcome(run: Run) -> Done | None:
    return run.done


def load(run: Run) -> Done | None:
    """The outcome of a load; None if statements of a recording were asked one at a time: the speed
    of a sample, with equally many statements of each template, is not that of the recording."""
    return None if "twins" in run.probes else run.done


def at_rate(run: Run) -> Done | None:
    """The outcome at a rate that all levels hold, if that was measured."""
    equal = run.probes.get("equal_load")
    return None if equal is None else equal["done"]


def alone(run: Run) -> Mapping[str, Done]:
    """The outcomes of each kind of event by itself on one connection, by the name of the kind;
    empty if that was not measured."""
    return {kind: one["done"] for kind, one in run.probes.get("alone", {}).items()}


_OWN_QUESTIONS = 2
"""Between the two looks at counters: the second look, and the end of the session."""


def counted_alone(run: Run, kind: str, *names: str) -> float | None:
    """Increase of counters of the server per event of a kind by itself, summed; None if it was not
    measured or the server has none of them."""
    one = run.probes.get("alone", {}).get(kind)
    if one is None:
        return None
    done, counts = one["done"], one.get("status", {})
    found = [counts[name] for name in names if name in counts]
    # The counters also cover the time between the measured windows. A statement that runs at the
    # first look is among the earlier questions, and its work comes later.
    began_before = max(0, -counts.get("Threads_running", 0))
    asked = counts.get("Questions", 0) - _OWN_QUESTIONS + began_before
    if not found or asked < 1 or not done.get("events"):
        return None
    return sum(found) / asked * done["queries"] / done["events"]


def open_loop(run: Run) -> OpenLoop | None:
    """The open loop's part of the outcome."""
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


def classes_alone(run: Run) -> Sequence[ClassFigures]:
    """The queries of each class: of each kind by itself if that was measured."""
    if not (by_kind := alone(run)):
        return classes(run)
    found = (one for done in by_kind.values() for one in done.get("classes", ()))
    return [one for one in found if one["queries"]]


def kinds_at_rate(run: Run) -> Sequence[KindFigures]:
    """The events of each kind: at the same load if that was measured."""
    done = at_rate(run) or run.done
    return (done.get("kinds") if done else None) or ()


def kinds_alone(run: Run) -> Sequence[KindFigures]:
    """The events of each kind, with their service times, by itself if that was measured. In a
    closed loop, service and response times are the same."""
    if not (by_kind := alone(run)):
        return kinds(run)
    found: list[KindFigures] = []
    for name, done in by_kind.items():
        # Parts of a transaction have no kind in the outcome, which is about one part alone.
        whole: KindFigures = {
            "name": name,
            "classes": [],
            "events": done["events"],
            "latency_us": done["latency_us"],
        }
        for kind in done.get("kinds") or [whole]:
            if kind["events"]:
                found.append({**kind, "name": name, "service_us": kind["latency_us"]})
    return found


def status(run: Run) -> Mapping[str, int] | None:
    """Increase of the counters of SHOW GLOBAL STATUS; one that did not change may be missing."""
    return run.probes.get("status")


def calibration(run: Run) -> CalibrationRecord | None:
    return run.probes.get("calibration")


def twins_us(run: Run) -> float | None:
    """Mean time of a recording's statements, each asked by itself."""
    asked = run.probes.get("twins")
    return None if asked is None else number(asked["us_mean"])


def line(run: Run) -> DelayLine | None:
    """The delay line before the server."""
    return run.probes.get("line")


def named(parts: Callable[[Run], Sequence[Part]], name: str) -> Find[Part]:
    """The part with that name."""
    return lambda run: next((part for part in parts(run) if part.get("name") == name), None)


def recorded(find: Find[Document], pick: Callable[[Document], Value]) -> Find[Value]:
    """The value that `pick` takes from a document; None if it is missing."""

    def read(run: Run) -> Value | None:
        document = find(run)
        try:
            return None if document is None else pick(document)
        except (KeyError, TypeError):
            return None

    return read


def field(find: Find[Document], pick: Callable[[Document], float | None]) -> Read:
    """A figure of a document; None if it is missing."""
    found = recorded(find, pick)
    return lambda run: number(found(run))


def counter(name: str) -> Read:
    """Increase of a counter of SHOW GLOBAL STATUS."""
    return field(status, lambda counters: counters[name])


def total(*reads: Read) -> Read:
    """The sum, if all of them are known."""

    def read(run: Run) -> float | None:
        values = [value for each in reads if (value := each(run)) is not None]
        return sum(values) if len(values) == len(reads) else None

    return read


def over(above: Read, below: Read) -> Read:
    """The ratio of two figures; None if the second is 0."""

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
    """Time for a fixed number of events, in slices the mean over them; None if the run ends by the
    clock."""
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


def queries_of_server(run: Run) -> float | None:
    """Queries that the server counted together with its other counters, including the warm-up and
    the settling of slices; without that count, those of the measured window."""
    return _questions(run) or queries(run)


_key_misses = over(counter("Key_reads"), queries_of_server)


_cache_hits = counter("Qcache_hits")
_cache_inserts = counter("Qcache_inserts")
_selects = counter("Com_select")


def query_cache_miss_share(run: Run) -> float | None:
    """Share of SELECTs that the query cache did not answer; MariaDB counts its hits as SELECTs.
    None if the cache neither answered nor stored anything."""
    hits, selects = _cache_hits(run), _selects(run)
    if hits is None or not selects or not (hits or _cache_inserts(run)):
        return None
    return max(0.0, 1 - hits / selects)


def query_cache_wait_share(run: Run) -> float | None:
    """Share of the running queries that waited for the query cache's lock."""
    sampled = run.probes.get("query_cache_waits")
    return sampled["waiting"] / sampled["running"] if sampled and sampled["running"] else None


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
"""Disturbances of a run, by the names that `compare.adjust` accepts: shares from 0 to 1, and the
distance of the CPUs."""


def key_requests_per_point(run: Run) -> float | None:
    """Requests per point that was looked up; a point that a query names twice is looked up once.
    None if the run did not query points of a MyISAM table."""
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
    """Share of the visits to the locks of a model server's key cache that had to wait."""
    locks = _locks(run)
    visits = sum(lock["visits"] for lock in locks)
    return sum(lock["waits"] for lock in locks) / visits if visits else None


def lock_held_ns(run: Run) -> float | None:
    """Time that a visit holds one of these locks, ns."""
    locks = _locks(run)
    visits = sum(lock["visits"] for lock in locks)
    return math.fsum(map(_held_ns, locks)) / visits if visits else None


def lock_held_share(run: Run) -> float | None:
    """The share of the time for which the most-held of these locks is held. The server counts over
    all of its time, including other levels' turns, so this uses the time per query."""
    queries = (run.probes.get("model") or {}).get("queries")
    qps = None if run.done is None else run.done.get("qps")
    held_ns = max(map(_held_ns, _locks(run)), default=None)
    if not queries or qps is None or held_ns is None:
        return None
    return held_ns / queries * qps / 1e9


def _locks(run: Run) -> Sequence[SegmentLock]:
    """The locks of a model server's segments; empty for other servers."""
    return (run.probes.get("model") or {}).get("segments", ())


def _held_ns(lock: SegmentLock) -> float:
    """Total of all visits, extrapolated from those that were timed."""
    return lock["held_ns"] / lock["sampled"] * lock["visits"] if lock["sampled"] else 0.0


def error_share(run: Run) -> float | None:
    """Share of queries that ended in an error."""
    if (done := load(run)) is None:
        return None
    failed = sum(float(error.get("count") or 0) for error in done.get("errors") or [])
    ended = (queries(run) or 0.0) + failed
    return failed / ended if ended > 0 else None


_cpu_us_per_s = over(total(server_cpu_us, client_cpu_us), measured_s)


def cpus_busy(run: Run) -> float | None:
    """CPUs that server and client kept busy together."""
    busy_us = _cpu_us_per_s(run)
    return None if busy_us is None else busy_us / 1e6
