"""The highest rate that holds a goal: the answer in a sentence, a table of the levels, the response
times over the rate, and all runs of the search in the JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contend.experiment import RATE, Experiment, Level, from_dict
from contend.findings import GoalFound, GoalLevel, ReportText, Study, goal_found
from contend.metrics import Metric, UnknownMetric, metric_of
from contend.sections.chart_style import Spec, colour, frame
from contend.sections.model import Chart, Inputs, Section, Shown, TextTable
from contend.sections.naming import Naming, naming_of, place_text
from contend.sections.words import (
    figure_json,
    goal_text,
    plain_rate,
    rate_text,
    ratio_of_rates_text,
)
from contend.stats import RateRun, finite
from contend.units import format_duration

SIMILAR = 0.06
"""Rates whose logarithms differ by less are one point of a line."""

_TITLE = "The highest rate that holds the goal"


@dataclass(frozen=True, slots=True)
class GoalRead:
    """The answers, the experiment that was searched, and the names of its levels."""

    found: GoalFound
    experiment: Experiment
    naming: Naming


def read_goal(study: Study, servers: Mapping[str, str]) -> GoalRead | None:
    """The answers of a study; None if it has no goal, or nothing was measured.

    Args:
        servers: levels that are servers -> the version that each reported.
    """
    if study.experiment.goal is None:
        return None
    # The study's own experiment has the rates as levels.
    experiment = from_dict(study.meta.experiment)
    found = goal_found(experiment, study.records)
    return None if found is None else GoalRead(found, experiment, naming_of(experiment, servers))


# --- sentences ---


def goal_sentences(read: GoalRead) -> list[ReportText]:
    """For each context, one sentence with the baseline and the level that holds most, or least."""
    return [_of_block(read, block) for block in read.found.blocks]


def _of_block(read: GoalRead, block: Sequence[GoalLevel]) -> ReportText:
    baseline, *others = block
    compared = read.experiment.compared
    context = {
        path: level
        for path, level in baseline.cell.items()
        if compared is None or path != compared.path
    }
    place = place_text(context)
    at = ReportText(" {}", place) if place else ReportText("")
    begin = _with(read, baseline)
    first = ReportText("{}{}{}", begin, _holds(read, baseline, is_first=True), at)
    # One other level, or the one that holds most.
    other = max(others, key=lambda one: one.answer.rate.mean, default=None)
    if other is None:
        return ReportText("{}.", first)
    second = ReportText("with {} {}", _noun(read, other), _holds(read, other, is_first=False))
    times = ReportText(", so {}", ratio_of_rates_text(other.over)) if other.over is not None else ""
    return ReportText("{}; {}{}.", first, second, times)


def _with(read: GoalRead, one: GoalLevel) -> ReportText:
    if one.level is None:
        return ReportText("It holds ")
    return ReportText("With {} it holds ", _noun(read, one))


def _noun(read: GoalRead, one: GoalLevel) -> ReportText:
    assert one.level is not None
    return read.naming.noun(one.level)


def _holds(read: GoalRead, one: GoalLevel, *, is_first: bool) -> ReportText:
    """`2,400 (±150) queries/s at p99 < 20 ms`; only the first has the goal."""
    answer, goal = one.answer, goal_text(read.found.goal)
    unit = f" {read.found.unit}/s"
    at_goal = ReportText(" at {}", goal) if is_first else ReportText("")
    place = plain_rate(answer.rate.mean)
    if answer.kind == "found":
        return ReportText("{}{}{}", rate_text(answer.rate), unit if is_first else "", at_goal)
    doubt = "" if answer.is_certain else ", which is not certain"
    if answer.kind == "all":
        return ReportText("{}{}{}, the highest tried{}", place, unit, at_goal, doubt)
    if answer.kind == "none":
        return ReportText(
            "no rate{}: not even {}{}, the lowest tried{}", at_goal, place, unit, doubt
        )
    if answer.kind == "client":
        return ReportText(
            "{}{}{}{}; beyond that the load generator reaches its own limit (client-limited), so "
            "the server may hold more",
            place,
            unit,
            at_goal,
            doubt,
        )
    return ReportText("an unknown rate{} (not found yet)", at_goal)


def basis_of_goal(read: GoalRead) -> tuple[str, ...]:
    """What the answer rests on."""
    goal, base = read.found.goal, read.experiment.base
    certain = [
        f"{_name(read, one)}: {plain_rate(one.answer.rate.low)}"
        for one in read.found.levels
        if one.answer.kind == "found" and one.answer.is_certain
    ]
    repeats = {one.answer.rate.n for one in read.found.levels}
    count = f"{min(repeats)} to {max(repeats)}" if len(repeats) > 1 else f"{min(repeats)}"
    fresh = "with freshly started servers " if _own(read) else ""
    confidence = read.experiment.compare.confidence * 100
    length = f"{base['load.measure']:g} s after {base['load.warmup']:g} s of warm-up"
    unit = f"{count} repeat{'' if count == '1' else 's'}"
    found = [
        f"n = {unit} {fresh}after the search, {confidence:g} % intervals. Open loop; a run "
        f"measures {length}, through {_connections(read)} connections.",
        f"A rate holds {goal.text} if the interval is above it and the queue does not grow.",
    ]
    if certain:
        found.append(f"Certain per second, the lower ends of the intervals: {'; '.join(certain)}.")
    return tuple(found)


def _own(read: GoalRead) -> bool:
    records = read.found.levels[0].records
    server = records[0].probes.get("server") if records else None
    return server is None or "://" not in str(server.get("source", ""))


def _connections(read: GoalRead) -> str:
    factor = next((f for f in read.experiment.factors if f.path == "load.connections"), None)
    levels: Sequence[Level] = (
        (read.experiment.base["load.connections"],) if factor is None else factor.levels
    )
    return " or ".join(map(str, levels))


def _name(read: GoalRead, one: GoalLevel) -> str:
    compared = read.experiment.compared
    rest = {
        path: level for path, level in one.cell.items() if not compared or path != compared.path
    }
    level = [] if one.level is None else [str(read.naming.level(one.level))]
    return ", ".join([*level, *filter(None, [str(place_text(rest))])]) or "all"


# --- the section ---


def _read(inputs: Inputs) -> GoalRead | None:
    return read_goal(inputs.study, inputs.naming.servers)


def _show(read: GoalRead, _inputs: Inputs) -> Shown:
    died = [one for level in read.found.levels for one in level.runs if math.isinf(one.used)]
    more = []
    if died:
        lowest = min(one.rate for one in died)
        more.append(
            f"{len(died)} runs gave no result, the lowest of them at {plain_rate(lowest)} per "
            "second; they count as rates that do not hold. Their errors are among the failures."
        )
    lead = " ".join(basis_of_goal(read))
    return Shown(_TITLE, lead, (_table(read),), _charts(read), tuple(more), is_open=True)


def _table(read: GoalRead) -> TextTable:
    unit = read.found.unit
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = []
    for block in read.found.blocks:
        for one in block:
            rates = [run.rate for run in one.runs]
            tried = f"{plain_rate(min(rates))} to {plain_rate(max(rates))}" if rates else ""
            rows.append(
                (
                    _name(read, one),
                    _cell(one),
                    "" if one.over is None else ratio_of_rates_text(one.over).replace(" times", ""),
                    str(one.answer.rate.n),
                    tried,
                    str(len(rates)),
                )
            )
    columns = ("", f"{unit}/s", "times", "n", "rates tried", "runs")
    if read.found.goal.over_idle is not None:
        limits = [format_duration(one.limit / 1e6) for one in read.found.levels]
        rows = [(*row, limit) for row, limit in zip(rows, limits, strict=True)]
        columns = (*columns, "limit of its p95")
    return TextTable(f"Rate that holds {read.found.goal.text}", columns, tuple(rows))


def _cell(one: GoalLevel) -> str:
    answer, place = one.answer, plain_rate(one.answer.rate.mean)
    words = {
        "all": f"{place} or more",
        "none": f"less than {place}",
        "client": f"{place} or more",
        "open": "not found yet",
    }
    return words.get(answer.kind) or rate_text(answer.rate)


def _percentiles(metric: Metric) -> list[tuple[str, Metric]]:
    """The goal's own metric, and the median too if it is a percentile."""
    found = [(metric.name.rpartition("_")[2], metric)]
    try:
        median = metric_of(f"{metric.name.rpartition('_')[0]}_p50")
    except UnknownMetric:
        return [(metric.title, metric)]
    return found if median == metric else [("p50", median), *found]


