"""How hard and how long: what contend-load's plan has of it, with the defaults of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from contend.errors import RequestError
from contend.settings.model import Differs, Setting, Values
from contend.settings.plan_keys import HANDLER_SOCKET, LOAD
from contend.settings.server import server_named
from contend.settings.tables import Tagged, as_plan
from contend.settings.values import Choice, Duration, Key, Real, Refused, WholeNumber

ENGINES = ("epoll", "io_uring")
PLUGIN = "handlersocket"

_HERE = (
    Key(
        "connections", WholeNumber(1, 100_000), 1, "connections that send queries at the same time"
    ),
    Key(
        "threads",
        WholeNumber(1, 1024),
        None,
        "worker threads of the load generator (default: one a CPU, if each has a connection)",
    ),
    Key("warmup", Duration(zero_allowed=True), 1.0, "load before the measured window"),
    Key("measure", Duration(), 5.0, "length of the measured window"),
    Key(
        "interval",
        Duration(zero_allowed=True),
        1.0,
        "length of the intervals reported while a run lasts; 0: none",
    ),
    Key(
        "protocol",
        Choice(("prepared", "text", HANDLER_SOCKET)),
        "prepared",
        "prepared: binary protocol, statements prepared once a connection; text: plain queries; "
        "handler_socket: rows by key over MariaDB's plugin of that name (server.use = "
        '"mariadb+handlersocket"), for point_select, random_points and update_non_index',
    ),
    Key(
        "engine",
        Choice(("auto", *ENGINES)),
        "auto",
        "how the load generator waits for its sockets: auto (io_uring if this host allows it, else "
        "epoll), chosen once for all cells; as a factor each level names one",
        level_kind=Choice(ENGINES),
    ),
)
"""What an experiment says otherwise than a plan, which leaves a run's length, say, to whoever
writes it."""

_ELSEWHERE = frozenset({"route", "slices"})
"""For runs that ask several servers at the same time."""

_RATE = Key("rate", Real(0.0, 1e9), None, "events a second throughout, if there are no stages")


def _keys() -> tuple[Key, ...]:
    here = {key.name: key for key in _HERE}
    told = tuple(key for key in LOAD if key.name not in here and key.name not in _ELSEWHERE)
    return (*_HERE, *(_arrival(key) if key.name == "arrival" else key for key in told))


def _arrival(key: Key) -> Key:
    """With a rate of one stage, so that a rate can be a factor."""
    assert isinstance(key.kind, Tagged)
    keys = key.kind.kinds["open"]
    stages = (replace(key, required=False) for key in keys)
    kinds = {**key.kind.kinds, "open": (_RATE, *stages)}
    return replace(key, kind=replace(key.kind, kinds=kinds))


@dataclass(frozen=True)
class ArrivalSetting(Setting):
    """When events begin."""

    def check(self, cell: Values) -> None:
        arrival = cell[self.path]
        if arrival["kind"] != "open":
            return
        given = [name for name in ("rate", "stages") if arrival[name] is not None]
        if len(given) != 1:
            raise Refused(
                'of kind "open" needs a rate or stages'
                if not given
                else "has a rate and stages, which say the same",
                hint='Write arrival = { kind = "open", rate = 1000 }.',
            )

    def why_not_in_slices(self, cell: Values) -> str | None:
        stages = cell[self.path].get("stages") or ()
        if len(stages) > 1 or any(stage.get("end_rate") is not None for stage in stages):
            return f"a rate that changes cannot be cut into slices ({self.path}.stages)"
        return None


@dataclass(frozen=True)
class ProtocolSetting(Setting):
    """How queries are put."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        server = server_named(cell)
        if own and cell[self.path] == HANDLER_SOCKET and PLUGIN not in server:
            raise RequestError(
                f'{self.path} = "{HANDLER_SOCKET}" needs a server with that plugin',
                hint=f'Write `server.use = "mariadb+{PLUGIN}"`: contend gets it.',
            )


@dataclass(frozen=True)
class HostsSetting(Setting):
    """How many hosts share the load."""

    def check(self, cell: Values) -> None:
        hosts, connections = cell[self.path], cell["load.connections"]
        if connections % hosts:
            raise Refused(
                f"has {hosts} hosts share {connections} connections, which cannot be divided",
                hint=f"Make load.connections a multiple of {hosts}.",
            )

    def why_not_in_slices(self, cell: Values) -> str | None:
        if cell[self.path] == 1:
            return None
        return "slices follow one another at other times on each of several hosts"


