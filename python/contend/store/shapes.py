"""The types of what a run folder holds, beyond those that programs write: what is read of looks at
causes and of the host's facts; and which keys may be missing."""

from __future__ import annotations

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
from contend.spec import Level, Planned
from contend.store.model import LookRecord, RunRecord, RunStatus

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


def require_run(record: RunRecord) -> RunRecord:
    """The record, if all of it has its shape; raises WrongShape."""
    where = f"run {record.run}"
    for name in ("run", "block", "repeat"):
        require(getattr(record, name), int, where, name)
    require(record.status, RunStatus, where, "status")
    require_moment(record.started_at, where, "started_at")
    require_moment(record.ended_at, where, "ended_at")
    require(record.cell, Cell, where, "cell")
    require(record.plan, Plan, where, "plan")
    require(record.done, Done | None, where, "done")
    require(record.intervals, list[Interval], where, "intervals")
    require(record.probes, Probes, where, "probes")
    require(record.warnings, list[RunWarning], where, "warnings")
    require(record.error, RunError | None, where, "error")
    return record


def require_look(record: LookRecord) -> LookRecord:
    """The same of a look."""
    where = f"look {record.look} of block {record.block}"
    require(record.look, str, where, "look")
    require(record.block, int, where, "block")
    require(record.error, str | None, where, "error")
    require(record.cell, Cell, where, "cell")
    kind = _OF_LOOKS.get(record.look) if record.error is None else None
    require(record.figures, kind or dict[str, Any], where, "figures")
    return record


def require_planned(planned: Planned) -> Planned:
    """The same of a planned run."""
    where = f"planned run {planned.run}"
    for name in ("run", "block", "repeat"):
        require(getattr(planned, name), int, where, name)
    require(planned.cell, Cell, where, "cell")
    return planned


def require_facts(facts: Any, session: int) -> SessionFacts:
    """The same of what is known of a session."""
    require(facts, SessionFacts, f"session {session}")
    require(facts, HostFacts, f"session {session}")
    checked: SessionFacts = facts
    return checked
