"""Charts as plain Vega-Lite specifications: one definition for the page and for the files."""

from __future__ import annotations

from collections.abc import Sequence

from contend.metrics import PERCENTILES, Metric
from contend.report.charts.gain import change_chart
from contend.report.charts.latency import response_chart
from contend.report.charts.value import value_chart
from contend.report.model import Chart, Layout, Panel


def panel_charts(
    metrics: Sequence[Metric], panels: Sequence[Panel], layout: Layout, arrival: str
) -> tuple[Chart, ...]:
    """Every chart of every panel, kind by kind: what is compared, its changes, response times."""
    response = {f"response_us_{percentile}" for percentile in PERCENTILES}
    curves = [metric for metric in metrics if metric.name not in response]
    found = [
        *(value_chart(metric, panel, layout) for metric in curves for panel in panels),
        *(change_chart(at, panel, layout) for at in range(len(metrics)) for panel in panels),
        *(response_chart(panel, layout, arrival) for panel in panels),
    ]
    return tuple(chart for chart in found if chart is not None)
