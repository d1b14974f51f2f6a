"""The answer: one sentence a reader can repeat, its costs, and the next step.

The words depend only on the verdicts, and a verdict only on the printed interval. Until the
experiment is finished there are intervals and no verdicts. Tables have all further results.

The next step is more time, more CPUs, or another level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contend.experiment import Level, without_metric
from contend.findings import (
    REMEDY,
    Analysis,
    CellFigures,
    Compared,
    Constant,
    Finding,
    ReportText,
    Study,
    claims_of,
    leading_level,
    level_over,
)
from contend.metrics import THROUGHPUT, Metric
from contend.report.basis import basis_of, would_take
from contend.report.model import Answer, Progress
from contend.report.sentence import claim_sentence
from contend.sections.bounds import is_full_at
from contend.sections.goal import GoalRead, basis_of_goal, goal_sentences, read_goal
from contend.sections.model import Panel
from contend.sections.naming import (
    Naming,
    as_sentence,
    columns_text,
    place_of,
    place_text,
    within_sentence,
)
from contend.sections.screen import ScreenRead, basis_of_screen, read_screen, screen_sentences
from contend.sections.sessions import in_the_sentence, sessions_of
from contend.sections.shape import sweep_sentences
from contend.sections.words import (
    amount_text,
    factor_label,
    figure_text,
    level_label,
    message_text,
    repeats_text,
    size_text,
    subject_text,
    title_text,
    unit_text,
)
from contend.stats import Estimate


@dataclass(frozen=True, slots=True)
class TwinsAnswer:
    """What the answer says of the statements of a recording: before its sentence, and after it."""

    lead: ReportText
    sentences: tuple[ReportText, ...]


def answer_of(
    study: Study,
    naming: Naming,
    analyses: Sequence[Analysis | None],
    costs: Sequence[Compared],
    panels: Sequence[Panel],
    cells: Sequence[CellFigures],
    progress: Progress,
    by_statement: Sequence[str] = (),
    about_setup: Sequence[ReportText] = (),
    about_twins: TwinsAnswer | None = None,
) -> Answer:
    """The experiment's result, or that there is none yet.

    Args:
        by_statement: the certain changes of each statement; in place of the price.
        about_setup: the steps of setup that vary.
        about_twins: the statements of a recording; None without one.
    """
    if (screen := read_screen(study)) is not None:
        return _of_screen(screen, study, progress)
    if not cells:
        return _nothing(study, progress)
    first, *further = analyses
    if (goal := read_goal(study, naming.servers)) is not None:
        return _of_goal(goal, study, progress)
    if first is None:
        return _without_comparison(study, cells, progress)
    level = leading_level(first.compared)
    sentence = claim_sentence(naming, first.compared, level)
    if about_twins is not None:
        sentence = as_sentence(ReportText("{}{}", about_twins.lead, within_sentence(sentence)))
        by_statement = about_twins.sentences
    earlier = sessions_of(study, first, level)
    if not study.finished:
        sentence = ReportText(
            "Nothing is decided before the run is finished; so far ({}) {}",
            _so_far(progress),
            within_sentence(sentence),
        )
    others = (
        *map(ReportText.written, by_statement),
        *about_setup,
        ReportText("")
        if by_statement
        else price_of(
            [
                *(one.compared for one in further if one is not None),
                *(one for one in costs if one.metric.name in PRICED),
            ],
            _tone(first, level),
            level,
        ),
        next_step(study, naming, first, level, panels),
    )
    return Answer(
        ReportText("{}{}.", sentence, in_the_sentence(study, earlier)),
        basis_of(study, first, level, earlier),
        tuple(filter(None, others)),
    )


def _of_goal(goal: GoalRead, study: Study, progress: Progress) -> Answer:
    sentence, *others = goal_sentences(goal)
    if not study.finished:
        sentence = _so_far_text("search", sentence, progress)
    return Answer(sentence, basis_of_goal(goal), tuple(others))


def _of_screen(screen: ScreenRead, study: Study, progress: Progress) -> Answer:
    sentence, *others = screen_sentences(screen)
    if not study.finished:
        sentence = _so_far_text("screen", sentence, progress)
    return Answer(sentence, basis_of_screen(screen), tuple(others))


def _so_far_text(what: str, sentence: ReportText, progress: Progress) -> ReportText:
    return ReportText(
        "The {} is not finished; so far ({}) {}",
        what,
        _so_far(progress),
        within_sentence(sentence),
    )


def _nothing(study: Study, progress: Progress) -> Answer:
    """No run is measured yet, or all of them failed, and why."""
    without = [run for run in study.records if run.status != "ok"]
    if not without:
        return Answer(
            ReportText("Nothing has been measured yet."),
            (f"0 of {progress.planned} planned runs.",),
        )
    count = progress.failed + progress.lost
    ended = Constant(count)
    every = "the only run" if count == 1 else ReportText("all {} runs", ended)
    lost = " or were lost" if progress.lost else ""
    sentence = (
        ReportText("Nothing was measured: {} failed{}.", every, lost)
        if study.finished
        else ReportText(
            "Nothing has been measured yet: {} of {} runs failed{}.",
            ended,
            Constant(progress.planned),
            lost,
        )
    )
    reason = str((without[0].error or {}).get("message") or "no reason was recorded")
    return Answer(sentence, (f"The first run: {reason.rstrip('.')}.",))


def _so_far(progress: Progress) -> ReportText:
    return ReportText("{} of {} runs", Constant(progress.measured), Constant(progress.planned))


def _tone(analysis: Analysis, level: Level) -> str:
    """Better if the level is so anywhere that is certain."""
    tones = {one.tone for one in claims_of(analysis.compared, level).findings}
    return next((one for one in ("better", "worse") if one in tones), "")


def _without_comparison(study: Study, cells: Sequence[CellFigures], progress: Progress) -> Answer:
    metric = study.metrics[0]
    measured = [cell for cell in cells if metric.name in cell.figures]
    if not measured:
        error = without_metric(metric.name, study.measured[0])
        missing = ReportText("Nothing to compare: {}.", message_text(error))
        return Answer(missing, (f"{error.hint}",))
    pick = min if metric.less_is_better else max
    best = pick(measured, key=lambda cell: cell.figures[metric.name].mean)
    figure = _at(metric, best.figures[metric.name], best.cell)
    if metric.name == THROUGHPUT:
        begin, extreme = "This server answered", "most"
    else:
        begin = ReportText("{}:", title_text(metric))
        extreme = "lowest" if metric.less_is_better else "highest"
    most = f", the {extreme} of all cells" if len(measured) > 1 else ""
    sentence = ReportText("{} {}{}.", begin, figure, most)
    others = sweep_sentences(study)
    if len(others) == 1:
        # A sweep of one thing: its end is the answer, followed by the figures.
        sentence, others = others[0], [_ends_of(study, metric, measured) or sentence]
    if not study.finished:
        sentence = ReportText("So far ({}): {}", _so_far(progress), sentence)
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


def _ends_of(study: Study, metric: Metric, measured: Sequence[CellFigures]) -> ReportText | None:
    """The figure at the first column and at the last; None if they are one."""
    columns = study.roles.columns
    if columns is None:
        return None
    of_level = {one.cell[columns.path]: one.figures[metric.name] for one in measured}
    at = [level for level in columns.levels if level in of_level]
    if len(at) < 2:
        return None
    ends = (_at(metric, of_level[level], {columns.path: level}) for level in (at[0], at[-1]))
    return ReportText("{}: {}.", title_text(metric), ReportText.joined(", ", ends))


def _at(metric: Metric, figure: Estimate, cell: Mapping[str, Level]) -> ReportText:
    """`23.46 ±0.21 queries per second at 8 connections`."""
    parts = (figure_text(figure), unit_text(metric), place_text(cell))
    return ReportText.joined(" ", filter(None, parts))


_CPU = ("server_cpu_us_per_query", "server_cpu_us_per_event")
PRICED = (*_CPU, "response_us_p99")
"""Metrics of every report that an answer names; it names all that an experiment compares."""


def price_of(further: Sequence[Compared], lead: str, level: Level) -> ReportText:
    """The price of a change for the better in CPU or response time, or its saving in CPU. For a
    change for the worse, its benefit. Empty if nothing of it certainly matters."""
    found = [
        one
        for compared in further
        for one in compared.wholes
        if one.level == level and one.is_large
    ]
    contrary = [one for one in found if one.tone != lead]
    if contrary:
        label = {"better": "The price", "worse": "In return"}.get(lead, "Also certain")
        return ReportText("{}: {}.", label, _listed(contrary[:2]))
    saved = [one for one in found if one.metric.name in _CPU and lead == "better"]
    if not saved:
        return ReportText("")
    return ReportText("That also saves CPU: {}.", _size_and_noun(saved[0]))


def _listed(found: Sequence[Finding]) -> ReportText:
    are_nouns = all(one.metric.noun for one in found)
    return ReportText.joined(" and " if are_nouns else ", and ", map(_size_and_noun, found))


def _size_and_noun(one: Finding) -> ReportText:
    """`12 % (±3) more server CPU per query`; `the p99 response time is 8 % (±2) longer`."""
    subject, amount = subject_text(one.metric), amount_text(one)
    return amount if one.metric.noun else ReportText("{} is {}", subject, amount)


def next_step(
    study: Study, naming: Naming, analysis: Analysis, level: Level, panels: Sequence[Panel]
) -> ReportText:
    """One sentence. It follows from the certain results of the level that the answer is about."""
    compared = analysis.compared
    whole = next((one for one in compared.wholes if one.level == level), None)
    if not study.decides or whole is None:
        return ReportText("")
    claims = claims_of(compared, level)
    if whole.held:
        return ReportText("Next: {}.", REMEDY)
    if not claims:
        return ReportText("Next: {}.", would_take(study, analysis, whole))
    tones = {one.tone for one in (*claims.findings, *claims.more)}
    if tones == {"equivalent"}:
        return ReportText("Next: try something else; there is nothing to gain here.")
    if "better" not in tones:
        if naming.change(level):
            return ReportText("Next: do without it.")
        return ReportText("Next: keep {}.", naming.baseline)
    if claims.open:
        at = columns_text(naming.roles, claims.open)
        return ReportText(
            "Next: more time (`--for`, `--until`), if the load {} matters to you.", at
        )
    return (
        _another_level(study, naming, analysis, level)
        or _more_cpus(study, naming, panels, compared)
        or _choose(study, naming, analysis, level)
    )


def _another_level(
    study: Study, naming: Naming, analysis: Analysis, level: Level
) -> ReportText | None:
    """If the levels are numbers, and the last step of them still gained."""
    levels = study.roles.levels
    numbers = [one for one in levels if isinstance(one, int | float) and not isinstance(one, bool)]
    assert study.roles.compared is not None
    if len(numbers) < len(levels) or len(numbers) < 3:
        return None
    before, last = sorted(numbers)[-2:]
    if level != last or before == study.roles.baseline:
        return None
    step = level_over(study, analysis, last, before)
    if step is None or step.tone != "better":
        return None
    return ReportText(
        "Next: more than {} {}, since {} still gains {} over {}.",
        level_label(last),
        factor_label(study.roles.compared.path),
        naming.level(last),
        size_text(step.change),
        naming.level(before),
    )


def _more_cpus(
    study: Study, naming: Naming, panels: Sequence[Panel], compared: Compared
) -> ReportText | None:
    full = is_full_at(study, panels, compared.comparisons)
    if full is None:
        return None
    at = place_of(naming.roles, full[0])
    template = "Next: a machine with more CPUs; all {} of this one were busy{}{}."
    return ReportText(template, Constant(full[1]), " " if at else "", at)


def _choose(study: Study, naming: Naming, analysis: Analysis, level: Level) -> ReportText:
    """Which level to take, and which others are not certainly worse."""
    alike = [
        naming.level(one)
        for one in analysis.table.levels
        if one != level
        and (apart := level_over(study, analysis, one, level)) is not None
        and apart.tone in ("inconclusive", "equivalent")
    ]
    others = ReportText.joined(" or ", alike)
    but = ReportText("; {} may be as good", others) if alike else ""
    assert study.roles.compared is not None
    lost = risk_of(study.roles.compared.path, level)
    risk = ReportText("; with it {}", lost) if lost else ""
    return ReportText(
        "Next: try {} on your own server and load{}{}.", naming.noun(level), but, risk
    )


_RISKY: Mapping[str, Mapping[str, str]] = {
    "innodb_flush_log_at_trx_commit": {
        "0": "about a second of commits is lost if the server or the host fails",
        "2": "about a second of commits is lost if the host fails",
    },
    "sync_binlog": {"0": "the end of the binary log may be lost if the host fails"},
    "innodb_doublewrite": dict.fromkeys(
        ("0", "off", "false"), "a page cannot be repaired if the host fails while it is written"
    ),
    "redo_log_folder": {"/dev/shm": "the redo log, and maybe the data, is lost if the host fails"},
}
"""Levels that are faster because they wait for less, by the name of the variable or setting: the
possible cost."""


def risk_of(path: str, level: Level) -> str:
    """The possible cost of a level after a failure; empty if unknown."""
    return _RISKY.get(path.rpartition(".")[2], {}).get(str(level).lower(), "")
