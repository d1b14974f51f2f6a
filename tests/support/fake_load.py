"""A load generator without a process or a server, for the tests of whoever drives load."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from hdrh.histogram import HdrHistogram

from contend.load.process import OnEvent
from contend.outcome import Done, Hello, Interval, Percentiles, ProcessDelta

Answer = Callable[[dict[str, Any]], Done]


class FakeLoad:
    """Answers each plan at once.

    Args:
        answer: gives the `done` outcome of a plan, or raises what the run should raise.
            Without it every run measures 1000 queries a second and connection.

    Attributes:
        plans: every plan that was run, in order.
    """

    def __init__(self, answer: Answer | None = None) -> None:
        self._answer = answer or done_of
        self.plans: list[dict[str, Any]] = []

    def run(self, plan: dict[str, Any], *, env: Mapping[str, str], on_event: OnEvent) -> Done:
        self.plans.append(plan)
        on_event(_hello(plan))
        on_event({"type": "phase", "phase": "measure", "at_s": 0.0})
        done = self._answer(plan)
        on_event(_interval(done))
        on_event(done)
        return done


def done_of(plan: dict[str, Any], *, qps: float | None = None, **changes: Any) -> Done:
    """A plausible `done` of `plan`; `changes` replace single fields."""
    rate = qps if qps is not None else 1000.0 * plan["load"]["connections"]
    measured_s = plan["load"]["measure_s"]
    queries = int(rate * measured_s)
    server = process_delta(queries * 30.0) if "watch" in plan else None
    done: Done = {
        "type": "done",
        "ended": "time",
        "measured_s": measured_s,
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
        "latency_us": done["latency_us"],
    }
