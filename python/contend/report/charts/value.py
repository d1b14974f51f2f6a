"""One metric against the columns, one line a level, with intervals."""

from __future__ import annotations

from contend.metrics import THROUGHPUT, Metric
from contend.report.charts.frame import chart_title, colour, data_row, frame, lines, tooltip, x_axis
from contend.report.labels import slug
from contend.report.model import Chart, Layout, Panel


def value_chart(metric: Metric, panel: Panel, layout: Layout) -> Chart | None:
    table = panel.metric(metric.name)
    if table is None:
        return None
    values = [
        data_row(layout, column, row.label, estimate)
        for row in table.rows
        for column, estimate in enumerate(row.estimates)
        if estimate is not None
    ]
    whole = metric.name == THROUGHPUT
    what = metric.unit or metric.title
    y = {
        "type": "quantitative",
        "title": what,
        "scale": {"zero": True},
        "axis": {"format": ",d" if whole else ",~r", "tickCount": 5},
    }
    encoding = {"x": x_axis(layout), "color": colour(layout.levels, layout.rows_label)}
    details = tooltip(layout, layout.rows_label, what, ",.0f" if whole else ",.4~r")
    title = chart_title(metric.title, panel.title)
    return Chart(
        id=f"{slug(metric.name)}-{panel.slug}",
        kind=metric.title,
        label=panel.title,
        caption=f"{metric.heading}; bands are the intervals.",
        alt=f"{title}: {what} against {layout.columns_label or 'levels'}, one line a level of "
        f"{layout.rows_label}. The figures are in the table of the same name.",
        spec=frame(title, values, lines(layout, y, encoding, details)),
    )
