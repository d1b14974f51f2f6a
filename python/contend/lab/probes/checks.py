"""Warnings that follow from a run's own figures: a doubtful cell is marked, never dropped.

Each check gets the outcome of the run and the data of the probes, and returns its warnings.

Three signs show that the client was at its limit, each of which marks a run (the server could have
answered more):

- its busiest thread computed over 85 % of the time;
- it sent over half of the rate that it reaches against a server without work, over the same number
  of connections;
- the same, with its ceiling lowered if a query cost it over 10 % more CPU than there: the
  additional CPU time lengthens each query by the same amount.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from contend.experiment import is_file
from contend.metrics.ceiling import CalibrationRecord, CeilingRecord
from contend.metrics.outcome import Done, Interval
from contend.metrics.probed import Probes, RunWarning
from contend.metrics.read import THREAD_SHARE_MAX

CEILING_SHARE_MAX = 0.5
"""Below half of its ceiling the client does not limit the server's rate."""

CPU_TOLERANCE = 0.1
"""Extra CPU per query, relative to the calibration, that is tolerated."""


def against_ceiling(ceiling: CeilingRecord, done: Done) -> CalibrationRecord:
    """The ceiling in the form of a run's record, with the run's share of it."""
    queries = float(done["queries"])
    cpu_us = float(done["client"]["cpu_us"]) / queries if queries else 0.0
    usual_us = float(ceiling["cpu_us_per_query"])
    ratio = cpu_us / usual_us if usual_us > 0 else 1.0
    extra_us = cpu_us - usual_us if ratio > 1 + CPU_TOLERANCE else 0.0
    time_us = 1e6 / float(ceiling["qps"]) + extra_us / float(ceiling["workers"])
    here = 1e6 / time_us
    return {**ceiling, "cpu_ratio": ratio, "qps_here": here, "share": float(done["qps"]) / here}


def why_client_limited(done: Done, probes: Probes) -> str | None:
    """Why a run is client-limited, as text; None if it is not.

    `probes` contains the result of `against_ceiling` as `calibration`, if the host is calibrated.
    """
    reasons = []
    for host in done.get("hosts", ()):
        share = float(host["client_busiest_thread_share"])
        if share > THREAD_SHARE_MAX:
            reasons.append(
                f"the busiest thread of contend-load on host {host['name']} was busy {share:.0%} "
                "of the time"
            )
    share = float(done["client_busiest_thread_share"])
    if share > THREAD_SHARE_MAX and not reasons:
        reasons.append(f"the busiest thread of contend-load was busy {share:.0%} of the time")
    ceiling = probes.get("calibration")
    if ceiling is not None and float(ceiling["share"]) > CEILING_SHARE_MAX:
        reasons.append(_too_near(ceiling, float(done["qps"])))
    if not reasons:
        return None
    return f"{'; '.join(reasons)}: the server may be able to answer more queries"


def _too_near(ceiling: CalibrationRecord, qps: float) -> str:
    here, ratio = float(ceiling["qps_here"]), float(ceiling["cpu_ratio"])
    cost = f" at {ratio:.1f} times the CPU per query" if here < ceiling["qps"] else ""
    return (
        f"{qps:,.0f} queries per second are {float(ceiling['share']):.0%} of the {here:,.0f} that "
        f"contend-load reaches against a null server{cost}"
    )


MISSES_PER_QUERY_MAX = 0.01
"""A cache that was meant to be warm misses less than once per hundred queries,"""

MISSES_PER_REQUEST_MAX = 0.001
"""or per thousand page requests: one call of a procedure may make hundreds of those."""

READ_BYTES_PER_QUERY_MAX = 16.0
"""Maximum storage reads per query if the data file is in the page cache."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The preparations before the run.

    Args:
        cache_counter: the status counter of reads that missed the cache; None if the cache was not
            meant to be warm.
        files_cached: the table's files are in the page cache.
    """

    cache_counter: str | None = None
    files_cached: bool = False


