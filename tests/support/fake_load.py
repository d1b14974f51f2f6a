"""A load generator without a process or a server, for the tests of whoever drives load."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from hdrh.histogram import HdrHistogram

from contend.host.placement import Placed
from contend.load.process import OnAsked, OnEvent
from contend.metrics.outcome import Done, Hello, Interval, Percentiles, ProcessDelta, Slice

Answer = Callable[[dict[str, Any]], Done]

Rates = Callable[[str, int], float]
"""Queries a second of the arm of that name in the round of that number."""


def _nothing(_plan: Mapping[str, Any]) -> dict[str, Any]:
    raise AssertionError("no recording is to be asked")


class FakeLoad:
    """Answers each plan at once.

    Args:
        answer: gives the `done` outcome of a plan, or raises what the run should raise.
            Without it every run measures 1000 queries a second and connection.
        rates: of the slices, if a plan has arms; without it all slices of an arm are as its `done`.

    Attributes:
        plans: every plan that was run, in order.
        rest_s: what servers take to come to rest after each slice.
        asked: answers a plan that asks the statements of a recording.
    """

    def __init__(self, answer: Answer | None = None, rates: Rates | None = None) -> None:
        self._answer = answer or functools.partial(done_of, rates=rates)
        self._rates = rates
        self.plans: list[dict[str, Any]] = []
        self.rest_s = 0.0
        self.asked: Callable[[Mapping[str, Any]], dict[str, Any]] = _nothing

    def run(
        self,
        plan: dict[str, Any],
        *,
        env: Mapping[str, str],
        on_event: OnEvent,
        placed: Placed | None = None,
    ) -> Done:
        self.plans.append(plan)
        on_event(_hello(plan))
        on_event({"type": "phase", "phase": "measure", "at_s": 0.0})
        done = self._answer(plan)
        if "arms" in plan:
            for line in _slices(plan, done, self._rates, self.rest_s):
                on_event(line)
        else:
            on_event(_interval(done))
        on_event(done)
        return done

    def ask(
        self,
        plan: Mapping[str, Any],
        *,
        env: Mapping[str, str],
        on_progress: OnAsked,
        placed: Placed | None = None,
    ) -> dict[str, Any]:
        self.plans.append(dict(plan))
        on_progress(1, 2)
        return self.asked(plan)


def done_of(
    plan: dict[str, Any], *, qps: float | None = None, rates: Rates | None = None, **changes: Any
) -> Done:
    """A plausible `done` of `plan`, and of each of its arms; `changes` replace single fields, of
    the arms too."""
    if "arms" not in plan:
        return _done(plan, qps, plan["load"]["measure_s"], changes)
    slices = plan["load"]["slices"]
    measured_s = slices["rounds"] * slices["slice_s"]
    arms = []
    for arm in plan["arms"]:
        rounds = [rates(arm["name"], n) for n in range(slices["rounds"])] if rates else []
        rate = sum(rounds) / len(rounds) if rounds else qps
        done = _done({**plan, **arm}, rate, measured_s, changes)
        arms.append({"arm": arm["name"], "slices": slices["rounds"], "done": done})
    rate = sum(arm["done"]["qps"] for arm in arms) / len(arms)
    setup = {"setup_connect_us": percentiles(plan["load"]["connections"] * len(arms))}
    whole = _done(plan, rate, measured_s * len(arms), {**changes, **setup})
    return cast(Done, {**whole, "arms": arms})


def _done(
    plan: dict[str, Any], qps: float | None, measured_s: float, changes: Mapping[str, Any]
) -> Done:
    rate = qps if qps is not None else 1000.0 * plan["load"]["connections"]
    queries = int(rate * measured_s)
    server = process_delta(queries * 30.0) if "watch" in plan else None
    done: Done = {
        "type": "done",
        "ended": "time",
        "measured_s": measured_s,
        "begun": queries,
        "events": queries,
        "events_in_parts": rate * measured_s,
        "queries": queries,
        "rows": queries,
        "bytes_sent": queries * 60,
        "bytes_received": queries * 200,
        "qps": rate,
        "arrival": "closed-loop",
        "latency_us": percentiles(queries),
        "latency_hdr_ns": _histogram(queries),
        "errors": [],
        "client": process_delta(queries * 10.0),
        "server": server,
        "client_busiest_thread_share": 0.3,
        "fairness": 1.0,
    }
    return cast(Done, {**done, **changes})


def percentiles(count: int) -> Percentiles:
    names = ("min", "mean", "p50", "p90", "p95", "p99", "p999", "max")
    shares = {name: 100.0 * (i + 1) for i, name in enumerate(names)}
    return cast(Percentiles, {"count": count, **shares})


def process_delta(cpu_us: float) -> ProcessDelta:
    return {
        "cpu_us": cpu_us,
        "voluntary_switches": 100,
        "involuntary_switches": 10,
        "read_bytes": 0,
        "write_bytes": 0,
    }


def _histogram(count: int) -> str:
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    if count > 0:
        histogram.record_value(100_000, count)
    encoded: bytes = histogram.encode()
    return encoded.decode("ascii")


def _hello(plan: dict[str, Any]) -> Hello:
    wanted = plan["load"]["engine"]
    return {
        "type": "hello",
        "version": 1,
        "program_version": "fake",
        "pid": 1,
        "threads": 1,
        "engine": "epoll" if wanted == "auto" else wanted,
        "server_version": "fake",
    }


def _interval(done: Done) -> Interval:
    return {
        "type": "interval",
        "index": 0,
        "start_s": 0.0,
        "duration_s": done["measured_s"],
        "queries": done["queries"],
        "errors": 0,
        "qps": done["qps"],
        "events_in_parts": done["events_in_parts"],
        "latency_us": done["latency_us"],
    }


def _slices(
    plan: dict[str, Any], done: Done, rates: Rates | None, rest_s: float
) -> Iterator[Slice]:
    """The lines of all slices, the arms in their order in each round."""
    slices = plan["load"]["slices"]
    for place, arm in enumerate(done["arms"]):
        assert arm["arm"] == plan["arms"][place]["name"]
    for index in range(slices["rounds"] * len(done["arms"])):
        round_, place = divmod(index, len(done["arms"]))
        arm = done["arms"][place]
        rate = rates(arm["arm"], round_) if rates else arm["done"]["qps"]
        queries = int(rate * slices["slice_s"])
        yield {
            "type": "slice",
            "index": index,
            "arm": arm["arm"],
            "arm_index": place,
            "round": round_,
            "position": place,
            "start_s": index * (slices["slice_s"] + slices["settle_s"] + rest_s),
            "duration_s": slices["slice_s"],
            "begun": queries,
            "events": queries,
            "events_in_parts": rate * slices["slice_s"],
            "drained": 0,
            "failed": 0,
            "queries": queries,
            "answered": queries,
            "rows": queries,
            "bytes_sent": queries * 60,
            "bytes_received": queries * 200,
            "errors": [],
            "qps": rate,
            "latency_us": percentiles(queries),
            "latency_hdr_ns": _histogram(queries),
            "client_cpu_us": queries * 10.0,
            "watched_cpu_us": [],
            "visit": {
                "duration_s": slices["slice_s"] + slices["settle_s"],
                "events": queries,
                "client": process_delta(queries * 10.0),
                "watched": [],
            },
        }
