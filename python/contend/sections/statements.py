"""Each of the workload's own statements by itself: its service time, and its change.

A list of statements, or a script of them, may get better as a whole while one statement gets worse.
All statements are tables of one family: one sentence covers them, so the intervals of all their
changes hold together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from contend.experiment import Level, cell_key
from contend.experiment.settings.plan_keys import STATEMENTS
from contend.findings import (
    REMEDY,
    WAITS,
    Analysis,
    CellFigures,
    Compared,
    Study,
    analyses_of,
    cell_figures,
    claims_of,
)
from contend.metrics import Metric, metric_of
from contend.metrics.read import alone, at_rate
from contend.sections.model import (
    Inputs,
    Layout,
    MetricRow,
    Panel,
    Section,
    Shown,
    TableCell,
    TextTable,
)
from contend.sections.naming import Naming
from contend.sections.panels import change_table, figure_table, metric_tables
from contend.sections.statement_costs import HALF, QUARTER
from contend.sections.words import DEPTHS, change_json, mean_json, plain_rate, size_text
from contend.stats import Estimate, finite

FIGURES = (
    "service_us_mean",
    "service_us_p50",
    "service_us_p95",
    "service_us_p99",
    "qps",
    "rows_per_query",
    "errors_per_query",
)
"""Metrics of each statement, by the ends of their names."""

_LISTED = 6
"""Up to this number, inconclusive statements are named; more are counted."""

_MEAN, _MEDIAN, _TAIL = "service_us_mean", "service_us_p50", "service_us_p95"
_ENDS = {_MEAN: "mean, ms", _MEDIAN: "median, ms", _TAIL: "95th percentile, ms"}

MOST = 40
"""Maximum number of statements analysed one by one: those that took most time."""


@dataclass(frozen=True, slots=True)
class StatementFigures:
    """The measurements of one statement in one cell, over its `repeats`. Keys are the ends of its
    metrics' names: `service_us_mean`, `rows_per_query`."""

    name: str
    cell: Mapping[str, Level]
    repeats: int
    figures: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class Statements:
    """Each of the workload's own statements by itself: `tables` by its mean service time and by the
    95th percentile. `texts` are name and statement; `sentences` describe the changes."""

    lead: str
    sentences: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]
    tables: tuple[TextTable, ...]
    compared: tuple[Compared, ...]
    figures: tuple[StatementFigures, ...]


def statements_of(inputs: Inputs) -> Statements | None:
    """None if the workload is not of the user's own statements, or is a single one."""
    study, naming, layout, panels, cells = (
        inputs.study,
        inputs.naming,
        inputs.layout,
        inputs.panels,
        inputs.cells,
    )
    taken = _time_of_each(study)
    if len(taken) < 2:
        return None
    most = set(sorted(taken, key=lambda name: -taken[name])[:MOST])
    names = [name for name in taken if name in most]
    own = replace(study, shown=tuple(_metric(name, end) for name in names for end in FIGURES))
    found = [figures for cell in cells if (figures := cell_figures(own, cell.cell)) is not None]
    by_itself = any(map(alone, study.measured))
    # By itself a statement takes the same time again and again, unless a neighbour takes the CPU.
    first = _MEDIAN if by_itself else _MEAN
    means = [_metric(name, first) for name in names]
    kinds = [metric_of(f"event.{name}.response_us_mean") for name in _kinds_at_rate(study)]
    family = study.family("statements" if study.roles.baseline is not None else "first")
    # Answers at a rate have a share of their own, because their noise is far larger: with them in
    # one table, no statement by itself would be certain.
    shares = HALF if kinds or by_itself else 1
    found_alone = (
        [
            one
            for mean in means
            for one in analyses_of(study, [mean], family.part(HALF * len(means)))
        ]
        if by_itself
        else analyses_of(study, means, family.part(shares))
    )
    found_at_rate = analyses_of(study, kinds, family.part(QUARTER if by_itself else HALF))
    every = [*found_alone, *found_at_rate]
    analyses = dict(zip(names, found_alone, strict=True))
    answers = dict(zip(_kinds_at_rate(study), found_at_rate, strict=True))
    tables = [
        table
        for end in (first, _TAIL)
        for table in _tables(own, layout, panels, names, analyses, found, end)
    ]
    more = len(taken) - len(names)
    return Statements(
        lead="Service time, from sending a statement to the last byte of its answer"
        + (", each kind by itself on one connection. " if by_itself else ". ")
        + ("Intervals of all statements' changes hold together. " if study.roles.baseline else "")
        + (
            f"Shown are the {len(names)} that took most time; {more} more are in the runs."
            if more
            else ""
        ),
        sentences=tuple(_sentences(study, naming, analyses, answers, by_itself=by_itself)),
        texts=tuple(_texts(study, names)),
        tables=tuple(tables),
        compared=tuple(one.compared for one in every if one is not None),
        figures=tuple(_figures(names, found)),
    )


