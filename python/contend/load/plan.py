"""Converts a cell to a plan: the JSON document that defines one run for contend-load.

The names are those of the program's own types; the committed `plan.schema.json` is exported from
them, and a test compares the two. A plan is stored with the results, so it never holds a password,
only the name of the environment variable that does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from contend.experiment.model import CellSpec
from contend.experiment.settings.load import Slicing, load_in_slices, load_plan
from contend.experiment.settings.plan_keys import DURATIONS_OF, SUPPLIED_OF
from contend.experiment.settings.topology import BY_KEY, FIRST, ROUTE
from contend.metrics import plan as plans
from contend.metrics.plan import HandlerSocket, Load, Plan, Server, Workload

PLAN_VERSION = 1
ASK_PLAN_VERSION = 1


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens, and which user logs in. With a socket, host and port are not used."""

    socket: str | None = None
    host: str | None = None
    port: int = 3306
    user: str = "root"
    password_env: str | None = None
    database: str | None = None
    handler_socket: HandlerSocket | None = None
    """Where HandlerSocket listens, if the server has it."""
    init_sql: tuple[str, ...] = ()
    """Statements that each connection begins with."""
    guarded: Server | None = None
    """TLS, and the rules for giving the password away, in the form of a plan."""

    def as_plan(self) -> Server:
        server: Server = (
            {"socket": self.socket} if self.socket else {"host": self.host, "port": self.port}
        )
        server["user"] = self.user
        if self.password_env is not None:
            server["password_env"] = self.password_env
        if self.database is not None:
            server["database"] = self.database
        if self.handler_socket is not None:
            server["handler_socket"] = self.handler_socket
        if self.init_sql:
            server["init_sql"] = list(self.init_sql)
        if self.guarded:
            server.update(self.guarded)
        return server


@dataclass(frozen=True, slots=True)
class AskedMember:
    """One of the servers of a level, as a target of queries.

    Args:
        owns: the last of its own keys, which begin after those of the previous member; None if it
            owns none, and reaches those of all.
    """

    name: str
    address: Address
    pid: int | None
    owns: int | None
    reaches_all: bool


def watched(pid: int | None, members: Sequence[AskedMember]) -> plans.Watch | None:
    """The processes whose counters are those of the server."""
    if pid is None:
        return None
    watch: plans.Watch = {"pid": pid}
    pids = [member.pid for member in members if member.pid is not None]
    if more := [each for each in pids if each != pid]:
        watch["more"] = more
    return watch


def asked_nodes(cell: CellSpec, members: Sequence[AskedMember]) -> tuple[list[plans.Node], Any]:
    """The nodes and the route of a run that queries several members; none for the first."""
    route = cell[ROUTE.path]
    if len(members) < 2 or route == FIRST:
        return [], None
    reach = [member for member in members if member.reaches_all]
    if route != BY_KEY:
        return [_node(member) for member in reach], {"by": route}
    owners = [member for member in members if member.owns is not None]
    owned = [{"upto": member.owns, "node": member.name} for member in owners]
    # If every owner has all rows, queries go to the owner, even for further rows.
    fronts = [] if all(member.reaches_all for member in owners) else reach
    by_key: dict[str, Any] = {"by": route, "owners": owned}
    if fronts:
        by_key["through"] = [member.name for member in fronts]
    return [_node(member) for member in [*owners, *fronts]], by_key


def _node(member: AskedMember) -> plans.Node:
    node: plans.Node = {"name": member.name, "server": member.address.as_plan()}
    if member.pid is not None:
        node["watch"] = {"pid": member.pid}
    return node


def plan_of(
    cell: CellSpec,
    address: Address,
    *,
    seed: int,
    watch_pid: int | None,
    members: Sequence[AskedMember] = (),
) -> Plan:
    """The plan of one run of `cell` against the server at `address`.

    Args:
        watch_pid: the server's process on this host, or None if it runs elsewhere.
        members: the servers of the level, if several; the first is at `address`.
    """
    plan: Plan = {
        "version": PLAN_VERSION,
        "server": address.as_plan(),
        "workload": _workload(cell),
        "load": cast(Load, load_plan(cell.values)),
        "seed": seed,
    }
    if (watch := watched(watch_pid, members)) is not None:
        plan["watch"] = watch
    nodes, route = asked_nodes(cell, members)
    if nodes:
        plan["nodes"] = nodes
        plan["load"]["route"] = route
    return plan


_USUAL: dict[Literal["protocol", "depth", "arrival"], Any] = {
    "protocol": "prepared",
    "depth": 1,
    "arrival": {"kind": "closed"},
}
"""Values that an arm may set, with the defaults of a plan."""


