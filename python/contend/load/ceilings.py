"""Ceilings: the client's speed against a server without work, and the properties it depends on.

A ceiling holds for one host, one program and one shape: requests, protocol, connections. It does
not apply to different shapes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, cast

from contend.experiment import SCRIPT, STATEMENTS, is_file
from contend.experiment.settings.plan_keys import DISTRIBUTION, SUPPLIED, WORKLOAD
from contend.load import Address
from contend.load.plan import PLAN_VERSION
from contend.metrics.ceiling import CeilingRecord
from contend.metrics.plan import Engine, Load, Plan, Protocol, Workload
from contend.stats import Estimate, estimate, finite


@dataclass(frozen=True, slots=True)
class ClientHost:
    """The properties of a host that decide the client's speed.

    Args:
        id: 12 hex digits over the facts.
    """

    id: str
    cpu: str
    cpus: int
    kernel: str


@dataclass(frozen=True, slots=True)
class ClientProgram:
    """A contend-load: its version, and the hash of its file."""

    version: str
    sha256: str


Transport = Literal["socket", "tcp"]

ROWS = 1_000_000
"""Size of the imaginary table: keys of seven digits, like in most experiments."""

RANGE_ROWS = 100
"""Number of rows in the null server's answer to a range."""

_USUAL = {
    key.name: key.default for kind in ("read_write", "insert") for key in WORKLOAD.kinds[kind]
}
"""Parameters with default values, which are not shown."""

_TRANSPORTS = {"socket": "Unix socket", "tcp": "TCP"}


@dataclass(frozen=True, slots=True)
class RunShape:
    """Runs of the same shape cost the client the same.

    Args:
        workload: kind and parameters, as in a plan; without those that follow from the data.
        protocol: `prepared` or `text`.
        threads: of the client; None leaves the choice to it.
        depth: requests that may be under way on a connection.
    """

    workload: Mapping[str, Any]
    protocol: str
    transport: Transport
    connections: int
    engine: str
    threads: int | None = None
    depth: int = 1

    def __hash__(self) -> int:
        return hash((self.group, self.connections))

    @property
    def group(self) -> str:
        """The same for shapes that differ only in their connections."""
        rest = [self.workload, self.protocol, self.transport, self.engine, self.threads, self.depth]
        return json.dumps(rest, sort_keys=True)

    @property
    def title(self) -> str:
        """`random_points (points 10, distribution special), prepared, Unix socket, epoll`."""
        parameters = ", ".join(
            f"{name} {_text(value)}"
            for name, value in self.workload.items()
            if name != "kind" and value != _USUAL.get(name)
        )
        kind = str(self.workload["kind"]) + (f" ({parameters})" if parameters else "")
        threads = [] if self.threads is None else [f"threads {self.threads}"]
        depth = [] if self.depth == 1 else [f"depth {self.depth}"]
        way = _TRANSPORTS[self.transport]
        return ", ".join([kind, self.protocol, way, self.engine, *threads, *depth])

    def plan(self, address: Address, *, warmup_s: float, measure_s: float) -> Plan:
        """A run of this shape against the server at `address`."""
        load: Load = {
            "connections": self.connections,
            "warmup_s": warmup_s,
            "measure_s": measure_s,
            "interval_s": 0.0,
            "protocol": cast(Protocol, self.protocol),
            "engine": cast(Engine, self.engine),
            "depth": self.depth,
        }
        if self.threads is not None:
            load["threads"] = self.threads
        return {
            "version": PLAN_VERSION,
            "server": address.as_plan(),
            "workload": cast(Workload, {**self.workload, "rows": ROWS}),
            "load": load,
            "seed": 1,
        }


def has_ceiling(workload: Mapping[str, Any]) -> bool:
    """Whether the null server's answers to a plan's workload are like a server's.

    It does not know the user's own statements and scripts or MariaDB's bulk execute, and gives
    every range `RANGE_ROWS` rows.
    """
    kind = workload["kind"]
    if kind in STATEMENTS or workload.get("bulk_execute"):
        return False
    if kind == SCRIPT and is_file(str(workload["script"])):
        return False
    parameters = workload.get("options", {}) if kind == SCRIPT else workload
    return bool(parameters.get("range_size", RANGE_ROWS) == RANGE_ROWS)


def shape_of(plan: Plan) -> RunShape:
    """The shape of a plan. It excludes the start times of events, which do not affect a ceiling."""
    load = plan["load"]
    return RunShape(
        workload={k: v for k, v in plan["workload"].items() if k not in SUPPLIED},
        protocol=str(load.get("protocol", "prepared")),
        transport="socket" if plan["server"].get("socket") else "tcp",
        connections=int(load["connections"]),
        engine=str(load["engine"]),
        threads=load.get("threads"),
        depth=int(load.get("depth", 1)),
    )


def _text(value: object) -> str:
    """`10`, `special`, `special pct 5`: default values are not shown."""
    if not isinstance(value, Mapping):
        return str(value)
    kind = str(value.get("kind", ""))
    usual = {key.name: key.default for key in DISTRIBUTION.kinds.get(kind, ())}
    rest = [f"{k} {_text(v)}" for k, v in value.items() if k != "kind" and v != usual.get(k)]
    return " ".join([kind, *rest]).strip()


@dataclass(frozen=True, slots=True)
class Round:
    """One run against the null server.

    Args:
        cpu_us_per_query: of the client's process.
        busiest_thread_share: CPU of the busiest thread of the client, 0 to 1. Near 1, the thread
            limits; far below it, the way to the server and back.
    """

    qps: float
    cpu_us_per_query: float
    p50_us: float
    p99_us: float
    busiest_thread_share: float


FIGURES = tuple(field.name for field in fields(Round))


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The client's ceiling in one shape, from several rounds.

    Args:
        seconds: duration of a measured round.
        workers: threads that the client used.
        measured_at: when, ISO 8601 in UTC.
    """

    shape: RunShape
    rounds: tuple[Round, ...]
    seconds: float
    workers: int
    measured_at: str

    def figure(self, name: str) -> Estimate:
        """One of FIGURES over the rounds, with its interval."""
        return estimate([getattr(measured, name) for measured in self.rounds])


@dataclass(frozen=True, slots=True)
class Calibration:
    """The ceilings of one program on one host."""

    host: ClientHost
    program: ClientProgram
    ceilings: Mapping[RunShape, Ceiling] = field(default_factory=dict)

    def of(self, shape: RunShape) -> Ceiling | None:
        """The ceiling of exactly this shape: one for different connections does not apply."""
        return self.ceilings.get(shape)

    def with_more(self, ceilings: Iterable[Ceiling]) -> Calibration:
        """The same, with `ceilings` replacing older ones of their shapes."""
        more = {ceiling.shape: ceiling for ceiling in ceilings}
        return Calibration(self.host, self.program, {**self.ceilings, **more})

    def record(self, ceiling: Ceiling) -> CeilingRecord:
        """The ceiling that a run was compared with, for its record."""
        qps = ceiling.figure("qps")
        return {
            "host": self.host.id,
            "program": self.program.sha256[:12],
            "measured_at": ceiling.measured_at,
            "n": qps.n,
            "workers": ceiling.workers,
            "qps": qps.mean,
            "qps_low": finite(qps.low),
            "qps_high": finite(qps.high),
            "cpu_us_per_query": ceiling.figure("cpu_us_per_query").mean,
            "p50_us": ceiling.figure("p50_us").mean,
            "p99_us": ceiling.figure("p99_us").mean,
        }
