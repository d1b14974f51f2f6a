"""Intensity and duration: the load keys of contend-load's plan, with an experiment's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from contend.errors import RequestError
from contend.experiment.settings.model import Differs, Setting, Values
from contend.experiment.settings.plan_keys import HANDLER_SOCKET, LOAD
from contend.experiment.settings.server import server_named
from contend.experiment.settings.tables import Tagged, as_plan
from contend.experiment.settings.values import Choice, Duration, Key, Real, Refused, WholeNumber

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
        "worker threads of the load generator (default: one per CPU, at most one per connection)",
    ),
    Key("warmup", Duration(zero_allowed=True), 1.0, "load before the measured window"),
    Key("measure", Duration(), 5.0, "length of the measured window"),
    Key(
        "interval",
        Duration(zero_allowed=True),
        1.0,
        "length of the intervals reported during a run; 0: none",
    ),
    Key(
        "protocol",
        Choice(("prepared", "text", HANDLER_SOCKET)),
        "prepared",
        "prepared: binary protocol, statements prepared once per connection; text: plain queries; "
        "handler_socket: rows by key through MariaDB's HandlerSocket plugin (server.use = "
        '"mariadb+handlersocket"), for point_select, random_points and update_non_index',
    ),
    Key(
        "engine",
        Choice(("auto", *ENGINES)),
        "auto",
        "how the load generator waits for its sockets: auto (io_uring if this host allows it, else "
        "epoll), chosen once for all cells; a level of a factor names one",
        level_kind=Choice(ENGINES),
    ),
)
"""Keys that differ from the plan's, which has no default for a run's length, for example."""

_ELSEWHERE = frozenset({"route", "slices"})
"""For runs that query several servers at the same time."""

_RATE = Key("rate", Real(0.0, 1e9), None, "events per second throughout, without stages")


def _keys() -> tuple[Key, ...]:
    here = {key.name: key for key in _HERE}
    others = tuple(key for key in LOAD if key.name not in here and key.name not in _ELSEWHERE)
    return (*_HERE, *(_arrival(key) if key.name == "arrival" else key for key in others))


def _arrival(key: Key) -> Key:
    """Adds a rate with one stage, so that a rate can be a factor."""
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
        rates = [name for name in ("rate", "stages") if arrival[name] is not None]
        if len(rates) != 1:
            raise Refused(
                'of kind "open" needs a rate or stages' if not rates else "has a rate and stages",
                hint='Write one of them: arrival = { kind = "open", rate = 1000 }.',
            )

    def why_not_in_slices(self, cell: Values) -> str | None:
        stages = cell[self.path].get("stages") or ()
        if len(stages) > 1 or any(stage.get("end_rate") is not None for stage in stages):
            return f"a rate that changes cannot be cut into slices ({self.path}.stages)"
        return None


@dataclass(frozen=True)
class ProtocolSetting(Setting):
    """The protocol of queries."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        server = server_named(cell)
        if own and cell[self.path] == HANDLER_SOCKET and PLUGIN not in server:
            raise RequestError(
                f'{self.path} = "{HANDLER_SOCKET}" needs a server with that plugin',
                hint=f'Write `server.use = "mariadb+{PLUGIN}"`: contend downloads it.',
            )


@dataclass(frozen=True)
class HostsSetting(Setting):
    """The number of hosts that share the load."""

    def check(self, cell: Values) -> None:
        hosts, connections = cell[self.path], cell["load.connections"]
        if connections % hosts:
            raise Refused(
                f"= {hosts} does not divide load.connections = {connections} evenly",
                hint=f"Make load.connections a multiple of {hosts}.",
            )

    def why_not_in_slices(self, cell: Values) -> str | None:
        if cell[self.path] == 1:
            return None
        return "several load hosts do not switch slices at the same time"


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
"""Load on each arm before its first slice: new connections send their first queries."""

SLICE_S = 0.1
SETTLE_S = 0.02

ROUNDS_OF_TREATMENTS = 5
"""Minimum rounds in a treatment's block, or the same time in default rounds if its slices are
longer; the repeat has only this block. A slice in which the host stalls is an outlier in a block
with one round, but one of five in a longer one: docs/decisions/0080."""

BLOCK_S = 0.12
"""Estimated overhead per level and block in addition to its slices: connecting, counters."""

START_S = 0.7
"""Estimated start time of a server, before one was started."""

SLICES = tuple(
    Setting("load", key, differs=Differs.LOAD)
    for key in (
        Key(
            "slice",
            Duration(),
            None,
            "length of a slice: measurement of one level at a time (default: 100ms, or five times "
            "the median response time of the slowest kind of event if that is longer)",
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
"""For comparisons in slices, which do not use `warmup` and `measure`."""

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
    """How a block is divided: the time each level is measured per slice (a maximum, if the work has
    an end), the load before that, and the number of rounds."""

    slice_s: float
    settle_s: float
    rounds: int
    rest_s: float = 0.0
    """Maximum wait after each slice until the servers are at rest."""
    look_reads_per_s: int | None = None
    """Samples per second of the servers' threads, in half of the rounds; None: no samples."""

    @property
    def round_s(self) -> float:
        """Seconds per level and round, if its server is at rest at once."""
        return self.slice_s + self.settle_s


def load_in_slices(cell: Values, slices: Slicing) -> dict[str, Any]:
    """The `load` of a plan that switches between arms."""
    load = load_plan(cell)
    del load["measure_s"]
    warmup_s = WARMUP_IN_SLICES_S
    if ends_with_its_work(cell):
        # Without a warm-up before such work, the work itself warms its data.
        warmup_s = min(warmup_s, cell["load.warmup"])
    cut = {name: value for name, value in asdict(slices).items() if value is not None}
    return {**load, "warmup_s": warmup_s, "interval_s": 0.0, "slices": cut}


def ends_with_its_work(cell: Values) -> bool:
    """Whether the workload has an end of its own instead of running for a fixed time."""
    limits = (cell["load.events"], cell["load.events_each"], cell["workload"].get("times"))
    return any(limit is not None for limit in limits)


def load_plan(cell: Values) -> dict[str, Any]:
    """The `load` of a plan; contend-load's defaults are left out."""
    every = {key.name: cell[f"load.{key.name}"] for key in KEYS}
    every |= {k.name: k.kind.completed(every[k.name]) for k in KEYS if isinstance(k.kind, Tagged)}
    values = {n: value for n, value in every.items() if n not in _USUAL or value != _USUAL[n]}
    arrival: Mapping[str, Any] = values.get("arrival", {})
    if arrival.get("rate") is not None:
        stages = [{"rate": arrival["rate"]}]
        values["arrival"] = {**arrival, "rate": None, "stages": stages}
    return as_plan(KEYS, values)
