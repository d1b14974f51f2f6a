"""A history as one page that fetches nothing, with a chart for each series that matters."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from markupsafe import Markup

from contend import __version__
from contend.files import write_output
from contend.report import images
from contend.report.html import asset
from contend.runs import history_text
from contend.runs.history import History
from contend.runs.page import filled
from contend.runs.series import Series
from contend.sections.chart_style import DOT, PALETTE, frame
from contend.sections.model import Chart
from contend.sections.words import significant, slug

CHARTS_MAX = 12
"""Maximum number of drawn series, the changed ones first: each takes a tenth of a second."""


def write(history: History, path: Path) -> str:
    """Write the page. Returns a message for the user, empty if the page has its charts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_output(path, render(history))
    return "" if images.can_draw() else images.WITHOUT_CHARTS


def render(history: History) -> str:
    """The text of the page."""
    charts = charts_of(history) if images.can_draw() else []
    return filled(
        "history.html.j2",
        history=history,
        texts=history_text,
        charts=charts,
        drawings={one.id: Markup(images.compact(images.svg(one))) for one in charts},
        without_charts="" if images.can_draw() else images.WITHOUT_CHARTS,
        script=Markup(asset("report.js")),
        dark_style=Markup(images.dark_style() if charts else ""),
        palette=PALETTE,
        version=__version__,
    )


def charts_of(history: History) -> list[Chart]:
    """Charts of the series that changed, the largest change first, then of the gains."""
    changed = [point.series for one in history.breaks for point in one.points]
    gains = [at for at, one in enumerate(history.series) if one.kind == "gain"]
    wanted = dict.fromkeys([*changed, *(gains or range(len(history.series)))])
    return [_chart(history, history.series[at]) for at in list(wanted)[:CHARTS_MAX]]


def _chart(history: History, one: Series) -> Chart:
    """One point per run with its own interval, one rule per break."""
    name = history_text.series_name(history, one)
    unit = "gain, %" if one.kind == "gain" else one.metric.heading
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
    if rules := [{"run": found.run + 0.5} for found in history.breaks]:
        rule = {"type": "rule", "strokeDash": [4, 3]}
        layers.insert(0, {"data": {"values": rules}, "mark": rule, "encoding": {"x": x}})
    return Chart(
        id=slug(f"over time {name}"),
        kind="Over time",
        label=name,
        caption="One point per run with the interval of its repeats; dashed lines mark changes.",
        alt=f"{name}: {unit} by run, oldest first.",
        spec=frame(name, [_row(history, one, at) for at in range(len(one.points))], layers),
    )


def _row(history: History, one: Series, at: int) -> dict[str, Any]:
    point = one.points[at]
    run = history.runs[point.run]
    half = point.half if math.isfinite(point.half) else 0.0
    values = [math.exp(min(log, 300.0)) for log in (point.log, point.log - half, point.log + half)]
    if one.kind == "gain":
        values = [(value - 1) * 100 for value in values]
    value, low, high = values
    began = history_text.when(run.began)
    said = f"run: {run.name}; began: {began}; value: {significant(value, 4)}"
    return {"run": point.run + 1, "value": value, "low": low, "high": high, "said": said}
