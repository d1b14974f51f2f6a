"""Charts as plain Vega-Lite specifications: one definition for the page and for the files."""

from __future__ import annotations

from contend.report.charts.gain import gain_chart
from contend.report.charts.latency import latency_chart
from contend.report.charts.throughput import throughput_chart
from contend.report.model import Chart, Layout, Panel


def panel_charts(panels: tuple[Panel, ...], layout: Layout, arrival: str) -> tuple[Chart, ...]:
    """Every chart of every panel, kind by kind."""
    found = [
        *(throughput_chart(panel, layout) for panel in panels),
        *(gain_chart(panel, layout) for panel in panels),
        *(latency_chart(panel, layout, arrival) for panel in panels),
    ]
    return tuple(chart for chart in found if chart is not None)
