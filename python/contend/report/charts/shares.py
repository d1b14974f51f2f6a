"""Bars in order of size with a line where all would be if they were equal."""

from __future__ import annotations

from collections.abc import Sequence

from contend.report.charts.frame import HEIGHT, VEGA_LITE, WIDTH, Spec, chart_title
from contend.report.model import Chart


def shares_chart(
    chart_id: str,
    kind: str,
    label: str,
    shares: Sequence[tuple[str, float]],
    *,
    noun: str,
    caption: str,
) -> Chart:
    """`shares` are names with their share of the whole, 0 to 1."""
    ordered = sorted(shares, key=lambda share: -share[1])
    values = [
        {"rank": rank, "name": name, "percent": share * 100}
        for rank, (name, share) in enumerate(ordered, 1)
    ]
    title = chart_title(kind, label)
    even = 100 / len(ordered)
    bars: Spec = {
        "mark": {"type": "bar", "tooltip": True},
        "encoding": {
            "x": {
                "field": "rank",
                "type": "ordinal",
                "title": f"{noun}s, the most visited first",
                "axis": {"values": _ticks(len(ordered)), "labelAngle": 0},
            },
            "y": {"field": "percent", "type": "quantitative", "title": "share of visits, %"},
            "tooltip": [
                {"field": "name", "type": "nominal", "title": noun},
                {"field": "percent", "type": "quantitative", "title": "share, %", "format": ".3~g"},
            ],
        },
    }
    line: Spec = {
        "mark": {"type": "rule", "strokeDash": [4, 3]},
        "encoding": {"y": {"datum": even, "type": "quantitative"}},
    }
    return Chart(
        id=chart_id,
        kind=kind,
        label=label,
        caption=caption,
        alt=f"{title}: the most visited {noun} has {ordered[0][1] * 100:.0f} % of all visits, an "
        f"even share would be {even:.1f} %.",
        spec={
            "$schema": VEGA_LITE,
            "title": title,
            "width": WIDTH,
            "height": HEIGHT * 2 // 3,
            "data": {"values": values},
            "layer": [bars, line],
        },
    )


def _ticks(count: int) -> list[int]:
    """The first, and about four more, evenly spaced."""
    step = max(1, round(count / 4))
    return [1, *range(step, count + 1, step)] if step > 1 else list(range(1, count + 1))
