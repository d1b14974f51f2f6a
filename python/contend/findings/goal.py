"""The highest rate that holds a goal, for each level: from the runs of a search to the answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from contend.experiment import (
    RATE,
    Cell,
    CellKey,
    Experiment,
    GoalSpec,
    Level,
    blocks_of_levels,
    cell_key,
    first_rate,
    same_level,
)
from contend.metrics import metric_of
from contend.stats import Estimate, GoalAnswer, RateRun, RateSearch, count_above, estimate
from contend.store import RunRecord

BURSTS = 4.0
"""Slow events come in bursts: the assumed ratio of the variance of their share to that of
independent events."""

VALUE_ERROR = 0.05
"""Assumed relative error of a run's value of a metric that is not a percentile."""

LOW = 0.1
"""Rates below this share of what the server answers at most are low: nothing waits there yet."""

GROWS_SD = 3.0
"""The queue grew if it did so by this many standard deviations of the arrivals and answers of a
random queue that does not."""


def rate_run(goal: GoalSpec, record: RunRecord) -> RateRun:
    """A run of a search; one without a result does not hold its rate."""
    rate = float(record.cell[RATE])
    done = record.done
    if record.status != "ok" or done is None:
        return RateRun(record.repeat, rate, math.inf)
    used, error = _used(goal, record)
    queue, measured_s = done.get("open"), done["measured_s"]
    grown = queue["backlog_close"] - queue["backlog_open"] if queue else 0
    chance = GROWS_SD * math.sqrt(2 * rate * measured_s)
    return RateRun(
        record.repeat,
        rate,
        used,
        error,
        grows=bool(queue and queue["overloaded"] and grown > chance),
        is_client=any(one.get("code") == "client-limited" for one in record.warnings),
        answered=float(done["events_in_parts"]) / measured_s if measured_s else math.nan,
    )


def _used(goal: GoalSpec, record: RunRecord) -> tuple[float, float]:
    """The share of what the goal allows, and its standard error at the crossing."""
    metric = metric_of(goal.metric)
    value = metric.value(record)
    histogram = metric.histogram.read(record) if metric.histogram else ""
    allowed = 1 - metric.quantile if metric.quantile is not None else 0.0
    if not histogram or allowed <= 0:
        return (math.inf if value is None else value / goal.limit), VALUE_ERROR
    above, count = count_above(histogram, goal.limit * 1000)
    queue = record.done.get("open") if record.done else None
    if queue and metric.name.startswith("response_us"):
        # Events that wait at the end are in no histogram. The oldest waited longest, and they came
        # at an even pace.
        oldest_us, waiting = queue["oldest_wait_s"] * 1e6, queue.get("not_begun", 0)
        late = waiting * max(0.0, 1 - goal.limit / oldest_us) if oldest_us > 0 else 0.0
        above, count = above + round(late), count + waiting
    if not count:
        return math.inf, 0.0
    return above / count / allowed, math.sqrt(BURSTS * (1 - allowed) / (allowed * count))


def searches_of(experiment: Experiment, records: Iterable[RunRecord]) -> dict[CellKey, RateSearch]:
    """The search of each cell without its rate, with the runs so far."""
    assert experiment.goal is not None
    runs = {key: of.runs for key, of in _runs_of(experiment.goal, records).items()}
    return {
        cell_key(cell): _search(experiment.goal, runs.get(cell_key(cell), ()))
        for block in blocks_of_levels(experiment)
        for cell in block
    }


def limited(goal: GoalSpec, records: Iterable[RunRecord]) -> GoalSpec:
    """The goal with the limit of one level, which has these runs. That of a knee follows from the
    runs of the first repeat at low rates, each weighted by its events."""
    if goal.over_idle is None:
        return goal
    metric = metric_of(goal.metric)
    seen = [
        (float(record.cell[RATE]), value, record.done)
        for record in records
        if record.repeat == 1 and record.done and (value := metric.value(record))
    ]
    if not seen:
        return goal
    most = max(done["events_in_parts"] / done["measured_s"] for _, _, done in seen)
    low = max(LOW * most, min(rate for rate, _, _ in seen))
    idle = [(value, done["events"]) for rate, value, done in seen if rate <= low]
    events = math.fsum(count for _, count in idle)
    return replace(goal, limit=goal.over_idle * math.fsum(v * n for v, n in idle) / events)


