"""How a figure grows along the columns, in tables and charts: each column as a multiple of the
first.

This can be compared with a published sweep of another machine, whose seconds cannot. If a sweep
compares nothing, this is its only result: the load from which on throughput stops growing.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from contend.experiment import Level, Published
from contend.findings import Finding, Growth, ReportText, Study, growth_of
from contend.metrics import FIXED, THROUGHPUT, Metric, metric_of
from contend.sections.chart_style import (
    Spec,
    chart_title,
    colour,
    column_value,
    data_row,
    frame,
    lines,
    numeric_columns,
    x_axis,
)
from contend.sections.model import Chart, Inputs, Layout, Panel, Section, Shown, TextTable
from contend.sections.panels import agrees, figure_table, gain_at
from contend.sections.words import level_phrase, significant, slug, times_of, times_text
from contend.stats import Change, finite


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """Each column's figure as a multiple of the first column's. Measured ones have intervals,
    published ones are plain numbers.

    If the ratio is one machine over another, column by column, `is_growth` is false.
    """

    label: str
    measured: tuple[Change | None, ...] = ()
    published: tuple[float | None, ...] = ()
    is_growth: bool = True


@dataclass(frozen=True, slots=True)
class Shape:
    """How a figure grows along the columns, ours and the published: rows by panel."""

    metric: Metric
    title: str
    lead: str
    panels: tuple[tuple[Panel, tuple[ShapeRow, ...]], ...]


def _read(inputs: Inputs) -> tuple[Shape, ...] | None:
    return shapes_of(inputs.study, inputs.layout, inputs.panels) or None


def _show(shapes: Sequence[Shape], inputs: Inputs) -> Shown:
    first, *others = shapes
    tables = [
        _table(shape, panel, rows, inputs.layout)
        for shape in shapes
        for panel, rows in shape.panels
    ]
    return Shown(
        first.title,
        " ".join((first.lead, *(f"{one.metric.title} follows below." for one in others))),
        tuple(tables),
        shape_charts(shapes, inputs.layout),
    )


def _table(shape: Shape, panel: Panel, rows: Sequence[ShapeRow], layout: Layout) -> TextTable:
    title = ", ".join(filter(None, (shape.metric.title, panel.title)))
    quiet = [at for at, row in enumerate(rows) if row.published]
    return figure_table(layout, title, [(row.label, *_cells(row)) for row in rows], quiet)


def _cells(row: ShapeRow) -> tuple[Change | str | None, ...]:
    if row.published:
        return tuple("" if one is None else significant(one, 3) for one in row.published)
    return ("1", *row.measured[1:])


def _json(shapes: Sequence[Shape], inputs: Inputs) -> list[dict[str, Any]]:
    """How many times the figure of the first column each column's is."""
    columns = inputs.layout.column_values
    return [
        {
            "metric": shape.metric.name,
            "rows": [
                {
                    "place": panel.title,
                    "row": row.label,
                    "published": bool(row.published),
                    "columns": [
                        {
                            "column": column,
                            "times": finite(one.ratio),
                            "low": finite(one.low),
                            "high": finite(one.high),
                            "n": one.n,
                        }
                        for column, one in zip(columns, row.measured, strict=False)
                        if one is not None
                    ]
                    or [
                        {"column": column, "times": one}
                        for column, one in zip(columns, row.published, strict=False)
                        if one is not None
                    ],
                }
                for panel, rows in shape.panels
                for row in rows
            ],
        }
        for shape in shapes
    ]


SECTION = Section("shapes", "Growth along the columns", _read, _show, _json)


def shapes_of(study: Study, layout: Layout, panels: Sequence[Panel]) -> tuple[Shape, ...]:
    """The shape of the metric that decides, if nothing is compared or its figures were published;
    for times, also of the throughput."""
    metric = study.metrics[0]
    published = [one for one in study.experiment.published if any(r.figures for r in one.rows)]
    if study.experiment.goal is not None:
        return ()  # Most rates have one run.
    if study.roles.columns is None or not (published or study.roles.baseline is None):
        return ()
    also = [FIXED[THROUGHPUT]] if metric.kind == "time" else []
    family = study.family("growth" if study.roles.baseline is not None else "first")
    found = growth_of(study, [metric, *also], family)
    return tuple(_shape(study, layout, panels, one, published) for one in found)


def _shape(
    study: Study,
    layout: Layout,
    panels: Sequence[Panel],
    growth: Growth,
    published: Sequence[Published],
) -> Shape:
    metric = growth.metric
    assert study.roles.columns is not None
    first = level_phrase(study.roles.columns.path, study.roles.columns.levels[0])
    theirs = [one for one in published if one.metric == metric.name]
    shown = []
    for at, panel in enumerate(panels):
        rows = [
            ShapeRow(label, (None, *(one.change if one else None for one in changes)))
            for label, (context, _), changes in zip(
                itertools.cycle(layout.levels), growth.rows, growth.findings, strict=False
            )
            if context == at
        ]
        shown.append((panel, (*rows, *_published_rows(study, panel, theirs))))
    note = (
        " Published figures are single runs of different machines, without intervals."
        if theirs
        else ""
    )
    return Shape(
        metric=metric,
        title=f"{metric.title}: multiples of the figure at {first}",
        lead=f"±: half of the interval; all intervals hold together.{note}",
        panels=tuple(shown),
    )


