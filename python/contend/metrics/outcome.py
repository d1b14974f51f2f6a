"""The output of contend-load, one outcome per line: the types of `load/outcome.schema.json`.

Written by `python tools/typed_schemas.py outcome` from that file, which the program prints itself.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class Figures(TypedDict):
    """Statistics of a part of the load."""

    answered: NotRequired[int]
    begun: NotRequired[int]
    bytes_received: NotRequired[int]
    bytes_sent: NotRequired[int]
    events: NotRequired[int]
    events_in_parts: NotRequired[float]
    failed: NotRequired[int]
    latency_hdr_ns: NotRequired[str]
    latency_us: Percentiles
    latency_without_retries_us: NotRequired[Percentiles | None]
    outage_s: NotRequired[float]
    qps: NotRequired[float]
    queries: NotRequired[int]
    reconnects: NotRequired[int]
    retries: NotRequired[int]
    rolled_back: NotRequired[int]
    rows: NotRequired[int]


class ArmFigures(TypedDict):
    """All slices of one arm."""

    arm: str
    done: Done
    slices: int


class ClassFigures(Figures):
    """The queries of one statement class."""

    errors: int
    name: str


class ClockOffset(TypedDict):
    """What to add to the clocks of the querying host to get those of the host that answered."""

    error_us: float
    steady_us: float
    wall_us: float


class Done(Figures):
    """The measured window."""

    type: Literal["done"]
    arms: NotRequired[list[ArmFigures]]
    arrival: str
    classes: NotRequired[list[ClassFigures]]
    client: ProcessDelta
    client_busiest_thread_share: float
    connect_us: NotRequired[Percentiles]
    connections: NotRequired[int]
    depth: NotRequired[int | None]
    drained: NotRequired[Figures]
    ended: Ended
    errors: list[ErrorCount]
    fairness: float
    files: NotRequired[list[str]]
    hosts: NotRequired[list[HostFigures]]
    kinds: NotRequired[list[KindFigures]]
    lag_us: NotRequired[Percentiles | None]
    least_served: NotRequired[int]
    longest_wait_s: NotRequired[float]
    measured_s: float
    most_served: NotRequired[int]
    nodes: NotRequired[list[NodeFigures]]
    open: NotRequired[OpenLoop | None]
    scanned: NotRequired[Scanned | None]
    server: NotRequired[ProcessDelta | None]
    setup_connect_us: NotRequired[Percentiles]
    unanswered: NotRequired[int]
    unfinished: NotRequired[int]


Ended = Literal["time", "events", "signal"]


class ErrorCount(TypedDict):
    code: int
    count: int
    hint: NotRequired[str | None]
    message: str
    sqlstate: str
    statement: str


class Failure(TypedDict):
    """Last line of a run that failed."""

    type: Literal["error"]
    code: NotRequired[int | None]
    hint: NotRequired[str | None]
    message: str
    sqlstate: NotRequired[str | None]
    statement: NotRequired[str | None]


class FutexReads(TypedDict):
    """A word of the process's memory, and the number of samples in which a thread waited for it."""

    address: str
    reads: int


class Hello(TypedDict):
    """First line: program, server and session."""

    type: Literal["hello"]
    engine: str
    nodes: NotRequired[list[NodeHello]]
    pid: int
    program_version: str
    server_version: str
    session: NotRequired[list[str]]
    threads: int
    version: int


class HostFigures(Figures):
    """One of several hosts that shared a load."""

    client: ProcessDelta
    client_busiest_thread_share: float
    clock_after: NotRequired[ClockOffset | None]
    clock_before: NotRequired[ClockOffset]
    connections: int
    lag_us: NotRequired[Percentiles | None]
    lost: NotRequired[str | None]
    name: str
    not_begun: NotRequired[int | None]


class Interval(Figures):
    """Figures of one interval of the measured window."""

    type: Literal["interval"]
    backlog: NotRequired[int | None]
    classes: NotRequired[list[ClassFigures]]
    duration_s: float
    errors: int
    index: int
    scanned: NotRequired[Scanned | None]
    start_s: float


class KindFigures(Figures):
    """The events of one kind."""

    classes: list[str]
    lag_us: NotRequired[Percentiles | None]
    name: str
    service_us: NotRequired[Percentiles | None]


class NodeFigures(Figures):
    """The queries of one of several servers, including those of transactions that rolled back."""

    errors: list[ErrorCount]
    name: str
    server: NotRequired[ProcessDelta | None]


class NodeHello(TypedDict):
    """A node's version and session options."""

    name: str
    server_version: str
    session: list[str]


class OpenLoop(TypedDict):
    """Additional figures of an open loop."""

    backlog_close: int
    backlog_growth_per_s: float
    backlog_open: int
    due: NotRequired[int]
    due_per_s: float
    lag_hdr_ns: str
    lag_us: Percentiles
    not_begun: NotRequired[int]
    oldest_wait_s: float
    overloaded: bool
    service_hdr_ns: str
    service_us: Percentiles


class Percentiles(TypedDict):
    """Times in microseconds; all are 0 if there are none."""

    count: int
    max: float
    mean: float
    min: float
    p50: float
    p90: float
    p95: float
    p99: float
    p999: float


class Phase(TypedDict):
    """The run entered a phase: `warmup`, `measure`, `end`."""

    type: Literal["phase"]
    at_s: float
    phase: str


class ProcessDelta(TypedDict):
    """What a process used between the two edges of the window."""

    cpu_us: float
    involuntary_switches: NotRequired[int | None]
    read_bytes: NotRequired[int | None]
    voluntary_switches: NotRequired[int | None]
    write_bytes: NotRequired[int | None]


class Scanned(TypedDict):
    """Progress of a scan."""

    parts: list[ScannedPart]
    upto: int


class ScannedPart(TypedDict):
    name: str
    ranges: int
    refused: bool


class Slice(Figures):
    """Figures of one slice of a run with arms."""

    type: Literal["slice"]
    arm: str
    arm_index: int
    client_cpu_us: float
    drained: int
    duration_s: float
    ended: NotRequired[Ended]
    errors: list[ErrorCount]
    index: int
    kinds: NotRequired[list[KindFigures]]
    look: NotRequired[ThreadTimes | None]
    not_begun: NotRequired[int | None]
    position: int
    round: int
    start_s: float
    visit: Visit
    watched_cpu_us: list[float | None]


class SlowTimes(TypedDict):
    """What threads did during slow events: those that took longer than 99 of 100 events of the rounds before."""  # noqa: E501

    blocked: dict[str, int]
    events: int
    idle: int
    lag_us: float
    over_us: float
    reads: int
    response_us: float
    running: int


class ThreadTimes(TypedDict):
    """What the threads of a watched process did."""

    blocked: dict[str, int]
    duration_s: float
    futexes: list[FutexReads]
    host_busy_us: NotRequired[float | None]
    host_stolen_us: NotRequired[float | None]
    idle: int
    look_cpu_us: float
    major_faults: NotRequired[int | None]
    minor_faults: NotRequired[int | None]
    other_run_us: float
    other_wait_us: float
    reads: int
    refused: NotRequired[str | None]
    run_us: float
    running: int
    scheduled: bool
    slow: NotRequired[SlowTimes | None]
    system_us: NotRequired[float | None]
    threads: int
    user_us: NotRequired[float | None]
    wait_us: float


class Visit(TypedDict):
    """From entering an arm to the last answer: settling, slice and drain."""

    client: ProcessDelta
    duration_s: float
    events: int
    watched: list[ProcessDelta | None]


Outcome = Hello | Phase | Interval | Slice | Done | Failure
