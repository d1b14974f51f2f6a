"""A differential flame graph: the callers, their times, and where the level takes more or less.

A box is a function, as called by the one below it. Its width is the CPU time of a query spent in it
and in its callees. It is the mean of both levels, so that functions of either level appear. Its
colour is the extra time of the level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from contend.sections.chart_style import PALETTE, Spec, frame
from contend.sections.model import Chart
from contend.sections.words import significant

WIDTH = 900
ROW = 17
_LEAST_SHARE = 0.004
"""Boxes that are narrower are left out: they are too small to read or point at."""

_LETTER = 6.2
"""Width of one."""

_LEAST_LETTERS = 3

MORE, LESS = "more", "less"


@dataclass(frozen=True, slots=True)
class StackTime:
    """Functions from the outermost to the innermost, and the CPU time per query spent in the last,
    of each level."""

    functions: tuple[str, ...]
    baseline_us: float
    level_us: float


@dataclass
class _Box:
    baseline_us: float = 0.0
    level_us: float = 0.0
    callees: dict[str, _Box] = field(default_factory=dict)

    @property
    def width_us(self) -> float:
        return (self.baseline_us + self.level_us) / 2

    def add(self, functions: Sequence[str], baseline_us: float, level_us: float) -> None:
        self.baseline_us += baseline_us
        self.level_us += level_us
        if functions:
            callee = self.callees.setdefault(functions[0], _Box())
            callee.add(functions[1:], baseline_us, level_us)


def flame_graph(stacks: Sequence[StackTime], names: tuple[str, str]) -> Chart:
    """Flame graph of the samples of a baseline and a level."""
    root = _Box()
    for one in stacks:
        root.add(one.functions, one.baseline_us, one.level_us)
    boxes = list(_boxes(root, 0.0, 0, root.width_us * _LEAST_SHARE, names, root.width_us))
    depth = max((int(box["top"]) for box in boxes), default=1)
    most = max((abs(float(box["more"])) for box in boxes), default=0.0) or 1.0
    place: Spec = {
        "x": {
            "field": "from",
            "type": "quantitative",
            "scale": {"domain": [0, root.width_us], "nice": False},
            "title": "µs of CPU per query, mean of both",
        },
        "x2": {"field": "to"},
        "y": {
            "field": "bottom",
            "type": "quantitative",
            "scale": {"domain": [0, depth], "nice": False},
            "axis": None,
        },
        "y2": {"field": "top"},
    }
    hue: Spec = {
        "field": "way",
        "type": "nominal",
        "scale": {"domain": [MORE, LESS], "range": [PALETTE[2], PALETTE[1]]},
        "legend": {"title": f"{names[1]} takes"},
    }
    shade: Spec = {
        "field": "size",
        "type": "quantitative",
        "scale": {"domain": [0, most], "range": [0.08, 0.75]},
        "legend": None,
    }
    described = {"description": {"field": "tooltip", "type": "nominal"}}
    drawn: Spec = {
        "mark": {"type": "rect", "aria": True, "strokeWidth": 0.5, "stroke": PALETTE[0]},
        "encoding": {**place, "fill": hue, "fillOpacity": shade, **described},
    }
    labels: Spec = {
        "transform": [{"filter": "datum.label != ''"}],
        "mark": {"type": "text", "align": "left", "dx": 3, "fontSize": 10.5, "baseline": "middle"},
        "encoding": {
            "x": place["x"],
            "y": {**place["y"], "field": "middle"},
            "text": {"field": "label", "type": "nominal"},
        },
    }
    return Chart(
        id="flame-graph",
        kind="Where the CPU time goes",
        label="flame graph",
        caption="The width of a box is its CPU time; it stands on its caller. Colour: the time "
        f"that {names[1]} takes more or less than {names[0]}.",
        alt="Flame graph of the server: functions by CPU time per query, coloured by the "
        f"difference of {names[1]} from {names[0]}. The largest are in the table of the same name.",
        spec=frame(
            f"CPU time by function: {names[1]} against {names[0]}",
            boxes,
            [drawn, labels],
            width=WIDTH,
            height=ROW * depth,
        ),
        is_broad=True,
    )


def _boxes(
    box: _Box, start: float, depth: int, least: float, names: tuple[str, str], whole: float
) -> Iterator[dict[str, str | float]]:
    for function, callee in sorted(box.callees.items()):
        if callee.width_us < least:
            continue
        end = start + callee.width_us
        more = callee.level_us - callee.baseline_us
        room = int(WIDTH * callee.width_us / whole / _LETTER) - 1
        yield {
            "from": start,
            "to": end,
            "bottom": depth,
            "middle": depth + 0.5,
            "top": depth + 1,
            "more": more,
            "size": abs(more),
            "way": MORE if more > 0 else LESS,
            "label": _cut(function, room),
            "tooltip": f"{function}: {significant(callee.baseline_us, 3)} µs with {names[0]}, "
            f"{significant(callee.level_us, 3)} µs with {names[1]}",
        }
        yield from _boxes(callee, start, depth + 1, least, names, whole)
        start = end


def _cut(name: str, room: int) -> str:
    if len(name) <= room:
        return name
    return f"{name[: room - 1]}…" if room >= _LEAST_LETTERS else ""
