"""How many servers form one level, and their relation; which of them is queried. They are private,
or an existing cluster of the user's.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contend.errors import RequestError, did_you_mean
from contend.experiment.settings.before_run import COLD_STARTS
from contend.experiment.settings.model import Differs, Launch, Need, Setting, Values
from contend.experiment.settings.schemas import schema_of
from contend.experiment.settings.server import ROUND_TRIP, USE, is_dsn, server_named
from contend.experiment.settings.values import (
    BaseKind,
    Choice,
    Command,
    Duration,
    Refused,
    WholeNumber,
)

SINGLE, SPIDER, GALERA = "single", "spider", "galera"

FIRST, TURNS, CHANCE, BY_KEY = "first", "round_robin", "chance", "key"

MEMBERS_MAX = 4
"""Maximum fronts, and backends. All of them share the CPUs of one machine."""

_NODES_MAX = 5


@dataclass(frozen=True)
class TopologySetting(Setting):
    """The servers of a level. Their number has separate keys."""

    def check(self, cell: Values) -> None:
        topology = cell[self.path]
        if topology == SINGLE:
            return
        if cell["server.warm"] in COLD_STARTS:
            raise Refused(
                f'conflicts with server.warm = "{cell["server.warm"]}": only a single server can '
                "start cold",
                hint='Write server.warm = "index".',
            )
        if cell["data.engine"] != "InnoDB":
            raise Refused(
                f'= "{topology}" needs InnoDB, but data.engine is {cell["data.engine"]}',
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
                f'{self.path} = "{topology}" needs private servers, but --server names a running '
                "one",
                hint="Leave --server out, or name each server of your cluster with its role: "
                "--server front=DSN --server backend=DSN, or --server node=DSN.",
            )
        server = server_named(cell)
        if topology not in server.partition("@")[0].partition("-")[0].split("+"):
            raise RequestError(
                f'{self.path} = "{topology}" needs a MariaDB with {topology.capitalize()}, but '
                f"the server is {server}",
                hint=f"Run `contend server get mariadb+{topology}`, and write "
                f'`server.use = "mariadb+{topology}"`.',
            )


def _check_shares(cell: Values) -> None:
    """Rows are assigned to a backend by a column of each table."""
    schema = schema_of(cell["data.schema"])
    if not schema.owned_by:
        raise Refused(
            f'= "{SPIDER}" divides tables by warehouse, but the tables of the schema {schema.name} '
            "have none",
            hint='Write schema = "tpcc" in [data].',
        )
    if cell["data.foreign_keys"]:
        raise Refused(
            f'= "{SPIDER}" conflicts with data.foreign_keys: a referenced row may be on another '
            "backend",
            hint="Leave foreign_keys out.",
        )
    if cell["data.warehouses"] < cell[BACKENDS.path]:
        raise Refused(
            f"needs a warehouse for each of {cell[BACKENDS.path]} backends, but data.warehouses is "
            f"{cell['data.warehouses']}",
            hint=f"Write warehouses = {cell[BACKENDS.path]} or more in [data].",
        )


TOPOLOGY = TopologySetting.of(
    "server",
    "topology",
    Choice((SINGLE, SPIDER, GALERA)),
    SINGLE,
    "the private servers of one level: single; spider (fronts of MariaDB's Spider, and backends "
    "that share the warehouses of tpcc); galera (nodes that each have all rows)",
    need=Need.DATA,
    lasts=Need.DATA,
)

BACKENDS = Setting.of(
    "server",
    "backends",
    WholeNumber(1, MEMBERS_MAX),
    2,
    "spider: number of backends, which hold the rows of equal numbers of warehouses",
    need=Need.DATA,
    lasts=Need.DATA,
)

FRONTS = Setting.of(
    "server",
    "fronts",
    WholeNumber(1, MEMBERS_MAX),
    1,
    "spider: number of fronts, which access the rows of all backends",
    need=Need.DATA,
    lasts=Need.DATA,
)

NODES = Setting.of(
    "server",
    "nodes",
    WholeNumber(2, _NODES_MAX),
    3,
    "galera: number of nodes",
    need=Need.DATA,
    lasts=Need.DATA,
)


@dataclass(frozen=True)
class RouteSetting(Setting):
    """Which servers the clients query."""

    def check(self, cell: Values) -> None:
        route = cell[self.path]
        if route == FIRST:
            return
        if cell[TOPOLOGY.path] == SINGLE:
            raise Refused(
                f'= "{route}" chooses between servers, but server.topology = "{SINGLE}" has one',
                hint=f'Write server.topology = "{SPIDER}" or "{GALERA}", or leave it out.',
            )
        if route == BY_KEY and cell["workload"]["kind"] != schema_of("tpcc").kind:
            raise Refused(
                f'= "{route}" needs warehouses, but the workload {cell["workload"]["kind"]} has '
                "none",
                hint='Write kind = "tpcc" in [workload], or use a different route.',
            )


ROUTE = RouteSetting.of(
    "load",
    "route",
    Choice((FIRST, TURNS, CHANCE, BY_KEY)),
    FIRST,
    "the server of a topology that a transaction is sent to: first (the first front or node), "
    "round_robin (each in turn), chance (any), key (the owner of its warehouses, or a front if "
    "they have several owners)",
    differs=Differs.ROUTE,
)

AS_CLIENT = "as_client"


@dataclass(frozen=True, slots=True)
class Distance(BaseKind):
    """A duration, or the same distance as to the client."""

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

    def expected(self) -> str:
        return f'{self.duration.expected()}, or "{AS_CLIENT}"'

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
                f"{self.path} needs servers that contend starts",
                hint=f"Leave {self.path} out: contend puts no delay between your servers.",
            )

    def launch(self, cell: Values, launch: Launch) -> None:
        launch.member_round_trip_s = _apart_s(cell)

    def why_not_in_slices(self, cell: Values) -> str | None:
        if cell[self.path] != AS_CLIENT or cell[TOPOLOGY.path] == SINGLE:
            return None
        return f'{self.path} = "{AS_CLIENT}" restarts servers for each {ROUND_TRIP.path}'


MEMBER_ROUND_TRIP = MemberRoundTrip.of(
    "server",
    "member_round_trip",
    Distance(),
    None,
    "round trip between the servers of a topology (a front and its backends, or two nodes), kept "
    'by delay lines between them; 0 still uses the lines; "as_client" is the same as '
    "server.round_trip (default: no lines)",
    need=Need.RESTART,
)


def _apart_s(cell: Values) -> float | None:
    """The distance between the servers of a cell; None without a line."""
    if cell[TOPOLOGY.path] == SINGLE:
        return None
    wanted = cell[MEMBER_ROUND_TRIP.path]
    apart_s: float | None = cell[ROUND_TRIP.path] if wanted == AS_CLIENT else wanted
    return apart_s


SHAPE = (TOPOLOGY, BACKENDS, FRONTS, NODES)


def shape_of(cell: Values) -> Mapping[str, object]:
    """The values that decide the servers of a level."""
    return {setting.path: cell[setting.path] for setting in SHAPE}


def members_in(cell: Values) -> int:
    """The number of servers in a level."""
    counts: dict[str, int] = {
        SINGLE: 1,
        SPIDER: cell[FRONTS.path] + cell[BACKENDS.path],
        GALERA: cell[NODES.path],
    }
    return counts[cell[TOPOLOGY.path]]


FRONT, BACKEND, NODE = "front", "backend", "node"

_COUNTS: Mapping[str, Mapping[str, Setting]] = {
    SPIDER: {FRONT: FRONTS, BACKEND: BACKENDS},
    GALERA: {NODE: NODES},
}
"""The roles of a topology, and the settings that count them."""

_WITH_ROLE = re.compile(r"(?P<role>[\w-]+)=(?P<dsn>.*)", re.DOTALL)

_FORM = "Write --server front=DSN --server backend=DSN …, or --server node=DSN for each node."


def has_role(text: str) -> bool:
    """Whether this is `ROLE=DSN`, and not the name, the path or the DSN of one server."""
    found = _WITH_ROLE.fullmatch(text.strip())
    return found is not None and is_dsn(found["dsn"])


def named_members(texts: Sequence[str]) -> list[tuple[str, str, str]]:
    """Name, role and DSN of each; raises RequestError."""
    found: list[tuple[str, str, str]] = []
    roles = [role for counts in _COUNTS.values() for role in counts]
    for text in texts:
        match = _WITH_ROLE.fullmatch(text.strip())
        if match is None or not is_dsn(match["dsn"]):
            raise RequestError(f"{text!r} is not ROLE=DSN", hint=_FORM)
        role, dsn = match["role"], match["dsn"]
        if role not in roles:
            hint = did_you_mean(role, roles)
            raise RequestError(
                f"unknown role {role!r} of a server; the roles are {', '.join(roles)}",
                hint=hint or _FORM,
            )
        if any(dsn == other for _, _, other in found):
            raise RequestError(f"{dsn} is named twice", hint="Each server has one role.")
        number = 1 + sum(one == role for _, one, _ in found)
        found.append((f"{role}-{number}", role, dsn))
    # Clients that know only one server use the first.
    return sorted(found, key=lambda one: one[1] == BACKEND)


def topology_of(members: Sequence[tuple[str, str, str]]) -> str:
    """The topology of these members; raises RequestError."""
    roles = {role for _, role, _ in members}
    for topology, counts in _COUNTS.items():
        if roles == set(counts):
            return topology
    raise RequestError(
        f"servers with the roles {', '.join(sorted(roles))} are not a cluster",
        hint=f"{_FORM} Fronts need backends; nodes do not combine with either.",
    )


def overrides_of(texts: Sequence[str]) -> list[str]:
    """`PATH=VALUE` overrides for several `--server ROLE=DSN`."""
    if not texts:
        return []
    members = named_members(texts)
    topology = topology_of(members)
    values: dict[str, object] = {
        USE.path: members[0][2],
        TOPOLOGY.path: topology,
        MEMBERS.path: shlex.join(f"{role}={dsn}" for _, role, dsn in members),
    }
    for role, setting in _COUNTS[topology].items():
        values[setting.path] = sum(one == role for _, one, _ in members)
    return [f"{path}={json.dumps(value)}" for path, value in values.items()]


@dataclass(frozen=True)
class MembersSetting(Setting):
    """The servers of the level, if contend starts none."""

    def check(self, cell: Values) -> None:
        texts = cell[self.path]
        if not texts:
            return
        try:
            members = named_members(texts)
            topology = topology_of(members)
        except RequestError as error:
            reason = f"{self.path}: {error.message}"
            raise Refused(reason, hint=error.hint, whole=True) from error
        for path, has, wanted in self._counted(cell, members, topology):
            if has != wanted:
                raise Refused(
                    f'names a cluster with {path} = "{wanted}", but {path} is "{has}"',
                    hint=f"Leave {path} out: every cell is measured on that cluster.",
                )

    @staticmethod
    def _counted(
        cell: Values, members: Sequence[tuple[str, str, str]], topology: str
    ) -> Iterator[tuple[str, object, object]]:
        yield TOPOLOGY.path, cell[TOPOLOGY.path], topology
        for role, setting in _COUNTS[topology].items():
            count = sum(one == role for _, one, _ in members)
            yield setting.path, cell[setting.path], count

    def refuse(self, cell: Values, *, own: bool) -> None:
        if own and cell[self.path]:
            raise RequestError(
                f"{self.path} and --server both name running servers",
                hint="Leave one of them out.",
            )


MEMBERS = MembersSetting.of(
    "server",
    "members",
    Command(),
    [],
    "your own cluster as one level, instead of private servers: front=DSN, backend=DSN or node=DSN "
    "for each of its servers, as a list or as one text; like one `--server` for each",
    need=Need.DATA,
    lasts=Need.DATA,
)