_OF_QUERIES = {"arrival": ArrivalSetting, "depth": Setting, "protocol": ProtocolSetting}
_OF_LOAD = {"hosts": HostsSetting}

KEYS = _keys()
LOAD_SETTINGS = tuple(
    _OF_QUERIES[key.name]("load", key, differs=Differs.QUERIES)
    if key.name in _OF_QUERIES
    else _OF_LOAD.get(key.name, Setting)("load", key, differs=Differs.LOAD)
    for key in KEYS
)
WARMUP_IN_SLICES_S = 0.05
"""Load on each arm before its first slice: what was just connected asks for the first time."""

SLICE_S = 0.1
SETTLE_S = 0.02

ROUNDS_OF_TREATMENTS = 5
"""A block of a treatment has so many rounds at least, or the time of as many usual ones if its
slices are longer, and is the only one of its repeat. A slice in which the host stands still is an
outlier of a block with one round, and one of five in a longer one: docs/decisions/0080."""

BLOCK_S = 0.12
"""What a level adds to a block beside its slices, before one was made: connecting, counters."""

START_S = 0.7
"""What a freshly started server takes, before one was started."""

SLICES = tuple(
    Setting("load", key, differs=Differs.LOAD)
    for key in (
        Key(
            "slice",
            Duration(),
            None,
            "how long a level is measured at a time, in slices (default: 100ms, or five times the "
            "median response time of the slowest kind of event if that is longer)",
        ),
        Key(
            "settle",
            Duration(zero_allowed=True),
            None,
            "load before each slice is measured (default: 20ms, or the median response time of the "
            "slowest kind of event if that is longer)",
        ),
    )
)
"""Of comparisons in slices, which have no use for `warmup` and `measure`."""

SEED = Setting.of(
    "load",
    "seed",
    WholeNumber(0),
    1,
    "seed of the queries' random streams and of the order of the runs",
    differs=Differs.LOAD,
)


_USUAL = {key.name: key.default for key in KEYS if key not in _HERE}


@dataclass(frozen=True, slots=True)
class Slicing:
    """How a block is cut: how long each level is measured at a time (at most, if what is asked has
    an end) and loaded before that, and how often."""

    slice_s: float
    settle_s: float
    rounds: int
    rest_s: float = 0.0
    """At most so long after each slice, until the servers are at rest."""
    look_reads_per_s: int | None = None
    """In half of the rounds so many looks a second at threads of the servers; None: none."""

    @property
    def round_s(self) -> float:
        """Seconds of one level in a round, if its server is at rest at once."""
        return self.slice_s + self.settle_s


def load_in_slices(cell: Values, slices: Slicing) -> dict[str, Any]:
    """The `load` of a plan that hops between arms."""
    load = load_plan(cell)
    del load["measure_s"]
    warmup_s = WARMUP_IN_SLICES_S
    if ends_with_its_work(cell):
        # Whoever wants no warm-up before such work leaves what it warms to the work itself.
        warmup_s = min(warmup_s, cell["load.warmup"])
    cut = {name: value for name, value in asdict(slices).items() if value is not None}
    return {**load, "warmup_s": warmup_s, "interval_s": 0.0, "slices": cut}


def ends_with_its_work(cell: Values) -> bool:
    """Whether what is asked has an end, and is not over by the clock."""
    limits = (cell["load.events"], cell["load.events_each"], cell["workload"].get("times"))
    return any(limit is not None for limit in limits)


def load_plan(cell: Values) -> dict[str, Any]:
    """The `load` of a plan; what contend-load takes anyway goes without saying."""
    told = {key.name: cell[f"load.{key.name}"] for key in KEYS}
    told |= {k.name: k.kind.completed(told[k.name]) for k in KEYS if isinstance(k.kind, Tagged)}
    values = {n: value for n, value in told.items() if n not in _USUAL or value != _USUAL[n]}
    arrival: Mapping[str, Any] = values.get("arrival", {})
    if arrival.get("rate") is not None:
        stages = [{"rate": arrival["rate"]}]
        values["arrival"] = {**arrival, "rate": None, "stages": stages}
    return as_plan(KEYS, values)
