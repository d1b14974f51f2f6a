"""A goal such as `p99 < 20 ms`: how it is written, what it allows, and the view of its runs.

An experiment with a goal looks for the highest rate of an open loop that holds it, for each level.
The rate of a run is in its cell, under the path of every rate: `load.arrival.rate`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from contend.errors import did_you_mean
from contend.experiment.model import Experiment, Factor, GoalSpec
from contend.experiment.settings.values import BaseKind, Level, Refused, shown
from contend.metrics import SECONDS, Metric, UnknownMetric, metric_of
from contend.units import format_duration, parse_duration_s

RATE = "load.arrival.rate"

LOWEST, FIRST, HIGHEST = 10.0, 100.0, 1_000_000.0
"""Events per second: the least and the most that a search tries, and its beginning."""

KNEE, KNEE_METRIC, KNEE_TIMES = "knee", "response_us_p95", 3.0
"""The goal of those who have no limit: the response time of one event in 20 is three times as long
as at low rates."""

_FORM = re.compile(r"\s*([A-Za-z][\w.\-]*)\s*(<=?|>=?|=+)\s*([\d_.]+)\s*(%|[A-Za-zµ]*)\s*")
SHORT_NAMES = {
    "p99.9": "p999",
    "p999": "p999",
    "p99": "p99",
    "p95": "p95",
    "p90": "p90",
    "p50": "p50",
}
SHORT_NAMES |= {"median": "p50", "mean": "mean", "max": "max"}
_EXAMPLES = 'Write "p99<20ms", "event.new_order.response_us_p95 < 5ms" or "error_share<0.1%".'


class GoalKind(BaseKind):
    """`METRIC<LIMIT`, or `knee`; read as a goal without the bounds of its search."""

    def read(self, value: object) -> GoalSpec:
        if isinstance(value, str) and value.strip() == KNEE:
            text = f"p95 < {KNEE_TIMES:g} × that at low rates"
            return GoalSpec(KNEE_METRIC, 0.0, text, over_idle=KNEE_TIMES)
        found = _FORM.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            raise self.wrong(value, _EXAMPLES)
        name, sign, number, unit = found.groups()
        if sign[0] != "<":
            raise Refused(
                f"the goal {shown(value)} has no upper limit: it needs a metric that grows with "
                "the rate, and <",
                hint=_EXAMPLES,
                whole=True,
            )
        metric = _metric(name, value)
        limit = _limit(metric, number, unit, value)
        if limit <= 0:
            raise Refused(f"the limit of the goal {shown(value)} must be above 0", whole=True)
        return GoalSpec(metric.name, limit, f"{_short(name)} < {_limit_text(metric, limit)}")

    def expected(self) -> str:
        return f'a metric, <, and its limit with a unit, or "{KNEE}"'

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"<|^{KNEE}$"}


def full_name(name: str) -> str:
    """The name of the metric that a short one means: `p99` is that of the response time, and
    `NAME.p99` that of the events of one name."""
    path, _, last = name.rpartition(".")
    short = SHORT_NAMES.get(name) or SHORT_NAMES.get(last)
    if name in SHORT_NAMES:
        return f"response_us_{short}"
    if path and short and not path.startswith(("event.", "statement.", "status.")):
        return f"event.{path}.response_us_{short}"
    return name


def _metric(name: str, goal: object) -> Metric:
    name = full_name(name)
    try:
        metric = metric_of(name)
    except UnknownMetric as unknown:
        near = did_you_mean(name, [*SHORT_NAMES, *unknown.known])
        raise Refused(
            f"the goal {shown(goal)} names {shown(name)}, which is not a metric",
            hint=near or _EXAMPLES,
            whole=True,
        ) from None
    if metric.kind == "rate":
        raise Refused(
            f"the goal {shown(goal)} limits a rate, which the search itself sets",
            hint="Limit a time or a share, such as p99<20ms.",
            whole=True,
        )
    if metric.name in (SECONDS, "seconds_with_warming"):
        raise Refused(
            f"the goal {shown(goal)} limits the time for a fixed amount of work, which only a "
            "closed loop has",
            hint="Limit a response time, such as p99<20ms.",
            whole=True,
        )
    return metric


def _limit(metric: Metric, number: str, unit: str, goal: object) -> float:
    wrong = Refused(
        f"{shown(number + unit)} is not a limit of {metric.name}",
        hint=f"Its unit is {metric.unit}." if metric.unit else _EXAMPLES,
        whole=True,
    )
    try:
        value = float(number.replace("_", ""))
        if metric.unit in ("µs", "ns", "s"):
            if not unit:
                raise Refused(
                    f"the limit of the goal {shown(goal)} has no unit",
                    hint=f"Write {number}ms, {number}us or {number}s.",
                    whole=True,
                )
            scale = {"µs": 1e6, "ns": 1e9, "s": 1}[metric.unit]
            return float(f"{parse_duration_s(f'{value:.9f}{unit}') * scale:.12g}")
    except ValueError:
        raise wrong from None
    if unit == "%" and not metric.unit:
        return value / 100
    if unit not in ("", metric.unit):
        raise wrong
    return value


def _short(name: str) -> str:
    plain = name.removeprefix("response_us_")
    return {"p999": "p99.9"}.get(plain, plain) if plain in SHORT_NAMES else name


def _limit_text(metric: Metric, limit: float) -> str:
    if metric.unit in ("µs", "ns", "s"):
        return format_duration(limit / {"µs": 1e6, "ns": 1e9, "s": 1}[metric.unit])
    if not metric.unit and limit < 1:
        return f"{limit * 100:g} %"
    return f"{limit:g} {metric.unit}".rstrip()


def first_rate(goal: GoalSpec) -> float:
    """The rate to begin with; for a knee the lowest, because low rates give its limit."""
    if goal.over_idle is not None:
        return goal.lowest
    return min(max(FIRST, goal.lowest), goal.highest)


def as_figures(experiment: Experiment, rates: Iterable[Level]) -> Experiment:
    """The experiment as its tables see it: the measured rates are levels, and none is compared,
    because levels were measured at different rates."""
    levels = tuple(sorted(set(rates), key=float)) or (1,)
    return replace(
        experiment,
        factors=(*experiment.factors, Factor(RATE, levels)),
        compare=replace(experiment.compare, baseline={}),
    )
