"""A look at a cause: a diagnostic block after the measured ones, kept out of all other figures.

A look has a cost. So half of the rounds of its block run without it, in alternation, on the same
servers and connections. They show how the look changed the speed and the difference between levels.
Findings are kept round by round in the run folder's table of looks.

Nothing heavy is imported here before a look is taken, because every report knows the looks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from contend.experiment import Level, Planned
from contend.experiment.settings.load import Slicing, ends_with_its_work
from contend.metrics.outcome import Done, Outcome
from contend.store import LookRecord

if TYPE_CHECKING:
    from contend.lab.testbed import Ready
    from contend.lab.twins import KnownRecording
    from contend.load import ArmSpec, LoadDriver


def now() -> str:
    """The form in which it is stored."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class BlockToLookAt:
    """Cells that one look examines together.

    Args:
        number: of the block, in the run folder.
        runs, arms, readies: of each cell, in the same order.
        slices: how a comparison is cut; None if it is by runs.
        recording: the one whose statements are asked, if any are.
    """

    name: str
    number: int
    runs: Sequence[Planned]
    arms: Sequence[ArmSpec]
    readies: Sequence[Ready]
    load: LoadDriver
    slices: Slicing | None = None
    recording: KnownRecording | None = None
    started_at: str = field(default_factory=now)

    @property
    def has_own_servers(self) -> bool:
        """Whether each cell has a server of its own, whose counters belong to it alone."""
        servers = {id(ready.observed.connection) for ready in self.readies}
        return len(servers) == len(self.readies)

    def cut(self, rounds: int, slice_s: float, settle_s: float) -> Slicing:
        """`rounds` of slices with at least these lengths; for work that has an end, all of it."""
        if ends_with_its_work(self.arms[0].cell.values):
            return Slicing(self.arms[0].cell["load.measure"], 0.0, rounds)
        usual = self.slices or Slicing(slice_s, settle_s, rounds)
        slice_s, settle_s = max(slice_s, usual.slice_s), max(settle_s, usual.settle_s)
        return replace(usual, rounds=rounds, slice_s=slice_s, settle_s=settle_s)

    def drive(
        self,
        cut: Slicing,
        on_event: Callable[[Outcome], None] = lambda _event: None,
        arms: Sequence[ArmSpec] | None = None,
    ) -> Done:
        """Run the load of all cells in turn.

        Raises:
            LoadFailed: contend-load gave no result.
        """
        from contend.host.placement import Placed
        from contend.load import plan_in_slices

        plan = plan_in_slices(arms or self.arms, cut, seed=self.number)
        client = self.readies[0].client
        env = {key: value for ready in self.readies for key, value in ready.env.items()}
        placed = Placed(client) if client else None
        return self.load.run(plan, env=env, on_event=on_event, placed=placed)

    def records(self, figures: Sequence[Mapping[str, Any]]) -> list[LookRecord]:
        """The findings for each cell, in their order."""
        return [
            LookRecord(self.name, self.number, run.cell, self.started_at, now(), found)
            for run, found in zip(self.runs, figures, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class LookAtCause:
    """One look at a cause.

    Args:
        having: options for a restart of private servers; other servers are left alone.
    """

    name: str
    take: Callable[[BlockToLookAt], list[LookRecord]]
    having: Mapping[str, Level] = field(default_factory=dict)
