"""The answer: one sentence a reader can repeat, and what it leaves to say.

The words follow the verdicts and nothing else, and a verdict is read off the interval that is
printed. As long as the experiment is not finished there are intervals and no verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contend.findings import (
    Analysis,
    CellFigures,
    Claims,
    Compared,
    Finding,
    Study,
    claims_of,
    leading_cell,
    level_over,
)
from contend.metrics import THROUGHPUT, Metric
from contend.report.basis import basis_of, repeats_text, would_take
from contend.report.levels import USE, Explanation
from contend.report.model import Answer, Progress
from contend.report.places import place_text, where
from contend.report.sessions import in_the_sentence, sessions_of
from contend.report.shape import sweep_sentences
from contend.report.words import (
    change_of,
    estimate_text,
    factor_label,
    gain_text,
    level_label,
    size_text,
)
from contend.spec import Level, Roles, without_metric


def answer_of(
    study: Study,
    explanation: Explanation,
    analyses: Sequence[Analysis | None],
    cells: Sequence[CellFigures],
    progress: Progress,
) -> Answer:
    """What the experiment says, or that it says nothing yet."""
    if not cells:
        return Answer("Nothing is measured yet.", (f"0 of {progress.planned} planned runs.",))
    first, *beside = analyses
    if first is None:
        return _without_comparison(study, cells, progress)
    level = leading_level(first.compared)
    sentence = _sentence(study, explanation, first.compared, level)
    earlier = sessions_of(study, first, level)
    sentence = f"{sentence.removesuffix('.')}{in_the_sentence(study, earlier)}."
    if not study.finished:
        sentence = (
            f"Nothing is decided before the run is finished. So far ({progress.measured} of "
            f"{progress.planned} runs): {sentence}"
        )
    others = [
        *_more_of(study, first, level),
        *(_sentence(study, explanation, one.compared, level) for one in beside if one is not None),
        *_levels_apart(study, explanation, first, level),
    ]
    return Answer(sentence, basis_of(study, first, earlier), tuple(others))


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


def _sentence(study: Study, explanation: Explanation, compared: Compared, level: Level) -> str:
    roles, metric = study.roles, compared.metric
    change = explanation.change(roles, level)
    whole = next((one for one in compared.wholes if one.level == level), None)
    if whole is None:
        return f"{change} was not measured beside the baseline yet."
    if whole.tone == "open":
        return (
            f"{change} changes {change_of(metric)} by {gain_text(whole.change)} %"
            f"{where(roles, whole)}."
        )
    claims = claims_of(compared, level)
    if claims.more:
        return f"{change} {_counted(compared, claims, level)}."
    if claims:
        return f"{change} {_claimed(study, metric, claims)}."
    return (
        f"{change} makes no difference to {metric.subject} that this experiment could tell from "
        f"noise: it saw {gain_text(whole.change)} %{where(roles, whole)}."
    )


def _claimed(study: Study, metric: Metric, claims: Claims) -> str:
    """`makes this server 37 % (±3) faster from 8 connections on, and 7 % (±6) slower at 1
    connection`."""
    roles = study.roles
    changed = [
        f"{size_text(one.change)} {metric.changed(_verdict(one))}{where(roles, one)}"
        for one in claims.findings
        if one.tone != "equivalent"
    ]
    same = [where(roles, one) for one in claims.findings if one.tone == "equivalent"]
    parts = [f"makes {metric.subject} {', and '.join(changed)}"] if changed else []
    if same:
        to = "" if changed else f" to {metric.subject}"
        margin = f"{study.experiment.compare.margin * 100:g}"
        parts.append(f"makes no difference{to} beyond ±{margin} %{' and'.join(same)}")
    return ", and ".join(parts)


def _verdict(one: Finding) -> str:
    assert one.change.verdict is not None
    return one.change.verdict


def _counted(compared: Compared, claims: Claims, level: Level) -> str:
    """`makes this server faster in 3 of 21 cells, and slower in 2`."""
    metric = compared.metric
    own = sum(one.level == level for one in compared.comparisons)
    counts = [
        f"{metric.changed(verdict)} in {count} of {own} cells"
        for tone, verdict in (("better", metric.better), ("worse", metric.worse))
        if (count := sum(one.tone == tone for one in claims.more))
    ]
    if not counts:
        count = len(claims.more)
        return f"makes no difference to {metric.subject} that matters in {count} of {own} cells"
    return f"makes {metric.subject} {', and '.join(counts)}; over more of them nothing is certain"


def _more_of(study: Study, analysis: Analysis, level: Level) -> list[str]:
    """What the sentence leaves to say of its level."""
    compared, metric = analysis.compared, analysis.compared.metric
    whole = next((one for one in compared.wholes if one.level == level), None)
    if whole is None or whole.tone == "open":
        return []
    claims = claims_of(compared, level)
    found = [] if claims.depth == "columns" else _pattern(study.roles, compared, level)
    most = leading_cell(study, analysis, level)
    if most is not None and most.tone == "better":
        place = place_text(_without_level(study.roles, most)).strip()
        changed = metric.changed(metric.better)
        found.append(
            f"Most {place}: {size_text(most.change)} {changed}, certainly more than the mean of "
            "the other cells."
        )
    found += _contrary(study.roles, compared, claims, level)
    if not claims:
        found.append(would_take(study, analysis, whole))
    return found


def _without_level(roles: Roles, one: Finding) -> Mapping[str, Level]:
    compared = roles.compared.path if roles.compared else None
    return {path: level for path, level in one.cell.items() if path != compared}


def _contrary(roles: Roles, compared: Compared, claims: Claims, level: Level) -> list[str]:
    """What is certain of the contrary of all that the sentence says: tables, or else how many
    cells."""
    if not claims.findings:
        return []
    metric, said = compared.metric, {one.tone for one in claims.findings}
    found = []
    for tone, verdict in (("better", metric.better), ("worse", metric.worse)):
        if tone in said:
            continue
        word = metric.changed(verdict)
        rows = [one for one in compared.rows if (one.level, one.tone) == (level, tone)]
        own = [one for one in compared.comparisons if one.level == level]
        count = sum(one.tone == tone for one in own)
        if rows:
            parts = [f"{size_text(one.change)} {word}{where(roles, one)}" for one in rows]
            it = "Over all columns it" if len(roles.column_levels) > 1 else "It"
            found.append(f"{it} is {' and '.join(parts)}.")
        elif count:
            found.append(f"In {count} of {len(own)} cells it is certainly {word}.")
    return found


def _pattern(roles: Roles, compared: Compared, level: Level) -> list[str]:
    """Along the columns: `Slower at 1, faster at 4 to 128 connections.`"""
    if roles.columns is None:
        return []
    stretches: list[tuple[str, list[Level]]] = []
    singles = [
        one
        for one in compared.columns
        if one.level == level and one.change.place.first_column == one.change.place.last_column
    ]
    for one in sorted(singles, key=lambda one: one.change.place.first_column):
        column = roles.columns.levels[one.change.place.first_column]
        if stretches and stretches[-1][0] == one.word:
            stretches[-1][1].append(column)
        else:
            stretches.append((one.word, [column]))
    if len(stretches) < 2:
        return []
    parts = [
        f"{word} at {level_label(at[0])}" + (f" to {level_label(at[-1])}" if len(at) > 1 else "")
        for word, at in stretches
    ]
    text = f"{', '.join(parts)} {factor_label(roles.columns.path)}."
    return [text[0].upper() + text[1:]]


def _levels_apart(
    study: Study, explanation: Explanation, analysis: Analysis, lead: Level
) -> list[str]:
    """How the other levels differ from the one that the sentence is about."""
    found = []
    metric = analysis.compared.metric
    compared = study.roles.compared
    # A server is called by its name.
    of_what = f"{factor_label(compared.path)} = " if compared and compared.path != USE else ""
    for level in analysis.table.levels:
        if level == lead:
            continue
        apart = level_over(study, analysis, level, lead)
        if apart is None:
            continue
        one, other = f"{of_what}{explanation.level(level)}", explanation.level(lead)
        size = gain_text(apart.change)
        if apart.tone == "open":
            found.append(f"{one} over {other}: {size} %{where(study.roles, apart)}.")
        elif apart.tone == "equivalent":
            margin = f"±{study.experiment.compare.margin * 100:g} %"
            found.append(f"{one} differs from {other} by no more than {margin} ({size} %).")
        elif apart.tone == "inconclusive":
            found.append(f"Whether {one} differs from {other} is not certain ({size} %).")
        else:
            word = metric.changed(_verdict(apart))
            over, much = where(study.roles, apart), size_text(apart.change)
            if metric.name == THROUGHPUT:
                found.append(f"{one} is {much} {word} than {other}{over}.")
            else:
                subject = metric.subject
                found.append(f"With {one}, {subject} is {much} {word} than with {other}{over}.")
    return found


def _without_comparison(study: Study, cells: Sequence[CellFigures], progress: Progress) -> Answer:
    metric = study.metrics[0]
    measured = [cell for cell in cells if metric.name in cell.figures]
    if not measured:
        error = without_metric(metric.name, study.measured[0])
        return Answer(f"Nothing to compare: {error.message}.", (f"{error.hint}",))
    pick = min if metric.less_is_better else max
    best = pick(measured, key=lambda cell: cell.figures[metric.name].mean)
    figure, at = estimate_text(best.figures[metric.name]), place_text(best.cell)
    if metric.name == THROUGHPUT:
        most = ", the most of all cells" if len(measured) > 1 else ""
        sentence = f"This server answered {figure} queries a second{at}{most}."
    else:
        extreme = "lowest" if metric.less_is_better else "highest"
        most = f", the {extreme} of all cells" if len(measured) > 1 else ""
        unit = f" {metric.unit}" if metric.unit else ""
        sentence = f"{metric.title}: {figure}{unit}{at}{most}."
    others = sweep_sentences(study)
    if len(others) == 1:
        # A sweep of one thing: where it ends is the answer, the figures stand behind it.
        sentence, others = others[0], [_ends_of(study, metric, measured) or sentence]
    if not study.finished:
        sentence = f"So far ({progress.measured} of {progress.planned} runs): {sentence}"
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


def _ends_of(study: Study, metric: Metric, measured: Sequence[CellFigures]) -> str | None:
    """The figure at the first column and at the last; None if they are one."""
    columns = study.roles.columns
    if columns is None:
        return None
    of_level = {one.cell[columns.path]: one.figures[metric.name] for one in measured}
    at = [level for level in columns.levels if level in of_level]
    if len(at) < 2:
        return None
    unit = f" {metric.unit}" if metric.unit else ""
    ends = (
        f"{estimate_text(of_level[level])}{unit}{place_text({columns.path: level})}"
        for level in (at[0], at[-1])
    )
    return f"{metric.title}: {', '.join(ends)}."