def _published_rows(study: Study, panel: Panel, published: Sequence[Published]) -> list[ShapeRow]:
    """Each machine over its own first column; of two machines, the first over the second."""
    ours = study.roles.columns
    if ours is None:
        return []
    rows, figures = [], {}
    for one in published:
        if one.columns_path != ours.path:
            continue
        for row in one.rows:
            known = {path: level for path, level in row.cell.items() if path in panel.context}
            if not row.figures or not agrees(known, panel.context):
                continue
            values = [gain_at(one.columns, row.figures, column) for column in ours.levels]
            base = row.figures[0]
            figures[one.name] = values
            relative = tuple(None if value is None else value / base for value in values)
            begin = level_phrase(one.columns_path, one.columns[0])
            since = "" if one.columns[0] == ours.levels[0] else f", over {begin}"
            rows.append(ShapeRow(f"{one.name}, published{since}", (), relative))
    if len(figures) == 2:
        (name, above), (other, below) = figures.items()
        over = tuple(
            a / b if a is not None and b is not None else None
            for a, b in zip(above, below, strict=True)
        )
        rows.append(ShapeRow(f"{name} over {other}, published", (), over, is_growth=False))
    return rows


def sweep_sentences(study: Study) -> list[ReportText]:
    """The load from which on throughput stops growing, for a sweep that compares nothing."""
    roles = study.roles
    metrics = dict.fromkeys((study.metrics[0].name, THROUGHPUT))
    grown = growth_of(study, [metric_of(name) for name in metrics], study.family("first"))
    sweep = next((one for one in grown if one.metric.name == THROUGHPUT), None)
    if sweep is None or roles.columns is None:
        return []
    path, levels = roles.columns.path, roles.columns.levels
    contexts, found = roles.table_contexts(), []
    for (context, level), changes in zip(sweep.rows, sweep.findings, strict=True):
        known = [(at, one) for at, one in zip(levels[1:], changes, strict=True) if one]
        if not known or any(one.change.n < 2 for _, one in known):
            continue
        place = {**contexts[context], **_of(roles.compared.path if roles.compared else None, level)}
        with_ = ReportText.joined(" and ", (level_phrase(p, one) for p, one in place.items()))
        found.append(_most_done(path, levels[0], known, with_))
    return found


def _of(path: str | None, level: Level | None) -> dict[str, Level]:
    return {} if path is None or level is None else {path: level}


def _most_done(
    path: str, first: Level, found: Sequence[tuple[Level, Finding]], with_: ReportText
) -> ReportText:
    known = [(level, one.change) for level, one in found]
    best = max(known, key=lambda one: one[1].ratio)
    begin = ReportText("With {}, the", with_) if with_ else "The"
    at_first, last = level_phrase(path, first), known[-1]
    if best[1].low <= 1:
        template = "{} throughput does not certainly grow beyond {}"
        text = ReportText(template, begin, at_first)
    else:
        # The first that certainly grew and is not certainly below the best.
        near = next(one for one in known if one[1].low > 1 and one[1].high >= best[1].low)
        template = "{} throughput is {} times as high at {} as at {}{}"
        beyond = ", and no growth beyond is certain" if near[0] != last[0] else ""
        times = times_text(near[1])
        text = ReportText(template, begin, times, level_phrase(path, near[0]), at_first, beyond)
    if last[1].high < best[1].low and last[0] != best[0]:
        times, end = times_text(last[1]), level_phrase(path, last[0])
        text = ReportText("{}; at {} it is only {} times as high", text, end, times)
    return ReportText("{}.", text)


_HERE = "this machine"


def shape_charts(shapes: Sequence[Shape], layout: Layout) -> tuple[Chart, ...]:
    """One chart per panel of each; none if the columns are not numbers."""
    if not numeric_columns(layout):
        return ()
    found = (_chart(shape, panel, rows, layout) for shape in shapes for panel, rows in shape.panels)
    return tuple(found)


def _chart(shape: Shape, panel: Panel, rows: Sequence[ShapeRow], layout: Layout) -> Chart:
    values: list[Spec] = []
    labels = []
    for row in rows:
        if not row.is_growth:
            continue
        labels.append(row.label)
        for column, change in enumerate(row.measured):
            if column == 0:
                begin = {"x": column_value(layout, 0), "level": row.label, "value": 1}
                values.append({**begin, "source": _HERE})
            elif change is not None:
                point = data_row(layout, column, row.label, times_of(change), "times")
                # A bound of 0 has no place on a logarithmic axis.
                values.append({**point, "low": point["low"] or None, "source": _HERE})
        values += [
            {
                "x": column_value(layout, column),
                "level": row.label,
                "value": one,
                "source": "published",
            }
            for column, one in enumerate(row.published)
            if one is not None
        ]
    y: Spec = {
        "type": "quantitative",
        "title": "times",
        "scale": {"type": "log", "nice": False},
        "axis": {"format": "~g", "tickCount": 5},
    }
    encoding: Spec = {"x": x_axis(layout), "color": colour(labels, "")}
    ours = {"transform": [{"filter": f"datum.source == '{_HERE}'"}]}
    dashed: Spec = {
        "transform": [{"filter": f"datum.source != '{_HERE}'"}],
        "mark": {"type": "line", "strokeWidth": 1.3, "strokeDash": [6, 3]},
        "encoding": {**encoding, "y": {**y, "field": "value"}},
    }
    layers = [ours | layer for layer in lines(layout, y, encoding)]
    if any(row.published for row in rows):
        layers.append(dashed)
    title = chart_title(shape.title, panel.title)
    return Chart(
        id=f"shape-{slug(shape.metric.name)}{f'-{slug(panel.title)}' if panel.title else ''}",
        kind=shape.title,
        label=panel.title,
        caption="Logarithmic; bands are the intervals that hold together. Dashed: published "
        "figures of different machines, without intervals."
        if any(row.published for row in rows)
        else "Logarithmic; bands are the intervals that hold together.",
        alt=f"{title}, against {layout.columns_label}. The figures are in the table of the same "
        "name.",
        spec=frame(title, values, layers),
    )
