"""Where a server gains no more from more connections: knee and peak of each sweep over connections,
by the universal scalability law. Or that the law does not fit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from contend.experiment import Level, Roles, same_level
from contend.findings import Constant, ReportText, Study
from contend.findings.changes import log_mean
from contend.metrics import FIXED, THROUGHPUT
from contend.sections.chart_style import Spec, chart_title, colour, data_row, frame, lines, x_axis
from contend.sections.model import (
    Chart,
    Inputs,
    Layout,
    MetricTable,
    Panel,
    Section,
    Shown,
    TextTable,
)
from contend.sections.words import (
    UNKNOWN,
    cell_phrase,
    estimate_text,
    level_label,
    level_phrase,
    measured_range_text,
)
from contend.stats import FIT_COLUMNS_MIN, FIT_UNITS_MIN, Estimate, UslFit, finite, fit_usl
from contend.store import RunRecord

CONNECTIONS = "load.connections"


@dataclass(frozen=True, slots=True)
class Sweep:
    """One level in one table, measured at several numbers of connections.

    context: the levels of its table. level: the row; None if nothing varies there.
    connections: those that were measured, rising. repeats: those that have all of them.
    fit: None if they are too few: below `FIT_COLUMNS_MIN` numbers, or
        below `FIT_UNITS_MIN` repeats.
    """

    context: Mapping[str, Level]
    level: Level | None
    connections: tuple[int, ...]
    repeats: int
    fit: UslFit | None


def sweeps_of(study: Study) -> tuple[Sweep, ...]:
    """Every sweep over connections; none if the columns are something else. Also none if events
    begin by the clock, because the throughput is then the requested one."""
    columns = study.roles.columns
    if columns is None or columns.path != CONNECTIONS or len(columns.levels) < 2:
        return ()
    if any("closed" not in _arrival(run) for run in study.measured):
        return ()
    contexts, levels = study.roles.table_contexts(), study.roles.levels
    found = (_sweep(study, *place) for place in itertools.product(contexts, levels))
    return tuple(one for one in found if len(one.connections) > 1)


def _arrival(run: RunRecord) -> str:
    arrival: str | None = run.done.get("arrival") if run.done else None
    return arrival or "closed-loop"


def _sweep(study: Study, context: Mapping[str, Level], level: Level | None) -> Sweep:
    """The sweep over the measured numbers of connections, from the repeats that have all."""
    roles = study.roles
    counts, figures = [], []
    for count in sorted(int(one) for one in roles.column_levels if one is not None):
        runs = study.repeats_of(roles.cell(context, count, level))
        means = [log_mean(FIXED[THROUGHPUT], runs.get(repeat, ())) for repeat in study.repeats]
        if any(map(math.isfinite, means)):
            counts.append(count)
            figures.append(means)
    log_qps = np.array(figures).reshape(len(counts), len(study.repeats)).T
    whole = log_qps[np.isfinite(log_qps).all(axis=1)]
    enough = len(counts) >= FIT_COLUMNS_MIN and len(whole) >= FIT_UNITS_MIN
    fit = fit_usl(counts, whole, study.experiment.compare.confidence) if enough else None
    return Sweep(context, level, tuple(counts), len(whole), fit)


_TITLE = "How it scales with the connections"
Fitted = Sequence[tuple[Sweep, UslFit]]


def _show(sweeps: Sequence[Sweep], inputs: Inputs) -> Shown | None:
    """None if no sweep has a curve: its figures are in the tables."""
    study = inputs.study
    fitted = [(one, one.fit) for one in sweeps if one.fit is not None]
    if not fitted:
        return None
    return Shown(
        _TITLE,
        _lead(study, sweeps, fitted),
        (_table(study, fitted),),
        scaling_charts(study.roles, sweeps, inputs.layout, inputs.panels),
    )


_LISTED = 4
"""Maximum number of sweeps with a sentence each. With more: the first and the last by knee."""


def _lead(study: Study, sweeps: Sequence[Sweep], fitted: Fitted) -> ReportText:
    if len(sweeps) <= _LISTED or not fitted:
        # A sentence that is the same for several is printed once.
        return ReportText.joined(" ", dict.fromkeys(_sentence(study, one) for one in sweeps))
    fitting = [(one, fit) for one, fit in fitted if fit.fits]
    template = "The universal scalability law fits {} of {} sweeps; the table lists each."
    parts = [ReportText(template, Constant(len(fitting)), Constant(len(sweeps)))]
    if fitting:
        by_knee = sorted(fitting, key=lambda one: one[1].knee.mean)
        parts += [_sentence(study, by_knee[at][0]) for at in (0, -1)]
    return ReportText.joined(" ", dict.fromkeys(parts))


def _sentence(study: Study, sweep: Sweep) -> ReportText:
    fit = sweep.fit
    if fit is None:
        return _too_few(sweep)
    place = cell_phrase(_cell(study, sweep))
    begin = ReportText("With {}, the", place) if place else ReportText("The")
    if not fit.fits:
        return ReportText("{} {}", begin, _misfit(sweep, fit))
    last = sweep.connections[-1]
    knee, peak = _turn("knee", fit.knee, last, " connections"), _turn("peak", fit.peak, last)
    return ReportText("{} throughput has {}, and {}.", begin, knee, peak)


def _too_few(sweep: Sweep) -> ReportText:
    if len(sweep.connections) < FIT_COLUMNS_MIN:
        return ReportText(
            "{} numbers of connections are too few to fit a curve with a knee and a peak; {} are "
            "needed.",
            Constant(len(sweep.connections)),
            Constant(FIT_COLUMNS_MIN),
        )
    return ReportText(
        "Knee and peak need {} repeats that have all numbers of connections.",
        Constant(FIT_UNITS_MIN),
    )


def _misfit(sweep: Sweep, fit: UslFit) -> ReportText:
    off = _percent_off(fit)
    return ReportText(
        "universal scalability law does not fit: at {} the throughput was {} % {} the nearest "
        "curve, so no knee or peak is derived. The highest measured throughput was at {}.",
        level_phrase(CONNECTIONS, sweep.connections[fit.farthest]),
        estimate_text(replace(off, mean=abs(off.mean))),
        "above" if off.mean > 0 else "below",
        _measured_most(sweep, fit),
    )


def _percent_off(fit: UslFit) -> Estimate:
    off = fit.off[fit.farthest]
    mean, low, high = ((one - 1) * 100 for one in (off.mean, off.low, off.high))
    return replace(off, mean=mean, low=low, high=high)


def _measured_most(sweep: Sweep, fit: UslFit) -> ReportText:
    """`8 connections`, or all those that are not certainly below the highest."""
    *others, last = (sweep.connections[at] for at in fit.top)
    if not others:
        return level_phrase(CONNECTIONS, last)
    before = ReportText.joined(", ", map(level_label, others))
    return ReportText("{} or {}", before, level_phrase(CONNECTIONS, last))


def _turn(name: str, figure: Estimate, last: int, unit: str = "") -> ReportText:
    """A knee or a peak. If only a part of its interval was measured, there may be none up to the
    last number of connections."""
    up_to = level_phrase(CONNECTIONS, last)
    if figure.low > last:
        return ReportText("no {} up to {}", name, up_to)
    if figure.mean > last:
        least = level_label(int(figure.low))
        return ReportText("no certain {} up to {} (none below {})", name, up_to, least)
    return ReportText("its {} at {}{}", name, measured_range_text(figure, last), unit)


def _cell(study: Study, sweep: Sweep) -> Mapping[str, Level]:
    return study.roles.cell(sweep.context, None, sweep.level)


def _table(study: Study, fitted: Fitted) -> TextTable:
    confidence = fitted[0][1].knee.confidence * 100
    return TextTable(
        caption="The universal scalability law of each sweep: σ is contention, κ coherency "
        f"({confidence:g} % intervals in brackets and after ±, each by itself)",
        columns=("sweep", "knee", "peak", "σ", "κ", "largest deviation", "fits"),
        rows=tuple(_row(study, *one) for one in fitted),
    )


def _row(study: Study, sweep: Sweep, fit: UslFit) -> tuple[str, ...]:
    last, at = sweep.connections[-1], sweep.connections[fit.farthest]
    return (
        cell_phrase(_cell(study, sweep)) or "all",
        measured_range_text(fit.knee, last),
        measured_range_text(fit.peak, last),
        estimate_text(fit.contention),
        _small(fit.coherency),
        f"{estimate_text(_percent_off(fit))} % at {at}",
        "yes" if fit.fits else "no",
    )


def _small(figure: Estimate) -> str:
    """A number of the order of a thousandth, or of a millionth."""
    half = (figure.high - figure.low) / 2
    return f"{figure.mean:.2g} ±{half:.1g}" if math.isfinite(half) else UNKNOWN


def _sweep_json(sweep: Sweep) -> dict[str, Any]:
    """One sweep as plain numbers; null is not known, or infinite. `fits` is null if there is no
    curve, for there were too few numbers of connections or repeats."""
    fit = sweep.fit
    place = {"factors": dict(sweep.context), "level": sweep.level}
    document = {**place, "connections": list(sweep.connections), "n": sweep.repeats}
    if fit is None:
        return {**document, "fits": None}
    figures = {
        "qps_at_one": fit.rate,
        "contention": fit.contention,
        "coherency": fit.coherency,
        "knee": fit.knee,
        "peak": fit.peak,
        "qps_at_peak": fit.most,
    }
    return {
        **document,
        "fits": fit.fits,
        **{name: _interval(one) for name, one in figures.items()},
        "off": [_interval(one) for one in fit.off],
        "measured_most_at": [sweep.connections[at] for at in fit.top],
    }


def _interval(one: Estimate) -> dict[str, Any]:
    ends = {"value": one.mean, "low": one.low, "high": one.high}
    return {name: finite(end) for name, end in ends.items()} | {"confidence": one.confidence}


_POINTS = 80
"""Points of a drawn curve."""

_CHART = "Throughput with the fitted curve"


def scaling_charts(
    roles: Roles, sweeps: Sequence[Sweep], layout: Layout, panels: Sequence[Panel]
) -> tuple[Chart, ...]:
    """One a panel in which a curve was fitted."""
    found = []
    for panel in panels:
        table = panel.metric(THROUGHPUT)
        of_panel = [one for one in sweeps if one.context == panel.context and one.fit]
        if table is not None and of_panel:
            found.append(_chart(roles, of_panel, layout, panel, table))
    return tuple(found)


def _chart(
    roles: Roles, sweeps: Sequence[Sweep], layout: Layout, panel: Panel, table: MetricTable
) -> Chart:
    values: list[Spec] = [
        {**data_row(layout, column, row.label, estimate, "q/s"), "source": "measured"}
        for row in table.rows
        for column, estimate in enumerate(row.estimates)
        if estimate is not None
    ]
    for label, level in zip(layout.levels, roles.levels, strict=True):
        for sweep in sweeps:
            if sweep.fit is not None and same_level(sweep.level, level):
                values += _drawn(label, sweep.connections[-1], sweep.connections[0], sweep.fit)
    y: Spec = {
        "type": "quantitative",
        "title": "q/s",
        "scale": {"zero": True},
        "axis": {"format": ",d", "tickCount": 5},
    }
    encoding = {"x": x_axis(layout), "color": colour(layout.levels, layout.rows_label)}
    value = {**encoding, "y": {**y, "field": "value"}}
    # The curve takes the place of the line and band of other charts.
    between = ("line", "area")
    points = [one for one in lines(layout, y, encoding) if one["mark"]["type"] not in between]
    layers = [_only("measured") | one for one in points]
    layers += [
        _only("curve") | {"mark": {"type": "line", "strokeWidth": 2}, "encoding": value},
        _only("no fit")
        | {"mark": {"type": "line", "strokeWidth": 1.3, "strokeDash": [6, 3]}, "encoding": value},
        _only("peak")
        | {
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {**value, "x": {**encoding["x"], "field": "low_x"}, "x2": _field("high_x")},
        },
        _only("peak") | {"mark": _mark("triangle-down"), "encoding": value},
        _only("knee") | {"mark": _mark("diamond"), "encoding": value},
    ]
    title = chart_title(_CHART, panel.title)
    return Chart(
        id=f"scaling-{panel.slug}",
        kind=_CHART,
        label=panel.title,
        caption="Points: measured, with intervals. Lines: the universal scalability law, dashed "
        "where it does not fit. Diamond: the knee. Triangle with a bar: the peak with its "
        "interval.",
        alt=f"{title}, against connections, one line per level of "
        f"{layout.rows_label or 'the sweep'}. Knee and peak are in the table of this section.",
        spec=frame(title, values, layers),
    )


def _drawn(label: str, last: int, first: int, fit: UslFit) -> Iterator[Spec]:
    """The curve; if it fits, also its knee and its peak if they are within the measured range."""
    source = "curve" if fit.fits else "no fit"
    for x in np.geomspace(first, last, _POINTS):
        yield {"x": float(x), "level": label, "value": fit.curve.at(float(x)), "source": source}
    for name, one in (("knee", fit.knee), ("peak", fit.peak)):
        if fit.fits and first <= one.mean <= last:
            ends = {"low_x": max(one.low, first), "high_x": min(one.high, last)}
            value = fit.curve.at(one.mean)
            yield {"x": one.mean, "level": label, "value": value, "source": name, **ends}


def _only(source: str) -> Spec:
    return {"transform": [{"filter": f"datum.source == '{source}'"}]}


def _mark(shape: str) -> Spec:
    return {"type": "point", "filled": True, "size": 110, "opacity": 1, "shape": shape}


def _field(name: str) -> Spec:
    return {"field": name}


SECTION = Section(
    "scaling",
    _TITLE,
    lambda inputs: sweeps_of(inputs.study) or None,
    _show,
    lambda sweeps, _inputs: list(map(_sweep_json, sweeps)),
)
