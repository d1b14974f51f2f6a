"""The looks at causes by name: what servers are started with for one, and who takes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from contend.lab.lock_look import LOCKS, look_at_locks
from contend.lab.look_block import BlockToLookAt
from contend.lab.looks import BUDGET, look_at
from contend.lab.plan_look import PLANS, look_at_plans
from contend.lab.switch_look import SWITCHES, look_at_switches
from contend.servers.variables import INSTRUMENTS
from contend.spec import Level
from contend.store import LookRecord


@dataclass(frozen=True, slots=True)
class KindOfLook:
    """One look.

    Args:
        having: options that private servers are started anew with for it; others are left alone.
    """

    take: Callable[[BlockToLookAt], list[LookRecord]]
    having: Mapping[str, Level] = field(default_factory=dict)


LOOKS: Mapping[str, KindOfLook] = {
    BUDGET: KindOfLook(look_at),
    PLANS: KindOfLook(look_at_plans),
    SWITCHES: KindOfLook(look_at_switches),
    LOCKS: KindOfLook(look_at_locks, INSTRUMENTS),
}
