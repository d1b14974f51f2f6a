"""A run folder becomes a Report: every figure and every text, but not their appearance."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from contend.experiment import CellSpec, Experiment, Level, asks_twins, without_metric
from contend.findings import (
    Analysis,
    CellFigures,
    Compared,
    ReportText,
    Study,
    cell_figures,
    compared_of,
    costs_of,
    deciding_of,
    leading_level,
    study_of,
)
from contend.findings.screen import SHARES
from contend.metrics import KEY_REQUESTS
from contend.metrics.read import alone
from contend.report.answer import TwinsAnswer, answer_of
from contend.report.charts import panel_charts, picture_of
from contend.report.gate import gate_of_study
from contend.report.model import Answer, Parts, Report, missing_text
from contend.report.notices import failures_of, host_notes_of, progress_of, warnings_of
from contend.sections import sessions, setup, shape, statement_costs, statements
from contend.sections.goal import SECTION as GOAL
from contend.sections.model import (
    Chart,
    Inputs,
    Layout,
    MadeSection,
    Panel,
    Shown,
    TextTable,
)
from contend.sections.panels import (
    layout_of,
    other_levels_of,
    overall_of,
    panels_of,
    wholes_of,
)
from contend.sections.provenance import (
    about_server,
    client_text,
    fact_groups,
    naming_in,
    summary_of,
    variables_table,
)
from contend.sections.registry import SECTIONS
from contend.sections.screen import SECTION as SCREEN
from contend.sections.twins import SECTION as TWINS
from contend.sections.twins import twins_lead, twins_sentences
from contend.sections.why import CAUSE
from contend.sections.words import repeats_each_text
from contend.store import RunFolder
from contend.why.studies import BY_SECONDS
from contend.why.studies.segmented_key_cache import expected_of


def build(folder: RunFolder, metrics: Sequence[str] = (), *, percentiles: bool = True) -> Report:
    """The report of a run folder, whole or not.

    Args:
        folder: the measurements.
        metrics: names of the metrics to compare; by default those of the experiment.
        percentiles: include those of response times even if they are not compared. They are
            read from the histograms of all runs, which takes long.

    Raises:
        SpecError: one of `metrics` is in no run of the folder.
    """
    with _without_collecting():
        study = study_of(folder, metrics, percentiles=percentiles, by_seconds=BY_SECONDS)
        if metrics:
            _refuse_unmeasured(study)
        return _report(folder, study)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Runs live as long as their report: repeated garbage collection among thousands of them
    would take a fifth of the time."""
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
    deciding = deciding_of(study)
    analyses = compared_of(study, deciding)
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
    looks = part("Diagnostic passes", lambda: tuple(folder.looks()), ())
    inputs = Inputs(folder, study, naming, layout, panels, cells, analyses, compared, looks)
    made = _sections(inputs)
    lead = leading_level(compared[0]) if compared[0].wholes else None
    overall = part(
        "Changes over all tables",
        lambda: _overall(study, layout, panels, compared, first, lead),
        tuple(() for _ in compared),
    )
    charts = part("Charts", lambda: panel_charts(study.metrics, panels, layout, arrival), ())
    costs = part("Costs of each level", lambda: _comparable(costs_of(study), study), ())
    growth = next((one.shown for one in made if one.section is shape.SECTION and one.shown), None)
    answered = next(
        (one.shown for one in made if one.section in (GOAL, SCREEN) and one.shown), None
    )
    others = (*(answered.charts if answered else ()), *(growth.charts if growth else ()), *charts)
    picture = part(
        "The picture", lambda: picture_of(study.roles, layout, panels, compared[0], others), None
    )
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
            lambda: answer_of(
                study,
                naming,
                analyses,
                costs,
                panels,
                cells,
                progress,
                _by_statement(inputs, made),
                _about_setup(made),
                _of_twins(inputs, made),
            ),
            Answer(ReportText("The answer could not be written; the figures remain valid."), ()),
        ),
        gate=gate_of_study(study, deciding),
        picture=picture,
        wholes=wholes_of(layout, study.roles, (*compared, *costs)),
        key="",
        layout=layout,
        panels=panels,
        compared=compared,
        costs=costs,
        overall=overall,
        cells=cells,
        made=tuple(_without(picture, one) for one in made),
        charts=tuple(one for one in charts if picture is None or one.id != picture.id),
        warnings=part("Warnings", lambda: warnings_of(study, compared, cells), ()),
        failures=failures_of(study),
        host_notes=part("Host problems", lambda: host_notes_of(study), ()),
        method=part("How it was measured", lambda: _method(study, arrival), ()),
        summary=part("Summary", lambda: summary_of(study), ()),
        facts=part("Facts", lambda: fact_groups(study), ()),
        variables=part("Variables", lambda: variables_table(study, naming), None),
        spec_text=experiment.source,
        overrides=experiment.overrides,
    )
    return replace(report, key=_key(report), lost=tuple(parts.missing))


