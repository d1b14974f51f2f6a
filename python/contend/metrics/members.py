"""Figures of levels that are several servers (traffic between them), and throttling by quotas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contend.metrics import read
from contend.metrics.model import Metric, Read, Run

_CONFLICTS = ("wsrep_local_cert_failures", "wsrep_local_bf_aborts")
"""Transactions of this node that lost to a different node's: at their commit, and before it."""


def _of_all(run: Run, *names: str) -> float | None:
    """Total increase of counters over all members; None for a level that is one server."""
    members = run.probes.get("members")
    if not members:
        return None
    return float(sum(member["status"].get(name, 0) for member in members for name in names))


def crossing_share(run: Run) -> float | None:
    """Share of events that went through a front because their keys have several owners. None unless
    each event goes to the owner of its keys."""
    route: Mapping[str, Any] = run.plan.get("load", {}).get("route") or {}
    fronts = route.get("through")
    if not fronts or run.done is None:
        return None
    counts = {node["name"]: node.get("events", 0) for node in run.done.get("nodes") or ()}
    everything = sum(counts.values())
    through = sum(counts.get(str(name), 0) for name in fronts)
    return through / everything if everything else None


def _of_role(role: str, name: str) -> Read:
    """Total increase of a counter over the members of a role. None without any, and if the client
    sends some queries directly to backends."""

    def read(run: Run) -> float | None:
        members = [one for one in run.probes.get("members") or () if one["role"] == role]
        if not members or run.plan.get("load", {}).get("route"):
            return None
        return float(sum(one["status"].get(name, 0) for one in members))

    return read


def _per_select(name: str) -> Read:
    """Increase on the backends per SELECT of the fronts, both counted over the whole run."""
    return read.over(_of_role("backend", name), _of_role("front", "Com_select"))


def _throttled_s(run: Run) -> float | None:
    if "throttled_s" in run.probes:
        return run.probes["throttled_s"]
    held = [member["throttled_s"] for member in run.probes.get("members") or ()]
    known = [seconds for seconds in held if seconds is not None]
    return sum(known) if known and len(known) == len(held) else None


def _conflicts(run: Run) -> float | None:
    return _of_all(run, *_CONFLICTS)


def _commits(run: Run) -> float | None:
    return _of_all(run, "wsrep_local_commits")


# fmt: off
MEMBERS = (
    Metric("crossing_share", "Share of events that cross servers", "", crossing_share),
    Metric("conflicts_per_commit", "Conflicts between nodes per commit", "",
           read.over(_conflicts, _commits), phrase="have conflicts per commit", counted=True),
    Metric("backend_statements_per_select",
           "Statements that backends answer per SELECT of the front", "", _per_select("Questions"),
           phrase="take statements of backends per SELECT", counted=True),
    Metric("backend_bytes_per_select", "Bytes that backends send per SELECT of the front", "",
           _per_select("Bytes_sent"), phrase="take bytes of backends per SELECT", counted=True),
    Metric("throttled_s", "Total time that CPU quotas throttled the servers", "s",
           _throttled_s),
)
# fmt: on
