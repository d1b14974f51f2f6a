"""How much is measured: slices a block, blocks a repeat, and whether one more repeat is wanted.

The first repeats are the pilot: what they say of where the noise lies, and what each part costs,
plans those that follow, and every repeat after them revises it. Widths alone decide, never what
the answer is.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from contend.errors import RequestError
from contend.findings import rule_of
from contend.lab.design import Design, why_not_matched
from contend.lab.observations import Observations, is_sliced
from contend.settings.load import (
    BLOCK_S,
    ROUNDS_OF_TREATMENTS,
    SETTLE_S,
    SLICE_S,
    START_S,
    WARMUP_IN_SLICES_S,
    Slicing,
    ends_with_its_work,
)
from contend.settings.workload import writing_share
from contend.spec import (
    Cell,
    CellKey,
    CellSpec,
    Experiment,
    blocks_at_first,
    cell_spec,
    cell_specs,
    contexts,
    is_of_treatments,
    is_open,
)
from contend.stats import (
    Costs,
    RepeatPlan,
    Standing,
    TooShort,
    layout_spread,
    plan_for_time,
    plan_for_width,
    progress,
)
from contend.store import RunRecord
from contend.units import format_duration

ROUNDS = 10
"""Slices of each level in a block, if no time is given."""

REST_S = 0.2
"""A server that was written to goes on writing and tidying up for a while, on CPUs that the next
level wants."""

PAUSES = 5
"""A slice is so many times as long as what nobody is measured in before it, if servers have to come
to rest: as it is without that, by `SLICE_S` and `SETTLE_S`."""

MOST_SHARE = 2
"""Times as many slices as the average that a context may have, and as few."""

RESPONSES = 5
"""A slice holds so many answers, one after the other, of each connection."""

ENOUGH = 10
"""Events that a block has of each level at least."""

LONG_S = 1.0
"""Of slices that are as long as this a context has one block in each repeat at first, and if no
time is given no more rounds than it takes to have `ENOUGH`."""

LONGER = 4
"""Times as long as those that no answer fitted into."""

PILOT_REPEATS = 2
"""Repeats that have `PILOT_BLOCKS` of each context."""

FEWEST_ROUNDS = 2
"""Of a treatment, however long they are: with one, a level would always follow the other."""


def require_time(experiment: Experiment, design: Design) -> None:
    """Refuse a time in which not every cell can be looked at once; raises RequestError."""
    limit_s = experiment.compare.at_most_s
    needed_s = _least_s(experiment, design)
    if limit_s is not None and limit_s < needed_s:
        raise RequestError(
            f"{format_duration(limit_s)} is too short: one look at every cell takes "
            f"{format_duration(needed_s)}",
            hint="Give it more time, or fewer cells.",
        )


def short_of_repeats(experiment: Experiment, design: Design) -> str | None:
    """What to say of a time that, by what everything usually takes, has no room for as many
    repeats as are wanted; None if it has."""
    compare, limit_s = experiment.compare, experiment.compare.at_most_s
    if limit_s is None or experiment.compared is None:
        return None
    least_s = Effort(experiment, design, lambda: 0.0).least_of_a_repeat_s
    if compare.repeats * least_s <= limit_s:
        return None
    return _too_few(limit_s, compare.repeats, least_s)


def _too_few(limit_s: float, repeats: int, each_s: float) -> str:
    fit = max(1, int(limit_s / each_s))
    return (
        f"{format_duration(limit_s)} has room for about {fit} of {repeats} repeats, and the answer "
        f"may stay uncertain; {repeats} take {format_duration(repeats * each_s)} or more"
    )


def _least_s(experiment: Experiment, design: Design) -> float:
    cells = cell_specs(experiment)
    return sum(_one_look_s(cell, design) for cell in cells)


def _one_look_s(cell: CellSpec, design: Design) -> float:
    """Work that has an end takes nobody knows how long: `load.measure` is only its limit."""
    if design.in_slices:
        return WARMUP_IN_SLICES_S + (
            0.0 if ends_with_its_work(cell.values) else _usual(cell).round_s
        )
    measure_s = 0.0 if ends_with_its_work(cell.values) else cell["load.measure"]
    return float(cell["load.warmup"] + measure_s)


def _usual(cell: CellSpec, response_s: float = 0.0) -> Slicing:
    """A slice of what the cell asks, whose queries take so long; of work that has an end all of
    it."""
    if ends_with_its_work(cell.values):
        return Slicing(cell["load.measure"], 0.0, 1)
    slice_s, settle_s = cell["load.slice"], cell["load.settle"]
    return Slicing(
        max(SLICE_S, RESPONSES * response_s) if slice_s is None else slice_s,
        max(SETTLE_S, response_s) if settle_s is None else settle_s,
        1,
    )


def _writes(cell: CellSpec) -> bool:
    return writing_share(cell["workload"]["kind"], cell["workload"]) > 0


class Effort:
    """Learns from what was measured, and says how much of it there should be.

    Args:
        spent_s: by earlier sessions.
    """

    def __init__(
        self,
        experiment: Experiment,
        design: Design,
        clock: Callable[[], float],
        *,
        spent_s: float = 0.0,
    ) -> None:
        self._experiment = experiment
        self._design = design
        self._clock = clock
        self._before_s = spent_s
        self._begun_s: float | None = None
        self._contexts = list(contexts(experiment))
        self._has_end = any(ends_with_its_work(cell.values) for cell in cell_specs(experiment))
        self.observations = Observations(experiment)
        self._repeats = 0
        self._repeat_s: list[float] = []
        self._repeat_begun_s: float | None = None
        self._block_s: list[float] = []
        self._block_begun_s = 0.0
        self._in_blocks_s = 0.0
        self._matched = False
        self._blind = False
        """Planned before it was known how long a round takes."""
        self._more_s = math.inf
        self._rule = rule_of(experiment)
        self._p_each = 1 - self._rule.interval_confidence
        self.rounds = ROUNDS
        self.blocks = blocks_at_first(experiment) if self._is_planned else 1
        self._plan()

    @property
    def in_slices(self) -> bool:
        return self._design.in_slices

    def slices(self, run: Cell, cells: Sequence[CellSpec]) -> Slicing:
        """How the next block is cut; `run` is any of its runs, `cells` those of its levels."""
        context = self.observations.context(run)
        usual = _usual(cells[0], self.observations.response_s(context))
        if any(map(_writes, cells)):
            usual = replace(usual, rest_s=REST_S)
            if cells[0]["load.slice"] is None:
                pause_s = self.observations.pause_s.get(context, 0.0)
                usual = replace(usual, slice_s=max(usual.slice_s, PAUSES * pause_s))
        rounds = self._rounds_of(context)
        if self._blind:
            # Their number was planned for slices of the usual length: a context whose answers take
            # long would have most of the time.
            rounds = max(1, round(rounds * SLICE_S / max(SLICE_S, usual.slice_s)))
        response_s = self.observations.response_s(context)
        if response_s > 0 and not self._has_end:
            events = cells[0]["load.connections"] * usual.slice_s / response_s
            rounds = max(rounds, math.ceil(round(ENOUGH / events, 3)))
        return replace(usual, rounds=rounds)

    def learn(self, run: Cell, times: Mapping[str, float]) -> str | None:
        """Plan with what statements take where `run` is made, in seconds by kind of event.

        Returns:
            What to say of it; None if slices are as short as ever.

        Raises:
            RequestError: the time that was given has no room for one repeat.
        """
        self.observations.learn(self.observations.context(run), times)
        self._plan()
        if self.is_long and not is_open(self._experiment):
            self.rounds = self._fewest_rounds
        slowest_s = self.observations.slowest_s
        slice_s = RESPONSES * slowest_s
        if slice_s <= SLICE_S:
            return None
        repeats, each_s = self._experiment.compare.repeats, self.least_of_a_repeat_s
        all_s = repeats * each_s
        takes = f"statements take up to {format_duration(slowest_s)}"
        if each_s > self.left_s:
            raise RequestError(
                f"{format_duration(self.left_s)} is too short: {takes}, and one look at every cell "
                f"takes {format_duration(each_s)}",
                hint=f"Give it more time: {repeats} repeats take {format_duration(all_s)}.",
            )
        plan = f"{takes}, so each level is measured for {format_duration(slice_s)} at a time"
        if all_s <= self.left_s:
            return f"{plan}; {repeats} repeats take {format_duration(all_s)} or more"
        return f"{plan}; {_too_few(self.left_s, repeats, each_s)}"

    def _rounds_of(self, context: CellKey) -> int:
        """More of a repeat's slices go where they scatter more: the answer for a level as a whole
        is narrowest if their numbers are as their standard deviations (Neyman 1934)."""
        if not is_open(self._experiment):
            return self._rounds_of_work(context) if self._has_end else self.rounds
        if self.observations.repeats < PILOT_REPEATS or is_of_treatments(self._experiment):
            # Of treatments no mean over all is asked for, but one against the other.
            return self.rounds
        # An estimate from few slices is no reason to leave a cell without any.
        share = min(MOST_SHARE, max(1 / MOST_SHARE, self.observations.spread_of(context)))
        return max(1, round(self.rounds * share))

    def _rounds_of_work(self, context: CellKey) -> int:
        """As many turns as take the time of the usual slices; one, until it is known how long they
        are."""
        levels = len(self.observations.others) + 1
        round_s = self.observations.round_s.get(context)
        return 1 if round_s is None else max(1, round(ROUNDS * SLICE_S * levels / round_s))

    def begin_repeat(self) -> None:
        now_s = self._clock()
        if self._repeat_begun_s is not None and self._repeats > 1:
            self._repeat_s.append(now_s - self._repeat_begun_s - self._in_blocks_s)
        self._repeats += 1
        self._repeat_begun_s, self._in_blocks_s = now_s, 0.0

    def measure_only(self, wanted: Callable[[Cell], bool]) -> None:
        self._contexts = [one for one in contexts(self._experiment) if wanted(one)]

    def keep_blocks(self, blocks: int) -> None:
        """The repeat that begins was planned before, with so many blocks in all: it has as many
        slices as if it were planned now."""
        each = max(1, blocks // len(self._contexts))
        self.rounds = max(1, round(self.rounds * self.blocks / each))
        self.blocks = each

    def ready(self) -> None:
        now_s = self._clock()
        # Data that have to be made first are no part of the time.
        self._begun_s = now_s if self._begun_s is None else self._begun_s
        self._block_begun_s = now_s

    def waited(self, seconds: float) -> None:
        """So long nothing was measured, since the host was to become better first."""
        if self._begun_s is not None:
            self._begun_s += seconds
        if self._repeat_begun_s is not None:
            self._repeat_begun_s += seconds

    def ended(self, records: Sequence[RunRecord]) -> None:
        self.observations.add(records)
        took_s = self._clock() - self._block_begun_s
        self._in_blocks_s += took_s
        sliced = next(filter(is_sliced, records), None)
        if sliced is not None:
            round_s = self.observations.round_s[self.observations.context(sliced.cell)]
            self._block_s.append(took_s - len(sliced.intervals) * round_s)
        elif self._design.in_slices and all(one.status == "failed" for one in records):
            # It may be that no answer fits into so short a slice.
            context = self.observations.context(records[0].cell)
            before_s = max(SLICE_S / RESPONSES, self.observations.response_s(context))
            self.observations.learn(context, {"": LONGER * before_s})

    @property
    def matched(self) -> bool:
        """Whether the servers of the next repeat are laid out alike in memory."""
        asked = self._experiment.compare.layout
        if asked is not None:
            return asked == "matched"
        # What was found to pay is kept, although it then no longer shows.
        enough = self.observations.repeats >= PILOT_REPEATS
        if not self._matched and enough and why_not_matched() is None:
            components = self.observations.components()
            self._matched = components is not None and layout_spread(components).advice == "matched"
        return self._matched

    @property
    def spent_s(self) -> float:
        """Since the first servers were ready, and in earlier sessions."""
        return self._before_s + (0.0 if self._begun_s is None else self._clock() - self._begun_s)

    @property
    def left_s(self) -> float:
        """Of the time that was given; inf if none was."""
        limit_s = self._experiment.compare.at_most_s
        return math.inf if limit_s is None else limit_s - self.spent_s

    @property
    def more_s(self) -> float | None:
        """Seconds until the time is up, or until the answer is narrow enough, if that is known."""
        limits = [self.left_s, self._more_s]
        known = [max(0.0, limit) for limit in limits if not math.isinf(limit)]
        return min(known, default=None)

    def blocks_s(self, blocks: int) -> float:
        """What so many blocks take, with the starts of servers that fall among them."""
        return self._unit_s() * blocks / (len(self._contexts) * self.blocks)

    def progress(self, repeats: Sequence[int]) -> Standing:
        """Whether the answer is narrow enough, or the time is up, after these whole repeats."""
        # What one more repeat takes is that of one planned for the time that is left.
        self._plan()
        d = self.observations.log_ratios(repeats)
        seen = progress(
            d,
            self.observations.shape,
            self._rule,
            spent_s=self.spent_s,
            unit_s=self._unit_s(),
            covariates=self.observations.covariates(repeats, d, in_slices=self._design.in_slices),
        )
        self._more_s, self._p_each = seen.seconds_more, seen.p_each
        return seen

    # --- the plan ---

    @property
    def _is_planned(self) -> bool:
        return self._design.in_slices and is_open(self._experiment)

    def _plan(self) -> None:
        if not self._is_planned:
            return
        self._plan_tiers()
        if is_of_treatments(self._experiment) and not self._has_end:
            self.rounds, self.blocks = max(self._least_rounds(), self.rounds * self.blocks), 1

    def _least_rounds(self) -> int:
        """Of a treatment: `ROUNDS_OF_TREATMENTS`, or as many of its own as take that time."""
        known = self.observations.round_s.values()
        if not known:
            return ROUNDS_OF_TREATMENTS
        levels = len(self.observations.others) + 1
        usual_s = ROUNDS_OF_TREATMENTS * levels * (SLICE_S + SETTLE_S)
        return min(
            ROUNDS_OF_TREATMENTS, max(FEWEST_ROUNDS, round(usual_s / statistics.mean(known)))
        )

    def _plan_tiers(self) -> None:
        compare = self._experiment.compare
        done = self.observations.repeats
        pilot = done < PILOT_REPEATS
        self._blind = not self.observations.round_s and self.observations.slowest_s == 0
        asked: dict[str, Any] = {
            "done": done,
            "units_min": compare.repeats,
            "confidence": 1 - self._p_each,
        }
        for_width: RepeatPlan | None = None
        if compare.width is not None and not pilot:
            components, costs = self.observations.components(), self._costs()
            for_width = plan_for_width(components, costs, compare.width, **asked)
        plan: RepeatPlan | TooShort
        if for_width is not None and for_width.seconds <= self.left_s:
            plan = for_width
        elif math.isinf(self.left_s):
            return
        elif pilot and self._has_end and not self.observations.round_s:
            # Nobody knows yet how long a turn takes.
            self.rounds, self.blocks = 1, 1
            return
        elif pilot:
            self.blocks = 1 if self.is_long else blocks_at_first(self._experiment)
            in_time = plan_for_time(None, self._costs(self.blocks), self.left_s, **asked)
            self.rounds = 1 if isinstance(in_time, TooShort) else in_time.repeats["round"]
            if self.rounds == 1:
                self.blocks = 1
            return
        else:
            # A width that is out of reach is no reason for repeats that no time is left for.
            plan = plan_for_time(
                self.observations.components(), self._costs(), self.left_s, **asked
            )
        if isinstance(plan, TooShort):
            self.rounds, self.blocks = 1, 1
        else:
            self.rounds, self.blocks = plan.repeats["round"], plan.repeats["block"]

    def _costs(self, blocks: int = 1) -> Costs:
        levels = len(self.observations.others) + 1
        start_s = statistics.median(self._repeat_s) if self._repeat_s else START_S * levels
        block_s = statistics.median(self._block_s) if self._block_s else BLOCK_S * levels
        round_s = statistics.mean(map(self._round_s, self._contexts))
        seconds = {"unit": start_s, "block": block_s, "round": round_s}
        return Costs(seconds, contexts=blocks * len(self._contexts))

    def _round_s(self, context: Cell) -> float:
        """What a round of slices takes in a context: as the last ones took, if there were any."""
        known = self.observations.round_s.get(self.observations.context(context))
        if known is not None:
            return known
        if self._has_end:
            return 0.0
        levels = len(self.observations.others) + 1
        each_s = self.slices(context, [self._at_baseline(context)]).round_s
        if not self.observations.is_timed(self.observations.context(context)):
            # One that was not timed yet may take as long as the others.
            each_s = max(each_s, (RESPONSES + 1) * self.observations.slowest_s)
        return levels * each_s

    def _unit_s(self) -> float:
        costs = self._costs().seconds
        if not self._design.in_slices:
            # Work takes what it took the last time.
            return costs["unit"] + max(_least_s(self._experiment, self._design), self._in_blocks_s)
        block_s = costs["block"] + self.rounds * costs["round"]
        return costs["unit"] + len(self._contexts) * self.blocks * block_s

    @property
    def least_of_a_repeat_s(self) -> float:
        """What a repeat takes that has a single round in each context."""
        if not self._design.in_slices:
            return self._unit_s()
        costs = self._costs()
        return float(costs.of_one({"unit": 1, "block": 1, "round": self._fewest_rounds}))

    @property
    def is_long(self) -> bool:
        """Whether slices are so long that a second block in a repeat would cost too much."""
        return self._design.in_slices and RESPONSES * self.observations.slowest_s >= LONG_S

    @property
    def _fewest_rounds(self) -> int:
        """With which a block of any context has enough events."""
        if self.observations.slowest_s == 0 or self._has_end:
            return 1
        connections = min(cell["load.connections"] for cell in cell_specs(self._experiment))
        return math.ceil(ENOUGH / (RESPONSES * int(connections)))

    def _at_baseline(self, context: Cell) -> CellSpec:
        return cell_spec(self._experiment, {**context, **self._experiment.compare.baseline})
