"""The lab's observations around a run, in the form of the run's record."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from contend.metrics.ceiling import CalibrationRecord
from contend.metrics.outcome import Done, Percentiles
from contend.metrics.twins import AskedTwins, RecordingFacts


class Segment(TypedDict):
    """Visits and misses over the run: of one segment of a key cache, or of one without segments."""

    cache: str
    segment: int | None
    read_requests: int
    reads: int
    write_requests: int
    writes: int


class Variable(TypedDict):
    """A server variable with a value that is not its default."""

    value: str | None
    default: str | None


class Generator(TypedDict):
    """contend-load's own identification when the run began."""

    version: str
    engine: str


class RunWarning(TypedDict):
    """A mark of a run: a code, stable for programs, and a sentence."""

    code: str
    message: str


class PressureChange(TypedDict):
    """The host's changes, as counted by `contend.host`. Shares are of all CPUs' time.

    stall_share: `cpu.some`, `memory.full`, …: share of the elapsed time in which some or all tasks
    stalled.
    """

    elapsed_s: float
    cpus: int
    busy_share: float
    steal_share: float
    iowait_share: float
    stall_share: dict[str, float]
    load_1m_before: float | None
    vm: dict[str, int]
    throttled_s: float | None
    thermal_events: int | None


class HostUse(PressureChange):
    """The host over the run, and its disturbances.

    own_cpu_s: CPU of the experiment's own processes; None if not all of them are visible.
    """

    own_cpu_s: float | None
    disturbances: list[RunWarning]


class CpuPair(TypedDict):
    """Two CPUs of the host, and their distance.

    handover_ns: round trip of a cache line.
    wake_us: until a thread that was woken on the second one runs.
    """

    cpus: list[int]
    handover_ns: float
    wake_us: float


class CpuState(TypedDict):
    """The distances between the CPUs of the host at one moment.

    pairs: those that were measured and had time to answer, of `of_pairs` in total.
    memory_ns: time of one load from memory; None if that was not measured.
    """

    cpus: int
    pairs: list[CpuPair]
    of_pairs: int
    memory_ns: float | None


class MemoryNode(TypedDict):
    """A memory node of the host.

    cpus: those that this process may use.
    no_cpus, no_memory: why the node does not read, or its memory is not read; None if it does.
    """

    node: int
    cpus: int
    no_cpus: str | None
    no_memory: str | None


class NodePair(TypedDict):
    """The CPUs of a node and the memory of a node.

    latency_ns: of one load by one CPU, each waiting for the previous one.
    bandwidth_gb_s: sequential reads by all CPUs of the node, in 10^9 bytes per second.
    None: the CPUs were busy meanwhile.
    """

    cpus_of: int
    memory_of: int
    latency_ns: float | None
    bandwidth_gb_s: float | None


class NodeMatrix(TypedDict):
    """The distance of each node's memory from each node's CPUs.

    bytes: read per node; caches_bytes: last-level caches of the node with the most.
    """

    bytes: int
    caches_bytes: int
    nodes: list[MemoryNode]
    pairs: list[NodePair]


class HostState(TypedDict):
    """The CPUs before and after a block or a separate run, and the pages read back from the disk
    meanwhile.

    memory_ns: time of one load from memory before the servers of the repeat were started.
    refaults: pages of files that were read again soon after the kernel had evicted them; None if it
    does not count them.
    """

    before: CpuState
    after: CpuState
    memory_ns: float | None
    refaults: int | None


class SessionWhole(TypedDict):
    """A session's result for a level over the baseline, over all cells, by one metric.

    log_ratio, se, df: ln(level / baseline), its standard error and the degrees of freedom of that.
    """

    metric: str
    level: bool | int | float | str
    log_ratio: float
    se: float
    df: float


class EarlierSession(TypedDict):
    """Results of an earlier run of this experiment on this host: its folder, and its end."""

    run: str
    ended_at: str
    wholes: list[SessionWhole]


class QueryCacheWaits(TypedDict):
    """Totals of all samples (`looks`) of the process list: queries that ran, and those of them that
    waited for the query cache's lock."""

    looks: int
    running: int
    waiting: int


class DelayLine(TypedDict):
    """Traffic through the delay line before the server, or through those between the servers of a
    level, from the first observation to the last.

    late_us, late_hdr_ns: lateness of bytes, in both directions; its histogram.
    refused: clients that were rejected because the server could not be reached; `refusal` has the
    last reason.
    """

    round_trip_us: float
    connections: int
    refused: int
    refusal: str | None
    bytes_to_server: int
    bytes_to_client: int
    late_us: Percentiles
    late_hdr_ns: str
    cpu_us: int


class MemberServer(TypedDict):
    """One of several servers that form a level and are not contend's own."""

    name: str
    role: str
    server: ServerRecord
    variables_that_differ: dict[str, Variable]


class MemberUse(TypedDict):
    """The work of one of several servers over a run.

    cpu_s: of its process; None if it is not visible.
    throttled_s: time for which its CPU quota throttled it; None without a quota.
    status: increase of its counters of SHOW GLOBAL STATUS, if they are about statements, rows and
    bytes, Galera or Spider.
    """

    name: str
    role: str
    cpu_s: float | None
    throttled_s: float | None
    status: dict[str, int]


