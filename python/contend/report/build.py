"""A run folder becomes a Report: every figure, every word, no looks."""

from __future__ import annotations

import itertools

from contend.report.answer import answer_of
from contend.report.beside import beside_of
from contend.report.bounds import bounds_of
from contend.report.causes import explanation_of
from contend.report.charts import panel_charts
from contend.report.figures import cell_figures
from contend.report.gains import comparisons_of
from contend.report.model import CellFigures, Report
from contend.report.notices import failures_of, progress_of, warnings_of
from contend.report.panels import layout_of, panels_of
from contend.report.provenance import client_text, fact_groups, summary_of, variables_table
from contend.report.study import Study, study_of
from contend.store import RunFolder


def build(folder: RunFolder) -> Report:
    """The report of a run folder, whole or not."""
    study = study_of(folder)
    experiment = study.experiment
    explanation = explanation_of(experiment.explain)
    layout = layout_of(study, explanation)
    comparisons = comparisons_of(study)
    cells = _cells(study)
    panels = panels_of(study, layout, comparisons, cells)
    progress = progress_of(study, folder.writer_pid())
    arrival = _arrival(study)
    return Report(
        name=experiment.name,
        question=experiment.question,
        variant=experiment.variant,
        run=folder.path.resolve().name,
        path=folder.path,
        created_at=study.meta.created_at,
        ended_at=study.records[-1].ended_at if study.records else "",
        contend_version=study.meta.contend_version,
        confidence=experiment.compare.confidence,
        margin=experiment.compare.margin,
        arrival=arrival,
        progress=progress,
        answer=answer_of(study, explanation, comparisons, cells, progress),
        layout=layout,
        panels=panels,
        comparisons=comparisons,
        cells=cells,
        beside=beside_of(study, layout.levels, comparisons),
        cause=explanation.cause(study, layout, panels),
        bounds=bounds_of(study, layout, panels, comparisons),
        charts=panel_charts(panels, layout, arrival),
        warnings=warnings_of(study, comparisons),
        failures=failures_of(study),
        method=_method(study, arrival),
        summary=summary_of(study),
        facts=fact_groups(study),
        variables=variables_table(study, explanation),
        spec_text=experiment.source,
        overrides=experiment.overrides,
    )


def _cells(study: Study) -> tuple[CellFigures, ...]:
    """Every cell that has a measured run, in file order with the last factor fastest."""
    factors = study.experiment.factors
    paths = [factor.path for factor in factors]
    cells = (
        dict(zip(paths, levels, strict=True))
        for levels in itertools.product(*(factor.levels for factor in factors))
    )
    found = (cell_figures(study, cell) for cell in cells)
    return tuple(figures for figures in found if figures is not None)


def _arrival(study: Study) -> str:
    kinds = {str((run.done or {}).get("arrival") or "closed-loop") for run in study.measured}
    return ", ".join(sorted(kinds)) or "closed-loop"


def _method(study: Study, arrival: str) -> tuple[str, ...]:
    """How the figures came about, one statement a line."""
    experiment = study.experiment
    settings, base = experiment.compare, experiment.base
    lines = [
        f"One run measures one cell for {base['load.measure']:g} s after {base['load.warmup']:g} s "
        "of warm-up"
        + (" (unless a factor says otherwise)" if _varies(study, "load.") else "")
        + f"; the seed of every random stream is {base['load.seed']}.",
        f"Each cell has {settings.repeats} planned runs, in random order.",
    ]
    if study.roles.baseline is not None:
        lines += [
            "Compared levels run as neighbours: a block holds every level once, in random order, "
            "so that slow changes of the machine fall on all of them alike.",
            f"A gain is the geometric mean of the pairs' ratios; ± is half of its "
            f"{settings.confidence * 100:g} % Student t interval on log-ratios, each interval for "
            "its own comparison.",
            "A verdict holds for all comparisons together (Holm): faster and slower exclude no "
            f"change; equivalent lies within ±{settings.margin * 100:g} %; inconclusive is "
            "neither, and is an answer.",
        ]
    lines += [
        "Figures of a cell are means over its runs with t intervals. Percentiles are read from "
        "the merged histograms of all its runs; their intervals from the spread between runs.",
        f"Load is {arrival}: "
        + (
            "each connection waits for its answer before it asks again, so latency excludes the "
            "wait of users who would have come in the meantime."
            if "closed" in arrival
            else "latency runs from the intended start."
        ),
        "CPU, context switches and bytes read are counters of the processes between the two edges "
        "of the measured window, divided by the queries in it.",
        client_text(study.measured),
    ]
    if experiment.published:
        lines.append(
            "Published figures are of other machines, other versions and single runs without "
            "intervals: direction and shape can be compared, numbers cannot."
        )
    return tuple(lines)


def _varies(study: Study, prefix: str) -> bool:
    return any(
        factor.path.startswith(prefix) and factor.path.rpartition(".")[2] in ("warmup", "measure")
        for factor in study.experiment.factors
    )
