"""Warm-up curves: how fast a server answers after each way to warm it, and the number of queries
answered since its start, the warming counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from contend.experiment import Level
from contend.sections.chart_style import Spec, chart_title, frame
from contend.sections.model import Chart
from contend.sections.words import slug
from contend.store import RunRecord

Runs = Mapping[Level, RunRecord]
"""The first run of each way."""

Name = Callable[[Level], str]


def curves(place: str, name: Name, runs: Runs) -> list[Chart]:
    """Curves of the first run of each way, because second by second runs differ."""
    first = {name(level): own for level, own in runs.items()}
    found = [
        _chart(
            "Warm-up curve",
            place,
            caption="Median response time of each interval, in the first run of each way.",
            alt="median response time in µs against seconds since the queries began.",
            x="seconds since the queries began",
            y={"title": "response time, p50, µs", "scale": {"type": "log"}},
            values=[
                {"s": round(one["start_s"], 3), "y": one["latency_us"]["p50"], "way": way}
                for way, run in first.items()
                for one in run.intervals
                if one["queries"]
            ],
        ),
        _chart(
            "Queries answered, warming included",
            place,
            caption="Queries answered since the server was started, in the first run of each way. "
            "A line begins when its warming ends; the warming has paid off once it is above the "
            "cold one.",
            alt="queries answered against seconds since the server was started.",
            x="seconds since the server was started",
            y={"title": "queries answered"},
            values=[value for way, run in first.items() for value in _answered(way, run)],
        ),
    ]
    return [chart for chart in found if chart is not None]


def _answered(way: str, run: RunRecord) -> Iterable[dict[str, Any]]:
    warming_s = (run.probes.get("warming") or {}).get("seconds")
    if warming_s is None:
        return
    answered = 0
    yield {"s": round(warming_s, 3), "y": 0, "way": way}
    for one in run.intervals:
        answered += one["queries"]
        end_s = warming_s + one["start_s"] + one["duration_s"]
        yield {"s": round(end_s, 3), "y": answered, "way": way}


def _chart(
    kind: str,
    place: str,
    *,
    caption: str,
    alt: str,
    x: str,
    y: Mapping[str, Any],
    values: Sequence[Spec],
) -> Chart | None:
    if not values:
        return None
    drawn: Spec = {
        "mark": {"type": "line", "point": {"size": 12}, "tooltip": True},
        "encoding": {
            "x": {"field": "s", "type": "quantitative", "title": x},
            "y": {"field": "y", "type": "quantitative", **y},
            "color": {"field": "way", "type": "nominal", "title": "warmed"},
        },
    }
    title = chart_title(kind, place)
    return Chart(
        id=slug(f"{kind} {place}"),
        kind=kind,
        label=place,
        caption=caption,
        alt=f"{title}: {alt}",
        spec=frame(title, values, [drawn]),
    )
