"""Common parts of all charts: colours in light and dark, rows of data, axes, lines with intervals.

The first colour of the palette is the baseline's and is grey. The others are distinct for readers
with any kind of colour vision, and reach 3:1 against their background.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from contend.experiment import Level
from contend.sections.model import Chart, Layout
from contend.sections.words import figure_text
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
            "columnPadding": 22,
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
        "mark": {"aria": False},
        "rule": {"color": muted},
        "bar": {"color": palette[1]},
    }


PALETTE = _LIGHT_PALETTE
"""Colours of the levels, in drawings: the baseline's first."""

THEMES: dict[str, dict[str, Any]] = {
    "light": _config("#1c1c1a", "#5b5b57", "#e6e5e0", "#ffffff", _LIGHT_PALETTE),
    "dark": _config("#ededea", "#a9a9a3", "#363633", "#1b1b1a", _DARK_PALETTE),
}


VEGA_LITE = "https://vega.github.io/schema/vega-lite/v6.json"
"""Names the version of the grammar. Nothing is fetched from it."""

WIDTH, HEIGHT = 400, 230
"""Size of a chart in a column of the page, on a phone, and of the files."""

_WIDE = 760
"""Width of the picture under the answer, if there is room."""

_LEGEND = ((4, 8), (2, 24))
"""Columns of a legend, and the length of the longest name for which there is room."""

DOT = 44
"""Size of a visible point. Its shape distinguishes levels whose lines overlap."""

Spec = dict[str, Any]


def data_row(
    layout: Layout, column: int, level: str, estimate: Estimate, name: str, scale: float = 1.0
) -> Spec:
    """One point of a line with its interval; an unknown interval is left out. `name` is its name
    in the tooltip."""
    scaled = replace(
        estimate,
        mean=estimate.mean / scale,
        low=estimate.low / scale,
        high=estimate.high / scale,
    )
    return {
        "x": column_value(layout, column),
        "level": level,
        "value": scaled.mean,
        "low": finite(scaled.low),
        "high": finite(scaled.high),
        "tooltip": tooltip(layout, column, level, {name: figure_text(scaled), "n": str(scaled.n)}),
    }


def tooltip(layout: Layout, column: int, level: str, figures: Mapping[str, str]) -> str:
    """The tooltip text of a point: `name: figure`, separated by semicolons."""
    place = {layout.rows_label: level, layout.columns_label: str(column_value(layout, column))}
    rows = {**place, **figures}
    return "; ".join(f"{name}: {text}" for name, text in rows.items() if name)


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
    """The columns: powers of two are evenly spaced; names keep their order."""
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
    longest = max(map(len, names), default=0)
    # A legend that is wider than the chart would shrink it on a phone.
    columns = next((many for many, most in _LEGEND if longest <= most), 1)
    shown: Spec = {"title": title, "columns": columns}
    if skip_baseline:
        shown["values"] = names[1:]
    return {"field": "level", "type": "nominal", "scale": {"domain": names}, "legend": shown}


def lines(layout: Layout, y: Spec, encoding: Spec) -> list[Spec]:
    """Layers: the interval as a band and as bars, the line, its points, and the targets of the
    pointer."""
    if layout.columns_label and not numeric_columns(layout):
        # Levels are side by side in a named column.
        offset = {"field": "level", "type": "nominal", "sort": list(layout.levels)}
        encoding = {**encoding, "xOffset": offset}
    interval = {**encoding, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    value = {**encoding, "y": {**y, "field": "value"}}
    layers: list[Spec] = []
    if numeric_columns(layout):
        band = {"type": "area", "line": False, "opacity": 0.16}
        layers.append({"mark": band, "encoding": interval})
    layers.append({"mark": {"type": "rule", "strokeWidth": 1}, "encoding": interval})
    if numeric_columns(layout):
        layers.append({"mark": {"type": "line", "strokeWidth": 2}, "encoding": value})
    dot = {"type": "point", "filled": True, "size": DOT, "opacity": 1}
    shape = {**value["color"], "type": "nominal"}
    layers.append({"mark": dot, "encoding": {**value, "shape": shape}})
    target = {"type": "point", "filled": True, "size": 260, "opacity": 0, "aria": True}
    described = {"description": {"field": "tooltip", "type": "nominal"}}
    layers.append({"mark": target, "encoding": {**value, **described}})
    return layers


def chart_title(kind: str, label: str) -> str:
    return f"{kind}, {label}" if label else kind


def step_bars(
    x_title: str, x_fields: Mapping[str, Spec], colours: Sequence[str], *, names: int = 0
) -> list[Spec]:
    """Layers: a bar for each `step` of the data, one below the other, each in its own `colour`,
    and its interval.

    Args:
        x_fields: where a bar ends, and where it begins if that is not at zero.
        names: room for the names of the steps; 0: as they want.
    """
    x: Spec = {"type": "quantitative", "title": x_title}
    y: Spec = {
        "field": "step",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelLimit": names, "domain": False, "ticks": False},
    }
    bar: Spec = {
        "mark": {"type": "bar", "aria": True},
        "encoding": {
            **x_fields,
            "x": {**x, **x_fields["x"]},
            "y": y,
            "fill": {
                "field": "colour",
                "type": "nominal",
                "scale": {"domain": list(colours), "range": list(colours)},
                "legend": None,
            },
            "description": {"field": "tooltip", "type": "nominal"},
        },
    }
    interval: Spec = {
        "transform": [{"filter": "isValid(datum.low)"}],
        "mark": {"type": "rule", "strokeWidth": 1},
        "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y},
    }
    return [bar, interval]


def frame(
    title: str,
    values: Sequence[Spec],
    layers: Sequence[Spec],
    *,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> Spec:
    """A whole specification. A point without its own tooltip text has none."""
    return {
        "$schema": VEGA_LITE,
        "title": title,
        "width": width,
        "height": height,
        "data": {"values": [{"tooltip": "", **value} for value in values]},
        "layer": layers,
    }


def wide(chart: Chart) -> Chart:
    """The same chart for a wide page."""
    return replace(chart, spec={**chart.spec, "width": _WIDE})
