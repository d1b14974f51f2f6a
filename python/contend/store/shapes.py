"""The types of a run folder's content, beyond those that programs write: the parts read from
diagnostic passes and the host's facts, and which keys may be missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from contend.experiment import Level
from contend.experiment.stored import LEAST, NEEDED, NULLED, require, require_moment
from contend.metrics import outcome
from contend.metrics.outcome import ClockOffset, Done, Interval, OpenLoop, ThreadTimes
from contend.metrics.plan import Arrival, Plan, Workload
from contend.metrics.probed import (
    CpuPair,
    HostUse,
    Probes,
    RunWarning,
    Segment,
    ServerRecord,
    SessionFacts,
)
from contend.store.model import RunStatus

Cell = dict[str, Level]


def _object(needed: dict[str, Any], *, may: Any = None, null: Any = None) -> Any:
    """The type of an object with needed keys, optional ones (`may`), and optional ones that may be
    null."""
    keys = {name: NotRequired[kind] for name, kind in (may or {}).items()}
    keys |= {name: NotRequired[kind | None] for name, kind in (null or {}).items()}
    make: Any = TypedDict
    return make("object", {**needed, **keys})


_list: Any = list

RUN_ERROR = _object(
    {"message": str},
    null={"hint": str, "detail": str, "code": int, "sqlstate": str, "statement": str},
)
"""Why a run failed or was lost."""

_TRACED = _object(
    {
        **{"preempted": float, "preempted_us": float, "slept": float, "asleep_us": float},
        **{"woken_us": float, "by_holder": float, "by_holder_us": float},
    },
    may={"seen": float},
)
_SWITCH_ROUND = _object(
    {"round": int, "qps": float, "queries": int, "latency_us_mean": float}, null={"look": _TRACED}
)
_BUDGET_ROUND = _object(
    {
        **{"round": int, "duration_s": float, "begun": int, "events": int, "qps": float},
        **{"client_cpu_us": float, "latency_us": _object({"mean": float})},
    },
    null={"look": ThreadTimes},
)
_PLAN_ROW = _object({}, null={"table": str, "type": str, "key": str, "rows": int, "extra": str})
_STATEMENT = _object(
    {"shape": str, "tables": _list[_PLAN_ROW]},
    may={"statement": str, "name": str},
    null={"why_not": str},
)
_LOCK_PART = _object(
    {"qps": float, "locks": _list[_object({"lock": str, "wait_us": float, "count": float})]}
)
OF_LOOKS = {
    "budget": _object(
        {"rounds": _list[_BUDGET_ROUND]},
        null={
            **{"is_here": bool, "connections": int, "depth": int},
            **{"arrival": str, "lag_us_mean": float},
        },
    ),
    "switches": _object({"rounds": _list[_SWITCH_ROUND]}, may={"lost": int}),
    "plans": _object(
        {"statements": _list[_STATEMENT]}, may={"indexes": dict[str, dict[str, list[str]]]}
    ),
    "locks": _object({"parts": _list[_LOCK_PART]}),
}
"""The results of diagnostic passes, by name."""

_NODE = _object({"node": int}, null={"cpus": str, "memory_bytes": int, "distances": list[int]})
HOST_FACTS = _object(
    {},
    may={
        "cpu": _object(
            {},
            null={"count": int, "together": float, "model": str, "cache_groups": list[str]},
        ),
        "machine": _object({}, null={"cpu_quota": float, "id": str}),
        "memory": _object({}, null={"total_bytes": int, "idle_schemes": list[str]}),
        "numa": _object({}, null={"node_count": int, "nodes": _list[_NODE]}),
    },
)
"""The facts of the host that are read by name; others are only shown."""

_NOT_NEGATIVE = {"*": 0.0}

for _kind in vars(outcome).values():
    if isinstance(_kind, type) and hasattr(_kind, "__required_keys__"):
        LEAST[_kind] = _NOT_NEGATIVE
        # A result assembled from slices has only the keys it needs.
        NEEDED[_kind] = frozenset()
LEAST[ClockOffset] = {}
LEAST[OpenLoop] = {"*": 0.0, "backlog_growth_per_s": -1e30}
LEAST[ThreadTimes] = {"*": 0.0, "host_busy_us": -1e30, "host_stolen_us": -1e30}
LEAST[CpuPair] = {"handover_ns": 1e-3}
NULLED.add(Done)
NEEDED[Done] = frozenset({"qps", "queries"})
# Facts that the lab could not observe may be missing or null.
NEEDED[Segment] = frozenset({"read_requests"})
NEEDED[HostUse] = frozenset()
NEEDED[ServerRecord] = frozenset()
NULLED.add(Probes)
NEEDED[Interval] = frozenset({"index", "start_s", "duration_s", "qps"})
NEEDED[Plan] = NEEDED[Arrival] = NEEDED[Workload] = frozenset()


class RunRow(TypedDict):
    run: int
    block: int
    repeat: int
    cell: Cell
    status: RunStatus
    started_at: str
    ended_at: str
    plan: Plan
    done: Done | None
    intervals: list[Interval]
    probes: Probes
    warnings: list[RunWarning]
    error: dict[str, Any] | None


class LookRow(TypedDict):
    look: str
    block: int
    cell: Cell
    figures: dict[str, Any]
    error: str | None


class PlannedRow(TypedDict):
    run: int
    block: int
    repeat: int
    cell: Cell


def check_run(values: Mapping[str, Any]) -> None:
    """Raise WrongShape if these are not the fields of a RunRecord."""
    where = f"run {values['run']}"
    require(values, RunRow, where)
    require(values["error"], RUN_ERROR | None, where, "error")
    for name in ("started_at", "ended_at"):
        require_moment(values[name], where, name)


def check_look(values: Mapping[str, Any]) -> None:
    """The same for a LookRecord."""
    where = f"diagnostic pass {values['look']} of block {values['block']}"
    require(values, LookRow, where)
    if values["error"] is None and values["look"] in OF_LOOKS:
        require(values["figures"], OF_LOOKS[values["look"]], where, "figures")


def check_planned(values: Mapping[str, Any]) -> None:
    """The same for a planned run."""
    require(values, PlannedRow, f"planned run {values['run']}")


def require_facts(facts: Any, session: int) -> SessionFacts:
    """The known facts of a session; raises WrongShape if it is something else."""
    where = f"session {session}"
    require(facts, HOST_FACTS, where)
    checked: SessionFacts = require(facts, SessionFacts, where)
    return checked
