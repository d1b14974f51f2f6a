"""Predictions of `contend predict`, next to the measured and the published gains: a sentence
for each machine, a picture with three curves, and what the band is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from contend.experiment import Level, Published
from contend.findings import Constant, Finding, ReportText, Study
from contend.predict.stored import StoredGain, StoredPrediction, as_json, read
from contend.sections.chart_style import Spec, chart_title, colour, frame
from contend.sections.model import Chart, Inputs, Section, Shown, TextTable
from contend.sections.panels import agrees, gain_at
from contend.sections.words import (
    gain_text,
    level_label,
    plain_gain,
    significant,
    verbatim_text,
)

SEGMENTS, POINTS, CONNECTIONS = (
    "server.options.key_cache_segments",
    "workload.points",
    "load.connections",
)
_TITLE = "What it would be on other machines"
_CHART = "Gain over the connections"

_PARTS_LISTED = 4
_PART_LEAST = 0.05


def _read(inputs: Inputs) -> tuple[StoredPrediction, ...] | None:
    return read(inputs.folder.path) or None


def _show(found: Sequence[StoredPrediction], inputs: Inputs) -> Shown:
    sentences = [ReportText.joined(" ", _sentences(one, inputs)) for one in found]
    tables = [table for one in found for table in (_table(one, inputs.study), _assumed(one))]
    charts = [chart for one in found for chart in _charts(one, inputs)]
    return Shown(
        _TITLE,
        sentences[0],
        tuple(tables),
        tuple(charts),
        more=tuple(map(str, (*sentences[1:], _DOUBT))),
        is_short=True,
        is_open=True,
    )


_DOUBT = (
    "A prediction is the model's answer for a described machine, not a measurement, and has no "
    "verdict. docs/guides/predict.md says what it knows, what it assumes, and when not to believe "
    "it."
)


def _sentences(one: StoredPrediction, inputs: Inputs) -> Iterator[ReportText]:
    """The prediction where most is gained, the published gain there, and the one measured here."""
    most = max(one.gains, key=lambda gain: gain.percent)
    predicted = ReportText(
        "or {} the model predicts {} % at {} connections{}.",
        _machine(one),
        verbatim_text(f"{plain_gain(most.low)} to {plain_gain(most.high)}"),
        Constant(most.connections),
        _theirs(_published_gain(one, inputs.study, most)),
    )
    here = _measured(inputs, most.points, most.segments)
    if here:
        best = max(here, key=lambda finding: finding.change.ratio)
        usual = inputs.study.experiment.base[CONNECTIONS]
        yield ReportText(
            "On this machine {} % at {} connections; f{}",
            *(gain_text(best.change), level_label(best.cell.get(CONNECTIONS, usual)), predicted),
        )
    else:
        yield ReportText("F{}", predicted)
    yield ReportText(
        "All is for {} points per query and {} segments; the range is a {} % band.",
        *(Constant(most.points), Constant(most.segments), Constant(round(one.band * 100))),
    )
    parts = [part for part in one.parts if part[1] >= _PART_LEAST][:_PARTS_LISTED]
    shares = [ReportText("{} ({} %)", verbatim_text(p), Constant(round(s * 100))) for p, s in parts]
    yield ReportText("The band is made of: {}.", ReportText.joined(", ", shares))
    yield ReportText(
        "Where it was fitted, the model is off by {} % (root mean square of {} gains).",
        Constant(round(one.off * 100, 1)),
        Constant(one.fitted),
    )


def _machine(one: StoredPrediction) -> ReportText:
    cpus = ReportText("{} CPUs", Constant(one.cpus))
    return cpus if one.name == str(cpus) else ReportText("{} ({})", verbatim_text(one.name), cpus)


def _theirs(percent: float | None) -> ReportText:
    if percent is None:
        return ReportText("")
    return ReportText("; {} % was published", verbatim_text(plain_gain(percent)))


def _measured(inputs: Inputs, points: int, segments: int) -> list[Finding]:
    """The gains of this run in the cells of these points and segments."""
    if inputs.first is None:
        return []
    return [
        one
        for one in inputs.first.compared.comparisons
        if one.cell[SEGMENTS] == segments
        and inputs.study.spec_of(one.cell)["workload"]["points"] == points
    ]


def _of_machine(one: StoredPrediction, study: Study) -> Published | None:
    return next((each for each in study.experiment.published if each.name == one.name), None)


def _published_gain(one: StoredPrediction, study: Study, gain: StoredGain) -> float | None:
    """Percent that was published of this machine and cell."""
    published = _of_machine(one, study)
    if published is None or published.columns_path != CONNECTIONS:
        return None
    cell: dict[str, Level] = {POINTS: gain.points, SEGMENTS: gain.segments}
    rows = (row for row in published.rows if row.gain_percent and agrees(row.cell, cell))
    found = (gain_at(published.columns, row.gain_percent, gain.connections) for row in rows)
    return next(found, None)


def _table(one: StoredPrediction, study: Study) -> TextTable:
    connections = sorted({gain.connections for gain in one.gains})
    rows: list[tuple[str, ...]] = []
    quiet = []
    for points, segments in sorted({(gain.points, gain.segments) for gain in one.gains}):
        of_it = {
            gain.connections: gain
            for gain in one.gains
            if (gain.points, gain.segments) == (points, segments)
        }
        texts = [f"{plain_gain(of_it[c].low)} to {plain_gain(of_it[c].high)}" for c in connections]
        rows.append((f"{points} points, {segments} segments", *texts))
        theirs = [_published_gain(one, study, of_it[c]) for c in connections]
        if any(value is not None for value in theirs):
            quiet.append(len(rows))
            shown = (plain_gain(value) if value is not None else "" for value in theirs)
            rows.append(("published", *shown))
    return TextTable(
        f"{one.name}: predicted gain over no segments, percent, {one.band * 100:g} % band of "
        f"{one.draws} draws",
        ("by connections", *map(str, connections)),
        tuple(rows),
        frozenset(quiet),
    )


def _assumed(one: StoredPrediction) -> TextTable:
    rows = [
        (words, *(significant(number, 3) for number in (value, low, high)), source)
        for words, value, low, high, source in one.assumed
    ]
    return TextTable(
        f"{one.name}: assumptions with their ranges",
        ("cost", "usual", "from", "to", "source"),
        tuple(rows),
    )


_SOURCES = ("measured here", "predicted", "published")


def _charts(one: StoredPrediction, inputs: Inputs) -> Iterator[Chart]:
    """A picture for each number of points and segments."""
    for points, segments in sorted({(gain.points, gain.segments) for gain in one.gains}):
        gains = [gain for gain in one.gains if (gain.points, gain.segments) == (points, segments)]
        values = list(_values(one, inputs, gains, _measured(inputs, points, segments)))
        label = f"{one.name}, {points} points, {segments} segments"
        connections = sorted({gain.connections for gain in gains})
        yield Chart(
            id=f"prediction-{one.name}-{points}-{segments}".replace(" ", "-").replace(".", "-"),
            kind=_CHART,
            label=label,
            caption="Lines: the gain measured here with its intervals, the prediction with its "
            "band, and the published gain.",
            alt=f"{chart_title(_CHART, label)}: measured here, predicted and published. The table "
            "of this section has the figures.",
            spec=frame(chart_title(_CHART, label), values, _layers(connections)),
        )


def _values(
    one: StoredPrediction, inputs: Inputs, gains: Sequence[StoredGain], here: Sequence[Finding]
) -> Iterator[Spec]:
    for finding in here:
        change = finding.change
        ends = {
            name: (end - 1) * 100
            for name, end in (("low", change.low), ("high", change.high))
            if 0 < end < _DRAWN_MOST
        }
        x = finding.cell.get(CONNECTIONS)
        yield _value(x, _SOURCES[0], (change.ratio - 1) * 100, **ends)
    for gain in gains:
        yield _value(gain.connections, _SOURCES[1], gain.percent, low=gain.low, high=gain.high)
        theirs = _published_gain(one, inputs.study, gain)
        if theirs is not None:
            yield _value(gain.connections, _SOURCES[2], theirs)


_DRAWN_MOST = 5.0
"""A gain whose interval reaches this ratio would flatten the others."""


def _value(x: Level | None, source: str, percent: float, **ends: float) -> Spec:
    interval = f" ({ends['low']:+.0f} to {ends['high']:+.0f})" if len(ends) == 2 else ""
    tooltip = f"{source}; connections: {x}; gain: {percent:+.0f} %{interval}"
    return {"x": x, "level": source, "value": percent, **ends, "tooltip": tooltip}


def _layers(connections: Sequence[int]) -> list[Spec]:
    x = {
        "field": "x",
        "type": "quantitative",
        "scale": {"type": "log", "base": 2, "nice": False},
        "axis": {"values": list(connections), "format": "d", "tickCount": 20},
        "title": "connections",
    }
    y: Spec = {"type": "quantitative", "title": "gain over no segments, %"}
    encoding: Spec = {"x": x, "color": colour(_SOURCES, "")}
    value = {**encoding, "y": {**y, "field": "value"}}
    interval = {**encoding, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    of = {name: {"transform": [{"filter": f"datum.level == '{name}'"}]} for name in _SOURCES[:2]}
    dot = {"type": "point", "filled": True, "size": 44, "opacity": 1}
    target = {"type": "point", "filled": True, "size": 260, "opacity": 0, "aria": True}
    return [
        {**of["predicted"], "mark": {"type": "area", "opacity": 0.16}, "encoding": interval},
        {**of["measured here"], "mark": {"type": "rule"}, "encoding": interval},
        {"mark": {"type": "line", "strokeWidth": 2}, "encoding": value},
        {"mark": dot, "encoding": {**value, "shape": {**encoding["color"], "type": "nominal"}}},
        {
            "mark": target,
            "encoding": {**value, "description": {"field": "tooltip", "type": "nominal"}},
        },
    ]


def _json(found: Sequence[StoredPrediction], _inputs: Inputs) -> list[dict[str, Any]]:
    return [as_json(one) for one in found]


SECTION = Section("prediction", _TITLE, _read, _show, _json)