DRIFT_MAX = 0.05
"""Share of all rows that may change; with more, the tables count as changed."""

LINE_LATE_US_MAX = 20.0
"""The median lateness of a delay line that gets a CPU when it needs one is below this."""

Marks = Iterator[RunWarning]
Check = Callable[[Done, Probes, Expected], Marks]


def client_limited(done: Done, probes: Probes, _expected: Expected) -> Marks:
    if (reason := why_client_limited(done, probes)) is not None:
        yield _mark("client-limited", reason)


CLOCKS_APART_US_MAX = 1000.0
"""Tolerated drift between the steady clocks of two hosts in a run; maintained clocks drift by less
than a millisecond."""


def hosts_lost(done: Done, _probes: Probes, _expected: Expected) -> Marks:
    hosts = done.get("hosts", ())
    lost = [f"host {host['name']} was lost: {host['lost']}" for host in hosts if "lost" in host]
    if lost:
        left = f"{len(hosts) - len(lost)} of {len(hosts)}"
        yield _mark("host-lost", f"the figures are from {left} hosts: {'; '.join(lost)}")


def clocks_drifted(done: Done, _probes: Probes, _expected: Expected) -> Marks:
    for host in done.get("hosts", ()):
        before, after = host.get("clock_before"), host.get("clock_after")
        if before is None or after is None:
            continue
        moved_us = abs(after["steady_us"] - before["steady_us"])
        if moved_us > CLOCKS_APART_US_MAX + before["error_us"] + after["error_us"]:
            yield _mark(
                "clocks-drifted",
                f"the clock of host {host['name']} drifted {moved_us / 1000:.1f} ms from this "
                "host's during the run, so its window differed from the others'",
            )


def queries_failed(done: Done, _probes: Probes, _expected: Expected) -> Marks:
    errors = sorted(done["errors"], key=lambda error: -int(error["count"]))
    if errors:
        count, first = sum(int(error["count"]) for error in errors), errors[0]
        yield _mark(
            "queries-failed",
            f"{count} queries failed, most with error {first['code']} ({first['sqlstate']}): "
            f"{first['message']}",
        )


def ended_early(done: Done, _probes: Probes, _expected: Expected) -> Marks:
    if done["ended"] == "signal":
        yield _mark("ended-early", "the run was stopped before its planned end")


def overloaded(done: Done, _probes: Probes, _expected: Expected) -> Marks:
    """For an open loop whose rate the server did not keep."""
    queue = done.get("open")
    if queue and queue["overloaded"]:
        yield _mark(
            "overloaded",
            f"events fell due faster than they ended (the queue grew by "
            f"{float(queue['backlog_growth_per_s']):.0f} per second): response times would grow in "
            "a longer run",
        )


def cache_not_warm(done: Done, probes: Probes, expected: Expected) -> Marks:
    if expected.cache_counter is None:
        return
    status = probes.get("status", {})
    misses = int(status.get(expected.cache_counter, 0))
    requests = int(status.get(expected.cache_counter.replace("_reads", "_read_requests"), 0))
    per_query = misses / max(1, int(done["queries"]))
    if per_query > MISSES_PER_QUERY_MAX and misses > MISSES_PER_REQUEST_MAX * requests:
        yield _mark(
            "cache-not-warm",
            f"the cache should be warm but missed {per_query:.3g} times per query "
            f"({expected.cache_counter})",
        )


def files_not_cached(done: Done, _probes: Probes, expected: Expected) -> Marks:
    server = done.get("server")
    read: int | None = server.get("read_bytes") if server else None
    if not expected.files_cached or read is None:
        return
    per_query = int(read) / max(1, int(done["queries"]))
    if per_query > READ_BYTES_PER_QUERY_MAX:
        yield _mark(
            "files-not-cached",
            f"the table's files were in the page cache, yet the server read {per_query:.0f} bytes "
            "per query from storage",
        )


