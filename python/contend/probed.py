"""What the lab saw around a run, as the run's record keeps it."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from contend.outcome import Percentiles


class Segment(TypedDict):
    """Visits and misses over the run: of one segment of a key cache, or of one without segments."""

    cache: str
    segment: int | None
    read_requests: int
    reads: int
    write_requests: int
    writes: int


class Variable(TypedDict):
    """A server variable that has not its default."""

    value: str | None
    default: str | None


class Generator(TypedDict):
    """contend-load, as it named itself when the run began."""

    version: str
    engine: str


class RunWarning(TypedDict):
    """What a run is marked with: a code, stable for programs, and a sentence."""

    code: str
    message: str


class CeilingRecord(TypedDict):
    """What the client reaches against a server without work.

    n: rounds of the calibration.
    qps: mean of the rounds, with its interval; None if one round gives none.
    cpu_us_per_query, p50_us, p99_us: means of the rounds.
    """

    host: str
    program: str
    measured_at: str
    n: int
    workers: int
    qps: float
    qps_low: float | None
    qps_high: float | None
    cpu_us_per_query: float
    p50_us: float
    p99_us: float


class CalibrationRecord(CeilingRecord):
    """The ceiling, and how near the run came to it.

    cpu_ratio: the run's CPU per query over the calibration's.
    qps_here: the ceiling at that cost.
    share: of `qps_here` that was asked.
    """

    cpu_ratio: float
    qps_here: float
    share: float


class PressureChange(TypedDict):
    """The host between two looks, as `contend.host` counts it. Shares are of all CPUs' time.

    stall_share: `cpu.some`, `memory.full`, …: of the elapsed time, that some or all tasks stood
        still.
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
    """The host over the run, and what disturbed it.

    own_cpu_s: CPU of the experiment's own processes; None if not all of them can be seen.
    """

    own_cpu_s: float | None
    disturbances: list[RunWarning]


class CpuPair(TypedDict):
    """Two CPUs of the host, and how far apart they are.

    handover_ns: for a line of cache to go over and to come back.
    wake_us: until a thread that was woken on the other one runs.
    """

    cpus: list[int]
    handover_ns: float
    wake_us: float


class CpuState(TypedDict):
    """How far apart the CPUs of the host are at one moment.

    pairs: those that were looked at and had time to answer, of `of_pairs` that there are.
    memory_ns: what one load from memory takes; None if that was not measured.
    """

    cpus: int
    pairs: list[CpuPair]
    of_pairs: int
    memory_ns: float | None


class MemoryNode(TypedDict):
    """A memory node of the host.

    cpus: those that this process may use.
    no_cpus, no_memory: why the node reads nothing, or its memory is not read; None if it does.
    """

    node: int
    cpus: int
    no_cpus: str | None
    no_memory: str | None


class NodePair(TypedDict):
    """The CPUs of a node and the memory of a node.

    latency_ns: of one load by one CPU, each waiting for the one before it.
    bandwidth_gb_s: what all CPUs of the node read in order, in 10^9 bytes a second.
    None: others had the CPUs meanwhile.
    """

    cpus_of: int
    memory_of: int
    latency_ns: float | None
    bandwidth_gb_s: float | None


class NodeMatrix(TypedDict):
    """How far the memory of each node is from the CPUs of each node.

    bytes: what was read, of each node; caches_bytes: last-level caches of the node that has most.
    """

    bytes: int
    caches_bytes: int
    nodes: list[MemoryNode]
    pairs: list[NodePair]


class HostState(TypedDict):
    """The CPUs before and after a block, or a run of its own, and what came back from the disk
    meanwhile.

    memory_ns: what one load from memory took before the servers of the repeat were started.
    refaults: pages of files that were read again not long after the kernel had taken them out of
        memory; None if it does not count them.
    """

    before: CpuState
    after: CpuState
    memory_ns: float | None
    refaults: int | None


