"""Switches between the threads of a server, cell by cell: how often a query was taken off its CPU,
how long it slept and waited to run, and how long it slept for a thread that was itself off its
CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contend.findings.look_rounds import effect_of, speed_of
from contend.findings.looks import baseline_of, last_looks
from contend.spec import Level
from contend.stats import Estimate, estimate
from contend.store import LookRecord

SWITCHES = "switches"

SEEN = {
    "preempted": "preempted, times",
    "preempted_us": "preempted, us until it ran again",
    "slept": "went to sleep, times",
    "asleep_us": "asleep, us",
    "woken_us": "from being woken to running, us",
    "by_holder": "asleep for a preempted thread, times",
    "by_holder_us": "asleep while that was off its CPU, us",
}
"""What is told of a query, by the name of its figure."""

HELD_SHARE = 0.05
"""Of the response time, from which on preempted holders are told as what stands out."""


@dataclass(frozen=True, slots=True)
class SwitchesOfCell:
    """One cell; n counts rounds that were traced.

    Args:
        of_query: by the names of SEEN, all threads of the server together over the queries.
        held_share: of the response time, that a query slept for a preempted thread.
        speed, effect: what tracing did, as in a budget.
        lost: events of all cells for which there was no room.
    """

    cell: Mapping[str, Level]
    of_query: Mapping[str, Estimate]
    held_share: float
    speed: Estimate
    effect: Estimate | None
    lost: int


def switches_of(
    looks: Sequence[LookRecord], compared: str | None, baseline: Level | None
) -> list[list[SwitchesOfCell]]:
    """The last look at the switches of each cell, those side by side together."""
    found = []
    for records in last_looks(looks, SWITCHES):
        base = baseline_of(records, compared, baseline)
        found.append([_of(one, None if one is base else base) for one in records])
    return found


def _of(record: LookRecord, base: LookRecord | None) -> SwitchesOfCell:
    rounds = record.figures["rounds"]
    traced = [one for one in rounds if one.get("look") and one["queries"] > 0]
    return SwitchesOfCell(
        cell=record.cell,
        of_query={
            name: estimate([one["look"][name] / one["queries"] for one in traced]) for name in SEEN
        }
        if traced
        else {},
        held_share=held_share(record.figures) or 0.0,
        speed=speed_of(rounds),
        effect=None if base is None else effect_of(rounds, base.figures["rounds"]),
        lost=int(record.figures["lost"]),
    )


def held_share(figures: Mapping[str, Any]) -> float | None:
    """Of the response time, that a query slept for a preempted thread; None if none was traced."""
    traced = [one for one in figures["rounds"] if one.get("look")]
    whole_us = float(sum(one["latency_us_mean"] * one["queries"] for one in traced))
    if whole_us <= 0:
        return None
    held_us = float(sum(one["look"]["by_holder_us"] for one in traced))
    return held_us / whole_us
