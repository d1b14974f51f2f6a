"""The time of a query as pictures: one bar per cell, a waterfall from the baseline to a level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contend.sections.budget_parts import (
    BLOCKED,
    CLIENT,
    FOR_CPU,
    OUTSIDE,
    PARTS,
    REMAINDER,
    RESPONSE,
    SLOW_INSIDE,
    SLOW_PARTS,
    STOLEN,
    SYSTEM,
    TO_BE_SENT,
    USER,
    WIRE,
    Budget,
)
from contend.sections.chart_style import PALETTE, WIDTH, Spec, chart_title, frame, step_bars
from contend.sections.looks import context_of, head_of
from contend.sections.model import Chart
from contend.sections.words import cell_phrase, estimate_text, slug
from contend.stats import Estimate, finite

_LOOKS: Mapping[str, tuple[str, float]] = {
    TO_BE_SENT: (PALETTE[5], 0.5),
    CLIENT: (PALETTE[1], 1.0),
    WIRE: (PALETTE[1], 0.45),
    OUTSIDE: (PALETTE[1], 0.7),
    SLOW_INSIDE: (PALETTE[3], 0.75),
    USER: (PALETTE[3], 1.0),
    SYSTEM: (PALETTE[3], 0.5),
    FOR_CPU: (PALETTE[2], 1.0),
    BLOCKED["futex"]: (PALETTE[4], 1.0),
    BLOCKED["disk"]: (PALETTE[5], 1.0),
    BLOCKED["socket"]: (PALETTE[4], 0.6),
    BLOCKED["page_fault"]: (PALETTE[4], 0.4),
    BLOCKED["other"]: (PALETTE[4], 0.2),
    STOLEN: (PALETTE[0], 1.0),
    REMAINDER: (PALETTE[0], 0.35),
}
"""Colour and strength of each part: the colour shows who uses the time, the strength how."""

_BAR, _STEP = 34, 20
"""Heights of a bar and of a step of a waterfall."""

_FALL_WIDTH = WIDTH - 140
"""Width of a waterfall, without the names of the parts."""

_REST = "unknown rest"
_LESS, _MORE, _WHOLE = PALETTE[3], PALETTE[2], PALETTE[0]


def parts_of(group: Sequence[Budget]) -> list[str]:
    """The parts known for any cell, without places where no thread waited."""
    known = {name: [one.parts[name].mean for one in group if name in one.parts] for name in PARTS}
    return [name for name, means in known.items() if means and (any(means) or name not in _PLACES)]


_PLACES = frozenset(BLOCKED.values())


Bars = Sequence[tuple[str, Estimate, Mapping[str, Estimate]]]
"""The name of each bar, the whole, and its parts."""


def bars_chart(group: Sequence[Budget], compared: str | None) -> Chart:
    """A bar for each of the cells side by side."""
    bars = [(head_of(one, compared), one.response_us, one.parts) for one in group]
    return _bars(
        "Where the time of a query goes",
        "Mean microseconds per event, by part. A negative remainder is not drawn: the parts then "
        "exceed the response time.",
        str(cell_phrase(context_of(group[0], compared))),
        bars,
        parts_of(group),
        compared,
    )


def slow_chart(group: Sequence[Budget], compared: str | None) -> Chart | None:
    """The same for the slowest hundredth of events; None if unknown."""
    known = [(head_of(one, compared), one.slow) for one in group if one.slow is not None]
    if not known:
        return None
    return _bars(
        "The slowest hundredth of events",
        "Mean microseconds of an event slower than 99 of 100, from samples of its thread alone: "
        "the scheduler's counts do not describe single events.",
        str(cell_phrase(context_of(group[0], compared))),
        [(head, slow.response_us, slow.parts) for head, slow in known],
        [name for name in SLOW_PARTS if any(name in slow.parts for _, slow in known)],
        compared,
    )


def _bars(
    kind: str, caption: str, place: str, bars: Bars, names: Sequence[str], compared: str | None
) -> Chart:
    rows = _row_title(compared)
    values = [
        {
            "cell": head,
            "part": name,
            "order": order,
            "us": max(0.0, part.mean),
            "tooltip": f"{rows}: {head}; {name}, us: {estimate_text(part)}; of the response time: "
            f"{_share(part, whole):.1%}",
        }
        for head, whole, parts in bars
        for order, name in enumerate(names)
        if (part := parts.get(name)) is not None
    ]
    hue: Spec = {"field": "part", "type": "nominal", "title": None, "legend": {"columns": 2}}
    scale: Spec = {"type": "ordinal", "domain": names}
    drawn: Spec = {
        "mark": {"type": "bar", "aria": True},
        "encoding": {
            "x": {
                "field": "us",
                "type": "quantitative",
                "stack": "zero",
                "title": "us per event",
            },
            "y": {
                "field": "cell",
                "type": "nominal",
                "sort": [head for head, _, _ in bars],
                "title": rows,
            },
            "order": {"field": "order", "type": "ordinal"},
            "fill": {**hue, "scale": {**scale, "range": [_LOOKS[name][0] for name in names]}},
            "opacity": {**hue, "scale": {**scale, "range": [_LOOKS[name][1] for name in names]}},
            "description": {"field": "tooltip", "type": "nominal"},
        },
    }
    title = chart_title(kind, place)
    return Chart(
        id=slug(f"budget {kind} {place}"),
        kind=kind,
        label=place,
        caption=caption,
        alt=f"{title}: one bar per {rows}, divided into parts. The figures are in the table.",
        spec=frame(title, values, [drawn], height=_BAR * len(bars)),
    )


def _share(part: Estimate, whole: Estimate) -> float:
    return part.mean / whole.mean if whole.mean > 0 else 0.0


def _row_title(compared: str | None) -> str:
    return "cell" if compared is None else compared.rsplit(".", 1)[-1]


def waterfalls(group: Sequence[Budget], compared: str | None) -> list[Chart]:
    """From the baseline's response time to that of each other level, part by part."""
    base = next((one for one in group if not one.changes), None)
    if base is None:
        return []
    return [_waterfall(base, one, group, compared) for one in group if one.changes]


