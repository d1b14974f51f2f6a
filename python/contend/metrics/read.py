"""Reading figures off a run. A reader answers None if the run does not have the figure."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from contend.metrics.model import Read, Run

POINT_KIND = "random_points"
POINT_SCRIPT = "select_random_points"

Find = Callable[[Run], Any]
"""Finds a document in the outcome of a run; None if it is not there."""


def number(value: object) -> float | None:
    """A figure. What is below 0 is a gauge that fell, and no cost of anything."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None


def outcome(run: Run) -> Any:
    return run.done


def open_loop(run: Run) -> Any:
    """What an open loop adds to the outcome."""
    return (run.done or {}).get("open")


def server(run: Run) -> Any:
    """Counters of the server's process over the window."""
    return (run.done or {}).get("server")


def client(run: Run) -> Any:
    """Counters of contend-load's process over the window."""
    return (run.done or {}).get("client")


def status(run: Run) -> Any:
    """What the counters of SHOW GLOBAL STATUS rose by; one that did not change may be missing."""
    return run.probes.get("status")


def calibration(run: Run) -> Any:
    return run.probes.get("calibration")


def entry(key: str, name: str) -> Find:
    """The entry of that name in a list of the outcome."""
    return lambda run: next(
        (one for one in (run.done or {}).get(key) or [] if one.get("name") == name), None
    )


def field(find: Find, *keys: str) -> Read:
    """A figure of a document, by its keys from the outside in."""

    def read(run: Run) -> float | None:
        value = find(run)
        for key in keys:
            # As JSON has it; to ask for a Mapping takes longer than all the rest.
            if not isinstance(value, dict):
                return None
            value = value.get(key)
        return number(value)

    return read


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


queries = field(outcome, "queries")
measured_s = field(outcome, "measured_s")


def whole_work_s(run: Run) -> float | None:
    """How long a fixed number of events took; a run that ends by the clock says nothing of it."""
    return measured_s(run) if (run.done or {}).get("ended") == "events" else None


_key_requests = field(status, "Key_read_requests")
_requests_per_lookup = over(
    lambda run: _key_requests(run) or None, field(status, "Handler_read_key")
)
_questions = field(status, "Questions")
_key_misses = over(field(status, "Key_reads"), lambda run: _questions(run) or queries(run))


def key_requests_per_point(run: Run) -> float | None:
    """Requests for each point that was looked up; a point that a query names twice is looked up
    once. None if the run did not ask for points of a MyISAM table."""
    workload = run.plan.get("workload") or {}
    if workload.get("kind") != POINT_KIND and workload.get("script") != POINT_SCRIPT:
        return None
    return _requests_per_lookup(run)


def key_misses_per_query(run: Run) -> float | None:
    """Index blocks fetched from outside the key cache, per statement that the server counted."""
    return _key_misses(run) if _key_requests(run) else None


def error_share(run: Run) -> float | None:
    """Queries that ended in an error, of all that were asked."""
    if run.done is None:
        return None
    failed = sum(float(error.get("count") or 0) for error in run.done.get("errors") or [])
    asked = (queries(run) or 0.0) + failed
    return failed / asked if asked > 0 else None


_cpu_us_per_s = over(total(field(server, "cpu_us"), field(client, "cpu_us")), measured_s)


def cpus_busy(run: Run) -> float | None:
    """CPUs that server and client kept busy together."""
    busy_us = _cpu_us_per_s(run)
    return None if busy_us is None else busy_us / 1e6
