"""The answer: one sentence a reader can repeat, what it costs, and what to do next.

The words follow the verdicts and nothing else, and a verdict is read off the interval that is
printed. As long as the experiment is not finished there are intervals and no verdicts. What these
three sentences leave to say stands in tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contend.findings import (
    Analysis,
    CellFigures,
    Compared,
    Given,
    Said,
    Study,
    claims_of,
)
from contend.metrics import THROUGHPUT, Metric
from contend.report.advice import PRICED, next_step, price_of
from contend.report.basis import basis_of
from contend.report.model import Answer, Panel, Progress
from contend.report.naming import Naming
from contend.report.places import place_text
from contend.report.sentence import claim_sentence
from contend.report.sessions import in_the_sentence, sessions_of
from contend.report.shape import sweep_sentences
from contend.report.words import estimate_text, repeats_text
from contend.spec import Level, without_metric
from contend.stats import Estimate


def answer_of(
    study: Study,
    naming: Naming,
    analyses: Sequence[Analysis | None],
    costs: Sequence[Compared],
    panels: Sequence[Panel],
    cells: Sequence[CellFigures],
    progress: Progress,
) -> Answer:
    """What the experiment says, or that it says nothing yet."""
    if not cells:
        none = f"0 of {progress.planned} planned runs."
        return Answer(Said("Nothing is measured yet."), (none,))
    first, *beside = analyses
    if first is None:
        return _without_comparison(study, cells, progress)
    level = leading_level(first.compared)
    sentence = claim_sentence(naming, first.compared, level)
    earlier = sessions_of(study, first, level)
    if not study.finished:
        sentence = Said(
            "Nothing is decided before the run is finished; so far ({}) {}",
            _so_far(progress),
            Said.written(sentence[0].lower() + sentence[1:]),
        )
    others = (
        price_of(
            [
                *(one.compared for one in beside if one is not None),
                *(one for one in costs if one.metric.name in PRICED),
            ],
            _tone(first, level),
            level,
        ),
        next_step(study, naming, first, level, panels),
    )
    return Answer(
        Said("{}{}.", sentence, in_the_sentence(study, earlier)),
        basis_of(study, first, level, earlier),
        tuple(filter(None, others)),
    )


def _so_far(progress: Progress) -> Said:
    return Said("{} of {} runs", Given(progress.measured), Given(progress.planned))


def _tone(analysis: Analysis, level: Level) -> str:
    """Better if the level is so anywhere that is certain."""
    tones = {one.tone for one in claims_of(analysis.compared, level).findings}
    return next((one for one in ("better", "worse") if one in tones), "")


def leading_level(compared: Compared) -> Level:
    """The level that the sentence is about: of those of which something is certain, the one with
    the best change over all cells; of those that its interval does not tell apart, the first in
    the file."""
    wholes = list(compared.wholes)
    told = [one for one in wholes if claims_of(compared, one.level)] or wholes
    better = [one for one in told if one.tone == "better"] or told
    pick = min if compared.metric.less_is_better else max
    best = pick(better, key=lambda one: one.change.ratio).change
    return next(one.level for one in better if one.change.low <= best.ratio <= one.change.high)


def _without_comparison(study: Study, cells: Sequence[CellFigures], progress: Progress) -> Answer:
    metric = study.metrics[0]
    measured = [cell for cell in cells if metric.name in cell.figures]
    if not measured:
        error = without_metric(metric.name, study.measured[0])
        missing = Said("Nothing to compare: {}.", Said.written(error.message))
        return Answer(missing, (f"{error.hint}",))
    pick = min if metric.less_is_better else max
    best = pick(measured, key=lambda cell: cell.figures[metric.name].mean)
    figure = _at(metric, best.figures[metric.name], best.cell)
    if metric.name == THROUGHPUT:
        begin, extreme = "This server answered", "most"
    else:
        begin = Said("{}:", Said.written(metric.title))
        extreme = "lowest" if metric.less_is_better else "highest"
    most = f", the {extreme} of all cells" if len(measured) > 1 else ""
    sentence = Said("{} {}{}.", begin, figure, most)
    others = sweep_sentences(study)
    if len(others) == 1:
        # A sweep of one thing: where it ends is the answer, the figures stand behind it.
        sentence, others = others[0], [_ends_of(study, metric, measured) or sentence]
    if not study.finished:
        sentence = Said("So far ({}): {}", _so_far(progress), sentence)
    why = (
        "the experiment names no baseline"
        if study.experiment.compared is None
        else "no repeat has both sides of a comparison, above 0"
        if study.finished
        else "no repeat has both sides of a comparison yet"
    )
    confidence = study.experiment.compare.confidence * 100
    basis = f"n = {repeats_text(best.repeats)}, {confidence:g} % intervals. "
    return Answer(sentence, (f"{basis}Nothing is compared: {why}.",), tuple(others))


def _ends_of(study: Study, metric: Metric, measured: Sequence[CellFigures]) -> Said | None:
    """The figure at the first column and at the last; None if they are one."""
    columns = study.roles.columns
    if columns is None:
        return None
    of_level = {one.cell[columns.path]: one.figures[metric.name] for one in measured}
    at = [level for level in columns.levels if level in of_level]
    if len(at) < 2:
        return None
    ends = (_at(metric, of_level[level], {columns.path: level}) for level in (at[0], at[-1]))
    return Said("{}: {}.", Said.written(metric.title), Said.joined(", ", ends))


def _at(metric: Metric, figure: Estimate, cell: Mapping[str, Level]) -> Said:
    """`23.46 ±0.21 queries a second at 8 connections`."""
    unit = "queries a second" if metric.name == THROUGHPUT else metric.unit
    parts = (estimate_text(figure), Said.written(unit), place_text(cell))
    return Said.joined(" ", filter(None, parts))
