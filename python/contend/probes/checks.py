"""What a run's own figures warn of: a cell that is not what it seems is marked, never dropped.

Each check sees the outcome of the run and what the probes saw, and answers with its warnings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from contend.probes import client

Warning = dict[str, Any]

MISSES_PER_QUERY_MAX = 0.01
"""A cache that was meant to be warm misses less than once in a hundred queries."""

READ_BYTES_PER_QUERY_MAX = 16.0
"""Storage reads per query that a data file in the page cache stays below."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What was prepared before the run.

    Args:
        cache_counter: the status counter of reads that missed the cache; None where the cache
            was not meant to be warm.
        files_cached: the table's files are in the page cache.
    """

    cache_counter: str | None = None
    files_cached: bool = False


Check = Callable[[Mapping[str, Any], Mapping[str, Any], Expected], list[Warning]]


def client_limited(
    done: Mapping[str, Any], probes: Mapping[str, Any], _expected: Expected
) -> list[Warning]:
    reason = client.client_limited(done, probes)
    return [] if reason is None else _marked("client-limited", reason)


def queries_failed(
    done: Mapping[str, Any], _probes: Mapping[str, Any], _expected: Expected
) -> list[Warning]:
    errors = sorted(done["errors"], key=lambda error: -int(error["count"]))
    if not errors:
        return []
    count, first = sum(int(error["count"]) for error in errors), errors[0]
    return _marked(
        "queries-failed",
        f"{count} queries failed, most with error {first['code']} ({first['sqlstate']}): "
        f"{first['message']}",
    )


def ended_early(
    done: Mapping[str, Any], _probes: Mapping[str, Any], _expected: Expected
) -> list[Warning]:
    if done["ended"] == "time":
        return []
    return _marked("ended-early", "the run was stopped before its time")


def cache_not_warm(
    done: Mapping[str, Any], probes: Mapping[str, Any], expected: Expected
) -> list[Warning]:
    if expected.cache_counter is None:
        return []
    misses = int(probes.get("status", {}).get(expected.cache_counter, 0))
    per_query = misses / max(1, int(done["queries"]))
    if per_query <= MISSES_PER_QUERY_MAX:
        return []
    return _marked(
        "cache-not-warm",
        f"the cache was meant to be warm but missed {per_query:.3g} times a query "
        f"({expected.cache_counter})",
    )


def files_not_cached(
    done: Mapping[str, Any], _probes: Mapping[str, Any], expected: Expected
) -> list[Warning]:
    server = done.get("server") or {}
    read = server.get("read_bytes")
    if not expected.files_cached or read is None:
        return []
    per_query = int(read) / max(1, int(done["queries"]))
    if per_query <= READ_BYTES_PER_QUERY_MAX:
        return []
    return _marked(
        "files-not-cached",
        f"the table's files were in the page cache, yet the server read {per_query:.0f} bytes a "
        "query from storage",
    )


def host_disturbed(
    _done: Mapping[str, Any], probes: Mapping[str, Any], _expected: Expected
) -> list[Warning]:
    return list(probes.get("host", {}).get("disturbances", ()))


CHECKS: tuple[Check, ...] = (
    client_limited,
    queries_failed,
    ended_early,
    cache_not_warm,
    files_not_cached,
    host_disturbed,
)


def warnings_of(
    done: Mapping[str, Any], probes: Mapping[str, Any], expected: Expected
) -> list[Warning]:
    """Everything that the checks have to say about a run."""
    return [warning for check in CHECKS for warning in check(done, probes, expected)]


def _marked(code: str, message: str) -> list[Warning]:
    return [{"code": code, "message": message}]
