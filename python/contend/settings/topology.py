"""How many private servers are one level, and how they belong together; which of them is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from contend.errors import RequestError
from contend.settings.before_run import COLD_STARTS
from contend.settings.model import Differs, Launch, Need, Setting, Values
from contend.settings.schemas import schema_of
from contend.settings.server import ROUND_TRIP, server_named
from contend.settings.values import BaseKind, Choice, Duration, Key, Refused, WholeNumber

SINGLE, SPIDER, GALERA = "single", "spider", "galera"

FIRST, TURNS, CHANCE, BY_KEY = "first", "round_robin", "chance", "key"

MEMBERS_MAX = 4
"""Fronts, and backends. All of them share the CPUs of one machine."""

_NODES_MAX = 5


@dataclass(frozen=True)
class TopologySetting(Setting):
    """Which servers there are. Its number of members has keys of its own."""

    def check(self, cell: Values) -> None:
        topology = cell[self.path]
        if topology == SINGLE:
            return
        if cell["server.warm"] in COLD_STARTS:
            raise Refused(
                f'and server.warm = "{cell["server.warm"]}" exclude one another: only a server '
                "that is alone is started cold",
                hint='Write server.warm = "index".',
            )
        if cell["data.engine"] != "InnoDB":
            raise Refused(
                f'= "{topology}" holds rows of InnoDB, and data.engine is {cell["data.engine"]}',
                hint='Write engine = "InnoDB" in [data].',
            )
        if topology == SPIDER:
            _check_shares(cell)

    def refuse(self, cell: Values, *, own: bool) -> None:
        topology = cell[self.path]
        if topology == SINGLE:
            return
        if not own and cell["server.members"]:
            return
        if not own:
            raise RequestError(
                f'{self.path} = "{topology}" starts servers, and contend starts none beside one '
                "that is not its own",
                hint="Leave --server out to use private servers, or name each server of a cluster "
                "with its role: --server front=DSN --server backend=DSN, or --server node=DSN.",
            )
        server = server_named(cell)
        if topology not in server.partition("@")[0].partition("-")[0].split("+"):
            raise RequestError(
                f'{self.path} = "{topology}" needs a MariaDB with {topology.capitalize()}, and '
                f"the server is {server}",
                hint=f'Write `server.use = "mariadb+{topology}"`, after `contend server get '
                f"mariadb+{topology}`.",
            )


def _check_shares(cell: Values) -> None:
    """Rows lie on a backend by a column that each table has."""
    schema = schema_of(cell["data.schema"])
    if not schema.owned_by:
        raise Refused(
            f'= "{SPIDER}" shares out tables by their warehouse, and the tables of the schema '
            f"{schema.name} have none",
            hint='Write schema = "tpcc" in [data].',
        )
    if cell["data.foreign_keys"]:
        raise Refused(
            f'= "{SPIDER}" and data.foreign_keys exclude one another: what a row refers to may lie '
            "on another backend",
            hint="Leave foreign_keys out.",
        )
    if cell["data.warehouses"] < cell[BACKENDS.path]:
        raise Refused(
            f"wants a warehouse for each of {cell[BACKENDS.path]} backends, and there are "
            f"{cell['data.warehouses']}",
            hint=f"Write warehouses = {cell[BACKENDS.path]} or more in [data].",
        )


TOPOLOGY = TopologySetting(
    "server",
    Key(
        "topology",
        Choice((SINGLE, SPIDER, GALERA)),
        SINGLE,
        "which private servers are one level: single; spider (fronts of MariaDB's Spider before "
        "backends, which share the warehouses of tpcc); galera (nodes that each have all rows)",
    ),
    need=Need.DATA,
    lasts=Need.DATA,
)

BACKENDS = Setting(
    "server",
    Key(
        "backends",
        WholeNumber(1, MEMBERS_MAX),
        2,
        "of the topology spider: servers that have the rows, each those of as many warehouses",
    ),
    need=Need.DATA,
    lasts=Need.DATA,
)

FRONTS = Setting(
    "server",
    Key(
        "fronts",
        WholeNumber(1, MEMBERS_MAX),
        1,
        "of the topology spider: servers that reach the rows of all backends",
    ),
    need=Need.DATA,
    lasts=Need.DATA,
)

NODES = Setting(
    "server",
    Key("nodes", WholeNumber(2, _NODES_MAX), 3, "of the topology galera: servers of the cluster"),
    need=Need.DATA,
    lasts=Need.DATA,
)


@dataclass(frozen=True)
class RouteSetting(Setting):
    """Who asks whom."""

    def check(self, cell: Values) -> None:
        route = cell[self.path]
        if route == FIRST:
            return
        if cell[TOPOLOGY.path] == SINGLE:
            raise Refused(
                f'= "{route}" chooses between servers, and server.topology = "{SINGLE}" has one',
                hint=f'Write server.topology = "{SPIDER}" or "{GALERA}", or leave it out.',
            )
        if route == BY_KEY and cell["workload"]["kind"] != schema_of("tpcc").kind:
            raise Refused(
                f'= "{route}" goes by the warehouse, and the workload {cell["workload"]["kind"]} '
                "has none",
                hint='Write kind = "tpcc" in [workload], or another route.',
            )


ROUTE = RouteSetting(
    "load",
    Key(
        "route",
        Choice((FIRST, TURNS, CHANCE, BY_KEY)),
        FIRST,
        "which member of a topology a transaction asks: the first front or node; each in turn "
        "(round_robin); any (chance); the one that owns its warehouses (key), and a front if they "
        "are of several owners",
    ),
    differs=Differs.ROUTE,
)

AS_CLIENT = "as_client"


@dataclass(frozen=True, slots=True)
class Distance(BaseKind):
    """A duration, or as far as the client is."""

    duration: Duration = field(default_factory=lambda: Duration(zero_allowed=True, most="60s"))

    def read(self, value: object) -> float | str:
        if value == AS_CLIENT:
            return AS_CLIENT
        try:
            return self.duration.read(value)
        except Refused:
            if isinstance(value, str) and not value.strip()[:1].isdigit():
                raise self.wrong(value) from None
            raise

    def words(self) -> str:
        return f'{self.duration.words()}, or "{AS_CLIENT}"'

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"const": AS_CLIENT}, *self.duration.schema()["anyOf"]]}


@dataclass(frozen=True)
class MemberRoundTrip(Setting):
    """Delay lines between the servers of a level: a front and its backends, node and node."""

    def between(self, before: Values, after: Values) -> Need:
        return Need.NOTHING if _apart_s(before) == _apart_s(after) else self.need

    def refuse(self, cell: Values, *, own: bool) -> None:
        if not own and cell[self.path] is not None and cell[TOPOLOGY.path] != SINGLE:
            raise RequestError(
                f"{self.path} stands between servers that contend starts",
                hint=f"Leave {self.path} out: your servers are as far apart as they are.",
            )

    def launch(self, cell: Values, launch: Launch) -> None:
        launch.member_round_trip_s = _apart_s(cell)

    def why_not_in_slices(self, cell: Values) -> str | None:
        if cell[self.path] != AS_CLIENT or cell[TOPOLOGY.path] == SINGLE:
            return None
        return f'{self.path} = "{AS_CLIENT}" has servers start anew for each {ROUND_TRIP.path}'


MEMBER_ROUND_TRIP = MemberRoundTrip(
    "server",
    Key(
        "member_round_trip",
        Distance(),
        None,
        "how far the servers of a topology are from one another (a front from its backends, each "
        "node from each): the time of a round trip, kept by delay lines between them; 0 passes the "
        'lines too; "as_client" is the time of server.round_trip (default: no line)',
    ),
    need=Need.RESTART,
)


def _apart_s(cell: Values) -> float | None:
    """How far the servers of a cell are from one another; None without a line."""
    if cell[TOPOLOGY.path] == SINGLE:
        return None
    wanted = cell[MEMBER_ROUND_TRIP.path]
    apart_s: float | None = cell[ROUND_TRIP.path] if wanted == AS_CLIENT else wanted
    return apart_s


MEMBERS = (TOPOLOGY, BACKENDS, FRONTS, NODES)


def shape_of(cell: Values) -> Mapping[str, object]:
    """What decides which servers there are."""
    return {setting.path: cell[setting.path] for setting in MEMBERS}


def members_in(cell: Values) -> int:
    """How many servers one level is."""
    counts: dict[str, int] = {
        SINGLE: 1,
        SPIDER: cell[FRONTS.path] + cell[BACKENDS.path],
        GALERA: cell[NODES.path],
    }
    return counts[cell[TOPOLOGY.path]]
