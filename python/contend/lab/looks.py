"""Looks at causes: blocks of their own after the measured ones, whose figures are in none of them.

A look costs something. So half of the rounds of its block are without it, in alternation, on the
same servers and connections: they say what the look did to the speed and to the difference between
levels. What a look finds is kept in the run folder's table of looks, round by round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from contend.errors import ContendError
from contend.lab.events import Listener, Notice
from contend.lab.look_block import BlockToLookAt, now
from contend.lab.measure import Mortal, death_behind
from contend.outcome import Outcome, Slice
from contend.servers.kinds import KINDS
from contend.spec import Planned, cell_key
from contend.store import LookRecord, RunFolder

BUDGET = "budget"
"""Where the time of a query goes."""

ROUNDS = 1 + 16
"""Of all but the first, which may be slow, half are looked at: four groups of two with a look
between two without one."""

SLICE_S = 0.4
SETTLE_S = 0.1
"""Longer than those of a comparison: the threads are counted at both ends of a slice."""

THREAD_S, SLICE_MOST_S = 0.0039, 2.0
"""A slice has so much for each connection, and no more in all: to read the time of a thread at both
ends costs 4 us of CPU, which is a tenth of a percent of it."""

READS_PER_S = 250
"""Looks at a thread, fewer a second in longer slices: about 760 in a cell, by which a tenth of the
response time is known to 2.1 points."""


class Looker(Mortal, Protocol):
    """Who can look at the levels of a block; both kinds of runner can."""

    def at_once(self, runs: Sequence[Planned]) -> list[list[Planned]]:
        """Which of them are looked at together: what fails is lost of all of those."""
        ...

    def look(self, runs: Sequence[Planned], name: str, block: int) -> list[LookRecord]: ...


def take_looks(
    names: Sequence[str], folder: RunFolder, runner: Looker, compared: str | None, listen: Listener
) -> bool:
    """Take each of these looks at every cell, and store what they find. One that fails is stored
    with the reason, and the others go on; a server that died is started anew for the next.

    Returns:
        whether a look found something.
    """
    number = max((record.block for record in folder.looks()), default=0)
    found_any = False
    told: set[tuple[str, str]] = set()
    for name in names:
        for block in blocks_to_look_at(folder.meta().planned, compared):
            number += 1
            listen(Notice(f"{name}: a look at {len(block)} cells beside one another"))
            for runs in runner.at_once(block):
                records = _taken(name, number, runs, runner)
                folder.add_looks(*records)
                if (error := records[0].error) is not None and (name, error) not in told:
                    told.add((name, error))
                    why = error.rstrip(".")
                    listen(Notice(f"{name}: this look is lost: {why}. Every measured run is kept."))
                found_any |= records[0].error is None
    return found_any


def _taken(name: str, number: int, runs: Sequence[Planned], runner: Looker) -> list[LookRecord]:
    """One look, or the reason why there is none. Of several servers one may have gone while the
    others went on: that is no look at all of them."""
    started_at = now()
    try:
        records = runner.look(runs, name, number)
        if (death := runner.death()) is not None:
            raise death
        return records
    except ContendError as error:
        why = death_behind(runner, error) or error
        return [
            LookRecord(name, number, run.cell, started_at, now(), error=why.message) for run in runs
        ]


def blocks_to_look_at(planned: Sequence[Planned], compared: str | None) -> list[list[Planned]]:
    """One block of each context with all its levels, as in the last repeat that is planned, whose
    servers run already."""
    last = max(run.repeat for run in planned)
    blocks: dict[object, dict[object, Planned]] = {}
    for run in planned:
        if run.repeat == last:
            context = {path: value for path, value in run.cell.items() if path != compared}
            blocks.setdefault(cell_key(context), {}).setdefault(cell_key(run.cell), run)
    return [list(block.values()) for block in blocks.values()]


def look_at(block: BlockToLookAt) -> list[LookRecord]:
    """Look at the threads of the servers of these cells in half of the rounds of slices.

    Raises:
        LoadFailed: contend-load gave no result.
    """
    connections = sum(int(arm.cell["load.connections"]) for arm in block.arms)
    slice_s = min(SLICE_MOST_S, max(SLICE_S, THREAD_S * connections))
    reads_per_s = round(READS_PER_S * SLICE_S / slice_s)
    cut = replace(block.cut(ROUNDS, slice_s, SETTLE_S), look_reads_per_s=reads_per_s)
    arms = [
        replace(arm, watch_threads=KINDS[ready.observed.kind].connection_threads)
        for arm, ready in zip(block.arms, block.readies, strict=True)
    ]
    rounds: list[list[dict[str, Any]]] = [[] for _ in arms]

    def on_event(event: Outcome) -> None:
        if event["type"] == "slice" and event["round"] > 0:
            rounds[event["arm_index"]].append(_kept(event))

    done = block.drive(cut, on_event, arms)
    return block.records(
        [
            {
                "rounds": rounds[place],
                "is_here": arm.watch_pid is not None,
                "connections": one["done"].get("connections"),
                "depth": one["done"].get("depth"),
                "arrival": one["done"]["arrival"],
                "lag_us_mean": _lag_us(one["done"].get("open") or {}),
                "latency_hdr_ns": one["done"]["latency_hdr_ns"],
            }
            for place, (arm, one) in enumerate(zip(arms, done["arms"], strict=True))
        ]
    )


_SLICE_KEYS = (
    *("round", "position", "duration_s", "begun", "events", "queries", "qps", "latency_us"),
    *("client_cpu_us", "look"),
)


def _kept(event: Slice) -> dict[str, Any]:
    told: dict[str, Any] = dict(event)
    return {key: told[key] for key in _SLICE_KEYS if key in told}


def _lag_us(open_loop: Any) -> float | None:
    lag = open_loop.get("lag_us")
    return None if lag is None else float(lag["mean"])
