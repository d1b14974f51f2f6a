"""A run folder becomes a Report: every figure, every word, no looks."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from contend.findings import (
    CAUSES,
    Analysis,
    CellFigures,
    Compared,
    Said,
    Study,
    cell_figures,
    compared_of,
    costs_of,
    counters_of,
    gate_of,
    study_of,
    sweeps_of,
)
from contend.findings.budget import BUDGET, Budget, budgets_of
from contend.findings.lock_waits import LOCKS, LocksOfCell, locks_of
from contend.findings.looks import failed_looks
from contend.findings.plans import PLANS, PlansOfCell, plans_of
from contend.findings.server_says import server_says
from contend.findings.switches import SWITCHES, SwitchesOfCell, switches_of
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
from contend.report.model import Answer, Layout, Overall, Panel, Report, Section
from contend.report.notices import failures_of, progress_of, warnings_of
from contend.report.panels import layout_of, other_levels_of, overall_of, panels_of, wholes_of
from contend.report.parts import Parts
from contend.report.plans import plan_section
from contend.report.profile import profile_section
from contend.report.provenance import (
    about_server,
    client_text,
    fact_groups,
    naming_in,
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
from contend.spec import CellSpec, Level, without_metric
from contend.store import LookRecord, RunFolder


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
    naming = naming_in(study)
    layout = layout_of(study, naming)
    analyses = compared_of(study)
    first = analyses[0]
    compared = tuple(
        Compared(metric) if one is None else one.compared
        for metric, one in zip(study.metrics, analyses, strict=True)
    )
    cells = _cells(study)
    panels = panels_of(study, layout, compared, cells)
    progress = progress_of(study, folder.writer_pid())
    arrival = _arrival(study)
    parts = Parts()
    part = parts.make
    shapes = part("Growth along the columns", lambda: shapes_of(study, layout, panels), ())
    sweeps = part("The curve of the load", lambda: sweeps_of(study), ())
    cause, looked_at = part("Why", lambda: cause_of(study, naming, compared[0]), (None, None))
    lead = leading_level(compared[0]) if compared[0].wholes else None
    overall = part(
        "Changes over all tables",
        lambda: _overall(study, layout, panels, compared, first, lead),
        tuple(() for _ in compared),
    )
    charts = part(
        "Charts",
        lambda: (
            *shape_charts(shapes, layout),
            *panel_charts(study.metrics, panels, layout, arrival),
        ),
        (),
    )
    costs = part("What each level costs", lambda: _comparable(costs_of(study), study), ())
    picture = part(
        "The picture", lambda: picture_of(study.roles, layout, panels, compared[0], charts), None
    )
    looks = _looks_of(folder, study, parts)
    sections = [
        part("How the server scales", lambda: scaling_section(study, sweeps, layout, panels), None),
        part("TPC-C", lambda: tpcc_section(study, cells), None),
        *looks.sections,
        part("Locks of the servers", lambda: locks_section(study, cells), None),
        part("The hosts of the load", lambda: hosts_section(study, cells), None),
        part("The state of the host", lambda: host_state_section(study, first), None),
        part("Why: what takes the difference away", lambda: why_section(folder), None),
        part("Profile", lambda: profile_section(folder), None),
        part("The memory of each node", lambda: memory_nodes_section(study), None),
        looked_at,
    ]
    report = Report(
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
        answer=part(
            "Answer",
            lambda: answer_of(study, naming, analyses, costs, panels, cells, progress),
            Answer(Said("The answer could not be written; the figures stand."), ()),
        ),
        gate=gate_of_study(study, first, gate_of(study, first)),
        picture=picture,
        wholes=wholes_of(layout, study.roles, (*compared, *costs)),
        layout=layout,
        panels=panels,
        compared=compared,
        costs=costs,
        overall=overall,
        sessions=part(
            "Earlier sessions",
            lambda: None if first is None or lead is None else sessions_of(study, first, lead),
            None,
        ),
        cells=cells,
        statements=part(
            "Each statement", lambda: statements_of(study, naming, layout, panels, cells), None
        ),
        shapes=shapes,
        sweeps=sweeps,
        beside=part("Side by side", lambda: beside_of(study, layout.levels, first), None),
        sections=tuple(filter(None, sections)),
        counters=part(
            "What else differs", lambda: counter_section(study, naming, counters_of(study)), None
        ),
        cause=cause,
        bounds=part(
            "What the machine allows",
            lambda: bounds_of(
                study, layout, panels, compared[0].comparisons, cause_told=cause is not None
            ),
            (),
        ),
        charts=tuple(one for one in charts if picture is None or one.id != picture.id),
        warnings=part("Warnings", lambda: warnings_of(study, compared, cells), ()),
        failures=failures_of(study),
        host_notes=part("The host, as doctor saw it", lambda: host_notes_of(study), ()),
        method=part("How it was measured", lambda: _method(study, arrival), ()),
        summary=part("Summary", lambda: summary_of(study), ()),
        facts=part("Facts", lambda: fact_groups(study), ()),
        variables=part("Variables", lambda: variables_table(study, naming), None),
        differences=part(
            "What still differs between the servers", lambda: differences_of(study), None
        ),
        budgets=looks.budgets,
        locks=looks.locks,
        plans=looks.plans,
        switches=looks.switches,
        spec_text=experiment.source,
        overrides=experiment.overrides,
    )
    missing = tuple(parts.missing)
    return replace(report, missing=missing, sections=(*report.sections, *missing))


@dataclass(frozen=True, slots=True)
class _Looks:
    """What looks at causes found, by their kind, and what is said of it."""

    budgets: tuple[tuple[Budget, ...], ...]
    locks: tuple[tuple[LocksOfCell, ...], ...]
    plans: tuple[tuple[PlansOfCell, ...], ...]
    switches: tuple[tuple[SwitchesOfCell, ...], ...]
    sections: tuple[Section | None, ...]


Seen = TypeVar("Seen")


def _looks_of(folder: RunFolder, study: Study, parts: Parts) -> _Looks:
    looks = parts.make("Looks at causes", folder.looks, ())
    path = None if study.roles.compared is None else study.roles.compared.path

    def part(
        title: str,
        kind: str,
        found_of: Callable[[Sequence[LookRecord], str | None, Level | None], list[list[Seen]]],
        section_of: Callable[[list[list[Seen]], list[LookRecord], str | None], Section | None],
    ) -> tuple[tuple[tuple[Seen, ...], ...], Section | None]:
        def made() -> tuple[tuple[tuple[Seen, ...], ...], Section | None]:
            found = found_of(looks, path, study.roles.baseline)
            section = section_of(found, failed_looks(looks, kind), path)
            return tuple(map(tuple, found)), section

        return parts.make(title, made, ((), None))

    def of_budgets(
        found: list[list[Budget]], failed: list[LookRecord], compared: str | None
    ) -> Section | None:
        says = [server_says(study, [one.cell for one in group]) for group in found]
        return budget_section(found, says, failed, compared)

    budgets, budget = part("Where the time of a query goes", BUDGET, budgets_of, of_budgets)
    switches, switch = part(
        "Threads that were taken off their CPUs", SWITCHES, switches_of, switch_section
    )
    plans, plan = part("By which plans statements are answered", PLANS, plans_of, plan_section)
    locks, lock = part("What threads of the server wait for", LOCKS, locks_of, lock_section)
    return _Looks(budgets, locks, plans, switches, (budget, switch, plan, lock))


def _overall(
    study: Study,
    layout: Layout,
    panels: Sequence[Panel],
    compared: Sequence[Compared],
    first: Analysis | None,
    lead: Level | None,
) -> tuple[tuple[Overall, ...], ...]:
    overall = [overall_of(study, layout, panels, one) for one in compared]
    if lead is not None:
        overall[0] += other_levels_of(study, layout, first, lead)
    return tuple(overall)


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
