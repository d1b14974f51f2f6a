"""The study's own layout: one panel a table, rows of levels, columns of the load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from contend.experiment import CellKey, Level, Published, Roles, cell_key, same_level
from contend.findings import Analysis, CellFigures, Compared, Finding, Study, level_over
from contend.sections.model import (
    ChangeTable,
    GainRow,
    Layout,
    MetricRow,
    MetricTable,
    Panel,
    PublishedBlock,
    TableCell,
    TextTable,
)
from contend.sections.naming import Naming, range_text
from contend.sections.words import factor_label, level_label, level_phrase, plain_gain, slug


def layout_of(study: Study, naming: Naming) -> Layout:
    """Heads of rows and columns, the same in every panel."""
    roles = study.roles
    return Layout(
        rows_label=factor_label(roles.compared.path) if roles.compared else "",
        columns_label=factor_label(roles.columns.path) if roles.columns else "",
        columns=tuple("" if c is None else level_label(c) for c in roles.column_levels),
        column_values=roles.column_levels,
        levels=tuple("all" if one is None else naming.level(one) for one in roles.levels),
        baseline=None if roles.baseline is None else naming.level(roles.baseline),
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
                changes=tuple(change_table(study.roles, layout, context, one) for one in compared),
                published=_published_blocks(study, layout, context),
                metrics=metric_tables(study, layout, context, figures),
            )
        )
    return tuple(panels)


def change_table(
    roles: Roles, layout: Layout, context: Mapping[str, Level], compared: Compared
) -> ChangeTable:
    """The changes by one metric in one panel; no rows if nothing is compared."""
    if roles.baseline is None:
        return ChangeTable(compared.metric, ())
    gains: dict[CellKey, Finding] = {cell_key(one.cell): one for one in compared.comparisons}
    rows = []
    for label, level in list(zip(layout.levels, roles.levels, strict=True))[1:]:
        assert level is not None
        row = tuple(
            gains.get(cell_key(roles.cell(context, column, level)))
            for column in roles.column_levels
        )
        rows.append(GainRow(label, level, row))
    return ChangeTable(compared.metric, tuple(rows))


def figure_table(
    layout: Layout,
    title: str,
    rows: Iterable[tuple[TableCell, ...]],
    quiet: Iterable[int] = (),
) -> TextTable:
    """A table of the layout's levels and columns."""
    by = f"{layout.rows_label} by {layout.columns_label}".strip() if layout.columns_label else ""
    caption = ", ".join(filter(None, (title, by)))
    heads = (head or "all" for head in layout.columns)
    return TextTable(caption, (layout.rows_label, *heads), tuple(rows), frozenset(quiet))


def panel_table(layout: Layout, panel: Panel, at: int) -> TextTable:
    """The changes in one panel by the metric at that place of those compared; below them the
    published ones."""
    changes = panel.changes[at]
    rows: list[tuple[TableCell, ...]] = [(row.label, *row.gains) for row in changes.rows]
    own = len(rows)
    for block in panel.published_of(changes.metric):
        rows += [
            (
                f"{block.name}, published, {label}",
                *("" if one is None else plain_gain(one) for one in gains),
            )
            for label, gains in block.rows
        ]
    return figure_table(layout, panel.title, rows, range(own, len(rows)))


def metric_table(layout: Layout, panel: Panel, table: MetricTable) -> TextTable:
    """The figures of one metric in one panel."""
    unit = ", ".join(filter(None, (table.title, table.unit, panel.title)))
    return figure_table(layout, unit, [(row.label, *row.estimates) for row in table.rows])


def wholes_of(layout: Layout, roles: Roles, compared: Sequence[Compared]) -> TextTable | None:
    """Each level as a whole, by every metric; None if nothing is compared."""
    rows: list[tuple[TableCell, ...]] = []
    for one in compared:
        by_level = {whole.level: whole for whole in one.wholes}
        if by_level:
            rows.append((one.metric.title, *(by_level.get(level) for level in _levels(roles))))
    if not rows:
        return None
    many = len(roles.table_contexts()) * len(roles.column_levels)
    over = f"Over all {many} cells" if many > 1 else "Every metric"
    title = f"{over}: change from {layout.baseline}, %"
    return TextTable(title, (layout.rows_label, *layout.levels[1:]), tuple(rows))