def _charts(read: GoalRead) -> tuple[Chart, ...]:
    metric = metric_of(read.found.goal.metric)
    scale, unit = (1000.0, "ms") if metric.unit == "µs" else (1.0, metric.unit)
    shown = _percentiles(metric)
    heading = "response time" if metric.kind == "time" else metric.title
    charts: list[Chart] = []
    for block in read.found.blocks:
        values = [
            value
            for one in block
            for label, each in shown
            for value in _points(read, one, label, each, scale, unit)
        ]
        if not values:
            continue
        label = _context_label(read, block[0])
        names = [_level_name(read, one) for one in block]
        title = f"{metric.title} over the rate" + (f", {label}" if label else "")
        x: Spec = {
            "field": "rate",
            "type": "quantitative",
            "title": "offered rate, events per second",
            "scale": {"type": "log", "nice": False},
            "axis": {"format": "~s", "tickCount": 6},
        }
        y: Spec = {
            "field": "value",
            "type": "quantitative",
            "title": f"{heading}, {unit}".rstrip(", "),
            "scale": {"type": "log", "nice": False},
            "axis": {"format": "~g", "tickCount": 5},
        }
        hue = colour(names, "")
        dash: Spec = {"field": "percentile", "type": "nominal", "title": None}
        order = [each for each, _ in reversed(shown)]
        dash["scale"] = {"domain": order, "range": [[1, 0], [5, 3]][: len(order)]}
        dash["legend"] = {"symbolType": "stroke"}
        layers: list[Spec] = [
            *(
                {
                    "mark": {"type": "rule", "strokeDash": [6, 4]},
                    "encoding": {"y": {"datum": limit / scale, "type": "quantitative"}},
                }
                for limit in dict.fromkeys(one.limit for one in block)
            ),
            {
                "transform": [{"filter": "datum.n > 0"}],
                "mark": {"type": "line", "strokeWidth": 2},
                "encoding": {"x": x, "y": y, "color": hue, "strokeDash": dash},
            },
            {
                "transform": [{"filter": f"!datum.n && datum.percentile == '{shown[-1][0]}'"}],
                "mark": {"type": "point", "filled": True, "size": 22, "opacity": 0.7},
                "encoding": {"x": x, "y": y, "color": hue},
            },
        ]
        charts.append(
            Chart(
                id=f"goal-{len(charts) + 1}",
                kind="The goal over the rate",
                label=label,
                caption=f"Points are single runs, lines the means of those at "
                f"similar rates; a dashed line is the goal, "
                f"{read.found.goal.text}. Rates at which the queue grew are left out.",
                alt=f"{title}. The rates that hold the goal are in the table.",
                spec=frame(title, values, layers),
            )
        )
    return tuple(charts)


