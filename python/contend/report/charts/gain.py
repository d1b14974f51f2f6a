"""The change from the baseline with intervals, and published gains of other machines, dashed."""

from __future__ import annotations

import math

from contend.metrics import THROUGHPUT
from contend.report.charts.frame import (
    Spec,
    chart_title,
    colour,
    column_value,
    frame,
    lines,
    tooltip,
    x_axis,
)
from contend.report.labels import change_noun, slug
from contend.report.model import CellComparison, Chart, Layout, Panel
from contend.stats import finite

_HERE = "this machine"


def change_chart(at: int, panel: Panel, layout: Layout) -> Chart | None:
    """The changes by the metric at that place of those compared."""
    changes = panel.changes[at]
    metric = changes.metric
    blocks = panel.published if metric.name == THROUGHPUT else ()
    measured = [
        _measured(layout, column, row.label, gain)
        for row in changes.rows
        for column, gain in enumerate(row.gains)
        if gain is not None and math.isfinite(gain.comparison.ratio)
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
    details = tooltip(layout, layout.rows_label, f"{noun}, %", "+.3~g")
    zero: Spec = {
        "mark": {"type": "rule", "strokeWidth": 1},
        "encoding": {"y": {"datum": 0, "type": "quantitative"}},
    }
    mine = {"transform": [{"filter": f"datum.source == '{_HERE}'"}]}
    layers = [zero] + [mine | layer for layer in lines(layout, y, here, details)]
    if published:
        layers.insert(1, _dashed(x, y, hue, sources, layout))
    kind = f"{metric.title}: {noun}"
    title = chart_title(kind, panel.title)
    less = " Less is better." if metric.less_is_better else ""
    others = " Dashed: published figures of other machines, without intervals." if published else ""
    return Chart(
        id=f"change-{slug(metric.name)}-{panel.slug}",
        kind=kind,
        label=panel.title,
        caption=f"In percent; bands are the intervals.{less}{others}",
        alt=f"{title}, percent, against {layout.columns_label or 'levels'}. "
        "The figures are in the table of the same name.",
        spec=frame(title, measured + published, layers),
    )


def _dashed(x: Spec, y: Spec, hue: Spec, sources: list[str], layout: Layout) -> Spec:
    dash = {
        "field": "source",
        "type": "nominal",
        "title": None,
        "scale": {"domain": sources, "range": [[1, 0], [7, 4], [2, 3], [9, 3, 2, 3]]},
        "legend": {"symbolType": "stroke", "columns": 2},
    }
    details = [
        {"field": "source", "type": "nominal", "title": "machine"},
        {"field": "level", "type": "nominal", "title": layout.rows_label},
        {"field": "x", "type": "nominal", "title": layout.columns_label},
        {"field": "value", "type": "quantitative", "title": "gain, %", "format": "+.3~g"},
    ]
    return {
        "transform": [{"filter": f"datum.source != '{_HERE}'"}],
        "mark": {"type": "line", "strokeWidth": 1.3, "opacity": 0.75},
        "encoding": {
            "x": x,
            "y": {**y, "field": "value"},
            "color": hue,
            "strokeDash": dash,
            "tooltip": details,
        },
    }


def _measured(layout: Layout, column: int, label: str, gain: CellComparison) -> Spec:
    c = gain.comparison
    return {
        "x": column_value(layout, column),
        "level": label,
        "value": (c.ratio - 1) * 100,
        "low": (c.low - 1) * 100 if c.n > 1 else None,
        "high": finite((c.high - 1) * 100),
        "n": c.n,
        "source": _HERE,
    }