def _search(goal: GoalSpec, runs: Sequence[RateRun]) -> RateSearch:
    return RateSearch(goal.lowest, goal.highest, first_rate(goal), runs)


@dataclass(frozen=True, slots=True)
class _OfLevel:
    limit: float
    runs: list[RateRun]


def _runs_of(goal: GoalSpec, records: Iterable[RunRecord]) -> dict[CellKey, _OfLevel]:
    last = {record.run: record for record in records if RATE in record.cell}
    found: dict[CellKey, list[RunRecord]] = {}
    for record in last.values():
        found.setdefault(cell_key(without_rate(record.cell)), []).append(record)
    goals = {key: limited(goal, of) for key, of in found.items()}
    return {
        key: _OfLevel(goals[key].limit, [rate_run(goals[key], record) for record in of])
        for key, of in found.items()
    }


def without_rate(cell: Mapping[str, Level]) -> Cell:
    return {path: level for path, level in cell.items() if path != RATE}


@dataclass(frozen=True, slots=True)
class GoalLevel:
    """The answer of one level.

    Args:
        cell: its levels, without the rate.
        level: of the compared factor; None if nothing is compared.
        limit: of the metric; a knee's is that of the level.
        records: its measured runs.
        over: its rate over that of the baseline; None for the baseline, or if either is not known.
    """

    cell: Cell
    level: Level | None
    limit: float
    answer: GoalAnswer
    runs: tuple[RateRun, ...]
    records: tuple[RunRecord, ...]
    over: Estimate | None = None


@dataclass(frozen=True, slots=True)
class GoalFound:
    """The answers of an experiment: for each context its levels, the baseline first."""

    goal: GoalSpec
    unit: str
    blocks: tuple[tuple[GoalLevel, ...], ...]

    @property
    def levels(self) -> tuple[GoalLevel, ...]:
        return tuple(one for block in self.blocks for one in block)


def goal_found(experiment: Experiment, records: Sequence[RunRecord]) -> GoalFound | None:
    """The answer of an experiment with a goal; None if it has none, or nothing is measured.

    Each rate has the confidence of the experiment by itself. The ratios hold together.
    """
    goal = experiment.goal
    measured = [record for record in records if record.status == "ok" and record.done]
    if goal is None or not measured:
        return None
    runs, compared = _runs_of(goal, records), experiment.compared
    blocks = blocks_of_levels(experiment)
    ratios = sum(len(block) - 1 for block in blocks)
    confidence = experiment.compare.confidence
    together = 1 - (1 - confidence) / max(1, ratios)
    of_cell: dict[CellKey, list[RunRecord]] = {}
    for record in measured:
        of_cell.setdefault(cell_key(without_rate(record.cell)), []).append(record)

    def of_level(cell: Cell) -> GoalLevel:
        key = cell_key(cell)
        of = runs.get(key, _OfLevel(goal.limit, []))
        return GoalLevel(
            cell,
            None if compared is None else cell[compared.path],
            of.limit,
            _search(goal, of.runs).answer(confidence),
            tuple(of.runs),
            tuple(of_cell.get(key, ())),
        )

    found = []
    for block in blocks:
        levels = [of_level(cell) for cell in block]
        if compared is not None:
            baseline = experiment.compare.baseline[compared.path]
            levels.sort(key=lambda one: not same_level(one.level, baseline))
            levels = [levels[0], *(_over(one, levels[0], together) for one in levels[1:])]
        found.append(tuple(levels))
    return GoalFound(goal, _unit(measured), tuple(found))


def _over(one: GoalLevel, baseline: GoalLevel, confidence: float) -> GoalLevel:
    above, below = one.answer.by_repeat, baseline.answer.by_repeat
    ratios = [above[repeat] / below[repeat] for repeat in above if repeat in below]
    if not ratios:
        return one
    over = estimate(ratios, confidence, log_scale=True)
    return replace(one, over=over)


def _unit(records: Sequence[RunRecord]) -> str:
    """What an event is: a query, or a group of them."""
    each = metric_of("round_trips_per_event").value(records[0])
    is_query = each is not None and 0.99 < each < 1.01
    return "queries" if is_query else "events"
