"""A cell becomes a plan: the JSON document that tells contend-load what to do in one run.

The names are those of the program's own types; the committed `plan.schema.json` is exported from
them, and a test holds both to each other. A plan is stored with the results, so it never holds a
password, only the name of the environment variable that does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from contend import plan as plans
from contend.plan import Load, Plan, Server, Workload
from contend.settings.load import Slices, load_in_slices, load_plan
from contend.settings.plan_keys import STATEMENTS, STRING_LOOKUP
from contend.settings.schemas import SBTEST
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

    def as_plan(self) -> Server:
        found: Server = (
            {"socket": self.socket} if self.socket else {"host": self.host, "port": self.port}
        )
        found["user"] = self.user
        if self.password_env is not None:
            found["password_env"] = self.password_env
        if self.database is not None:
            found["database"] = self.database
        return found


def plan_of(cell: CellSpec, address: Address, *, seed: int, watch_pid: int | None) -> Plan:
    """The plan of one run of `cell` against the server at `address`.

    `watch_pid` is the server's process on this host, or None if it runs elsewhere.
    """
    asked = {"kind": cell.workload.kind, **_tables(cell), **cell.workload.parameters}
    plan: Plan = {
        "version": PLAN_VERSION,
        "server": address.as_plan(),
        # The declarations of both come from the program's schema, as these types do.
        "workload": cast(Workload, asked),
        "load": cast(Load, load_plan(cell.values)),
        "seed": seed,
    }
    if watch_pid is not None:
        plan["watch"] = {"pid": watch_pid}
    return plan


@dataclass(frozen=True, slots=True)
class Arm:
    """One of the servers, or states of a server, that a run hops between.

    `enter` has statements that bring it about, run each time while nothing is asked.
    """

    name: str
    address: Address
    watch_pid: int | None = None
    enter: tuple[str, ...] = ()

    def as_plan(self) -> plans.Arm:
        found: plans.Arm = {"name": self.name, "server": self.address.as_plan()}
        if self.watch_pid is not None:
            found["watch"] = {"pid": self.watch_pid}
        if self.enter:
            found["enter"] = list(self.enter)
        return found


def plan_in_slices(cell: CellSpec, arms: Sequence[Arm], slices: Slices, *, seed: int) -> Plan:
    """The plan of a run that asks the same of all arms, in turn.

    `cell` is that of any of them: what they are asked is the same.
    """
    plan = plan_of(cell, arms[0].address, seed=seed, watch_pid=None)
    plan["load"] = cast(Load, load_in_slices(cell.values, slices))
    plan["arms"] = [arm.as_plan() for arm in arms]
    return plan


def _tables(cell: CellSpec) -> dict[str, Any]:
    """What the workload is told of the tables; nothing if it knows those of the schema, its
    script makes them, or its statements name them."""
    if cell.workload.kind == STRING_LOOKUP:
        return {"rows": cell.data.rows, "string_length": cell.data.string_length}
    if cell.data.schema != SBTEST or cell.workload.kind in STATEMENTS:
        return {}
    tables = {} if cell.data.tables is None else {"tables": cell.data.tables}
    return {"rows": cell.data.rows, **tables}


def planned_s(plan: Plan) -> float:
    """How long a run of this plan lasts by its own clock, connecting not counted."""
    load = plan["load"]
    warmup_s, slices = float(load.get("warmup_s", 0.0)), load.get("slices")
    if slices is None:
        return warmup_s + float(load["measure_s"])
    slice_s = slices["slice_s"] + slices["settle_s"]
    return float(len(plan["arms"]) * (warmup_s + slices["rounds"] * slice_s))
