"""p50, p95 and p99 against the columns on a logarithmic axis, one colour a level."""

from __future__ import annotations

import math
from collections.abc import Sequence

from contend.metrics import PERCENTILES
from contend.report.charts.frame import (
    Spec,
    chart_title,
    colour,
    data_row,
    frame,
    lines,
    numeric_columns,
    tooltip,
    x_axis,
)
from contend.report.model import Chart, Layout, Panel


def response_chart(panel: Panel, layout: Layout, arrival: str) -> Chart | None:
    values: list[Spec] = []
    for percentile in PERCENTILES:
        table = panel.metric(f"response_us_{percentile}")
        for row in table.rows if table else ():
            for column, estimate in enumerate(row.estimates):
                if estimate is not None and estimate.mean > 0:
                    point = data_row(layout, column, row.label, estimate, 1000.0)
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
    details = [
        {"field": "percentile", "type": "nominal", "title": "percentile"},
        *tooltip(layout, layout.rows_label, "response time, ms", ".3~g"),
    ]
    layers = lines(layout, y, encoding, details)
    spread: Sequence[object]
    percentile_of: Spec = {"field": "percentile", "type": "nominal", "title": None}
    if numeric_columns(layout):
        told_by, channel, spread = "line", "strokeDash", [[1, 0], [6, 3], [2, 2]]
    else:
        told_by, channel, spread = "point", "shape", ["circle", "square", "triangle-up"]
    scale = {"domain": list(PERCENTILES), "range": spread}
    legend = {"symbolType": "stroke"} if channel == "strokeDash" else {}
    encoded = {channel: {**percentile_of, "scale": scale, "legend": legend}}
    layers = [
        {**layer, "encoding": {**layer["encoding"], **encoded}}
        if layer["mark"]["type"] == told_by and layer["mark"].get("opacity") != 0
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
    """Powers of ten around the values, and 2 and 5 times them where they span little."""
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    steps = (1, 2, 5) if last - first <= 2 else (1,)
    return [step * 10.0**power for power in range(first, last + 1) for step in steps]
