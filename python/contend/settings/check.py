"""When the tables are looked at, whether they hold the conditions of their schema."""

from __future__ import annotations

from dataclasses import dataclass

from contend.settings.model import Need, Setting, Target, Values
from contend.settings.values import Choice, Key

EACH_RUN = "each_run"
NEVER = "never"


@dataclass(frozen=True)
class Check(Setting):
    """Applied before the caches are warmed, which it disturbs."""

    def apply(self, target: Target, cell: Values) -> None:
        target.see_conditions(cell[self.path])


SETTING = Check(
    "",
    Key(
        "check",
        Choice(("ends", EACH_RUN, NEVER)),
        "ends",
        "when the tables are asked for the conditions of their schema, if it has some: ends (after "
        "loading, and before a copy of the data is given up), each_run (after every run too) or "
        "never",
    ),
    need=Need.IN_PLACE,
)
