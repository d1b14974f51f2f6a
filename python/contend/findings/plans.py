"""The optimizer's plans, each level next to its baseline: which statements have different plans."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PLANS = "plans"

WHOLE = frozenset({"ALL", "index"})
"""Ways to read a table, or an index of it, from its begin to its end."""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One table of a plan.

    Args:
        way: how it is read: EXPLAIN's type of access.
        key: the index, if any.
        rows: the optimizer's estimate, if any.
        extra: further operations, without numbers.
    """

    table: str
    way: str
    key: str | None
    rows: int | None
    extra: str

    @property
    def kind(self) -> tuple[str, str, str | None, str]:
        """The parts that make a plan different. The estimate of rows and the order of the extras do
        not count."""
        return (self.table, self.way, self.key, ";".join(sorted(self.extra.split("; "))))


@dataclass(frozen=True, slots=True)
class StatementPlan:
    """The plan of one statement in a cell; without steps if the server reported none. `name` if it
    is one of the user's own statements."""

    shape: str
    steps: tuple[PlanStep, ...]
    why_not: str | None
    name: str = ""

    def differs(self, other: StatementPlan) -> bool:
        """Whether both are known and not the same."""
        kinds = [[step.kind for step in one.steps] for one in (self, other)]
        return all(kinds) and kinds[0] != kinds[1]

    @property
    def rows(self) -> int:
        """Rows read, by the optimizer's estimate: in a join, each row of one table has its own
        rows of the next."""
        product = 1
        for step in self.steps:
            product *= max(1, step.rows or 1)
        return product


def changed(
    plans: Mapping[str, StatementPlan], base: Mapping[str, StatementPlan]
) -> tuple[str, ...]:
    """Shapes of statements that have a different plan."""
    return tuple(
        shape for shape, one in plans.items() if shape in base and one.differs(base[shape])
    )


def plans_in(figures: Mapping[str, Any]) -> dict[str, StatementPlan]:
    """Those of a diagnostic pass, by shape."""
    return {
        one["shape"]: StatementPlan(
            one["shape"],
            tuple(map(_step, one["tables"])),
            one.get("why_not"),
            str(one.get("name") or ""),
        )
        for one in figures.get("statements", ())
    }


def _step(row: Mapping[str, Any]) -> PlanStep:
    rows = row.get("rows")
    return PlanStep(
        table=str(row.get("table") or ""),
        way=str(row.get("type") or ""),
        key=None if row.get("key") is None else str(row["key"]),
        rows=None if rows is None else int(rows),
        extra=re.sub(r"\d+", "#", str(row.get("extra") or "")),
    )
