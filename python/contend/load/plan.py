"""A cell becomes a plan: the JSON document that tells contend-load what to do in one run.

The names are those of the program's own types; the committed `plan.schema.json` is exported from
them, and a test holds both to each other. A plan is stored with the results, so it never holds a
password, only the name of the environment variable that does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from contend import plan as plans
from contend.plan import HandlerSocket, Load, Plan, Server, Workload
from contend.settings.load import Slicing, load_in_slices, load_plan
from contend.settings.plan_keys import SUPPLIED_OF
from contend.spec.model import CellSpec

PLAN_VERSION = 1


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
    """Where that plugin listens, if the server has it."""

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
        return server


def plan_of(cell: CellSpec, address: Address, *, seed: int, watch_pid: int | None) -> Plan:
    """The plan of one run of `cell` against the server at `address`.

    `watch_pid` is the server's process on this host, or None if it runs elsewhere.
    """
    plan: Plan = {
        "version": PLAN_VERSION,
        "server": address.as_plan(),
        "workload": _asked(cell),
        "load": cast(Load, load_plan(cell.values)),
        "seed": seed,
    }
    if watch_pid is not None:
        plan["watch"] = {"pid": watch_pid}
    return plan


_USUAL: dict[Literal["protocol", "depth", "arrival"], Any] = {
    "protocol": "prepared",
    "depth": 1,
    "arrival": {"kind": "closed"},
}
"""What an arm may have of its own, as it is if a plan does not say."""


@dataclass(frozen=True, slots=True)
class ArmSpec:
    """What a run hops to and from: a server or a state of one, or another way to ask.

    Args:
        enter: statements that bring it about, run each time while nothing is asked.
        watch_threads: a statement that answers which thread serves which connection.
    """

    name: str
    cell: CellSpec
    address: Address
    watch_pid: int | None = None
    enter: tuple[str, ...] = ()
    watch_threads: str | None = None

    def as_plan(self, plan: Plan, slices: Slicing) -> plans.Arm:
        """The arm, as far as it differs from the plan."""
        arm: plans.Arm = {"name": self.name, "server": self.address.as_plan()}
        if self.watch_pid is not None:
            watch: plans.Watch = {"pid": self.watch_pid}
            if self.watch_threads is not None:
                watch["threads"] = self.watch_threads
            arm["watch"] = watch
        if self.enter:
            arm["enter"] = list(self.enter)
        workload, load = _asked(self.cell), cast(Load, load_in_slices(self.cell.values, slices))
        if workload != plan["workload"]:
            arm["workload"] = workload
        for name, usual in _USUAL.items():
            if (own := load.get(name, usual)) != plan["load"].get(name, usual):
                arm[name] = own
        return arm


def plan_in_slices(arms: Sequence[ArmSpec], slices: Slicing, *, seed: int) -> Plan:
    """The plan of a run that asks all arms in turn."""
    first = arms[0]
    plan = plan_of(first.cell, first.address, seed=seed, watch_pid=None)
    plan["load"] = cast(Load, load_in_slices(first.cell.values, slices))
    plan["arms"] = [arm.as_plan(plan, slices) for arm in arms]
    return plan


def plan_of_arm(plan: Plan, place: int) -> Plan:
    """The plan with what one of its arms asks, beside all arms: for the record of that arm."""
    arm = plan["arms"][place]
    load = plan["load"].copy()
    if (protocol := arm.get("protocol")) is not None:
        load["protocol"] = protocol
    if (depth := arm.get("depth")) is not None:
        load["depth"] = depth
    if (arrival := arm.get("arrival")) is not None:
        load["arrival"] = arrival
    return {**plan, "workload": arm.get("workload") or plan["workload"], "load": load}


def _asked(cell: CellSpec) -> Workload:
    # The declaration comes from the program's schema, as this type does.
    asked = {"kind": cell.workload.kind, **_tables(cell), **cell.workload.parameters}
    return cast(Workload, asked)


def _tables(cell: CellSpec) -> dict[str, Any]:
    """What the workload is told of the tables, as far as its plan has them."""
    asked = SUPPLIED_OF[cell.workload.kind]
    told = {name: cell.data[name] for name in cell.data.known.supplied if name in asked}
    return {name: value for name, value in told.items() if value is not None}


def planned_s(plan: Plan) -> float:
    """How long a run of this plan lasts by its own clock at most, connecting not counted."""
    load = plan["load"]
    warmup_s, slices = float(load.get("warmup_s", 0.0)), load.get("slices")
    if slices is None:
        return warmup_s + float(load["measure_s"])
    slice_s = slices["slice_s"] + slices["settle_s"] + slices.get("rest_s", 0.0)
    return float(len(plan["arms"]) * (warmup_s + slices["rounds"] * slice_s))
