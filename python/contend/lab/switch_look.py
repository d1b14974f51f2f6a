"""A look at the switches between threads, as the kernel traces them: which threads of a server were
taken off their CPUs in the middle of their work, and which slept for one of those.

Tracing costs, so half of the rounds are without it, as in the look at the time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from contend.errors import WorkError
from contend.host.switch_trace import SwitchTracer, clock_s, threads_of
from contend.host.switches import Switches, Window, switches_in
from contend.lab.look_block import BlockToLookAt
from contend.outcome import Outcome, Slice
from contend.store import LookRecord

SWITCHES = "switches"

ROUNDS, SLICE_S, SETTLE_S = 1 + 16, 0.1, 0.1
"""Of all but the first, which may be slow, half are traced. Short, since a busy host has 100,000
switches a second."""


def is_traced(round_: int) -> bool:
    """The middle two of four, so that what changes steadily is in both alike."""
    return round_ % 4 in (2, 3)


def look_at_switches(block: BlockToLookAt) -> list[LookRecord]:
    """Trace the threads of these cells' servers in half of the rounds of slices.

    Raises:
        WorkError: a server does not run on this host, or switches cannot be traced here.
        LoadFailed: contend-load gave no result.
    """
    pids = [arm.watch_pid for arm in block.arms if arm.watch_pid is not None]
    if len(pids) < len(block.arms):
        raise WorkError("the server does not run on this host")
    with SwitchTracer() as tracer:
        seen = _Rounds(tracer, pids)
        block.drive(block.cut(ROUNDS, SLICE_S, SETTLE_S), seen.hear)
        tracer.pause()
        windows = seen.windows()
        found = switches_in(tracer.lines(), seen.process_of, [one for one, _ in windows])
        lost = tracer.lost()
    traced = {key: one for (_, key), one in zip(windows, found, strict=True)}
    return block.records([_figures(seen.rounds[n], traced, n, lost) for n in range(len(pids))])


class _Rounds:
    """Hears of each slice when it is over, and has the next one traced or not."""

    def __init__(self, tracer: SwitchTracer, pids: Sequence[int]) -> None:
        self._tracer = tracer
        self._pids = pids
        self.rounds: list[list[Slice]] = [[] for _ in pids]
        self._traced: list[Slice] = []
        self._begun_s = math.inf
        self.process_of: Mapping[int, int] = {}
        self._is_traced = False

    def hear(self, event: Outcome) -> None:
        if event["type"] != "slice":
            return
        # Of all slices the one that was heard of soonest says best when contend-load began.
        end_s = event["start_s"] + event["duration_s"]
        self._begun_s = min(self._begun_s, clock_s() - end_s)
        arm, round_ = event["arm_index"], event["round"]
        self.rounds[arm].append(event)
        if self._is_traced:
            self._traced.append(event)
        if sum(map(len, self.rounds)) == 1:
            # All connections are open now, and their threads are there.
            self.process_of = threads_of(self._pids)
            self._tracer.watch(self.process_of)
        is_last = len({len(slices) for slices in self.rounds}) == 1
        wanted = is_traced(round_ + 1 if is_last else round_)
        if wanted != self._is_traced:
            (self._tracer.begin if wanted else self._tracer.pause)()
            self._is_traced = wanted

    def windows(self) -> list[tuple[Window, tuple[int, int]]]:
        """When each traced slice was, with its arm and its round."""
        found = []
        for one in self._traced:
            begin_s = self._begun_s + one["start_s"]
            window = Window(self._pids[one["arm_index"]], begin_s, begin_s + one["duration_s"])
            found.append((window, (one["arm_index"], one["round"])))
        return found


def _figures(
    slices: Sequence[Slice], traced: Mapping[tuple[int, int], Switches], arm: int, lost: int
) -> dict[str, Any]:
    rounds = []
    for one in slices[1:]:
        told: dict[str, Any] = {
            "round": one["round"],
            "qps": one["qps"],
            "queries": one["queries"],
            "duration_s": one["duration_s"],
            "latency_us_mean": one["latency_us"]["mean"],
        }
        if (found := traced.get((arm, one["round"]))) is not None:
            told["look"] = asdict(found)
        rounds.append(told)
    return {"rounds": rounds, "lost": lost}