def _without(picture: Chart | None, made: MadeSection) -> MadeSection:
    """A section without the chart that is under the answer."""
    if made.shown is None or picture not in made.shown.charts:
        return made
    charts = tuple(one for one in made.shown.charts if one is not picture)
    return replace(made, shown=replace(made.shown, charts=charts))


def _sections(inputs: Inputs) -> tuple[MadeSection, ...]:
    """All sections with content. One that cannot be made is replaced by a message."""
    found = []
    for section in SECTIONS:
        try:
            read = section.read(inputs)
            shown = None if read is None else section.show(read, inputs)
        except Exception as error:  # Any error affects this section alone.
            lost = Shown(section.title, missing_text(error))
            found.append(MadeSection(section, lost, is_missing=True))
            continue
        if read is not None:
            found.append(MadeSection(section, shown, inputs, read))
        if section is CAUSE:
            inputs = replace(inputs, has_cause=read is not None and read.is_short)
    return tuple(found)


def _key(report: Report) -> str:
    """How the tables of changes are read."""
    decided = (
        f"≈: the same, within ±{report.margin * 100:g} %; ?: not certain"
        if report.progress.state == "complete"
        else "no verdicts before the run is finished"
    )
    n = repeats_each_text(report.comparisons).removeprefix("n = ")
    earlier = report.found(sessions.SECTION.name)
    note = f"; {earlier.note}" if earlier is not None and earlier.note else ""
    return (
        f"±: half of the interval; all intervals of this report hold together with "
        f"{report.confidence * 100:g} %; {n}; {decided}{note}."
    )


def _overall(
    study: Study,
    layout: Layout,
    panels: Sequence[Panel],
    compared: Sequence[Compared],
    first: Analysis | None,
    lead: Level | None,
) -> tuple[tuple[TextTable, ...], ...]:
    overall = [overall_of(study, layout, panels, one) for one in compared]
    if lead is not None:
        overall[0] += other_levels_of(study, layout, first, lead)
    return tuple(overall)


def _comparable(costs: Sequence[Compared], study: Study) -> tuple[Compared, ...]:
    """Drop the costs per query if the experiment uses whole events: its levels then send different
    queries, whose single costs mean nothing."""
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
    return tuple(_with_expected(study, figures) for figures in found if figures is not None)


def _with_expected(study: Study, figures: CellFigures) -> CellFigures:
    requests = expected_of(study, study.runs_of(figures.cell))
    return figures if requests is None else replace(figures, expected={KEY_REQUESTS: requests})


def _about_setup(made: Sequence[MadeSection]) -> list[ReportText]:
    found = (one.found for one in made if one.section is setup.SECTION)
    return [text for facts in found if facts is not None for text in setup.setup_sentences(facts)]


def _of_twins(inputs: Inputs, made: Sequence[MadeSection]) -> TwinsAnswer | None:
    """What the answer says of the statements of a recording; None without one."""
    found = next((one.found for one in made if one.section is TWINS and one.found), None)
    if found is None:
        return None
    return TwinsAnswer(twins_lead(found), tuple(twins_sentences(found, inputs)))


