"""The input of contend-load for one run: the types of `load/plan.schema.json`.

Written by `python tools/typed_schemas.py plan` from that file, which the program prints itself.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class Arm(TypedDict):
    """One side of a comparison: a server, a server in some state (see `enter`), several servers, or a different workload."""  # noqa: E501

    arrival: NotRequired[Arrival | None]
    depth: NotRequired[int | None]
    enter: NotRequired[list[str]]
    name: str
    nodes: NotRequired[list[Node]]
    protocol: NotRequired[Protocol | None]
    route: NotRequired[Route | None]
    server: NotRequired[Server | None]
    watch: NotRequired[Watch | None]
    workload: NotRequired[Workload | None]


class Arrival(TypedDict):
    """When events begin."""

    kind: Literal["closed", "open"]
    process: NotRequired[Process]
    stages: NotRequired[list[Stage]]
    think_s: NotRequired[float]
    think_scatters: NotRequired[bool]


Ask = Literal["each", "in", "multi_row", "no_read", "procedure"]


Compression = Literal["none", "zlib", "zstd"]


Delivery = Literal["at_once", "deferred"]


class Distribution(TypedDict):
    """Shapes of random keys; the parameters are named like in sysbench."""

    exp: NotRequired[float]
    h: NotRequired[float]
    iter: NotRequired[int]
    kind: Literal["uniform", "gaussian", "special", "pareto", "zipfian"]
    pct: NotRequired[int]
    res: NotRequired[int]


Engine = Literal["epoll", "io_uring", "auto"]


class Errors(TypedDict):
    """Errors by code."""

    ignore: NotRequired[list[int]]
    ignore_all: NotRequired[bool]
    reconnect: NotRequired[bool]
    retry: NotRequired[list[int]]
    retry_limit: NotRequired[int]
    retry_pause_s: NotRequired[float]


class HandlerSocket(TypedDict):
    """Where the plugin HandlerSocket listens."""

    port: NotRequired[int]
    port_wr: NotRequired[int]
    secret_env: NotRequired[str | None]
    secret_wr_env: NotRequired[str | None]
    socket: NotRequired[str | None]
    socket_wr: NotRequired[str | None]


HostLost = Literal["fail", "go_on"]


InsertBy = str


class KeyRange(TypedDict):
    """Whole numbers, cut into ranges of the same length."""

    first: int
    last: int
    ranges: int


class Load(TypedDict):
    """Rate, duration and connections of the load."""

    answer_timeout_s: NotRequired[float | None]
    arrival: NotRequired[Arrival]
    connections: int
    depth: NotRequired[int]
    engine: NotRequired[Engine]
    errors: NotRequired[Errors]
    events: NotRequired[int | None]
    events_each: NotRequired[int | None]
    host_lost: NotRequired[HostLost]
    hosts: NotRequired[int]
    idle_connections: NotRequired[int]
    interval_s: NotRequired[float]
    measure_s: NotRequired[float]
    protocol: NotRequired[Protocol]
    reconnect_every: NotRequired[int | None]
    route: NotRequired[Route | None]
    slices: NotRequired[Slices | None]
    storm: NotRequired[bool]
    threads: NotRequired[int | None]
    warmup_s: NotRequired[float]


Mix = Literal["deck", "weights"]


class Node(TypedDict):
    """One of several servers of a run."""

    name: str
    server: NotRequired[Server | None]
    watch: NotRequired[Watch | None]


Order = Literal["random", "first_rows", "index"]


class Owner(TypedDict):
    node: str
    upto: int


class Part(TypedDict):
    """One statement, or one per range of keys."""

    keys: NotRequired[KeyRange | None]
    name: str
    statement: str


Process = Literal["even", "poisson"]


Protocol = Literal["text", "prepared", "handler_socket"]


class Route(TypedDict):
    """The node that an event goes to."""

    by: Literal["round_robin", "chance", "key"]
    owners: NotRequired[list[Owner]]
    through: NotRequired[list[str]]
    weights: NotRequired[dict[str, float]]


ScriptValue = bool | int | float | str


SelectBy = Literal["select", "in", "union_all", "multi_statement", "pipeline"]


class Server(TypedDict):
    """How to connect and log in to the server."""

    cache_metadata: NotRequired[bool]
    charset: NotRequired[str]
    compression: NotRequired[Compression]
    connect_timeout_s: NotRequired[float]
    database: NotRequired[str | None]
    enable_cleartext_plugin: NotRequired[bool]
    get_server_public_key: NotRequired[bool]
    handler_socket: NotRequired[HandlerSocket | None]
    host: NotRequired[str | None]
    init_sql: NotRequired[list[str]]
    local_infile: NotRequired[bool]
    password_env: NotRequired[str | None]
    port: NotRequired[int]
    server_public_key_path: NotRequired[str | None]
    socket: NotRequired[str | None]
    tls: NotRequired[Tls]
    user: NotRequired[str]


class Slices(TypedDict):
    """How a run hops between its arms: in each round every arm has one slice, in random order."""

    look_reads_per_s: NotRequired[int | None]
    rest_s: NotRequired[float]
    rounds: int
    settle_s: NotRequired[float]
    slice_s: float


class Stage(TypedDict):
    """A period of an open loop: a constant rate, or a ramp."""

    duration_s: NotRequired[float]
    end_rate: NotRequired[float | None]
    rate: float


class Tls(TypedDict):
    """Encryption on the way to the server."""

    ca: NotRequired[str | None]
    certificate: NotRequired[str | None]
    key: NotRequired[str | None]
    mode: NotRequired[TlsMode]


TlsMode = Literal["disabled", "preferred", "required", "verify-ca", "verify-identity"]


class Watch(TypedDict):
    more: NotRequired[list[int]]
    pid: int
    threads: NotRequired[str | None]


class Weights(TypedDict):
    """Frequency of each transaction."""

    delivery: NotRequired[int]
    new_order: NotRequired[int]
    order_status: NotRequired[int]
    payment: NotRequired[int]
    stock_level: NotRequired[int]


class Workload(TypedDict):
    """What the load does."""

    ask: NotRequired[Ask]
    auto_increment: NotRequired[bool]
    batch: NotRequired[int]
    batch_rows: NotRequired[int]
    block_s: NotRequired[float]
    bulk_execute: NotRequired[bool]
    c_load: NotRequired[int | None]
    delete_inserts: NotRequired[int]
    deliveries: NotRequired[Delivery]
    delta: NotRequired[int]
    distinct_ranges: NotRequired[int]
    distribution: NotRequired[Distribution]
    first_warehouse: NotRequired[int]
    index_updates: NotRequired[int]
    insert_by: NotRequired[InsertBy]
    kind: str
    last_warehouse: NotRequired[int | None]
    mix: NotRequired[Mix]
    mix_weights: NotRequired[Weights]
    names: NotRequired[list[str]]
    non_index_updates: NotRequired[int]
    options: NotRequired[dict[str, ScriptValue]]
    order: NotRequired[Order]
    order_ranges: NotRequired[int]
    parts: NotRequired[list[Part]]
    point_selects: NotRequired[int]
    points: NotRequired[int]
    range_size: NotRequired[int]
    ranges: NotRequired[int]
    recording: NotRequired[str]
    remote_lines_percent: NotRequired[int]
    remote_payments_percent: NotRequired[int]
    rollbacks_percent: NotRequired[int]
    rows: NotRequired[int | None]
    script: NotRequired[str]
    select_by: NotRequired[SelectBy]
    shared: NotRequired[bool]
    shares: NotRequired[dict[str, int]]
    simple_ranges: NotRequired[int]
    skip: NotRequired[int]
    statements: NotRequired[list[str]]
    string_length: NotRequired[int]
    sum_ranges: NotRequired[int]
    table: NotRequired[str]
    tables: NotRequired[int | None]
    text: NotRequired[str]
    times: NotRequired[int | None]
    transaction: NotRequired[bool]
    waits_percent: NotRequired[int]
    warehouses: NotRequired[int | None]
    writes: NotRequired[bool]


class Plan(TypedDict):
    """One run of one cell: server, workload, load and duration."""

    arms: NotRequired[list[Arm]]
    load: Load
    nodes: NotRequired[list[Node]]
    seed: NotRequired[int]
    server: Server
    version: int
    watch: NotRequired[Watch | None]
    workload: Workload
