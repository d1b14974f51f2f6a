"""The course of a series as a chart: a point a run with its own interval, a rule at each break."""

from __future__ import annotations

import math
from typing import Any

from contend.history.model import History, Series
from contend.history.words import series_name, when
from contend.sections.chart_style import DOT, frame
from contend.sections.model import Chart
from contend.sections.words import significant, slug

CHARTS_MAX = 12
"""Drawn, those that changed first: each takes a tenth of a second."""


def charts_of(history: History) -> list[Chart]:
    """Of the series that changed, the largest change first, then of the gains."""
    changed = [point.series for one in history.breaks for point in one.points]
    gains = [at for at, one in enumerate(history.series) if one.kind == "gain"]
    others = [at for at, one in enumerate(history.series) if one.kind == "figure"]
    wanted = list(dict.fromkeys([*changed, *(gains or others)]))[:CHARTS_MAX]
    return [_chart(history, history.series[at]) for at in wanted]


def _chart(history: History, one: Series) -> Chart:
    name = str(series_name(history, one))
    unit = "gain, %" if one.kind == "gain" else one.metric.heading
    values = [_row(history, one, at) for at in range(len(one.points))]
    rules = [{"run": found.run + 0.5} for found in history.breaks]
    x: dict[str, Any] = {"field": "run", "type": "quantitative", "title": "run"}
    y = {"field": "value", "type": "quantitative", "title": unit, "scale": {"zero": False}}
    place: dict[str, Any] = {"x": {**x, "scale": {"nice": False}}, "y": y}
    interval = {**place, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    told = {"description": {"field": "said", "type": "nominal"}}
    target = {"type": "point", "filled": True, "size": 260, "opacity": 0, "aria": True}
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "rule", "strokeWidth": 1, "opacity": 0.4}, "encoding": interval},
        {"mark": {"type": "point", "filled": True, "size": DOT}, "encoding": place},
        {"mark": target, "encoding": {**place, **told}},
    ]
    if rules:
        rule = {"type": "rule", "strokeDash": [4, 3]}
        layers.insert(0, {"data": {"values": rules}, "mark": rule, "encoding": {"x": x}})
    return Chart(
        id=slug(f"over time {name}"),
        kind="Over time",
        label=name,
        caption="A point a run with the interval of its own repeats; a dashed line at each change.",
        alt=f"{name}: {unit} against runs in their order.",
        spec=frame(name, values, layers),
    )


def _row(history: History, one: Series, at: int) -> dict[str, Any]:
    point = one.points[at]
    run = history.runs[point.run]
    half = point.half if math.isfinite(point.half) else 0.0
    value, low, high = (_shown(one, log) for log in (point.log, point.log - half, point.log + half))
    said = f"run: {run.name}; began: {when(run.began)}; value: {significant(value, 4)}"
    return {"run": point.run + 1, "value": value, "low": low, "high": high, "said": said}


def _shown(one: Series, log: float) -> float:
    value = math.exp(min(log, 300.0))
    return (value - 1) * 100 if one.kind == "gain" else value