class SegmentLock(TypedDict):
    """The lock of a segment of a model server's key cache.

    visits: number of acquisitions, and `waits`: those that found it taken.
    sampled: visits that were timed; `held_ns`, `waited_ns`: of these.
    """

    segment: int
    visits: int
    waits: int
    sampled: int
    held_ns: int
    waited_ns: int


class Timed(TypedDict):
    """Number of executions, and their total time."""

    times: int
    ns: int


class ModelCounters(TypedDict, total=False):
    """A model server's counters over a run, or since it started: the actual time of its requested
    additional work, and its locks.

    epoch: number of times the key cache was recreated, which resets the segments' counters.
    stalls: of all queries; waits_for_changes: of queries, for these and for the key cache.
    """

    epoch: int
    queries: int
    points: int
    rows: int
    second_lock_waits: int
    row_lock_waits: int
    process_cpu_ns: int
    under_lock: Timed
    outside_lock: Timed
    second_lock: Timed
    row_lock: Timed
    leak: Timed
    speed: Timed
    misses: Timed
    delays: Timed
    page_waits: Timed
    block_waits: Timed
    waits_for_changes: Timed
    stalls: Timed
    segments: list[SegmentLock]


class ServerIdentity(TypedDict):
    """A server: its kind, its version, and its source, which identifies it again."""

    kind: str
    version: str
    source: str


class ServerRecord(ServerIdentity, total=False):
    """The server that answered, and how its options are changed; `comment` is its version's.

    login: how the control connection logged in, without a secret.
    without_effect: options that it accepted and ignores.
    without_process: why its process is not known, so that its CPU time is not either.
    """

    change: str
    comment: str
    login: str
    without_effect: list[str]
    without_process: str


class DatasetRecord(TypedDict, total=False):
    """The tables of a run.

    fresh: made only for this run.
    rows, bytes: of all tables; None if the bytes are not known.
    tables: their number, for a dump or a script.
    prepared: if a script made them: which, with its options.
    """

    key: str
    fresh: bool
    engine: str
    rows: int
    tables: int
    bytes: int | None
    prepared: dict[str, object]


class Warmed(TypedDict):
    """The content of the caches when a run began.

    cache: all pages that the queries touch, in the caches of the server; `why_not` if not.
    files: the tables' files, in the page cache; None if that is not known or irrelevant.
    """

    cache: bool
    why_not: str | None
    files: bool | None


class ResidentPart(TypedDict):
    """Pages of an index in the buffer pool, and its total."""

    table: str
    index: str | None
    resident_pages: int
    pages: int | None


class Warming(TypedDict, total=False):
    """The warming of the buffer pool after a cold start.

    seconds: duration.
    resident_share: of the tables' pages that were in the pool then.
    """

    how: str
    seconds: float
    resident_share: float | None
    parts: list[ResidentPart]


class ProfileRecord(TypedDict):
    """The functions in which the server spent its CPU time, by samples.

    hz: samples per second of CPU time.
    stacks: functions from the outermost to the innermost, separated by `;` -> samples. Callers are
    known only if the program keeps frame pointers.
    why_not: the reason why there are none.
    """

    hz: int
    stacks: dict[str, int]
    why_not: str | None


class LayoutRecord(TypedDict):
    """Settings of the layout of a server's memory; None for the system's default."""

    padding_bytes: int | None
    stack_limit_bytes: int | None


class Probes(TypedDict, total=False):
    """The observations; a key is missing if there are none of its kind.

    status: increase of the counters of SHOW GLOBAL STATUS.
    gauges: values of the gauges of SHOW GLOBAL STATUS after the run.
    innodb_metrics: increase of the counters of INNODB_METRICS that SHOW GLOBAL STATUS lacks.
    key_caches: information_schema.KEY_CACHES, not on MySQL.
    memory_bytes: resident memory of the server after the run.
    model: a model server's counters.
    variables_that_differ: from their defaults, by name.
    query_cache_waits: of a MariaDB server whose query cache is on.
    variables: all of a server that is one of several, by name; in its first run with these options.
    warmed: content brought into caches before the run; None if there is none.
    warming: after a cold start.
    settings: values that settings recorded about themselves, by path.
    line: of the delay line, if there is one before the server.
    member_line: of the delay lines between the servers of a level, if they are apart.
    throttled_s: time for which its CPU quota throttled a private server that is a level alone.
    members: of a level that is several servers. The other keys are about the first one.
    member_servers: of a level that is several servers, if these are not contend's own.
    place: number of the run's server, and of its folder, among those of its block. In slices only.
    layout: of the server's memory, like that of the other levels in its block. In slices only.
    state: of the host, before and after.
    placement: of `server` and `client`, as read from the kernel, if it was requested.
    profile: by a profiler, if it was requested.
    loaded: files that a script loaded after its body had run; earlier ones are the session's.
    equal_load: the same level at a rate that all levels hold (`load.rate`).
    alone: each kind of event by itself on one connection, by its name (`load.alone`). There no
        statement waits for another one.
    twins: statements of a recording, each asked by itself on all levels.
    """

    status: dict[str, int]
    gauges: dict[str, int]
    innodb_metrics: dict[str, int]
    key_caches: list[Segment]
    memory_bytes: int
    model: ModelCounters
    query_cache_waits: QueryCacheWaits
    variables_that_differ: dict[str, Variable]
    variables: dict[str, str]
    server: ServerRecord
    dataset: DatasetRecord
    load_generator: Generator
    warmed: Warmed | None
    warming: Warming
    calibration: CalibrationRecord
    host: HostUse
    settings: dict[str, Any]
    line: DelayLine
    member_line: DelayLine
    throttled_s: float
    members: list[MemberUse]
    member_servers: list[MemberServer]
    place: int
    layout: LayoutRecord
    state: HostState
    placement: dict[str, dict[str, str]]
    profile: ProfileRecord
    loaded: list[ScriptFacts]
    equal_load: EqualLoad
    alone: dict[str, Alone]
    twins: AskedTwins