def _waterfall(base: Budget, one: Budget, group: Sequence[Budget], compared: str | None) -> Chart:
    before, after = head_of(base, compared), head_of(one, compared)
    place = str(cell_phrase(context_of(one, compared)))
    first, last = f"response time, {before}", f"response time, {after}"
    start = base.response_us.mean
    at = start
    values = [_step(first, 0.0, start, _WHOLE, base.response_us)]
    for name in (name for name in parts_of(group) if name in one.changes):
        change = one.changes[name]
        values.append(_step(name, at, at + change.mean, _colour(change), change, signed=True))
        at += change.mean
    end = start + one.changes[RESPONSE].mean
    if REMAINDER not in one.changes:
        rest = end - at
        values.append(
            {
                "step": _REST,
                "from": at,
                "to": end,
                "low": None,
                "high": None,
                "colour": _WHOLE,
                "tooltip": f"{_REST}, us: {rest:+.1f}",
            }
        )
    values.append(_step(last, 0.0, end, _WHOLE, one.response_us))
    label = f"{place}, {after}" if place else after
    title = chart_title(f"From {before} to {after}", place)
    drawn = step_bars(
        "us per event",
        {"x": {"field": "from"}, "x2": {"field": "to"}},
        (_WHOLE, _LESS, _MORE),
    )
    return Chart(
        id=slug(f"budget {label} less {before}"),
        kind="From the baseline to a level",
        label=label,
        caption="Mean microseconds per event. Green: the level takes less; orange: it takes more. "
        "Thin lines are the intervals of the differences between neighbours.",
        alt=f"{title}: {start:.0f} us become {end:.0f} us, part by part. The figures are in the "
        "last column of the table.",
        spec=frame(title, values, drawn, width=_FALL_WIDTH, height=_STEP * len(values)),
    )


def _colour(change: Estimate) -> str:
    return _LESS if change.mean < 0 else _MORE


def _step(
    name: str, start: float, end: float, hue: str, value: Estimate, *, signed: bool = False
) -> Spec:
    """One bar of a waterfall, with the interval of its value at its end."""
    text = str(estimate_text(value))
    sign = "+" if signed and not text.startswith("-") else ""
    return {
        "step": name,
        "from": start,
        "to": end,
        "low": finite(end + value.low - value.mean),
        "high": finite(end + value.high - value.mean),
        "colour": hue,
        "tooltip": f"{name}, us: {sign}{text}; n: {value.n}",
    }
