"""The study's own layout: one panel a table, rows of levels, columns of the load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contend.report.causes.base import Explanation
from contend.report.figures import shown_metrics
from contend.report.labels import factor_label, level_label, level_phrase, slug
from contend.report.model import (
    CellComparison,
    CellFigures,
    ChangeTable,
    Compared,
    GainRow,
    Layout,
    MetricRow,
    MetricTable,
    Panel,
    PublishedBlock,
)
from contend.report.roles import Roles
from contend.report.study import CellKey, Study, cell_key
from contend.spec import Level, Published, same_level


def layout_of(study: Study, explanation: Explanation) -> Layout:
    """Heads of rows and columns, the same in every panel."""
    roles = study.roles
    return Layout(
        rows_label=factor_label(roles.compared.path) if roles.compared else "",
        columns_label=factor_label(roles.columns.path) if roles.columns else "",
        columns=tuple("" if c is None else level_label(c) for c in roles.column_levels),
        column_values=roles.column_levels,
        levels=tuple("all" if one is None else explanation.level(one) for one in roles.levels),
        baseline=None if roles.baseline is None else explanation.level(roles.baseline),
    )


def panels_of(
    study: Study,
    layout: Layout,
    compared: Sequence[Compared],
    cells: Sequence[CellFigures],
) -> tuple[Panel, ...]:
    """One panel for each combination of the factors that are neither rows nor columns."""
    figures = {cell_key(one.cell): one for one in cells}
    panels = []
    for context in study.roles.table_contexts():
        title = ", ".join(level_phrase(path, level) for path, level in context.items())
        panels.append(
            Panel(
                title=title,
                slug=slug(title),
                context=context,
                changes=tuple(_change_table(study.roles, layout, context, one) for one in compared),
                published=_published_blocks(study, layout, context),
                metrics=_metric_tables(study, layout, context, figures),
            )
        )
    return tuple(panels)


def row_label(layout: Layout, label: str) -> str:
    """As the study writes it: `(32/off)`."""
    return f"({label}/{layout.baseline})"


def _change_table(
    roles: Roles, layout: Layout, context: Mapping[str, Level], compared: Compared
) -> ChangeTable:
    if roles.baseline is None:
        return ChangeTable(compared.metric, ())
    gains: dict[CellKey, CellComparison] = {cell_key(one.cell): one for one in compared.comparisons}
    rows = []
    for label, level in list(zip(layout.levels, roles.levels, strict=True))[1:]:
        assert level is not None
        row = tuple(
            gains.get(cell_key(roles.cell(context, column, level)))
            for column in roles.column_levels
        )
        rows.append(GainRow(label, level, row))
    return ChangeTable(compared.metric, tuple(rows))


def _metric_tables(
    study: Study,
    layout: Layout,
    context: Mapping[str, Level],
    figures: Mapping[CellKey, CellFigures],
) -> tuple[MetricTable, ...]:
    roles = study.roles
    tables = []
    for metric in shown_metrics(study):
        rows = []
        for label, level in zip(layout.levels, roles.levels, strict=True):
            cells = (
                figures.get(cell_key(roles.cell(context, column, level)))
                for column in roles.column_levels
            )
            estimates = tuple(cell.figures.get(metric.name) if cell else None for cell in cells)
            rows.append(MetricRow(label, estimates))
        if any(estimate for row in rows for estimate in row.estimates):
            tables.append(MetricTable(metric.name, metric.title, metric.unit, tuple(rows)))
    return tuple(tables)


def _published_blocks(
    study: Study, layout: Layout, context: Mapping[str, Level]
) -> tuple[PublishedBlock, ...]:
    blocks = []
    for published in study.experiment.published:
        rows = _published_rows(study.roles, layout, published, context)
        if rows:
            blocks.append(PublishedBlock(published.name, published.machine, published.source, rows))
    return tuple(blocks)


def _published_rows(
    roles: Roles, layout: Layout, published: Published, context: Mapping[str, Level]
) -> tuple[tuple[str, tuple[float | None, ...]], ...]:
    """Published gains of the same levels and context, brought to our columns."""
    if roles.columns is None or roles.columns.path != published.columns_path:
        return ()
    rows = []
    for label, level in list(zip(layout.levels, roles.levels, strict=True))[1:]:
        assert roles.compared is not None and level is not None
        wanted: dict[str, Level] = {**context, roles.compared.path: level}
        for row in published.rows:
            if _agrees(row.cell, wanted):
                gains = tuple(
                    _gain_at(published.columns, row.gain_percent, column)
                    for column in roles.column_levels
                )
                if any(gain is not None for gain in gains):
                    rows.append((label, gains))
    return tuple(rows)


def _agrees(published: Mapping[str, Level], wanted: Mapping[str, Level]) -> bool:
    """Whether a published row is of this table and level. Factors that it does not name, the
    publication did not vary."""
    return all(
        path in wanted and same_level(wanted[path], level) for path, level in published.items()
    )


def _gain_at(
    columns: Sequence[Level], gains: Sequence[float], column: Level | None
) -> float | None:
    for at, gain in zip(columns, gains, strict=True):
        if same_level(at, column):
            return gain
    return None
