"""Queries a second against the columns, one line a level, with intervals."""

from __future__ import annotations

from contend.report.charts.frame import chart_title, colour, data_row, frame, lines, tooltip, x_axis
from contend.report.model import Chart, Layout, Panel


def throughput_chart(panel: Panel, layout: Layout) -> Chart | None:
    table = panel.metric("qps")
    if table is None:
        return None
    values = [
        data_row(layout, column, row.label, estimate)
        for row in table.rows
        for column, estimate in enumerate(row.estimates)
        if estimate is not None
    ]
    y = {
        "type": "quantitative",
        "title": table.unit,
        "scale": {"zero": True},
        "axis": {"format": ",d", "tickCount": 5},
    }
    encoding = {"x": x_axis(layout), "color": colour(layout.levels, layout.rows_label)}
    details = tooltip(layout, layout.rows_label, table.unit, ",.0f")
    title = chart_title("Throughput", panel.title)
    return Chart(
        id=f"throughput-{panel.slug}",
        kind="Throughput",
        label=panel.title,
        caption="Queries a second; bands are the intervals.",
        alt=f"{title}: queries a second against {layout.columns_label or 'levels'}, one line a "
        f"level of {layout.rows_label}. The figures are in the table of throughput.",
        spec=frame(title, values, lines(layout, y, encoding, details)),
    )
