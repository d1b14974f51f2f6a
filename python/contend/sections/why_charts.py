"""Charts of causes: the steps of a ladder, and how a server gets warm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from contend.experiment import Level
from contend.sections.chart_style import PALETTE, WIDTH, Spec, chart_title, frame, step_bars
from contend.sections.model import Chart
from contend.sections.words import slug
from contend.stats import Estimate, finite
from contend.store import RunRecord

Bar = tuple[str, Estimate, str]
"""The name of a step, its gain as a share, and the same in words."""

_STEP = 24
"""Height of a bar."""

_NAMES = 220
"""Width of the names of the steps."""

_WIDER = 45
"""Room for names in a font that is wider than the one they were measured in."""

_MORE, _LESS, _WHOLE = PALETTE[3], PALETTE[2], PALETTE[0]


def steps_chart(metric: str, place: str, steps: Sequence[Bar], whole: Bar | None) -> Chart:
    """One bar per step with its interval, the whole last.

    Args:
        metric: the metric of these gains.
        place: the cells that they are for.
    """
    bars = [*steps, *([whole] if whole is not None else [])]
    values = [
        {
            "step": name,
            "gain": 100 * one.mean,
            "low": None if (low := finite(one.low)) is None else 100 * low,
            "high": None if (high := finite(one.high)) is None else 100 * high,
            "colour": _WHOLE if bar is whole else _MORE if one.mean >= 0 else _LESS,
            "tooltip": f"{name}, %: {gain}; n: {one.n}",
        }
        for bar in bars
        for name, one, gain in [bar]
    ]
    kind = f"{metric}: gain of each step"
    title = chart_title(kind, place)
    drawn = step_bars(
        "gain over the step before, %",
        {"x": {"field": "gain"}},
        (_WHOLE, _LESS, _MORE),
        names=_NAMES,
    )
    return Chart(
        id=slug(f"steps {metric} {place}"),
        kind=kind,
        label=place,
        caption="In percent; thin lines are the intervals. The last bar is the gain of all "
        "steps together.",
        alt=f"{title}: a bar for each step. The figures are in the table.",
        spec={
            **frame(title, values, drawn, width=WIDTH - 190, height=_STEP * len(values)),
            "padding": {"left": _WIDER, "right": 5, "top": 5, "bottom": 5},
        },
    )


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