class SessionWhole(TypedDict):
    """What a session said of a level over the baseline, over all cells, by one metric.

    log_ratio, se, df: ln(level / baseline), its standard error and that one's degrees of freedom.
    """

    metric: str
    level: bool | int | float | str
    log_ratio: float
    se: float
    df: float


class EarlierSession(TypedDict):
    """What a run of the same said on the same host: the name of its folder, when it ended."""

    run: str
    ended_at: str
    wholes: list[SessionWhole]


class QueryCacheWaits(TypedDict):
    """What the process list said at so many looks, added up: queries that ran, and those of them
    that waited for the query cache's lock."""

    looks: int
    running: int
    waiting: int


class DelayLine(TypedDict):
    """What passed through the delay line before the server, or through those between the servers of
    a level, from the first look to the last.

    late_us, late_hdr_ns: how much later than due bytes left, in both directions; its histogram.
    refused: clients that were sent away because the server could not be reached; `refusal` says
        why the last was.
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
    """One of several servers that are a level and not contend's own."""

    name: str
    role: str
    server: ServerRecord
    variables_that_differ: dict[str, Variable]


class MemberUse(TypedDict):
    """What one of several servers did over a run.

    cpu_s: of its process; None if it cannot be seen.
    throttled_s: how long its CPU quota held it back; None without a quota.
    status: by how much its counters of SHOW GLOBAL STATUS rose, as far as they tell of statements,
        rows and bytes, of Galera and of Spider.
    """

    name: str
    role: str
    cpu_s: float | None
    throttled_s: float | None
    status: dict[str, int]


class SegmentLock(TypedDict):
    """The lock of a segment of a model server's key cache.

    visits: how often it was taken, and `waits`: how often it was found taken.
    sampled: of the visits, those whose times were taken; `held_ns`, `waited_ns`: of these.
    """

    segment: int
    visits: int
    waits: int
    sampled: int
    held_ns: int
    waited_ns: int


class Timed(TypedDict):
    """How often something was done, and how long all of it took."""

    times: int
    ns: int


class ModelCounters(TypedDict, total=False):
    """What a model server counted over a run, or since it started: how long what it was asked to do
    besides really took, and its locks.

    epoch: how often the key cache was made anew, from which the segments are counted.
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
    """A server: its kind, its version, and its source, by which it is found again."""

    kind: str
    version: str
    source: str


class ServerRecord(ServerIdentity, total=False):
    """The server that answered, and how its options are changed; `comment` is its version's.

    login: how the control connection entered, without a secret.
    without_effect: options that it took and does nothing with.
    """

    change: str
    comment: str
    login: str
    without_effect: list[str]


class DatasetRecord(TypedDict, total=False):
    """The tables of a run.

    fresh: made for this run alone.
    rows, bytes: of all tables; bytes of None are not known.
    tables: how many, of a dump or of a script.
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
    """What was in the caches when a run began.

    cache: all that the queries touch, in the caches of the server; `why_not` if not.
    files: the tables' files, in the page cache; None if that is not known, or no matter.
    """

    cache: bool
    why_not: str | None
    files: bool | None


class ResidentPart(TypedDict):
    """Pages of an index that were in the buffer pool, of all that it has."""

    table: str
    index: str | None
    resident_pages: int
    pages: int | None


class Warming(TypedDict, total=False):
    """How the buffer pool was warmed after a cold start.

    seconds: that it took.
    resident_share: of the tables' pages that were in the pool then.
    """

    how: str
    seconds: float
    resident_share: float | None
    parts: list[ResidentPart]


class ProfileRecord(TypedDict):
    """Where the server spent its CPU time, by samples.

    hz: samples a second of CPU time.
    stacks: functions from the outermost to the innermost, with `;` between them -> samples. Callers
        are known as far as the program keeps frame pointers.
    why_not: why there are none; None if there are.
    """

    hz: int
    stacks: dict[str, int]
    why_not: str | None


