"""The types of what a run folder holds, beyond those that programs write: what is read of looks at
causes and of the host's facts; and which keys may be missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from contend import outcome
from contend.outcome import ClockOffset, Done, Interval, OpenLoop, ThreadTimes
from contend.plan import Arrival, Plan, Workload
from contend.probed import (
    CpuPair,
    HostUse,
    Probes,
    RunWarning,
    Segment,
    ServerRecord,
    SessionFacts,
)
from contend.shape import LEAST, NEEDED, NULLED, require, require_moment
from contend.spec import Level
from contend.store.model import RunStatus

Cell = dict[str, Level]


class RunError(TypedDict):
    """Why a run failed or was lost."""

    message: str
    hint: NotRequired[str | None]
    detail: NotRequired[str | None]
    code: NotRequired[int | None]
    sqlstate: NotRequired[str | None]
    statement: NotRequired[str | None]


class MeanLatency(TypedDict):
    mean: float


class TracedSwitches(TypedDict):
    preempted: float
    preempted_us: float
    slept: float
    asleep_us: float
    woken_us: float
    by_holder: float
    by_holder_us: float
    seen: NotRequired[float]


class SwitchRound(TypedDict):
    round: int
    qps: float
    queries: int
    latency_us_mean: float
    look: NotRequired[TracedSwitches | None]


class SwitchFigures(TypedDict):
    rounds: list[SwitchRound]
    lost: NotRequired[int]


class BudgetRound(TypedDict):
    round: int
    duration_s: float
    begun: int
    events: int
    qps: float
    client_cpu_us: float
    latency_us: MeanLatency
    look: NotRequired[ThreadTimes | None]


class BudgetFigures(TypedDict):
    rounds: list[BudgetRound]
    is_here: NotRequired[bool | None]
    connections: NotRequired[int | None]
    depth: NotRequired[int | None]
    arrival: NotRequired[str | None]
    lag_us_mean: NotRequired[float | None]


class PlanRow(TypedDict):
    table: NotRequired[str | None]
    type: NotRequired[str | None]
    key: NotRequired[str | None]
    rows: NotRequired[int | None]
    extra: NotRequired[str | None]


class ExplainedStatement(TypedDict):
    shape: str
    statement: NotRequired[str]
    tables: list[PlanRow]
    why_not: NotRequired[str | None]


class PlanFigures(TypedDict):
    statements: list[ExplainedStatement]
    indexes: NotRequired[dict[str, dict[str, list[str]]]]


class LockWait(TypedDict):
    lock: str
    wait_us: float
    count: float


class LockPart(TypedDict):
    qps: float
    locks: list[LockWait]


class LockFigures(TypedDict):
    parts: list[LockPart]


_OF_LOOKS: dict[str, Any] = {
    "budget": BudgetFigures,
    "switches": SwitchFigures,
    "plans": PlanFigures,
    "locks": LockFigures,
}


class CpuFacts(TypedDict):
    """Those facts of the host that are read by name; of any other the value is shown."""

    count: NotRequired[int | None]
    together: NotRequired[float | None]
    model: NotRequired[str | None]
    cache_groups: NotRequired[list[str] | None]


class MachineFacts(TypedDict):
    cpu_quota: NotRequired[float | None]
    id: NotRequired[str | None]


class MemoryFacts(TypedDict):
    total_bytes: NotRequired[int | None]
    idle_schemes: NotRequired[list[str] | None]


class NodeFacts(TypedDict):
    node: int
    cpus: NotRequired[str | None]
    memory_bytes: NotRequired[int | None]
    distances: NotRequired[list[int] | None]


class NumaFacts(TypedDict):
    node_count: NotRequired[int | None]
    nodes: NotRequired[list[NodeFacts] | None]


class HostFacts(TypedDict):
    cpu: NotRequired[CpuFacts]
    machine: NotRequired[MachineFacts]
    memory: NotRequired[MemoryFacts]
    numa: NotRequired[NumaFacts]


_NOT_NEGATIVE = {"*": 0.0}

for _kind in vars(outcome).values():
    if isinstance(_kind, type) and hasattr(_kind, "__required_keys__"):
        LEAST[_kind] = _NOT_NEGATIVE
        # What is put together of slices has only what it needs.
        NEEDED[_kind] = frozenset()
LEAST[ClockOffset] = {}
LEAST[OpenLoop] = {"*": 0.0, "backlog_growth_per_s": -1e30}
LEAST[ThreadTimes] = {"*": 0.0, "host_busy_us": -1e30, "host_stolen_us": -1e30}
LEAST[CpuPair] = {"handover_ns": 1e-3}
NULLED.add(Done)
NEEDED[Done] = frozenset({"qps", "queries"})
# What the lab saw nothing of may be missing or null.
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
    error: RunError | None


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
    for name in ("started_at", "ended_at"):
        require_moment(values[name], where, name)


def check_look(values: Mapping[str, Any]) -> None:
    """The same of a LookRecord."""
    where = f"look {values['look']} of block {values['block']}"
    require(values, LookRow, where)
    if values["error"] is None and values["look"] in _OF_LOOKS:
        require(values["figures"], _OF_LOOKS[values["look"]], where, "figures")


def check_planned(values: Mapping[str, Any]) -> None:
    """The same of a planned run."""
    require(values, PlannedRow, f"planned run {values['run']}")


def require_facts(facts: Any, session: int) -> SessionFacts:
    """What is known of a session; raises WrongShape if it is something else."""
    where = f"session {session}"
    require(facts, HostFacts, where)
    checked: SessionFacts = require(facts, SessionFacts, where)
    return checked