def data_drifts(_done: Done, probes: Probes, _expected: Expected) -> Marks:
    """For a script that made its tables itself: only the script knows how it changes them."""
    dataset = probes.get("dataset", {})
    rows = dataset.get("rows", 0)
    changed = _rows_changed(probes.get("status", {}))
    if is_file(str(dataset.get("prepared", {}).get("script", ""))) and changed > DRIFT_MAX * rows:
        share = f", {changed / rows:.0%} of the {rows:,} that prepare created" if rows else ""
        yield _mark(
            "data-drifts",
            f"the script changed {changed:,} rows, warm-up included{share}: its later events may "
            "do different work, for instance on an empty queue",
        )


def _rows_changed(status: Mapping[str, int]) -> int:
    """Rows that were inserted, updated or deleted."""
    # Without a separate counter, the handlers' counters include rows of temporary tables.
    names = (
        ("Handler_write", "Handler_update", "Handler_delete")
        if "Handler_tmp_write" in status
        else ("Innodb_rows_inserted", "Innodb_rows_updated", "Innodb_rows_deleted")
    )
    return sum(status.get(name, 0) for name in names)


def host_disturbed(_done: Done, probes: Probes, _expected: Expected) -> Marks:
    yield from probes.get("host", {}).get("disturbances", ())


def line_late(_done: Done, probes: Probes, _expected: Expected) -> Marks:
    for line, effect in (
        (probes.get("line"), "the server was farther away"),
        (probes.get("member_line"), "the servers were farther apart"),
    ):
        if line is None:
            continue
        late = line["late_us"]
        if late["p50"] > LINE_LATE_US_MAX:
            yield _mark(
                "line-late",
                f"half of the traffic left the delay line over {late['p50']:.0f} µs late (p99 "
                f"{late['p99']:.0f} µs): {effect} than the requested {line['round_trip_us']:g} µs",
            )
        if line["refused"]:
            message = f"{line['refused']} connections reached no server: {line['refusal']}"
            yield _mark("line-refused", message)


CHECKS: tuple[Check, ...] = (
    client_limited,
    hosts_lost,
    clocks_drifted,
    queries_failed,
    ended_early,
    overloaded,
    cache_not_warm,
    files_not_cached,
    data_drifts,
    host_disturbed,
    line_late,
)


RATE_MOVES_MAX = 3.0
"""Ratio of the fastest part of a run to its slowest: with more, the run has no one speed."""

PARTS = 5
"""Number of parts of a run, of equally many intervals, whose rates are compared."""

QUERIES_OF_A_PART_MIN = 50
"""With fewer, chance alone may move the rate."""


def rate_moved(done: Done, intervals: Sequence[Interval]) -> Marks:
    """For a closed loop: a cache that fills, a table that grows, a neighbour, a checkpoint."""
    if "closed" not in done.get("arrival", "") or len(intervals) < PARTS:
        return
    ends = [len(intervals) * part // PARTS for part in range(PARTS + 1)]
    parts = [intervals[begin:end] for begin, end in itertools.pairwise(ends)]
    if min(sum(one["queries"] for one in part) for part in parts) < QUERIES_OF_A_PART_MIN:
        return
    rates = [
        sum(one["queries"] for one in part) / sum(one["duration_s"] for one in part)
        for part in parts
    ]
    if max(rates) > RATE_MOVES_MAX * min(rates):
        shown = ", ".join(f"{rate:,.0f}" for rate in rates)
        yield _mark(
            "rate-moved",
            f"the rate moved by a factor of {max(rates) / min(rates):.1f} within the run "
            f"({shown} queries per second, by fifths): its average says little",
        )


def warnings_of(
    done: Done, probes: Probes, expected: Expected, intervals: Sequence[Interval] = ()
) -> list[RunWarning]:
    """The warnings of all checks about a run."""
    marks = [warning for check in CHECKS for warning in check(done, probes, expected)]
    return [*marks, *rate_moved(done, intervals)]


def _mark(code: str, message: str) -> RunWarning:
    return {"code": code, "message": message}