def overall_of(
    study: Study, layout: Layout, panels: Sequence[Panel], compared: Compared
) -> tuple[TextTable, ...]:
    """Each level along the columns over all tables, then by table over all columns. None if there
    is one table, which contains all of this."""
    roles = study.roles
    columns, rows = len(roles.column_levels), len(panels)
    if not compared.wholes or rows < 2:
        return ()
    by_level = {
        level: [one for one in compared.rows if one.level == level] for level in _levels(roles)
    }
    by_table = TextTable(
        f"Over all {layout.columns_label}" if columns > 1 else "By table",
        (layout.rows_label, *(panel.title for panel in panels)),
        tuple(
            (label, *_in_rows(by_level[level], rows))
            for label, level in zip(layout.levels[1:], _levels(roles), strict=True)
        ),
    )
    if columns < 2:
        return (by_table,)
    spans = _spans(compared, columns)
    along = TextTable(
        f"Over all tables, by {layout.columns_label}",
        (layout.rows_label, *(_head(roles, layout, *span) for span in spans)),
        _overall_rows(layout, roles, compared, spans),
    )
    return (along, by_table)


def other_levels_of(
    study: Study, layout: Layout, analysis: Analysis | None, lead: Level
) -> tuple[TextTable, ...]:
    """The other levels over the one that the answer is about, as wholes."""
    if analysis is None:
        return ()
    labels = zip(layout.levels[1:], _levels(study.roles), strict=True)
    found: list[tuple[TableCell, ...]] = [
        (label, level_over(study, analysis, level, lead))
        for label, level in labels
        if level != lead
    ]
    if not found:
        return ()
    name = layout.levels[study.roles.levels.index(lead)]
    columns = (layout.rows_label, "all")
    return (TextTable(f"The other levels over {name}", columns, tuple(found)),)


def _levels(roles: Roles) -> list[Level]:
    """Those that are compared with the baseline."""
    return [one for one in roles.levels[1:] if one is not None]


def _in_rows(findings: Sequence[Finding], rows: int) -> tuple[Finding | None, ...]:
    by_row = {one.change.place.first_row: one for one in findings}
    return tuple(by_row.get(row) for row in range(rows))


def _overall_rows(
    layout: Layout,
    roles: Roles,
    compared: Compared,
    spans: Sequence[tuple[int, int]],
) -> tuple[tuple[TableCell, ...], ...]:
    known = {
        (one.level, one.change.place.first_column, one.change.place.last_column): one
        for one in (*compared.columns, *compared.wholes)
    }
    return tuple(
        (label, *(known.get((level, *span)) for span in spans))
        for label, level in zip(layout.levels[1:], _levels(roles), strict=True)
    )


def _spans(compared: Compared, columns: int) -> list[tuple[int, int]]:
    """The columns, first and last of each: those at the ends that are certain of the same in one,
    if their range is as certain."""
    tones: dict[tuple[int, int], list[str]] = {}
    for one in compared.columns:
        place = one.change.place
        tones.setdefault((place.first_column, place.last_column), []).append(one.tone)
    if any("open" in of_all for of_all in tones.values()):
        return [(column, column) for column in range(columns)]

    def alike(first: int, last: int) -> bool:
        tone = tones.get((first, last))
        parts = (tones.get((column, column)) for column in range(first, last + 1))
        certain = tone is not None and "inconclusive" not in tone
        return certain and all(part == tone for part in parts)

    tail = next((first for first in range(1, columns) if alike(first, columns - 1)), columns)
    head = next((last for last in range(tail - 1, -1, -1) if alike(0, last)), -1)
    spans = [(0, head)] if head >= 0 else []
    spans += [(column, column) for column in range(head + 1, tail)]
    return spans + ([(tail, columns - 1)] if tail < columns else [])


def _head(roles: Roles, layout: Layout, first: int, last: int) -> str:
    """`8`, `from 8 on`, `up to 4`."""
    if first == last:
        return layout.columns[first]
    assert roles.columns is not None
    if last == len(layout.columns) - 1 and range_text(roles, first, last).endswith(" on"):
        return f"from {layout.columns[first]} on"
    return f"{layout.columns[first]} to {layout.columns[last]}"


def metric_tables(
    study: Study,
    layout: Layout,
    context: Mapping[str, Level],
    figures: Mapping[CellKey, CellFigures],
) -> tuple[MetricTable, ...]:
    """A table of each metric that the study shows, in one panel."""
    roles = study.roles
    tables = []
    for metric in study.shown:
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
            about = published.machine, published.source, published.metric
            blocks.append(PublishedBlock(published.name, *about, rows))
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
            if row.gain_percent and agrees(row.cell, wanted):
                gains = tuple(
                    gain_at(published.columns, row.gain_percent, column)
                    for column in roles.column_levels
                )
                if any(gain is not None for gain in gains):
                    rows.append((label, gains))
    return tuple(rows)


def agrees(published: Mapping[str, Level], wanted: Mapping[str, Level]) -> bool:
    """Whether a published row is of this table and level. Factors that it does not name, the
    publication did not vary."""
    return all(
        path in wanted and same_level(wanted[path], level) for path, level in published.items()
    )


def gain_at(columns: Sequence[Level], gains: Sequence[float], column: Level | None) -> float | None:
    """The published number of one of our columns."""
    for at, gain in zip(columns, gains, strict=True):
        if same_level(at, column):
            return gain
    return None
