"""The study's own layout: one panel a table, rows of levels, columns of the load.

If the kind of workload is a factor, the changes of the same place stand under one another once
more, with what the last kinds gain over the first: the ratio of the two gains, with Welch's
interval on the log-ratios of their pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contend.report.causes import Explanation
from contend.report.model import (
    Beside,
    BesidePanel,
    BesideRow,
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
from contend.report.study import Roles, Study
from contend.report.words import factor_label, level_label, level_phrase, slug
from contend.spec import SCRIPT, CellKey, Factor, Level, Published, cell_key, same_level
from contend.stats import Estimate, ratio_of_ratios


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


KIND = "workload.kind"


def beside_of(study: Study, labels: Sequence[str], compared: Compared) -> Beside | None:
    """The kinds of workload beside one another; None if there is one, or nothing is compared.

    `labels` are those of the layout's levels, the baseline's first.
    """
    roles = study.roles
    kinds = next((factor for factor in roles.tables if factor.path == KIND), None)
    if kinds is None or roles.baseline is None or len(kinds.levels) < 2:
        return None
    gains = {cell_key(one.cell): one for one in compared.comparisons}
    panels = tuple(
        BesidePanel(
            title=", ".join(level_phrase(path, level) for path, level in context.items()),
            rows=_rows(study, kinds, labels, context, gains),
        )
        for context in _contexts(roles)
    )
    names = tuple(_name(study, kind) for kind in kinds.levels)
    return Beside(
        title=f"{', '.join(names[:-1])} and {names[-1]}, side by side",
        lead=_lead(panels, names),
        panels=panels,
    )


def _contexts(roles: Roles) -> list[Mapping[str, Level]]:
    """The tables of the layout without the kind of workload, each once."""
    found: dict[CellKey, Mapping[str, Level]] = {}
    for context in roles.table_contexts():
        rest = {path: level for path, level in context.items() if path != KIND}
        found.setdefault(cell_key(rest), rest)
    return list(found.values())


def _rows(
    study: Study,
    kinds: Factor,
    labels: Sequence[str],
    context: Mapping[str, Level],
    gains: Mapping[CellKey, CellComparison],
) -> tuple[BesideRow, ...]:
    roles = study.roles
    rows: list[BesideRow] = []
    for label, level in zip(labels, roles.levels, strict=True):
        if level is None or same_level(level, roles.baseline):
            continue
        by_kind = [
            tuple(
                gains.get(cell_key(roles.cell({**context, KIND: kind}, column, level)))
                for column in roles.column_levels
            )
            for kind in kinds.levels
        ]
        for kind, row in zip(kinds.levels, by_kind, strict=True):
            rows.append(BesideRow(f"({label}/{labels[0]}) {_name(study, kind)}", gains=row))
        for kind, row in list(zip(kinds.levels, by_kind, strict=True))[1:]:
            differences = tuple(
                _difference(one, other, study.experiment.compare.confidence)
                for one, other in zip(by_kind[0], row, strict=True)
            )
            rows.append(
                BesideRow(
                    f"{_name(study, kind)} over {_name(study, kinds.levels[0])}",
                    differences=differences,
                )
            )
    return tuple(rows)


def _difference(
    one: CellComparison | None, other: CellComparison | None, confidence: float
) -> Estimate | None:
    """Percent by which the second gain is larger than the first."""
    if one is None or other is None:
        return None
    ratio = ratio_of_ratios(one.comparison, other.comparison, confidence)
    return Estimate(
        (ratio.mean - 1) * 100, (ratio.low - 1) * 100, (ratio.high - 1) * 100, ratio.n, confidence
    )


def _name(study: Study, kind: Level) -> str:
    """`random_points`, or a script by its name."""
    if kind != SCRIPT:
        return str(kind)
    script = study.experiment.base.workload.parameters.get("script")
    return str(script).rpartition("/")[2] if script else SCRIPT


def _lead(panels: Sequence[BesidePanel], names: Sequence[str]) -> str:
    differences = [
        one for panel in panels for row in panel.rows for one in row.differences if one is not None
    ]
    known = [one for one in differences if one.n > 0]
    apart = [one for one in known if one.low > 0 or one.high < 0]
    if not known:
        return "No place has pairs of both kinds yet."
    return (
        f"The same change on the same server and tables, asked for by {' and by '.join(names)} in "
        f"one run. At {len(known) - len(apart)} of {len(known)} places the gains differ by no more "
        "than the error; a difference is the ratio of the two gains, in percent, with its interval "
        "for itself alone."
    )
