"""The steps of a ladder as a picture: the gain of each over the one before it, and the total."""

from __future__ import annotations

from collections.abc import Sequence

from contend.sections.chart_style import PALETTE, WIDTH, chart_title, frame, step_bars
from contend.sections.model import Chart
from contend.sections.words import slug
from contend.stats import Estimate, finite

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
