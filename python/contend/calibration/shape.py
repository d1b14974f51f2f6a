"""What the client's cost depends on: what it asks, how, over how many connections."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from contend.load import Address
from contend.load.plan import PLAN_VERSION
from contend.settings.plan_keys import DISTRIBUTION, SUPPLIED, WORKLOAD
from contend.spec import SCRIPT, STATEMENTS, is_file

Transport = Literal["socket", "tcp"]

ROWS = 1_000_000
"""Of the table that is not there: keys of seven digits, as of most experiments."""

RANGE_ROWS = 100
"""That the null server answers a range with."""

_USUAL = {
    key.name: key.default for kind in ("read_write", "insert") for key in WORKLOAD.kinds[kind]
}
"""Parameters that go without saying."""

_TRANSPORTS = {"socket": "Unix socket", "tcp": "TCP"}


@dataclass(frozen=True, slots=True)
class Shape:
    """Runs of the same shape cost the client the same.

    Args:
        workload: kind and parameters, as in a plan; without what follows from the data.
        protocol: `prepared` or `text`.
        transport: how the server is reached.
        connections: how many.
        engine: how the client waits for its sockets.
        threads: of the client; None leaves the choice to it.
    """

    workload: Mapping[str, Any]
    protocol: str
    transport: Transport
    connections: int
    engine: str
    threads: int | None = None

    def __hash__(self) -> int:
        return hash((self.group, self.connections))

    @property
    def group(self) -> str:
        """The same for shapes that differ in their connections alone."""
        rest = [self.workload, self.protocol, self.transport, self.engine, self.threads]
        return json.dumps(rest, sort_keys=True)

    @property
    def title(self) -> str:
        """`random_points (points 10, distribution special), prepared, Unix socket, epoll`."""
        parameters = ", ".join(
            f"{name} {_text(value)}"
            for name, value in self.workload.items()
            if name != "kind" and value != _USUAL.get(name)
        )
        kind = str(self.workload["kind"]) + (f" ({parameters})" if parameters else "")
        threads = [] if self.threads is None else [f"threads {self.threads}"]
        way = _TRANSPORTS[self.transport]
        return ", ".join([kind, self.protocol, way, self.engine, *threads])

    def plan(self, address: Address, *, warmup_s: float, measure_s: float) -> dict[str, Any]:
        """A run of this shape against the server at `address`."""
        load: dict[str, Any] = {
            "connections": self.connections,
            "warmup_s": warmup_s,
            "measure_s": measure_s,
            "interval_s": 0.0,
            "protocol": self.protocol,
            "engine": self.engine,
        }
        if self.threads is not None:
            load["threads"] = self.threads
        return {
            "version": PLAN_VERSION,
            "server": address.as_plan(),
            "workload": {**self.workload, "rows": ROWS},
            "load": load,
            "seed": 1,
        }


def has_ceiling(workload: Mapping[str, Any]) -> bool:
    """Whether the null server's answers to a plan's workload are like a server's.

    It knows nothing of statements and scripts of the user's own nor of MariaDB's bulk execute,
    and gives every range `RANGE_ROWS` rows.
    """
    kind = workload["kind"]
    if kind in STATEMENTS or workload.get("bulk_execute"):
        return False
    if kind == SCRIPT and is_file(str(workload["script"])):
        return False
    told = workload.get("options", {}) if kind == SCRIPT else workload
    return bool(told.get("range_size", RANGE_ROWS) == RANGE_ROWS)


def shape_of(plan: Mapping[str, Any]) -> Shape:
    """The shape of a plan. When its events begin is no part of it: a ceiling is a ceiling."""
    load = plan["load"]
    return Shape(
        workload={k: v for k, v in plan["workload"].items() if k not in SUPPLIED},
        protocol=str(load.get("protocol", "prepared")),
        transport="socket" if plan["server"].get("socket") else "tcp",
        connections=int(load["connections"]),
        engine=str(load["engine"]),
        threads=load.get("threads"),
    )


def _text(value: object) -> str:
    """`10`, `special`, `special pct 5`: what is as usual goes without saying."""
    if not isinstance(value, Mapping):
        return str(value)
    kind = str(value.get("kind", ""))
    usual = {key.name: key.default for key in DISTRIBUTION.kinds.get(kind, ())}
    rest = [f"{k} {_text(v)}" for k, v in value.items() if k != "kind" and v != usual.get(k)]
    return " ".join([kind, *rest]).strip()
