"""Threads of a server that were taken off their CPUs in the middle of their work, and those that
slept for one of them: how often per query, and how long.

The kernel traces each switch, which is costly. So half of the rounds of the pass are without it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from contend.errors import WorkError
from contend.experiment import Level
from contend.findings.figures import HELD_SHARE, SWITCHES, held_share
from contend.lab.looks import BlockToLookAt, LookAtCause
from contend.sections.looks import (
    LooksFound,
    context_of,
    cost_json,
    cost_rows,
    each_in_words,
    effect_of,
    failed_sentences,
    looked,
    side_by_side,
    speed_of,
    with_cell,
)
from contend.sections.model import Inputs, Section, Shown, TextTable
from contend.sections.words import figure_json, known_text
from contend.stats import Estimate, estimate
from contend.store import LookRecord

if TYPE_CHECKING:
    from contend.host.switch_trace import SwitchTracer
    from contend.host.switches import Switches, Window
    from contend.metrics.outcome import Outcome, Slice

ROUNDS, SLICE_S, SETTLE_S = 1 + 16, 0.1, 0.1
"""The first may be slow. Half of the others are traced. Short, since a busy host has 100,000
switches per second."""


def is_traced(round_: int) -> bool:
    """The middle two of four, so that steady changes affect both equally."""
    return round_ % 4 in (2, 3)


def look_at_switches(block: BlockToLookAt) -> list[LookRecord]:
    """Trace the threads of these cells' servers in half of the rounds of slices.

    Raises:
        WorkError: a server does not run on this host, or switches cannot be traced here.
        LoadFailed: contend-load gave no result.
    """
    from contend.host.switch_trace import SwitchTracer
    from contend.host.switches import switches_in

    pids = [arm.watch_pid for arm in block.arms if arm.watch_pid is not None]
    if len(pids) < len(block.arms):
        raise WorkError("the server does not run on this host")
    with SwitchTracer() as tracer:
        rounds = _Rounds(tracer, pids)
        block.drive(block.cut(ROUNDS, SLICE_S, SETTLE_S), rounds.on_event)
        tracer.pause()
        windows = rounds.windows()
        found = switches_in(tracer.lines(), rounds.process_of, [one for one, _ in windows])
        lost = tracer.lost()
    traced = {key: one for (_, key), one in zip(windows, found, strict=True)}
    return block.records([_figures(rounds.rounds[n], traced, n, lost) for n in range(len(pids))])


class _Rounds:
    """Is notified of each slice when it ends, and switches tracing on or off for the next one."""

    def __init__(self, tracer: SwitchTracer, pids: Sequence[int]) -> None:
        self._tracer = tracer
        self._pids = pids
        self.rounds: list[list[Slice]] = [[] for _ in pids]
        self._traced: list[Slice] = []
        self._begun_s = math.inf
        self.process_of: Mapping[int, int] = {}
        self._is_traced = False

    def on_event(self, event: Outcome) -> None:
        from contend.host.switch_trace import clock_s, threads_of

        if event["type"] != "slice":
            return
        # The slice with the fastest report gives the best estimate of when contend-load began.
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
        from contend.host.switches import Window

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
        figures: dict[str, Any] = {
            "round": one["round"],
            "qps": one["qps"],
            "queries": one["queries"],
            "duration_s": one["duration_s"],
            "latency_us_mean": one["latency_us"]["mean"],
        }
        if (found := traced.get((arm, one["round"]))) is not None:
            figures["look"] = asdict(found)
        rounds.append(figures)
    return {"rounds": rounds, "lost": lost}


SEEN = {
    "preempted": "preempted, times",
    "preempted_us": "preempted, us until it ran again",
    "slept": "went to sleep, times",
    "asleep_us": "asleep, us",
    "woken_us": "from being woken to running, us",
    "by_holder": "waited for a preempted thread, times",
    "by_holder_us": "waited while that thread was off its CPU, us",
}
"""Reported values per query, by the name of the figure."""


@dataclass(frozen=True, slots=True)
class SwitchesOfCell:
    """One cell; n counts rounds that were traced.

    Args:
        of_query: by the names of SEEN, all threads of the server together over the queries.
        held_share: share of the response time that a query slept for a preempted thread.
        speed, effect: the effects of tracing, as in a budget.
        lost: events of all cells that did not fit.
    """

    cell: Mapping[str, Level]
    of_query: Mapping[str, Estimate]
    held_share: float
    speed: Estimate
    effect: Estimate | None
    lost: int


def switches_of(record: LookRecord, base: LookRecord | None) -> SwitchesOfCell:
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


_TITLE = "Preempted threads"
_LEAD = (
    "From the kernel's trace of each switch (sched_switch, sched_waking), in half of the rounds of "
    "a separate block. Preempted: taken off its CPU although it could have continued. A thread "
    "counts as waiting for a preempted one if that one woke it and was off its CPU in the "
    "meantime. The preempted thread may have taken the lock only later, so this is an upper bound."
)


def _show(found: LooksFound[SwitchesOfCell], inputs: Inputs) -> Shown:
    compared = inputs.compared_path
    notable = [text for one in found.cells if (text := _notable(one))]
    times = [
        each_in_words("Times that a query's threads were preempted", group, compared, _preempted)
        for group in found.groups
    ]
    about = (_LEAD,) if found.groups else ()
    lead = (*notable, *failed_sentences(found.failed), *filter(None, times), *about)
    tables = (_table(group, inputs.compared_path) for group in found.groups)
    return Shown(_TITLE, " ".join(lead), tuple(tables), is_short=True)


def _preempted(one: SwitchesOfCell) -> str:
    times = one.of_query.get("preempted")
    return "" if times is None else known_text(times)


def _notable(one: SwitchesOfCell) -> str:
    at, sentences = with_cell(one.cell), []
    if one.held_share >= HELD_SHARE:
        sentences.append(
            f"Lock holders are preempted{at}: for up to {one.held_share * 100:.0f} % of the "
            "response time, a query waits for a thread that is itself off its CPU."
        )
    if one.lost:
        sentences.append(
            f"The kernel's buffer had no room for {one.lost} events{at}, so the last rounds have "
            "too few."
        )
    return " ".join(sentences)


def _table(group: Sequence[SwitchesOfCell], compared: str | None) -> TextTable:
    where = with_cell(context_of(group[0], compared))
    rows = [
        (label, lambda one, name=name: known_text(one.of_query.get(name)))
        for name, label in SEEN.items()
    ]
    caption = f"Per query{where} (intervals after ±; n counts rounds)"
    return side_by_side(caption, group, compared, [*rows, *cost_rows("traced over untraced")])


def _json(found: LooksFound[SwitchesOfCell], _inputs: Inputs) -> list[dict[str, Any]]:
    """Each cell; times and microseconds per query, ratios unchanged."""
    return [
        {
            "factors": dict(one.cell),
            "of_query": {name: figure_json(figure) for name, figure in one.of_query.items()},
            "held_share": one.held_share,
            "look": cost_json(one.speed, one.effect),
            "lost": one.lost,
        }
        for one in found.cells
    ]


SECTION = Section(
    "switches",
    _TITLE,
    lambda inputs: looked(inputs, SWITCHES, switches_of),
    _show,
    _json,
    look=LookAtCause(SWITCHES, look_at_switches),
)