class EqualLoad(TypedDict):
    """A run's measurements with the same load on all levels.

    rate: events per second that all levels got; share: of the smallest capacity.
    capacity: events per second of this level in a closed loop; least: the smallest of all levels.
    done: at that rate.
    """

    rate: float
    share: float
    capacity: float
    least: float
    done: Done


class Alone(TypedDict):
    """One kind of event by itself.

    status: increase of the server's counters from the first event to the last, those between the
        measured windows included; missing if levels share a server or it does not have them.
    """

    done: Done
    status: NotRequired[dict[str, int]]


class DesignFacts(TypedDict, total=False):
    """The way of comparing levels; see `lab.design.Design`."""

    by: Literal["slices", "runs"]
    why: str
    servers: int
    own: bool


class EngineFacts(TypedDict, total=False):
    """The engine of contend-load in all cells, and why it is not io_uring if the kernel refused
    that; empty if the engine is a factor."""

    engine: str
    io_uring_refused: str


class ScriptFacts(TypedDict):
    """A script that is a file, or a file that one loads."""

    path: str
    sha256: str


class EarlierFacts(TypedDict):
    """Results of earlier sessions of the host, when a run began."""

    earlier: list[EarlierSession]


class CheckRecord(TypedDict):
    """The result of a check of `contend doctor`.

    severity: severe, warning or note; None if the check passed.
    cost: as text, and whether it was measured here.
    touches: the verdicts it affects: all, writes, latency, tcp.
    measure: the quantity of the host that shows its cost, from `metrics.host`; None if none does.
    ignored: the user's reason to ignore it.
    """

    id: str
    title: str
    severity: str | None
    evidence: str
    cost: str
    mend: str
    touches: list[str]
    measure: str | None
    ignored: str | None


class TriedRecord(TypedDict):
    """The way a candidate is tried, as printed beforehand.

    least: minimum share of the difference, as a logarithm, that the whole dose takes away.
    doses, placebo: names of treatments, the doses from the smallest to the whole; `words`: texts.
    contains: whole doses of other candidates, which take away a part of this one's effect.
    """

    candidate: str
    title: str
    refuted_by: str
    least: float
    doses: list[str]
    placebo: str
    contains: NotRequired[list[str]]
    words: dict[str, str]


class WhyFacts(TypedDict):
    """The candidates for the cause of a difference: those tried, and the others with the reason."""

    tried: list[TriedRecord]
    untested: dict[str, str]


class LeftOut(TypedDict):
    """A line that is not screened, because a server does not start with it.

    together_with: the lines without which it would start; empty if there are none.
    needs_others: it starts if all other lines are new.
    """

    line: str
    value: str
    together_with: list[str]
    needs_others: bool
    message: str


class SessionFacts(TypedDict, total=False):
    """Facts known when a session of a run folder begins. Those from `machine` on are the host's, as
    in `contend.host.inventory`.

    servers: by the experiment's names for them.
    content_version: of the tables that contend makes.
    recordings: by their names.
    missing: dotted names of the host's facts that are None, with the reason.
    doctor: results of its short form when the session began.
    why: of an experiment of treatments that `contend why` made.
    left_out: lines that are not screened.
    memory_nodes: measured when the session began.
    """

    why: WhyFacts
    left_out: list[LeftOut]
    servers: dict[str, ServerIdentity]
    content_version: int
    load_generator: EngineFacts
    way: DesignFacts
    scripts: list[ScriptFacts]
    recordings: dict[str, RecordingFacts]
    sessions: EarlierFacts
    machine: dict[str, Any]
    cpu: dict[str, Any]
    numa: dict[str, Any]
    memory: dict[str, Any]
    kernel: dict[str, Any]
    limits: dict[str, Any]
    network: dict[str, Any]
    disk: dict[str, Any]
    os: dict[str, Any]
    missing: dict[str, str]
    doctor: list[CheckRecord]
    memory_nodes: NodeMatrix
