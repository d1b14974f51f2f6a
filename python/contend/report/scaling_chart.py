"""A sweep over connections as it was measured, its fitted curve, and the curve's peak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from contend.findings import Sweep
from contend.metrics import THROUGHPUT
from contend.report.chart_style import (
    Spec,
    chart_title,
    colour,
    data_row,
    frame,
    lines,
    x_axis,
)
from contend.report.model import Chart, Layout, MetricTable, Panel
from contend.spec import Roles, same_level
from contend.stats import UslFit

_POINTS = 80
"""Of a drawn curve."""

_TITLE = "Throughput with the fitted curve"


def scaling_charts(
    roles: Roles, sweeps: Sequence[Sweep], layout: Layout, panels: Sequence[Panel]
) -> tuple[Chart, ...]:
    """One a panel in which a curve was fitted."""
    found = []
    for panel in panels:
        table = panel.metric(THROUGHPUT)
        of_panel = [one for one in sweeps if one.context == panel.context and one.fit]
        if table is not None and of_panel:
            found.append(_chart(roles, of_panel, layout, panel, table))
    return tuple(found)


def _chart(
    roles: Roles, sweeps: Sequence[Sweep], layout: Layout, panel: Panel, table: MetricTable
) -> Chart:
    values: list[Spec] = [
        {**data_row(layout, column, row.label, estimate, "q/s"), "source": "measured"}
        for row in table.rows
        for column, estimate in enumerate(row.estimates)
        if estimate is not None
    ]
    for label, level in zip(layout.levels, roles.levels, strict=True):
        for sweep in sweeps:
            if sweep.fit is not None and same_level(sweep.level, level):
                values += _drawn(label, sweep.connections[-1], sweep.connections[0], sweep.fit)
    y: Spec = {
        "type": "quantitative",
        "title": "q/s",
        "scale": {"zero": True},
        "axis": {"format": ",d", "tickCount": 5},
    }
    encoding = {"x": x_axis(layout), "color": colour(layout.levels, layout.rows_label)}
    value = {**encoding, "y": {**y, "field": "value"}}
    # The curve stands where line and band from point to point stand in other charts.
    between = ("line", "area")
    points = [one for one in lines(layout, y, encoding) if one["mark"]["type"] not in between]
    layers = [_only("measured") | one for one in points]
    layers += [
        _only("curve") | {"mark": {"type": "line", "strokeWidth": 2}, "encoding": value},
        _only("no fit")
        | {"mark": {"type": "line", "strokeWidth": 1.3, "strokeDash": [6, 3]}, "encoding": value},
        _only("peak")
        | {
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {**value, "x": {**encoding["x"], "field": "low_x"}, "x2": _field("high_x")},
        },
        _only("peak") | {"mark": _mark("triangle-down"), "encoding": value},
        _only("knee") | {"mark": _mark("diamond"), "encoding": value},
    ]
    title = chart_title(_TITLE, panel.title)
    return Chart(
        id=f"scaling-{panel.slug}",
        kind=_TITLE,
        label=panel.title,
        caption="Points are as measured, with their intervals; lines the universal scalability "
        "law, dashed where it does not fit. A diamond is the knee, a triangle with a bar the peak "
        "with its interval.",
        alt=f"{title}, against connections, one line a level of {layout.rows_label or 'the sweep'}."
        " Knee and peak are in the table of this section.",
        spec=frame(title, values, layers),
    )


def _drawn(label: str, last: int, first: int, fit: UslFit) -> Iterator[Spec]:
    """The curve; if it fits, its knee and its peak, where they lie within what was measured."""
    source = "curve" if fit.fits else "no fit"
    for x in np.geomspace(first, last, _POINTS):
        yield {"x": float(x), "level": label, "value": fit.curve.at(float(x)), "source": source}
    for name, one in (("knee", fit.knee), ("peak", fit.peak)):
        if fit.fits and first <= one.mean <= last:
            ends = {"low_x": max(one.low, first), "high_x": min(one.high, last)}
            value = fit.curve.at(one.mean)
            yield {"x": one.mean, "level": label, "value": value, "source": name, **ends}


def _only(source: str) -> Spec:
    return {"transform": [{"filter": f"datum.source == '{source}'"}]}


def _mark(shape: str) -> Spec:
    return {"type": "point", "filled": True, "size": 110, "opacity": 1, "shape": shape}


def _field(name: str) -> Spec:
    return {"field": name}