def _points(
    read: GoalRead, one: GoalLevel, label: str, metric: Metric, scale: float, unit: str
) -> list[Spec]:
    """Each run at its rate, and the means of runs at similar rates, which have `n`."""
    grown = {(run.repeat, run.rate) for run in one.runs if run.grows}
    near: dict[int, list[tuple[float, float]]] = {}
    for record in one.records:
        rate, value = float(record.cell[RATE]), metric.value(record)
        if value and (record.repeat, rate) not in grown:
            near.setdefault(round(math.log(rate) / SIMILAR), []).append((rate, value / scale))
    groups = [[one] for of_bin in near.values() for one in of_bin]
    rows = []
    for n, group in [
        *((0, each) for each in groups),
        *((len(each), each) for each in near.values()),
    ]:
        rate, value = (_geometric_mean(column) for column in zip(*group, strict=True))
        name = _level_name(read, one)
        tooltip = f"{name}; {plain_rate(rate)} per second; {label}: {value:.3g} {unit}; n: {n or 1}"
        rows.append(
            {
                **{"rate": rate, "value": value, "level": name, "percentile": label},
                **{"n": n, "tooltip": tooltip},
            }
        )
    return rows


def _geometric_mean(values: Sequence[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def _level_name(read: GoalRead, one: GoalLevel) -> str:
    return "measured" if one.level is None else str(read.naming.level(one.level))


def _context_label(read: GoalRead, one: GoalLevel) -> str:
    compared = read.experiment.compared
    rest = {
        path: level for path, level in one.cell.items() if not compared or path != compared.path
    }
    return str(place_text(rest)) if rest else ""


def _json(read: GoalRead, _inputs: Inputs) -> dict[str, Any]:
    goal = read.found.goal
    return {
        "goal": goal.text,
        "metric": goal.metric,
        "limit": goal.limit or None,
        "over_idle": goal.over_idle,
        "lowest": goal.lowest,
        "highest": goal.highest,
        "unit": f"{read.found.unit}/s",
        "levels": [_level_json(one) for one in read.found.levels],
    }


def _level_json(one: GoalLevel) -> dict[str, Any]:
    answer = one.answer
    return {
        "cell": dict(one.cell),
        "level": one.level,
        "limit": one.limit,
        "result": answer.kind,
        "is_certain": answer.is_certain,
        "rate": figure_json(answer.rate),
        "used": figure_json(answer.used),
        "times": figure_json(one.over),
        "by_repeat": {str(repeat): rate for repeat, rate in answer.by_repeat.items()},
        "runs": [_run_json(run) for run in one.runs],
    }


def _run_json(run: RateRun) -> dict[str, Any]:
    return {
        "repeat": run.repeat,
        "rate": run.rate,
        "used": finite(run.used),
        "grows": run.grows,
        "client_limited": run.is_client,
        "answered": finite(run.answered),
    }


SECTION = Section("goal", _TITLE, _read, _show, _json)
