"""A run folder becomes a Report: every figure, every word, no looks."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from contend.findings import (
    CAUSES,
    CellFigures,
    Compared,
    Study,
    cell_figures,
    compared_of,
    costs_of,
    counters_of,
    gate_of,
    study_of,
    sweeps_of,
)
from contend.findings.budget import BUDGET, budgets_of
from contend.findings.lock_waits import LOCKS, locks_of
from contend.findings.looks import failed_looks
from contend.findings.plans import PLANS, plans_of
from contend.findings.server_says import server_says
from contend.findings.switches import SWITCHES, switches_of
from contend.report.answer import answer_of, leading_level
from contend.report.basis import sessions_of
from contend.report.beside import beside_of
from contend.report.bounds import bounds_of
from contend.report.budget import budget_section
from contend.report.causes import cause_of
from contend.report.charts import panel_charts, picture_of
from contend.report.counters import counter_section
from contend.report.gate import gate_of_study
from contend.report.host_notes import host_notes_of
from contend.report.host_state import host_state_section
from contend.report.hosts import hosts_section
from contend.report.lock_waits import lock_section
from contend.report.locks import locks_section
from contend.report.memory_nodes import memory_nodes_section
from contend.report.model import Report
from contend.report.naming import naming_of
from contend.report.notices import failures_of, progress_of, warnings_of
from contend.report.panels import layout_of, other_levels_of, overall_of, panels_of, wholes_of
from contend.report.plans import plan_section
from contend.report.profile import profile_section
from contend.report.provenance import (
    about_server,
    client_text,
    fact_groups,
    servers_by_name,
    summary_of,
    variables_table,
)
from contend.report.scaling import scaling_section
from contend.report.servers import differences_of
from contend.report.shape import shape_charts, shapes_of
from contend.report.statements import statements_of
from contend.report.switches import switch_section
from contend.report.tpcc import tpcc_section
from contend.report.why import why_section
from contend.spec import CellSpec, without_metric
from contend.store import RunFolder


def build(folder: RunFolder, metrics: Sequence[str] = (), *, percentiles: bool = True) -> Report:
    """The report of a run folder, whole or not.

    Args:
        folder: what was measured.
        metrics: what to compare, by name; if there are none, what the experiment names.
        percentiles: have those of response times in it even if they are not compared. They are
            read from the histograms of all runs, which takes long.

    Raises:
        SpecError: one of `metrics` is in no run of the folder.
    """
    with _without_collecting():
        by_seconds = {name for name, cause in CAUSES.items() if cause.by_seconds}
        study = study_of(folder, metrics, percentiles=percentiles, by_seconds=by_seconds)
        if metrics:
            _refuse_unmeasured(study)
        return _report(folder, study)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Runs live as long as their report: to look for garbage among thousands of them again and
    again takes a fifth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _report(folder: RunFolder, study: Study) -> Report:
    experiment = study.experiment
    naming = naming_of(experiment, servers_by_name(study))
    layout = layout_of(study, naming)
    analyses = compared_of(study)
    compared = tuple(
        Compared(metric) if one is None else one.compared
        for metric, one in zip(study.metrics, analyses, strict=True)
    )
    cells = _cells(study)
    panels = panels_of(study, layout, compared, cells)
    progress = progress_of(study, folder.writer_pid())
    arrival = _arrival(study)
    shapes = shapes_of(study, layout, panels)
    sweeps = sweeps_of(study)
    cause, looked_at = cause_of(study, naming, compared[0])
    lead = leading_level(compared[0]) if compared[0].wholes else None
    overall = [overall_of(study, layout, panels, one) for one in compared]
    if lead is not None:
        overall[0] += other_levels_of(study, layout, analyses[0], lead)
    charts = (
        *shape_charts(shapes, layout),
        *panel_charts(study.metrics, panels, layout, arrival),
    )
    costs = _comparable(costs_of(study), study)
    path = None if study.roles.compared is None else study.roles.compared.path
    looks = folder.looks()
    budgets = budgets_of(looks, path, study.roles.baseline)
    locks = locks_of(looks, path, study.roles.baseline)
    switches = switches_of(looks, path, study.roles.baseline)
    plans = plans_of(looks, path, study.roles.baseline)
    says = [server_says(study, [one.cell for one in group]) for group in budgets]
    picture = picture_of(study.roles, layout, panels, compared[0], charts)
    return Report(
        name=experiment.name,
        question=experiment.question,
        about_server=about_server(study),
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
        answer=answer_of(study, naming, analyses, costs, panels, cells, progress),
        gate=gate_of_study(study, analyses[0], gate_of(study, analyses[0])),
        picture=picture,
        wholes=wholes_of(layout, study.roles, (*compared, *costs)),
        layout=layout,
        panels=panels,
        compared=compared,
        costs=costs,
        overall=tuple(overall),
        sessions=None
        if analyses[0] is None or lead is None
        else sessions_of(study, analyses[0], lead),
        cells=cells,
        statements=statements_of(study, naming, layout, panels, cells),
        shapes=shapes,
        sweeps=sweeps,
        beside=beside_of(study, layout.levels, analyses[0]),
        sections=tuple(
            filter(
                None,
                (
                    scaling_section(study, sweeps, layout, panels),
                    tpcc_section(study, cells),
                    budget_section(budgets, says, failed_looks(looks, BUDGET), path),
                    switch_section(switches, failed_looks(looks, SWITCHES), path),
                    plan_section(plans, failed_looks(looks, PLANS), path),
                    lock_section(locks, failed_looks(looks, LOCKS), path),
                    locks_section(study, cells),
                    hosts_section(study, cells),
                    host_state_section(study, analyses[0]),
                    why_section(folder),
                    profile_section(folder),
                    memory_nodes_section(study),
                    looked_at,
                ),
            )
        ),
        counters=counter_section(study, naming, counters_of(study)),
        cause=cause,
        bounds=bounds_of(
            study, layout, panels, compared[0].comparisons, cause_told=cause is not None
        ),
        charts=tuple(one for one in charts if picture is None or one.id != picture.id),
        warnings=warnings_of(study, compared, cells),
        failures=failures_of(study),
        host_notes=host_notes_of(study),
        method=_method(study, arrival),
        summary=summary_of(study),
        facts=fact_groups(study),
        variables=variables_table(study, naming),
        differences=differences_of(study),
        budgets=tuple(map(tuple, budgets)),
        locks=tuple(map(tuple, locks)),
        plans=tuple(map(tuple, plans)),
        switches=tuple(map(tuple, switches)),
        spec_text=experiment.source,
        overrides=experiment.overrides,
    )


def _comparable(costs: Sequence[Compared], study: Study) -> tuple[Compared, ...]:
    """Without those of a query if the experiment looks at whole events: then its levels ask by
    other queries, and what one of them costs says nothing."""
    by_event = any(metric.name.endswith("_per_event") for metric in study.metrics)
    return tuple(one for one in costs if not (by_event and one.metric.name.endswith("_per_query")))


def _refuse_unmeasured(study: Study) -> None:
    for metric in study.metrics:
        if study.measured and all(metric.value(run) is None for run in study.measured):
            raise without_metric(metric.name, study.measured[0])


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
    kinds = set()
    for run in study.measured:
        arrival: str | None = run.done.get("arrival") if run.done else None
        kinds.add(arrival or "closed-loop")
    return ", ".join(sorted(kinds)) or "closed-loop"


def _method(study: Study, arrival: str) -> tuple[str, ...]:
    """How the figures came about, one statement a line."""
    experiment = study.experiment
    settings, base = experiment.compare, experiment.base
    seed = f"the seed of every random stream is made of {base['load.seed']}"
    lines = [_unit(study, seed)]
    if study.roles.baseline is not None:
        lines += [
            "A repeat gives one log-ratio of each level in each cell, all its blocks together. "
            "One model of the whole table makes each change of them: a geometric mean over the "
            "repeats, and over the cells of its place; what is independent is the repeat, and n "
            "counts repeats.",
            f"Intervals with verdicts hold together: in {settings.confidence * 100:g} of 100 "
            "experiments no claim of the whole report is false. Four fifths of that chance of "
            "error are the first metric's, whatever is looked at beside it; further metrics, "
            "costs, statements, the cell that stands out, growth and causes share the rest, all "
            "of it fixed before the run. Within a metric it is divided over levels, columns, "
            "rows, cells and pairs of levels (2 : 1 : 1 : 1 : 1, as far as the table has them), "
            "and within each by the largest t among them. A metric that is asked for afterwards "
            "has intervals and no verdict.",
            "A verdict is read off its printed interval and nothing else: within "
            f"±{settings.margin * 100:g} % equivalent; otherwise, if it excludes no change, faster "
            "or slower (of a cost: higher or lower); otherwise inconclusive, which is an answer.",
        ]
    if settings.width is not None:
        lines.append(
            "An experiment that stops when its intervals are narrow enough prefers moments at "
            "which they look so; to hold what they promise they are computed at "
            f"{study.family('first').confidence * 100:g} % for the first metric."
        )
    lines += [
        "Figures of a cell are means over its repeats with t intervals, each for itself. "
        "Percentiles are read from the merged histograms of all its runs; their intervals from the "
        "spread between repeats.",
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


def _unit(study: Study, seed: str) -> str:
    """What is repeated, and for how long."""
    base = study.experiment.base
    if study.in_slices:
        return (
            "A repeat starts a server for each level anew and takes them through all cells in "
            "random order. In a block contend-load asks all of them in turn, a slice at a time, "
            f"with the same queries; {seed}, another draw in each block."
        )
    varies = " (unless a factor says otherwise)" if _length_varies(study) else ""
    neighbours = (
        " Compared levels run as neighbours: a block holds every level once, in random order, so "
        "that slow changes of the machine fall on all of them alike."
        if study.roles.baseline is not None
        else ""
    )
    return (
        f"One run measures one cell {_length(base)} after {base['load.warmup']:g} s of "
        f"warm-up{varies}; {seed}.{neighbours}"
    )


def _length(base: CellSpec) -> str:
    """How long a run is: `for 5 s`, or until its work is done."""
    measure = f"for {base['load.measure']:g} s"
    limits = ("load.events", " events"), ("load.events_each", " events of each connection")
    works = [f"{base[path]}{noun}" for path, noun in limits if base[path] is not None]
    return f"until {' or '.join(works)} are done, at most {measure}," if works else measure


_LENGTHS = frozenset({"load.warmup", "load.measure", "load.events", "load.events_each"})


def _length_varies(study: Study) -> bool:
    return any(factor.path in _LENGTHS for factor in study.experiment.factors)
