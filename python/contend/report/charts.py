"""Charts as plain Vega-Lite specifications: one definition for the page and for the files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from contend.experiment import Roles
from contend.findings import Compared, Finding
from contend.metrics import PERCENTILES, THROUGHPUT, Metric
from contend.sections.chart_style import (
    Spec,
    chart_title,
    colour,
    column_value,
    data_row,
    frame,
    lines,
    numeric_columns,
    tooltip,
    x_axis,
)
from contend.sections.model import ChangeTable, Chart, GainRow, Layout, Panel
from contend.sections.words import SAYS_NOTHING, change_noun, gain_text, plain_gain, slug
from contend.stats import finite


def value_chart(metric: Metric, panel: Panel, layout: Layout) -> Chart | None:
    table = panel.metric(metric.name)
    if table is None:
        return None
    name = metric.unit or metric.title
    values = [
        data_row(layout, column, row.label, estimate, name)
        for row in table.rows
        for column, estimate in enumerate(row.estimates)
        if estimate is not None
    ]
    whole = metric.name == THROUGHPUT
    y = {
        "type": "quantitative",
        "title": name,
        "scale": {"zero": True},
        "axis": {"format": ",d" if whole else ",~r", "tickCount": 5},
    }
    encoding = {"x": x_axis(layout), "color": colour(layout.levels, layout.rows_label)}
    title = chart_title(metric.title, panel.title)
    less = ", less is better" if metric.less_is_better else ""
    return Chart(
        id=f"{slug(metric.name)}-{panel.slug}",
        kind=metric.title,
        label=panel.title,
        caption=f"{metric.heading}{less}; bands are the intervals.",
        alt=f"{title}: {name} against {layout.columns_label or 'levels'}, one line per level of "
        f"{layout.rows_label}. The figures are in the table of the same name.",
        spec=frame(title, values, lines(layout, y, encoding)),
    )


_HERE = "this machine"


def change_chart(at: int, panel: Panel, layout: Layout) -> Chart | None:
    """The changes by the metric at that place of those compared."""
    changes = panel.changes[at]
    metric = changes.metric
    blocks = panel.published_of(metric)
    measured = [
        _measured(layout, column, row.label, gain)
        for row in changes.rows
        for column, gain in enumerate(row.gains)
        if gain is not None and math.isfinite(gain.change.ratio)
    ]
    if not measured:
        return None
    sources = [_HERE] + [f"{block.name} (published)" for block in blocks]
    published = [
        {
            "x": column_value(layout, column),
            "level": label,
            "value": gain,
            "source": f"{block.name} (published)",
            "tooltip": tooltip(
                layout, column, label, {block.name: f"{plain_gain(gain)} %, published"}
            ),
        }
        for block in blocks
        for label, gains in block.rows
        for column, gain in enumerate(gains)
        if gain is not None
    ]
    noun = change_noun(metric, layout.baseline)
    y: Spec = {
        "type": "quantitative",
        "title": f"{noun}, %",
        "axis": {"tickCount": 6},
    }
    x = x_axis(layout)
    hue = colour(layout.levels, layout.rows_label, skip_baseline=True)
    here = {"x": x, "color": hue}
    zero: Spec = {
        "mark": {"type": "rule", "strokeWidth": 1},
        "encoding": {"y": {"datum": 0, "type": "quantitative"}},
    }
    mine = {"transform": [{"filter": f"datum.source == '{_HERE}'"}]}
    layers = [zero] + [mine | layer for layer in lines(layout, y, here)]
    if published:
        layers.insert(1, _dashed(x, y, hue, sources))
    kind = f"{metric.title}: {noun}"
    title = chart_title(kind, panel.title)
    less = " Less is better." if metric.less_is_better else ""
    others = (
        " Dashed: published figures of different machines, without intervals." if published else ""
    )
    return Chart(
        id=f"change-{slug(metric.name)}-{panel.slug}",
        kind=kind,
        label=panel.title,
        caption=f"In percent; bands are the intervals that hold together.{less}{others}",
        alt=f"{title}, percent, against {layout.columns_label or 'levels'}. "
        "The figures are in the table of the same name.",
        spec=frame(title, measured + published, layers),
    )


def picture_of(
    roles: Roles,
    layout: Layout,
    panels: Sequence[Panel],
    compared: Compared,
    others: Sequence[Chart],
) -> Chart | None:
    """The first chart for a reader: the changes by the metric that decides, along the columns and
    over all tables. If nothing is compared, the first of the other charts."""
    if not compared.wholes:
        return next(iter(others), None)
    if len(panels) == 1:
        return change_chart(0, panels[0], layout)
    singles = {
        (one.level, one.change.place.first_column): one
        for one in (compared.columns or compared.wholes)
        if one.change.place.first_column == one.change.place.last_column
    }
    rows = tuple(
        GainRow(
            label, level, tuple(singles.get((level, at)) for at in range(len(roles.column_levels)))
        )
        for label, level in zip(layout.levels, roles.levels, strict=True)
        if level is not None and level != roles.baseline
    )
    table = ChangeTable(compared.metric, rows)
    over_all = Panel("", "over-all", {}, (table,), (), ())
    chart = change_chart(0, over_all, layout)
    tables = f"Mean over all {len(panels)} tables, in percent"
    return chart and replace(chart, caption=chart.caption.replace("In percent", tables))


def _dashed(x: Spec, y: Spec, hue: Spec, sources: list[str]) -> Spec:
    dash = {
        "field": "source",
        "type": "nominal",
        "title": None,
        "scale": {"domain": sources, "range": [[1, 0], [7, 4], [2, 3], [9, 3, 2, 3]]},
        "legend": {"symbolType": "stroke", "columns": 2},
    }
    return {
        "transform": [{"filter": f"datum.source != '{_HERE}'"}],
        "mark": {"type": "line", "strokeWidth": 1.3, "opacity": 0.75},
        "encoding": {
            "x": x,
            "y": {**y, "field": "value"},
            "color": hue,
            "strokeDash": dash,
        },
    }


def _measured(layout: Layout, column: int, label: str, gain: Finding) -> Spec:
    c = gain.change
    # Like in the tables: a meaningless interval is not drawn, because it would hide the others.
    tells = c.high <= c.ratio * SAYS_NOTHING
    figures = {change_noun(gain.metric, layout.baseline): f"{gain_text(c)} %", "n": str(c.n)}
    return {
        "x": column_value(layout, column),
        "level": label,
        "value": (c.ratio - 1) * 100,
        "low": (c.low - 1) * 100 if c.n > 1 and tells else None,
        "high": finite((c.high - 1) * 100) if tells else None,
        "source": _HERE,
        "tooltip": tooltip(layout, column, label, figures),
    }


def response_chart(panel: Panel, layout: Layout, arrival: str) -> Chart | None:
    values: list[Spec] = []
    for percentile in PERCENTILES:
        table = panel.metric(f"response_us_{percentile}")
        for row in table.rows if table else ():
            for column, estimate in enumerate(row.estimates):
                if estimate is not None and estimate.mean > 0:
                    name = f"{percentile}, ms"
                    point = data_row(layout, column, row.label, estimate, name, 1000.0)
                    values.append({**point, "percentile": percentile})
    if not values:
        return None
    # A bound of 0 has no place on a logarithmic axis.
    values = [{**value, "low": value["low"] or None} for value in values]
    y: Spec = {
        "type": "quantitative",
        "title": "response time, ms",
        "scale": {"type": "log", "nice": False},
        "axis": {"values": _ticks([value["value"] for value in values]), "format": "~g"},
    }
    encoding: Spec = {
        "x": x_axis(layout),
        "color": colour(layout.levels, layout.rows_label),
        "detail": {"field": "percentile", "type": "nominal"},
    }
    layers = lines(layout, y, encoding)
    spread: Sequence[object]
    percentile_of: Spec = {"field": "percentile", "type": "nominal", "title": None}
    if numeric_columns(layout):
        marked, channel, spread = "line", "strokeDash", [[1, 0], [6, 3], [2, 2]]
    else:
        marked, channel, spread = "point", "shape", ["circle", "square", "triangle-up"]
    scale = {"domain": list(PERCENTILES), "range": spread}
    legend = {"symbolType": "stroke"} if channel == "strokeDash" else {}
    encoded = {channel: {**percentile_of, "scale": scale, "legend": legend}}
    layers = [
        {**layer, "encoding": {**layer["encoding"], **encoded}}
        if layer["mark"]["type"] == marked and layer["mark"].get("opacity") != 0
        else layer
        for layer in layers
    ]
    title = chart_title("Response time", panel.title)
    return Chart(
        id=f"response-{panel.slug}",
        kind="Response time",
        label=panel.title,
        caption=f"p50, p95 and p99 in ms, logarithmic, {arrival}; bands are the intervals.",
        alt=f"{title}: p50, p95 and p99 against {layout.columns_label or 'levels'}. "
        "The figures are in the tables of response times.",
        spec=frame(title, values, layers),
    )


def _ticks(values: Sequence[float]) -> list[float]:
    """Powers of ten around the values, and 2 and 5 times them if they span little."""
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    steps = (1, 2, 5) if last - first <= 2 else (1,)
    return [step * 10.0**power for power in range(first, last + 1) for step in steps]


def panel_charts(
    metrics: Sequence[Metric], panels: Sequence[Panel], layout: Layout, arrival: str
) -> tuple[Chart, ...]:
    """Every chart of every panel, by kind: the compared metrics, their changes, response times."""
    response = {f"response_us_{percentile}" for percentile in PERCENTILES}
    curves = [metric for metric in metrics if metric.name not in response]
    found = [
        *(value_chart(metric, panel, layout) for metric in curves for panel in panels),
        *(change_chart(at, panel, layout) for at in range(len(metrics)) for panel in panels),
        *(response_chart(panel, layout, arrival) for panel in panels),
    ]
    return tuple(chart for chart in found if chart is not None)
