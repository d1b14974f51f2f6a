"""How a figure grows along the columns, as a chart: ours with intervals, published ones dashed."""

from __future__ import annotations

from collections.abc import Sequence

from contend.report.chart_style import (
    Spec,
    chart_title,
    colour,
    column_value,
    data_row,
    frame,
    lines,
    numeric_columns,
    x_axis,
)
from contend.report.model import Chart, Layout
from contend.report.shape_model import Shape, ShapePanel
from contend.report.words import slug, times_of

_HERE = "this machine"


def shape_charts(shapes: Sequence[Shape], layout: Layout) -> tuple[Chart, ...]:
    """One a panel of each; none if the columns are no numbers."""
    if not numeric_columns(layout):
        return ()
    found = (_chart(shape, panel, layout) for shape in shapes for panel in shape.panels)
    return tuple(found)


def _chart(shape: Shape, panel: ShapePanel, layout: Layout) -> Chart:
    values: list[Spec] = []
    labels = []
    for row in panel.rows:
        if not row.is_growth:
            continue
        labels.append(row.label)
        for column, change in enumerate(row.measured):
            if column == 0:
                begin = {"x": column_value(layout, 0), "level": row.label, "value": 1}
                values.append({**begin, "source": _HERE})
            elif change is not None:
                point = data_row(layout, column, row.label, times_of(change), "times")
                # A bound of 0 has no place on a logarithmic axis.
                values.append({**point, "low": point["low"] or None, "source": _HERE})
        values += [
            {
                "x": column_value(layout, column),
                "level": row.label,
                "value": one,
                "source": "published",
            }
            for column, one in enumerate(row.published)
            if one is not None
        ]
    y: Spec = {
        "type": "quantitative",
        "title": "times",
        "scale": {"type": "log", "nice": False},
        "axis": {"format": "~g", "tickCount": 5},
    }
    encoding: Spec = {"x": x_axis(layout), "color": colour(labels, "")}
    ours = {"transform": [{"filter": f"datum.source == '{_HERE}'"}]}
    dashed: Spec = {
        "transform": [{"filter": f"datum.source != '{_HERE}'"}],
        "mark": {"type": "line", "strokeWidth": 1.3, "strokeDash": [6, 3]},
        "encoding": {**encoding, "y": {**y, "field": "value"}},
    }
    layers = [ours | layer for layer in lines(layout, y, encoding)]
    if any(row.published for row in panel.rows):
        layers.append(dashed)
    title = chart_title(shape.title, panel.title)
    return Chart(
        id=f"shape-{slug(shape.metric.name)}{f'-{slug(panel.title)}' if panel.title else ''}",
        kind=shape.title,
        label=panel.title,
        caption="Logarithmic; bands are the intervals that hold together. Dashed: published "
        "figures of other machines, without intervals."
        if any(row.published for row in panel.rows)
        else "Logarithmic; bands are the intervals that hold together.",
        alt=f"{title}, against {layout.columns_label}. The figures are in the table of the same "
        "name.",
        spec=frame(title, values, layers),
    )
