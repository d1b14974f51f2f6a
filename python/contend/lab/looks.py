"""Looks at causes: diagnostic blocks after the measured ones, kept out of all other figures.

A look has a cost. So half of the rounds of its block run without it, in alternation, on the same
servers and connections. They show how the look changed the speed and the difference between levels.
Findings are kept round by round in the run folder's table of looks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from contend.errors import ContendError
from contend.experiment import Level, Planned, cell_key
from contend.experiment.settings.load import Slicing, ends_with_its_work
from contend.lab.events import Listener, Notice
from contend.lab.measure import ServerOwner, exit_behind
from contend.metrics.outcome import Done, Outcome
from contend.store import LookRecord, RunFolder

if TYPE_CHECKING:
    from contend.lab.testbed import Ready
    from contend.load import ArmSpec, LoadDriver


class Looker(ServerOwner, Protocol):
    """Can look at the levels of a block; both kinds of runner can."""

    def at_once(self, runs: Sequence[Planned]) -> list[list[Planned]]:
        """Groups of runs, one per look; a failure loses the findings of the whole group."""
        ...

    def look(self, runs: Sequence[Planned], look: LookAtCause, block: int) -> list[LookRecord]: ...


def take_looks(
    looks: Sequence[LookAtCause],
    folder: RunFolder,
    runner: Looker,
    compared: str | None,
    listen: Listener,
) -> bool:
    """Take each of these looks at every cell, and store the findings. A look that fails is stored
    with the reason, and the others go on; a server that died is restarted for the next.

    Returns:
        whether a look found something.
    """
    number = max((record.block for record in folder.looks()), default=0)
    found_any = False
    reported: set[tuple[str, str]] = set()
    for look in looks:
        name = look.name
        for block in blocks_to_look_at(folder.meta().planned, compared):
            number += 1
            listen(Notice(f"{name}: diagnostic pass, cells side by side: {len(block)}"))
            for runs in runner.at_once(block):
                records = _taken(look, number, runs, runner)
                folder.add_looks(*records)
                if (error := records[0].error) is not None and (name, error) not in reported:
                    reported.add((name, error))
                    why = error.rstrip(".")
                    listen(Notice(f"{name}: diagnostic pass failed: {why}. All runs are kept."))
                found_any |= records[0].error is None
    return found_any


def _taken(
    look: LookAtCause, number: int, runs: Sequence[Planned], runner: Looker
) -> list[LookRecord]:
    """One look, or the reason why it failed. If one of several servers ended, the look does not
    cover all of them and is discarded."""
    started_at = now()
    try:
        records = runner.look(runs, look, number)
        if (exit_error := runner.exit_error()) is not None:
            raise exit_error
        return records
    except ContendError as error:
        why = exit_behind(runner, error) or error
        return [
            LookRecord(look.name, number, run.cell, started_at, now(), error=why.message)
            for run in runs
        ]


def blocks_to_look_at(planned: Sequence[Planned], compared: str | None) -> list[list[Planned]]:
    """One block of each context with all its levels, as in the last planned repeat, whose servers
    are already running."""
    last = max(run.repeat for run in planned)
    blocks: dict[object, dict[object, Planned]] = {}
    for run in planned:
        if run.repeat == last:
            context = {path: value for path, value in run.cell.items() if path != compared}
            blocks.setdefault(cell_key(context), {}).setdefault(cell_key(run.cell), run)
    return [list(block.values()) for block in blocks.values()]


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
    """

    name: str
    number: int
    runs: Sequence[Planned]
    arms: Sequence[ArmSpec]
    readies: Sequence[Ready]
    load: LoadDriver
    slices: Slicing | None = None
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