def _metric(name: str, end: str) -> Metric:
    return metric_of(f"statement.{name}.{end}")


def _time_of_each(study: Study) -> dict[str, float]:
    """Microseconds by the name of the statement; empty for workloads without statements."""
    taken: dict[str, float] = defaultdict(float)
    for run in study.measured:
        workload = run.plan.get("workload")
        if workload is None or workload["kind"] not in STATEMENTS:
            return {}
        for one in (run.done.get("classes") if run.done else None) or ():
            mean = (one.get("latency_us") or {}).get("mean") or 0.0
            taken[str(one["name"])] += float(mean) * one["queries"]
    return taken


def _tables(
    study: Study,
    layout: Layout,
    panels: Sequence[Panel],
    names: Sequence[str],
    analyses: Mapping[str, Analysis | None],
    cells: Sequence[CellFigures],
    end: str,
) -> list[TextTable]:
    """One table per panel; changes are under the means."""
    figures = {cell_key(one.cell): one for one in cells}
    tables = []
    for panel in panels:
        by_key = {one.key: one.rows for one in metric_tables(study, layout, panel.context, figures)}
        rows: list[tuple[TableCell, ...]] = []
        for name in names:
            measured = by_key.get(_metric(name, end).name, ())
            for row in map(_in_ms, measured):
                label = name if len(measured) == 1 else f"{name}, {row.label}"
                rows.append((label, *row.estimates))
            analysis = analyses[name] if end != _TAIL and measured else None
            if analysis is not None:
                changes = change_table(study.roles, layout, panel.context, analysis.compared)
                rows += [
                    (f"  {row.label} over {layout.baseline}, %", *row.gains) for row in changes.rows
                ]
        if rows:
            title = ", ".join(filter(None, (panel.title, _ENDS[end])))
            tables.append(figure_table(layout, title, rows))
    return tables


def _in_ms(row: MetricRow) -> MetricRow:
    def scaled(one: Estimate) -> Estimate:
        return replace(one, mean=one.mean / 1000, low=one.low / 1000, high=one.high / 1000)

    return MetricRow(row.label, tuple(one and scaled(one) for one in row.estimates))


def _texts(study: Study, names: Sequence[str]) -> list[tuple[str, str]]:
    """The text of each statement, if the plan lists them one by one."""
    workload = study.measured[0].plan.get("workload")
    statements = list(workload.get("statements") or ()) if workload else []
    called = list(workload.get("names") or ()) if workload else []
    called = called or [f"statement_{number}" for number in range(1, len(statements) + 1)]
    known = dict(zip(called, statements, strict=False))
    return [(name, known[name].strip()) for name in names if name in known]


def _figures(names: Sequence[str], cells: Sequence[CellFigures]) -> list[StatementFigures]:
    found = []
    for cell in cells:
        for name in names:
            prefix = f"statement.{name}."
            figures = {
                key.removeprefix(prefix): one
                for key, one in cell.figures.items()
                if key.startswith(prefix) and key.removeprefix(prefix) in FIGURES
            }
            found.append(StatementFigures(name, cell.cell, cell.repeats, figures))
    return found


def _kinds_at_rate(study: Study) -> list[str]:
    """The kinds of event that were measured at a rate that all levels hold."""
    names = (
        str(kind["name"])
        for run in study.measured
        if (done := at_rate(run)) is not None
        for kind in done.get("kinds", ())
    )
    return list(dict.fromkeys(names))[:MOST]


def rate_text(study: Study) -> str:
    """`At 1,240 events per second on every level, 70 % of what the slower level holds`; empty if
    nothing was measured at a rate that all levels hold."""
    found = [one for run in study.measured if (one := run.probes.get("equal_load")) is not None]
    if not found:
        return ""
    low, high = min(one["rate"] for one in found), max(one["rate"] for one in found)
    rates = f"{plain_rate(low)}" if low == high else f"{plain_rate(low)} to {plain_rate(high)}"
    shares = {f"{one['share'] * 100:.3g}" for one in found}
    share = f", {' or '.join(sorted(shares))} % of what the slower level holds"
    return f"At {rates} events per second on every level{share}"


