"""The looks at causes by name: what servers are started with for one, and who takes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from contend.lab.lock_look import LOCKS, look_at_locks
from contend.lab.looks import BUDGET, look_at
from contend.servers.lock_waits import INSTRUMENTS
from contend.spec import Level, Planned
from contend.store import LookRecord


@dataclass(frozen=True, slots=True)
class KindOfLook:
    """One look.

    Args:
        having: options that private servers are started anew with for it; others are left alone.
    """

    take: Callable[..., list[LookRecord]]
    having: Mapping[str, Level] = field(default_factory=dict)

    def asked(self, runs: Sequence[Planned], *, own: bool) -> list[Planned]:
        """The runs as they are to be set up for the look."""
        if not (own and self.having):
            return list(runs)
        return [replace(run, cell={**run.cell, **self.having}) for run in runs]


LOOKS: Mapping[str, KindOfLook] = {
    BUDGET: KindOfLook(look_at),
    LOCKS: KindOfLook(look_at_locks, INSTRUMENTS),
}