@dataclass(frozen=True, slots=True)
class ArmSpec:
    """A target that a run switches to and from: a server or a state of one, or a form of requests.

    Args:
        enter: statements that switch to it, run each time while no query runs.
        watch_threads: a statement that returns which thread serves which connection.
        members: see `plan_of`.
    """

    name: str
    cell: CellSpec
    address: Address
    watch_pid: int | None = None
    enter: tuple[str, ...] = ()
    members: tuple[AskedMember, ...] = ()
    watch_threads: str | None = None

    def as_plan(self, plan: Plan, slices: Slicing) -> plans.Arm:
        """The arm's differences from the plan."""
        arm: plans.Arm = {"name": self.name, "server": self.address.as_plan()}
        if (watch := watched(self.watch_pid, self.members)) is not None:
            if self.watch_threads is not None:
                watch["threads"] = self.watch_threads
            arm["watch"] = watch
        nodes, route = asked_nodes(self.cell, self.members)
        if nodes:
            arm["nodes"], arm["route"] = nodes, route
        if self.enter:
            arm["enter"] = list(self.enter)
        workload, load = _workload(self.cell), cast(Load, load_in_slices(self.cell.values, slices))
        if workload != plan["workload"]:
            arm["workload"] = workload
        for name, usual in _USUAL.items():
            if (own := load.get(name, usual)) != plan["load"].get(name, usual):
                arm[name] = own
        return arm


def plan_in_slices(arms: Sequence[ArmSpec], slices: Slicing, *, seed: int) -> Plan:
    """The plan of a run that queries all arms in turn."""
    first = arms[0]
    plan = plan_of(first.cell, first.address, seed=seed, watch_pid=None)
    plan["load"] = cast(Load, load_in_slices(first.cell.values, slices))
    plan["arms"] = [arm.as_plan(plan, slices) for arm in arms]
    return plan


ASKED_USUAL = {"limit": 10.0}
"""Needed by the lab too, to tell a slow statement from a program that hangs."""


def asked_plan(
    arms: Sequence[ArmSpec], recording: str, *, rounds: int, for_s: float, seed: int
) -> dict[str, Any]:
    """The plan that asks the statements of a recording on all arms in turn, the baseline's first
    (`ask_plan.schema.json`).

    Args:
        recording: the path of its file.
        rounds: how often each statement is asked.
        for_s: limit of the whole.
    """
    wanted = {**ASKED_USUAL, **arms[0].cell.workload.parameters}
    # A plan has the unit in the name.
    wanted = {"limit_s" if name == "limit" else name: value for name, value in wanted.items()}
    asked: list[dict[str, Any]] = []
    for arm in arms:
        one: dict[str, Any] = {"name": arm.name, "server": arm.address.as_plan()}
        if (watch := watched(arm.watch_pid, arm.members)) is not None:
            one["watch"] = watch
        asked.append(one)
    plan = {"version": ASK_PLAN_VERSION, "arms": asked, **wanted}
    return plan | {"recording": recording, "rounds": rounds, "for_s": for_s, "seed": seed}


def plan_of_arm(plan: Plan, place: int) -> Plan:
    """The plan with all arms and the requests of one of them: for the record of that arm."""
    arm = plan["arms"][place]
    load = plan["load"].copy()
    if (protocol := arm.get("protocol")) is not None:
        load["protocol"] = protocol
    if (depth := arm.get("depth")) is not None:
        load["depth"] = depth
    if (arrival := arm.get("arrival")) is not None:
        load["arrival"] = arrival
    return {**plan, "workload": arm.get("workload") or plan["workload"], "load": load}


def _workload(cell: CellSpec) -> Workload:
    # The declaration comes from the program's schema, like this type.
    durations = DURATIONS_OF[cell.workload.kind]
    parameters = {
        f"{name}_s" if name in durations else name: value
        for name, value in cell.workload.parameters.items()
    }
    workload = {"kind": cell.workload.kind, **_tables(cell), **parameters}
    if cell[ROUTE.path] == BY_KEY:
        # A route by key is refused without the number of keys.
        count, name = cell.data.size
        workload[name] = workload.get(name) or count
    return cast(Workload, workload)


def _tables(cell: CellSpec) -> dict[str, Any]:
    """Facts about the tables for the workload, where its plan has fields for them."""
    supplied = SUPPLIED_OF[cell.workload.kind]
    facts = {name: cell.data[name] for name in cell.data.known.supplied if name in supplied}
    return {name: value for name, value in facts.items() if value is not None}


ANSWERS_S = 60.0
"""Limit of the wait for answers after a window, which is also limited to the window's length;
minimum of this limit after a slice."""


def planned_s(plan: Plan) -> float:
    """The longest duration of a run of this plan by its own clock, without connecting."""
    load = plan["load"]
    warmup_s, slices = float(load.get("warmup_s", 0.0)), load.get("slices")
    if slices is None:
        return warmup_s + float(load["measure_s"])
    slice_s = slices["slice_s"] + slices["settle_s"] + slices.get("rest_s", 0.0)
    return float(len(plan["arms"]) * (warmup_s + slices["rounds"] * slice_s))


def answers_s(plan: Plan) -> float:
    """Limit of contend-load's wait for the last answers, of each slice or at the end."""
    slices = plan["load"].get("slices")
    if slices is None:
        return min(float(plan["load"]["measure_s"]), ANSWERS_S)
    return max(float(slices["slice_s"]), ANSWERS_S)


def visit_s(plan: Plan) -> float:
    """The longest normal silence of a run in slices: until the end of the first, which follows the
    warm-up of all arms. A statement takes as long as settling."""
    load, slices = plan["load"], plan["load"].get("slices")
    assert slices is not None
    warmups_s = len(plan["arms"]) * (float(load.get("warmup_s", 0.0)) + slices["settle_s"])
    return float(warmups_s + slices["settle_s"] + slices["slice_s"] + slices.get("rest_s", 0.0))
