"""The amount of measuring: slices per block, blocks per repeat, and whether to add a repeat.

The first repeats are the pilot: they measure the sources of noise and the cost of each part. Those
figures plan the next repeats; every repeat updates them. Only interval widths count, never the
result itself.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from contend.errors import RequestError
from contend.experiment import (
    Cell,
    CellKey,
    CellSpec,
    Experiment,
    asks_twins,
    blocks_at_first,
    cell_spec,
    cell_specs,
    contexts,
    is_of_treatments,
    is_open,
)
from contend.experiment.settings.equal_load import parts_of_block
from contend.experiment.settings.load import (
    BLOCK_S,
    ROUNDS_OF_TREATMENTS,
    SETTLE_S,
    SLICE_S,
    START_S,
    WARMUP_IN_SLICES_S,
    Slicing,
    ends_with_its_work,
)
from contend.experiment.settings.workload import writing_share
from contend.findings import rule_of
from contend.lab.design import Design, why_not_matched
from contend.lab.equal_load import why_not_equal_load
from contend.lab.observations import Observations, is_sliced
from contend.lab.twins import ROUNDS_EACH, Asking
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
"""After writes a server continues to write and tidy up for a while, on CPUs that the next level
needs."""

PAUSES = 5
"""Ratio of a slice to the unmeasured pause before it, if servers have to rest; without a rest it
follows from `SLICE_S` and `SETTLE_S`."""

MOST_SHARE = 2
"""The most and, as 1 / MOST_SHARE, the least slices of a context relative to the average."""

RESPONSES = 5
"""A slice has time for this number of consecutive answers on each connection."""

ENOUGH = 10
"""Minimum number of events of each level in a block."""

LONG_S = 1.0
"""If slices are at least this long, a context first has one block per repeat. Without a given time
it has only the rounds needed for `ENOUGH`."""

LONGER = 4
"""The factor by which slices grow if no answer fitted into them."""

PILOT_REPEATS = 2
"""Number of repeats with `PILOT_BLOCKS` of each context."""

ASKING_S_MIN = 0.5
"""For the statements of a recording, if the given time is up."""

FEWEST_ROUNDS = 2
"""For treatments of any length: with one round, a level would always follow the other."""


def require_time(experiment: Experiment, design: Design) -> None:
    """Refuse a time too short for one look at every cell; raises RequestError."""
    limit_s = experiment.compare.at_most_s
    needed_s = _least_s(experiment, design)
    if limit_s is not None and limit_s < needed_s:
        raise RequestError(
            f"{format_duration(limit_s)} is too short: one repeat of every cell takes "
            f"{format_duration(needed_s)}",
            hint="Allow more time, or measure fewer cells.",
        )


def short_of_repeats(experiment: Experiment, design: Design) -> str | None:
    """A warning if the usual durations leave no room for the wanted repeats in the given time; None
    if there is room."""
    compare, limit_s = experiment.compare, experiment.compare.at_most_s
    if limit_s is None or experiment.compared is None or experiment.lines:
        return None
    least_s = Effort(experiment, design, lambda: 0.0).least_of_a_repeat_s
    if compare.repeats * least_s <= limit_s:
        return None
    return _too_few(limit_s, compare.repeats, least_s)


def _too_few(limit_s: float, repeats: int, each_s: float) -> str:
    fit = max(1, int(limit_s / each_s))
    return (
        f"{format_duration(limit_s)} is enough for about {fit} of {repeats} repeats, so the result "
        f"may be inconclusive; {repeats} take at least {format_duration(repeats * each_s)}"
    )


def _too_short(takes_s: float, slice_s: float) -> str:
    return (
        f"warning: statements take up to {format_duration(takes_s)}, which is longer than a slice "
        f"(load.slice = {format_duration(slice_s)}), so slices may end without an answer. Remove "
        f"load.slice, or make it {format_duration(RESPONSES * takes_s)}"
    )


def _least_s(experiment: Experiment, design: Design) -> float:
    cells = cell_specs(experiment)
    return sum(_one_look_s(cell, design) for cell in cells)


def _one_look_s(cell: CellSpec, design: Design) -> float:
    """Work that has an end takes an unknown time: `load.measure` is only its limit."""
    if design.in_slices:
        parts = parts_of_block(cell.values)
        return WARMUP_IN_SLICES_S + (
            0.0 if ends_with_its_work(cell.values) else parts * _usual(cell).round_s
        )
    measure_s = 0.0 if ends_with_its_work(cell.values) else cell["load.measure"]
    return float(cell["load.warmup"] + measure_s)


def _usual(cell: CellSpec, response_s: float = 0.0) -> Slicing:
    """A slice of the cell's requests, with queries of that duration; for work that has an end, all
    of it."""
    if ends_with_its_work(cell.values):
        return Slicing(cell["load.measure"], 0.0, 1)
    slice_s, settle_s = cell["load.slice"], cell["load.settle"]
    slice_s = max(SLICE_S, RESPONSES * response_s) if slice_s is None else slice_s
    # contend-load refuses to settle for longer than it measures.
    usual_s = min(max(SETTLE_S, response_s), slice_s)
    return Slicing(slice_s, usual_s if settle_s is None else settle_s, 1)


def usual_slice_s(cell: CellSpec, response_s: float) -> float:
    """The length of a slice for statements of that duration."""
    return _usual(cell, response_s).slice_s


def _writes(cell: CellSpec) -> bool:
    return writing_share(cell["workload"]["kind"], cell["workload"]) > 0


class Effort:
    """Learns from the measurements, and decides how many more to make.

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
        self._equal = why_not_equal_load(experiment, design) is None
        self._has_end = any(ends_with_its_work(cell.values) for cell in cell_specs(experiment))
        self._asks_twins = asks_twins(experiment)
        self._warm_s: dict[CellKey, float] = {}
        """Duration of the statements of a recording that are asked before those with timing, by
        context."""
        self.observations = Observations(experiment)
        self._repeats = 0
        self._repeat_s: list[float] = []
        self._repeat_begun_s: float | None = None
        self._block_s: list[float] = []
        self._block_begun_s = 0.0
        self._in_blocks_s = 0.0
        self._matched = False
        self._blind = False
        """Planned before the duration of a round was known."""
        self._more_s = math.inf
        self._rule = rule_of(experiment)
        self._p_each = 1 - self._rule.interval_confidence
        self.rounds = ROUNDS
        self.blocks = blocks_at_first(experiment) if self._is_planned else 1
        self._plan()

    @property
    def in_slices(self) -> bool:
        return self._design.in_slices

    def asking(self, run: Cell) -> Asking:
        """How much of a recording the next block asks.

        What comes before it, the start of the servers and the first statement of each template, has
        a noise of its own. Neither noise is known before, so asking takes about as long as that, or
        a few times as long if the time has room for all repeats.
        """
        start_s = self._costs().seconds["unit"] / len(self._contexts)
        before_s = start_s + self._warm_s.get(self.observations.context(run), 0.0)
        repeats = max(1, self._experiment.compare.repeats - self.observations.repeats)
        room_s = self.left_s / repeats / len(self._contexts) - before_s
        return Asking(ROUNDS_EACH, max(before_s / 2, min(room_s, 3 * before_s), ASKING_S_MIN))

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
            # The number was planned for slices of the usual length: a context with slow answers
            # would take most of the time.
            rounds = max(1, round(rounds * SLICE_S / max(SLICE_S, usual.slice_s)))
        response_s = self.observations.response_s(context)
        if response_s > 0 and not self._has_end:
            events = cells[0]["load.connections"] * usual.slice_s / response_s
            rounds = max(rounds, math.ceil(round(ENOUGH / events, 3)))
        return replace(usual, rounds=rounds)

    def learn(self, run: Cell, times: Mapping[str, float]) -> str | None:
        """Plan with the duration of statements where `run` is made, in seconds by kind of event.

        Returns:
            A text about the slices; None if they keep their usual length.

        Raises:
            RequestError: the given time has no room for one repeat.
        """
        self.observations.learn(self.observations.context(run), times)
        self._plan()
        if self.is_long and not is_open(self._experiment):
            self.rounds = self._fewest_rounds
        slowest_s = self.observations.slowest_s
        given_s = [cell["load.slice"] for cell in cell_specs(self._experiment)]
        if fixed_s := [one for one in given_s if one is not None]:
            return None if slowest_s <= min(fixed_s) else _too_short(slowest_s, min(fixed_s))
        slice_s = RESPONSES * slowest_s
        if slice_s <= SLICE_S:
            return None
        repeats, each_s = self._experiment.compare.repeats, self.least_of_a_repeat_s
        all_s = repeats * each_s
        takes = f"statements take up to {format_duration(slowest_s)}"
        if each_s > self.left_s:
            raise RequestError(
                f"{format_duration(self.left_s)} is too short: {takes}, and one repeat of every "
                f"cell takes {format_duration(each_s)}",
                hint=f"Allow more time: {repeats} repeats take {format_duration(all_s)}.",
            )
        plan = f"{takes}, so each level is measured for {format_duration(slice_s)} at a time"
        if all_s <= self.left_s:
            return f"{plan}; {repeats} repeats take at least {format_duration(all_s)}"
        return f"{plan}; {_too_few(self.left_s, repeats, each_s)}"

    def _rounds_of(self, context: CellKey) -> int:
        """Contexts with more scatter get more of a repeat's slices. A level's overall interval is
        narrowest if the numbers are proportional to the standard deviations (Neyman 1934)."""
        if not is_open(self._experiment):
            return self._rounds_of_work(context) if self._has_end else self.rounds
        if self.observations.repeats < PILOT_REPEATS or is_of_treatments(self._experiment):
            # Treatments are compared with each other, not averaged.
            return self.rounds
        # An estimate from few slices must not leave a cell without any.
        share = min(MOST_SHARE, max(1 / MOST_SHARE, self.observations.spread_of(context)))
        return max(1, round(self.rounds * share))

    def _rounds_of_work(self, context: CellKey) -> int:
        """The number of turns that take the time of the usual slices; one, until their length is
        known."""
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
        """The next repeat was already planned, with `blocks` blocks in all: it gets the number of
        slices of a new plan."""
        each = max(1, blocks // len(self._contexts))
        self.rounds = max(1, round(self.rounds * self.blocks / each))
        self.blocks = each

    def ready(self) -> None:
        now_s = self._clock()
        # The time for making data does not count.
        self._begun_s = now_s if self._begun_s is None else self._begun_s
        self._block_begun_s = now_s

    def waited(self, seconds: float) -> None:
        """Exclude the time spent waiting for the host to improve."""
        if self._begun_s is not None:
            self._begun_s += seconds
        if self._repeat_begun_s is not None:
            self._repeat_begun_s += seconds

    def ended(self, records: Sequence[RunRecord]) -> None:
        self.observations.add(records)
        took_s = self._clock() - self._block_begun_s
        self._in_blocks_s += took_s
        for record in records:
            if (asked := record.probes.get("twins")) is not None:
                self._warm_s[self.observations.context(record.cell)] = asked["warm_s"]
        sliced = next(filter(is_sliced, records), None)
        if sliced is not None:
            round_s = self.observations.round_s[self.observations.context(sliced.cell)]
            self._block_s.append(took_s - len(sliced.intervals) * round_s)
        elif (
            self._design.in_slices
            and not self._asks_twins
            and all(one.status == "failed" for one in records)
        ):
            # Perhaps no answer fits into a slice of this length.
            context = self.observations.context(records[0].cell)
            before_s = max(SLICE_S / RESPONSES, self.observations.response_s(context))
            self.observations.learn(context, {"": LONGER * before_s})

    @property
    def matched(self) -> bool:
        """Whether the servers of the next repeat are laid out alike in memory."""
        layout = self._experiment.compare.layout
        if layout is not None:
            return layout == "matched"
        # Matching is kept once it paid, although its effect then no longer shows.
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
        """The rest of the given time; inf if none was given."""
        limit_s = self._experiment.compare.at_most_s
        return math.inf if limit_s is None else limit_s - self.spent_s

    @property
    def more_s(self) -> float | None:
        """Seconds until the time is up or, if known, until the answer is narrow enough."""
        limits = [self.left_s, self._more_s]
        known = [max(0.0, limit) for limit in limits if not math.isinf(limit)]
        return min(known, default=None)

    def blocks_s(self, blocks: int) -> float:
        """Duration of this number of blocks, with the starts of servers among them."""
        return self._unit_s() * blocks / (len(self._contexts) * self.blocks)

    def progress(self, repeats: Sequence[int]) -> Standing:
        """Whether the answer is narrow enough, or the time is up, after these complete repeats."""
        # The cost of one more repeat is that of a repeat planned for the remaining time.
        self._plan()
        tables = self.observations.log_ratios(repeats)
        seen = progress(
            tables,
            self.observations.shape,
            self._rule,
            spent_s=self.spent_s,
            unit_s=self._unit_s(),
            covariates=self.observations.covariates(
                repeats, tables, in_slices=self._design.in_slices
            ),
        )
        self._more_s, self._p_each = seen.seconds_more, seen.p_each
        return seen

    # --- the plan ---

    @property
    def _is_planned(self) -> bool:
        return self._design.in_slices and is_open(self._experiment) and not self._asks_twins

    def _plan(self) -> None:
        if not self._is_planned:
            return
        self._plan_tiers()
        if is_of_treatments(self._experiment) and not self._has_end:
            self.rounds, self.blocks = max(self._least_rounds(), self.rounds * self.blocks), 1

    def _least_rounds(self) -> int:
        """For treatments: `ROUNDS_OF_TREATMENTS`, or the number that takes the same time."""
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
        options: dict[str, Any] = {
            "done": done,
            "units_min": compare.repeats,
            "confidence": 1 - self._p_each,
        }
        for_width: RepeatPlan | None = None
        if compare.is_by_width and not pilot:
            each = zip(self.observations.components_of_each(), compare.widths, strict=True)
            plans = [
                plan_for_width(components, self._costs(), width, **options)
                for components, width in each
                if width is not None
            ]
            # The metric that needs the longest makes the plan of all.
            for_width = max(plans, key=lambda one: one.seconds)
        plan: RepeatPlan | TooShort
        if for_width is not None and for_width.seconds <= self.left_s:
            plan = for_width
        elif math.isinf(self.left_s):
            return
        elif pilot and self._has_end and not self.observations.round_s:
            # The duration of a turn is still unknown.
            self.rounds, self.blocks = 1, 1
            return
        elif pilot:
            self.blocks = 1 if self.is_long else blocks_at_first(self._experiment)
            in_time = plan_for_time(None, self._costs(self.blocks), self.left_s, **options)
            self.rounds = 1 if isinstance(in_time, TooShort) else in_time.repeats["round"]
            if self.rounds == 1:
                self.blocks = 1
            return
        else:
            # An unreachable width must not cause repeats that do not fit into the time.
            plan = plan_for_time(
                self.observations.components(), self._costs(), self.left_s, **options
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
        """Duration of a round of slices in a context: that of the latest ones, if any."""
        known = self.observations.round_s.get(self.observations.context(context))
        if known is not None:
            return known
        if self._has_end:
            return 0.0
        levels = len(self.observations.others) + 1
        each_s = self.slices(context, [self._at_baseline(context)]).round_s
        if not self.observations.is_timed(self.observations.context(context)):
            # A context that was not timed yet may be as slow as the others.
            each_s = max(each_s, (RESPONSES + 1) * self.observations.slowest_s)
        parts = parts_of_block(self._at_baseline(context).values) if self._equal else 1
        return levels * each_s * parts

    def _unit_s(self) -> float:
        costs = self._costs().seconds
        if not self._design.in_slices or self._asks_twins:
            # Work is assumed to take as long as the last time.
            return costs["unit"] + max(_least_s(self._experiment, self._design), self._in_blocks_s)
        block_s = costs["block"] + self.rounds * costs["round"]
        return costs["unit"] + len(self._contexts) * self.blocks * block_s

    @property
    def least_of_a_repeat_s(self) -> float:
        """Duration of a repeat with a single round in each context."""
        if not self._design.in_slices:
            return self._unit_s()
        costs = self._costs()
        return float(costs.of_one({"unit": 1, "block": 1, "round": self._fewest_rounds}))

    @property
    def is_long(self) -> bool:
        """Whether slices are so lengthy that a second block per repeat would cost too much."""
        return self._design.in_slices and RESPONSES * self.observations.slowest_s >= LONG_S

    @property
    def _fewest_rounds(self) -> int:
        """The fewest rounds that give a block of any context enough events."""
        if self.observations.slowest_s == 0 or self._has_end:
            return 1
        connections = min(cell["load.connections"] for cell in cell_specs(self._experiment))
        return math.ceil(ENOUGH / (RESPONSES * int(connections)))

    def _at_baseline(self, context: Cell) -> CellSpec:
        return cell_spec(self._experiment, {**context, **self._experiment.compare.baseline})