class LayoutRecord(TypedDict):
    """What sets how the memory of a server is laid out; None as the system has it."""

    padding_bytes: int | None
    stack_limit_bytes: int | None


class Probes(TypedDict, total=False):
    """What was seen; a key is missing if there was nothing to see.

    status: what the counters of SHOW GLOBAL STATUS rose by.
    gauges: what the gauges of SHOW GLOBAL STATUS said after the run.
    innodb_metrics: what the counters of INNODB_METRICS rose by that SHOW GLOBAL STATUS has not.
    key_caches: information_schema.KEY_CACHES, not of MySQL.
    model: what a model server counted.
    variables_that_differ: from their defaults, by name.
    query_cache_waits: of a MariaDB server whose query cache is on.
    variables: all of a server that is one of several, by name; in its first run with these options.
    warmed: what was brought into caches before the run; None if nothing was.
    warming: after a cold start.
    settings: what settings noted of themselves, by path.
    line: of the delay line, if one stands before the server.
    member_line: of the delay lines between the servers of a level, if they are apart.
    throttled_s: how long its CPU quota held a private server back that is a level alone.
    members: of a level that is several servers. What stands beside it is of the first one.
    member_servers: of a level that is several servers, if these are not contend's own.
    place: number of the run's server, and of its folder, among those of its block. In slices only.
    layout: of the server's memory, as that of the other levels in its block. In slices only.
    state: of the host, before and after.
    placement: of `server` and `client`, as the kernel said it, if it was asked for.
    profile: by a profiler, if it was asked for.
    loaded: files that a script loaded after its body had run; those before it are of the session.
    """

    status: dict[str, int]
    gauges: dict[str, int]
    innodb_metrics: dict[str, int]
    key_caches: list[Segment]
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


class DesignFacts(TypedDict, total=False):
    """How levels are compared; see `lab.design.Design`."""

    by: Literal["slices", "runs"]
    why: str
    servers: int
    own: bool


class EngineFacts(TypedDict, total=False):
    """The engine of contend-load in all cells, and why it is not io_uring if the kernel refused
    that; nothing if it is a factor."""

    engine: str
    io_uring_refused: str


class ScriptFacts(TypedDict):
    """A script that is a file, or a file that one loads."""

    path: str
    sha256: str


class EarlierFacts(TypedDict):
    """What earlier sessions of the host said when a run began."""

    earlier: list[EarlierSession]


class CheckRecord(TypedDict):
    """What a check of `contend doctor` found.

    severity: severe, warning or note; None if it found nothing.
    cost: in words, and whether it was measured here.
    touches: which verdicts it bears on: all, writes, latency, tcp.
    measure: the quantity of the host in which its cost shows, of `metrics.host`; None if in none.
    ignored: the reason that the user gave to set it aside.
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
    """How a candidate is tried, as it was said beforehand.

    least: share of the difference, as a logarithm, that the whole dose takes away at least.
    doses, placebo: names of treatments, the doses from the smallest to the whole; `words` of each.
    contains: whole doses of other candidates, which take away a part of what this one does.
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
    """What is tried for the cause of a difference, and what is not, with the reason."""

    tried: list[TriedRecord]
    untested: dict[str, str]


class SessionFacts(TypedDict, total=False):
    """What is known when a session of a run folder begins. A key is missing if an older contend did
    not know it. Those from `machine` on are the host's, as `contend.host.facts` has them.

    servers: by the experiment's names of them.
    content_version: of the tables that contend makes.
    missing: dotted names of the host's facts that are None, with the reason.
    doctor: what its short form found when the session began.
    why: of an experiment of treatments that `contend why` made.
    memory_nodes: measured when the session began.
    """

    why: WhyFacts
    servers: dict[str, ServerIdentity]
    content_version: int
    load_generator: EngineFacts
    way: DesignFacts
    scripts: list[ScriptFacts]
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