def _by_statement(inputs: Inputs, made: Sequence[MadeSection]) -> tuple[str, ...]:
    """The certain changes of each statement with the same load on all levels, and the certain costs
    of each by itself; empty without either."""
    study = inputs.study
    if not statements.rate_text(study) and not any(map(alone, study.measured)):
        return ()
    found = {one.section.name: one.found for one in made if one.found is not None}
    changes, costs = found.get("statements"), found.get("statement_costs")
    return (
        *(changes.sentences if changes is not None else ()),
        *(statement_costs.prices(costs, inputs) if costs is not None else ()),
    )


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
    seed = f"every random stream is seeded from {base['load.seed']}"
    lines = [_unit(study, seed)]
    if study.roles.baseline is not None:
        lines += [
            "Each repeat gives one log-ratio per level and cell, from all its blocks together. One "
            "model of the whole table computes every change from them: a geometric mean over the "
            "repeats and over the cells of its place. Repeats are the independent unit, and n "
            "counts them.",
            f"Intervals with verdicts hold together: in {settings.confidence * 100:g} of 100 "
            "experiments no claim of the whole report is false. The metric that decides, or those "
            "of a gate together, always keep four fifths of that chance of error. Further metrics, "
            "costs, statements, the leading cell, growth and causes share the rest, as fixed "
            "before the run. Within a metric the chance is divided over levels, columns, rows, "
            "cells and pairs of levels (2 : 1 : 1 : 1 : 1, as far as the table has them), and "
            "within each by the largest t. A metric requested afterwards has intervals and no "
            "verdict.",
            "A verdict depends only on its printed interval. Within "
            f"±{settings.margin * 100:g} % it is equivalent; otherwise, if it excludes no change, "
            "faster or slower (for a cost, higher or lower); otherwise inconclusive, which is an "
            "answer too.",
        ]
    if settings.is_by_width:
        lines.append(
            "An experiment that stops once its intervals are narrow enough tends to stop when they "
            "are too narrow by chance. To keep their confidence, they are computed at "
            f"{study.family('first').confidence * 100:g} % for the metrics that decide."
        )
    if asks_twins(experiment):
        return (*lines, *_method_of_twins(study))
    if experiment.lines:
        lines += _method_of_screen(experiment)
    lines += [
        "Figures of a cell are means over its repeats with t intervals, each by itself. "
        "Percentiles come from the merged histograms of all its runs, and their intervals from the "
        "spread between repeats.",
        f"Load is {arrival}: "
        + (
            "each connection waits for its answer before it sends again, so latency excludes the "
            "wait of users who would have come in the meantime."
            if "closed" in arrival
            else "latency runs from the intended start."
        ),
        *(
            [
                f"{rate}: response times of each kind of event, in an open loop. Service times of "
                "statements are of each kind by itself on one connection."
            ]
            if (rate := statements.rate_text(study))
            else []
        ),
        "CPU, context switches and bytes read are process counters over the measured window, "
        "divided by the queries in it."
        + "".join(f" Those of the server are not known: {why}." for why in _without_process(study)),
        client_text(study.measured),
    ]
    if experiment.published:
        lines.append(
            "Published figures come from different machines and versions, and from single runs "
            "without intervals: compare direction and shape, not numbers."
        )
    return tuple(lines)


def _method_of_screen(experiment: Experiment) -> list[str]:
    error = 1 - experiment.compare.confidence
    shares = ", ".join(f"{100 * share * error:g} % {part}" for part, share in SHARES.items())
    return [
        "The log-ratio of a pair is the sum of the effects of all lines, with the signs of its "
        "row, and a constant for the place. Least squares give each effect, and the noise is what "
        "the effects leave. What two lines do together cancels in a pair.",
        "Which lines matter is decided once, by the first part; the other parts use none of its "
        f"pairs. The chances of a false claim are {shares}; within each part all intervals hold "
        "together (largest t). Costs and sums of effects have intervals and no verdict.",
    ]


def _method_of_twins(study: Study) -> tuple[str, ...]:
    shares = {one.probes["twins"]["shares_of"] for one in study.measured if "twins" in one.probes}
    weights = (
        "the time that was logged"
        if shares == {"time"}
        else "its recorded calls and its time at the baseline"
    )
    return (
        "A statement is sent several times to every level. Its time is the shortest of them, from "
        "sending it to the last byte of its answer. The change of a template is the geometric mean "
        "of its statements' ratios.",
        f"The change of the whole is the mean of the templates' ratios, weighted by {weights}. "
        "Waits for other statements and for their locks are not measured.",
        "Private servers and contend-load share one CPU, since one statement runs at a time "
        "(place.server.cpus names different ones).",
        "Claims about templates are a family of their own: of those that are named, 5 % may be "
        "false, on average. An interval excludes no change if and only if its template is named.",
    )


def _without_process(study: Study) -> list[str]:
    servers = [record for run in study.measured if (record := run.probes.get("server"))]
    return sorted({why for one in servers if (why := one.get("without_process"))})


def _unit(study: Study, seed: str) -> str:
    """The unit of repetition, and its duration."""
    base = study.experiment.base
    if asks_twins(study.experiment):
        return (
            "Each repeat starts a new server per level, and draws a new sample of every template. "
            f"Each statement is sent to all levels before the next one, in random order; {seed}."
        )
    if study.experiment.lines:
        own = "two new servers" if study.way.get("servers", 1) > 1 else "one server"
        return (
            f"Each pair compares two cells on {own}, in turn, one slice at a time, with the same "
            "queries. In the first part these are a row of a Plackett-Burman design and its mirror "
            "image, in random order of rows, and the row has the first place in every other "
            f"round; {seed}, with a different draw in each pair."
        )
    if study.in_slices:
        return (
            "Each repeat starts a new server per level and takes them through all cells in random "
            "order. In a block contend-load queries all of them in turn, one slice at a time, with "
            f"the same queries; {seed}, with a different draw in each block."
        )
    varies = " (unless a factor says otherwise)" if _length_varies(study) else ""
    neighbours = (
        " Compared levels run as neighbours: a block holds every level once, in random order, so "
        "that slow changes of the machine affect all of them alike."
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