def _sentences(
    study: Study,
    naming: Naming,
    analyses: Mapping[str, Analysis | None],
    answers: Mapping[str, Analysis | None],
    *,
    by_itself: bool,
) -> list[str]:
    """`InnoDB instead of MyISAM: less time for count_name 40 % (±3); …`, one per level; then the
    same of the answers at a rate that all levels hold."""
    roles = study.roles
    if roles.baseline is None or not study.decides:
        return []
    found = []
    for level in roles.levels[1:]:
        if level is not None and (verdicts := _verdicts_of(level, analyses)):
            instead = f"{naming.level(level)} instead of {naming.level(roles.baseline)}"
            how = ", each by itself (median)" if by_itself else ""
            found.append(f"By statement{how}, {instead}: {verdicts}.")
            if told := _verdicts_of(level, answers):
                found.append(f"{rate_text(study)}, waiting for other statements included: {told}.")
    return found + _held(analyses)


def _held(analyses: Mapping[str, Analysis | None]) -> list[str]:
    """Why there is no claim about some statements, and what to do."""
    reasons = dict.fromkeys(
        whole.held
        for analysis in analyses.values()
        if analysis is not None
        for whole in analysis.compared.wholes
        if whole.held
    )
    if not reasons:
        return []
    reason = next(iter(reasons)).removeprefix(f"it {WAITS}, and ")
    return [
        f"In this closed loop a statement's time {WAITS}, and {reason}. So it may fall although "
        "the statement itself costs more. The service of each statement by itself is not known: "
        f"{REMEDY}."
    ]


def _verdicts_of(level: Level, analyses: Mapping[str, Analysis | None]) -> str:
    by_tone: dict[str, list[str]] = defaultdict(list)
    for name, analysis in analyses.items():
        if analysis is None:
            continue
        compared = analysis.compared
        whole = next((one for one in compared.wholes if one.level == level), None)
        if whole is None:
            continue
        if whole.held:
            by_tone["held"].append(name)
        elif whole.tone not in ("open", "inconclusive") and not _crosses(compared, level):
            size = "" if whole.tone == "equivalent" else f" by {size_text(whole.change)}"
            by_tone[whole.tone].append(f"{name}{size}")
        else:
            by_tone["crosses" if _crosses(compared, level) else "uncertain"].append(name)
    phrases = {
        "better": "less time for",
        "worse": "more time for",
        "equivalent": "no difference that matters for",
        "crosses": "less time at one load and more at another for",
        "uncertain": "nothing certain over all cells for",
        "held": "nothing is claimed for",
    }
    if len(by_tone["uncertain"]) > _LISTED:
        by_tone["uncertain"] = [f"{len(by_tone['uncertain'])} of them"]
    return "; ".join(
        f"{phrase} {', '.join(by_tone[tone])}" for tone, phrase in phrases.items() if by_tone[tone]
    )


def _crosses(compared: Compared, level: Level) -> bool:
    tones = {one.tone for one in claims_of(compared, level).findings}
    return {"better", "worse"} <= tones


_TITLE = "Each statement"


def _show(found: Statements, _inputs: Inputs) -> Shown:
    texts = TextTable("The statements", ("name", "statement"), found.texts)
    return Shown(_TITLE, found.lead, (*found.tables, texts), more=found.sentences)


def _json(found: Statements, inputs: Inputs) -> list[dict[str, Any]]:
    """Each statement: its text if it is known, its figures in each cell, its changes by the mean
    service time."""
    texts = dict(found.texts)
    changes = {one.metric.name: one for one in found.compared}
    documents = []
    for name in dict.fromkeys(one.name for one in found.figures):
        ends = (_MEDIAN, _MEAN)
        compared = next((changes[m] for e in ends if (m := _metric(name, e).name) in changes), None)
        documents.append(
            {
                "name": name,
                "text": texts.get(name),
                "cells": [
                    {
                        "factors": dict(one.cell),
                        "n": one.repeats,
                        **{key: mean_json(estimate) for key, estimate in one.figures.items()},
                        "intervals": {
                            key: [finite(e.low), finite(e.high)] for key, e in one.figures.items()
                        },
                    }
                    for one in found.figures
                    if one.name == name
                ],
                **{
                    depth: [change_json(inputs.layout, one) for one in of(compared)]
                    if compared
                    else []
                    for depth, of in DEPTHS.items()
                },
            }
        )
    return documents


SECTION = Section("statements", _TITLE, statements_of, _show, _json)
