"""Looks at causes: diagnostic blocks after the measured ones, kept out of all other figures.

A look has a cost. So half of the rounds of its block run without it, in alternation, on the same
servers and connections. They show how the look changed the speed and the difference between levels.
Findings are kept round by round in the run folder's table of looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from contend.errors import ContendError
from contend.experiment import Planned, cell_key
from contend.lab.events import Listener, Notice
from contend.lab.look_block import LookAtCause, now
from contend.lab.measure import ServerOwner, exit_behind
from contend.store import LookRecord, RunFolder


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
            listen(Notice(f"{name}: diagnostic pass over {len(block)} cells side by side"))
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
