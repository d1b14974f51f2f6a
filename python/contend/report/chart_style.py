"""What all charts share: colours in light and dark, rows of data, axes, lines with intervals.

The first colour of the palette is the baseline's and is grey; the others keep apart for readers
with any kind of colour vision, and reach 3:1 against their background.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from contend.report.model import Layout
from contend.spec import Level
from contend.stats import Estimate, finite

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'

_LIGHT_PALETTE = ["#6b6b6b", "#0a66b0", "#c2500a", "#137a53", "#8748b5", "#8f7200"]
_DARK_PALETTE = ["#a9a9a9", "#62b3f2", "#f2925c", "#53c79c", "#c39bf0", "#d8bb4e"]


def _config(ink: str, muted: str, grid: str, background: str, palette: list[str]) -> dict[str, Any]:
    return {
        "background": background,
        "font": FONT,
        "view": {"stroke": None},
        "range": {"category": palette},
        "axis": {
            "labelColor": muted,
            "titleColor": muted,
            "titleFontWeight": "normal",
            "titleFontSize": 12,
            "labelFontSize": 12,
            "gridColor": grid,
            "domainColor": muted,
            "tickColor": muted,
            "titlePadding": 8,
        },
        "axisY": {"domain": False, "ticks": False, "labelPadding": 6},
        "axisX": {"grid": False},
        "legend": {
            "labelColor": ink,
            "titleColor": muted,
            "titleFontWeight": "normal",
            "labelFontSize": 12,
            "titleFontSize": 12,
            "orient": "bottom",
            "direction": "horizontal",
            "symbolStrokeWidth": 2,
            "symbolSize": 120,
            "symbolBaseFillColor": muted,
            "symbolBaseStrokeColor": muted,
            "symbolOpacity": 1,
            "columns": 4,
            "labelLimit": 0,
            "titleLimit": 0,
            "layout": {"bottom": {"direction": "vertical", "margin": 6}},
        },
        "title": {
            "color": ink,
            "subtitleColor": muted,
            "anchor": "start",
            "fontSize": 15,
            "fontWeight": 600,
            "offset": 14,
        },
        "rule": {"color": muted},
        "bar": {"color": palette[1]},
    }


THEMES: dict[str, dict[str, Any]] = {
    "light": _config("#1c1c1a", "#5b5b57", "#e6e5e0", "#ffffff", _LIGHT_PALETTE),
    "dark": _config("#ededea", "#a9a9a3", "#363633", "#1b1b1a", _DARK_PALETTE),
}


VEGA_LITE = "https://vega.github.io/schema/vega-lite/v6.json"
"""Names the version of the grammar. Nothing is fetched from it."""

WIDTH, HEIGHT = 560, 320
"""Of the files. In the page a chart is as wide as its column."""

DOT = 44
"""Size of a point that shows. Its shape tells the levels apart where their lines lie together."""

Spec = dict[str, Any]


def data_row(
    layout: Layout, column: int, level: str, estimate: Estimate, scale: float = 1.0
) -> Spec:
    """One point of a line with its interval; an interval that is not known is left out."""
    low, high = estimate.low / scale, estimate.high / scale
    return {
        "x": column_value(layout, column),
        "level": level,
        "value": estimate.mean / scale,
        "low": finite(low),
        "high": finite(high),
        "n": estimate.n,
    }


def column_value(layout: Layout, column: int) -> Level:
    value = layout.column_values[column]
    return "" if value is None else value


def numeric_columns(layout: Layout) -> bool:
    """Whether the columns can be a logarithmic axis."""
    return len(layout.column_values) > 1 and all(
        isinstance(v, int | float) and not isinstance(v, bool) and v > 0
        for v in layout.column_values
    )


def x_axis(layout: Layout) -> Spec:
    """The columns: powers of two are evenly spaced; names stand in their order."""
    if not layout.columns_label:
        levels = list(layout.levels)
        return {
            "field": "level",
            "type": "nominal",
            "sort": levels,
            "title": layout.rows_label,
            "axis": {"labelAngle": 0},
        }
    if not numeric_columns(layout):
        order = [column_value(layout, i) for i in range(len(layout.column_values))]
        return {
            "field": "x",
            "type": "nominal",
            "sort": order,
            "title": layout.columns_label,
            "axis": {"labelAngle": 0},
        }
    return {
        "field": "x",
        "type": "quantitative",
        "scale": {"type": "log", "base": 2, "nice": False},
        "axis": {"values": list(layout.column_values), "format": "d", "tickCount": 20},
        "title": layout.columns_label,
    }


def colour(levels: Iterable[str], title: str, *, skip_baseline: bool = False) -> Spec:
    """A level has one colour in every chart, also if the baseline is not drawn."""
    names = list(levels)
    shown: Spec = {"title": title}
    if skip_baseline:
        shown["values"] = names[1:]
    return {"field": "level", "type": "nominal", "scale": {"domain": names}, "legend": shown}


def tooltip(layout: Layout, rows_label: str, value: str, number_format: str) -> list[Spec]:
    return [
        {"field": "level", "type": "nominal", "title": rows_label},
        {"field": "x", "type": "nominal", "title": layout.columns_label or "cell"},
        {"field": "value", "type": "quantitative", "title": value, "format": number_format},
        {"field": "low", "type": "quantitative", "title": "from", "format": number_format},
        {"field": "high", "type": "quantitative", "title": "to", "format": number_format},
        {"field": "n", "type": "quantitative", "title": "n"},
    ]


def picked(strength: float = 1.0) -> Spec:
    """Full strength, unless another level was picked in the legend."""
    return {"condition": {"param": "pick", "value": strength}, "value": strength * 0.12}


PICK: Spec = {
    "name": "pick",
    "select": {"type": "point", "fields": ["level"]},
    "bind": "legend",
}


def lines(
    layout: Layout, y: Spec, encoding: Spec, details: list[Spec], *, pick: bool = True
) -> list[Spec]:
    """Layers: the interval as a band and as bars, the line, its points, and what the pointer
    finds."""
    strong = {"opacity": picked()} if pick else {}
    faint = {"opacity": picked(0.16)} if pick else {"opacity": {"value": 0.16}}
    if layout.columns_label and not numeric_columns(layout):
        # Levels stand side by side in a named column.
        beside = {"field": "level", "type": "nominal", "sort": list(layout.levels)}
        encoding = {**encoding, "xOffset": beside}
    interval = {**encoding, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    value = {**encoding, "y": {**y, "field": "value"}}
    layers: list[Spec] = []
    if numeric_columns(layout):
        layers.append({"mark": {"type": "area", "line": False}, "encoding": {**interval, **faint}})
    layers.append({"mark": {"type": "rule", "strokeWidth": 1}, "encoding": {**interval, **strong}})
    if numeric_columns(layout):
        layers.append({"mark": {"type": "line", "strokeWidth": 2}, "encoding": {**value, **strong}})
    dot = {"type": "point", "filled": True, "size": DOT}
    shape = {**value["color"], "type": "nominal"}
    layers.append({"mark": dot, "encoding": {**value, "shape": shape, **strong}})
    target = {"type": "point", "filled": True, "size": 260, "opacity": 0, "tooltip": True}
    layers.append({"mark": target, "encoding": {**value, "tooltip": details}})
    if pick:
        layers[0] = {**layers[0], "params": [PICK]}
    return layers


def chart_title(kind: str, label: str) -> str:
    return f"{kind}, {label}" if label else kind


def frame(title: str, values: list[Spec], layers: list[Spec]) -> Spec:
    """A whole specification."""
    return {
        "$schema": VEGA_LITE,
        "title": title,
        "width": WIDTH,
        "height": HEIGHT,
        "data": {"values": values},
        "layer": layers,
    }
