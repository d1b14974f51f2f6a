"""The answer: one sentence a reader can repeat, and what it rests on.

The words follow the verdicts and nothing else: that something is faster, or lower, is only said of
comparisons whose verdict says so after Holm's adjustment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from contend.metrics import THROUGHPUT
from contend.report.causes import Explanation
from contend.report.figures import headline, strongest
from contend.report.model import (
    Answer,
    CellComparison,
    CellFigures,
    Compared,
    Layout,
    Panel,
    Progress,
)
from contend.report.provenance import cpu_count
from contend.report.study import Roles, Study
from contend.report.words import (
    cell_phrase,
    estimate_text,
    factor_label,
    gain_text,
    level_label,
    level_phrase,
    size_text,
)
from contend.spec import Level, without_metric
from contend.stats import Estimate


def answer_of(
    study: Study,
    explanation: Explanation,
    compared: Sequence[Compared],
    cells: Sequence[CellFigures],
    progress: Progress,
) -> Answer:
    """What the experiment says, or that it says nothing yet."""
    if not cells:
        return Answer("Nothing is measured yet.", f"0 of {progress.planned} planned runs.")
    comparisons = compared[0].comparisons
    if not comparisons:
        return _without_comparison(study, cells, progress)
    largest = headline(comparisons)
    level = comparisons[0].level if largest is None else largest.level
    sentence = _sentence(study, explanation, comparisons, level)
    if progress.state != "complete":
        sentence = f"So far ({progress.measured} of {progress.planned} runs): {sentence}"
    beside = ([one for one in other.comparisons if one.level == level] for other in compared[1:])
    others = (
        *(_sentence(study, explanation, own, level) for own in beside if own),
        *(
            _range_of(study, explanation, comparisons, other)
            for other in dict.fromkeys(one.level for one in comparisons)
            if other != level
        ),
    )
    pattern = _pattern(study.roles, comparisons, level)
    return Answer(sentence, _basis(study, compared), others, pattern)


def _sentence(
    study: Study,
    explanation: Explanation,
    comparisons: Sequence[CellComparison],
    level: Level,
) -> str:
    own = [one for one in comparisons if one.level == level]
    metric = own[0].metric
    change = explanation.change(study.roles, level)
    claims = []
    for tone, verdict in (("better", metric.better), ("worse", metric.worse)):
        extreme = strongest(own, tone)
        if extreme is not None:
            several = sum(one.tone == tone for one in own) > 1
            size = ("up to " if several else "") + size_text(extreme.comparison)
            claims.append(f"{size} {metric.changed(verdict)}{_where(study.roles, extreme.cell)}")
    if claims:
        return f"{change} makes {metric.subject} {', and '.join(claims)}."
    margin = f"±{study.experiment.compare.margin * 100:g} %"
    if all(one.tone == "equivalent" for one in own):
        return f"{change} makes no difference to {metric.subject} that exceeds {margin}."
    widest = max(own, key=lambda one: one.comparison.high - one.comparison.low)
    return (
        f"{change} made no difference to {metric.subject} that this experiment could tell from "
        f"noise; its widest interval is {gain_text(widest.comparison)} %"
        f"{_where(study.roles, widest.cell)}."
    )


def _range_of(
    study: Study,
    explanation: Explanation,
    comparisons: Sequence[CellComparison],
    level: Level,
) -> str:
    own = [one for one in comparisons if one.level == level]
    least = min(own, key=lambda one: one.comparison.ratio)
    most = max(own, key=lambda one: one.comparison.ratio)
    change = explanation.change(study.roles, level)
    text = f"{change}: {gain_text(most.comparison)} %{_where(study.roles, most.cell)}"
    if least is not most:
        text = (
            f"{change}: from {gain_text(least.comparison)} %{_where(study.roles, least.cell)} "
            f"to {gain_text(most.comparison)} %{_where(study.roles, most.cell)}"
        )
    return f"{text}."


def _basis(study: Study, compared: Sequence[Compared]) -> str:
    settings = study.experiment.compare
    metric, comparisons = compared[0].metric, compared[0].comparisons
    sizes = sorted({one.comparison.n for one in comparisons})
    pairs = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    measured = f"n = {pairs} pairs of neighbouring runs each, {settings.confidence * 100:g} % "
    margin = f"(equivalent: within ±{settings.margin * 100:g} %)"
    decides = f" {metric.name} decides." if len(compared) > 1 else ""
    if len(comparisons) == 1:
        return f"{measured}interval; verdict: {comparisons[0].word} {margin}.{decides}"
    verdicts = Counter(one.word for one in comparisons)
    words = map(metric.verdict, (metric.better, metric.worse, "equivalent", "inconclusive"))
    counts = ", ".join(f"{verdicts[word]} {word}" for word in words)
    return (
        f"{measured}intervals; of {len(comparisons)} comparisons, adjusted for their number "
        f"(Holm): {counts} {margin}.{decides}"
    )


def _pattern(roles: Roles, comparisons: Sequence[CellComparison], level: Level) -> str:
    """Along the columns: `slower at 1, faster at 4 to 128 connections`."""
    if roles.columns is None:
        return ""
    path = roles.columns.path
    stretches: list[tuple[str, list[Level]]] = []
    for column in roles.columns.levels:
        verdicts = {
            one.word for one in comparisons if one.level == level and one.cell[path] == column
        }
        if not verdicts:
            continue
        word = verdicts.pop() if len(verdicts) == 1 else "mixed"
        if stretches and stretches[-1][0] == word:
            stretches[-1][1].append(column)
        else:
            stretches.append((word, [column]))
    if not stretches:
        return ""
    parts = [
        f"{word} at {level_label(at[0])}" + (f" to {level_label(at[-1])}" if len(at) > 1 else "")
        for word, at in stretches
    ]
    text = f"{', '.join(parts)} {factor_label(path)}."
    return text[0].upper() + text[1:]


def _without_comparison(study: Study, cells: Sequence[CellFigures], progress: Progress) -> Answer:
    metric = study.metrics[0]
    measured = [cell for cell in cells if metric.name in cell.figures]
    if not measured:
        error = without_metric(metric.name, study.measured[0])
        return Answer(f"Nothing to compare: {error.message}.", f"{error.hint}")
    pick = min if metric.less_is_better else max
    best = pick(measured, key=lambda cell: cell.figures[metric.name].mean)
    figure, where = estimate_text(best.figures[metric.name]), _where(study.roles, best.cell)
    if metric.name == THROUGHPUT:
        most = ", the most of all cells" if len(measured) > 1 else ""
        sentence = f"This server answered {figure} queries a second{where}{most}."
    else:
        extreme = "lowest" if metric.less_is_better else "highest"
        most = f", the {extreme} of all cells" if len(measured) > 1 else ""
        unit = f" {metric.unit}" if metric.unit else ""
        sentence = f"{metric.title}: {figure}{unit}{where}{most}."
    if progress.state != "complete":
        sentence = f"So far ({progress.measured} of {progress.planned} runs): {sentence}"
    confidence = study.experiment.compare.confidence * 100
    why = (
        "the experiment names no baseline"
        if study.experiment.compared is None
        else "no pair of neighbouring runs is complete yet"
    )
    basis = f"n = {best.runs} runs, {confidence:g} % intervals. Nothing is compared: {why}."
    return Answer(sentence, basis)


def _where(roles: Roles, cell: Mapping[str, Level]) -> str:
    """` at 64 connections with 10 points`; nothing if the experiment has one place only."""
    compared = roles.compared.path if roles.baseline is not None and roles.compared else None
    paths = [path for path in cell if path != compared]
    loads = [level_phrase(path, cell[path]) for path in paths if path.startswith("load.")]
    rest = [level_phrase(path, cell[path]) for path in paths if not path.startswith("load.")]
    text = f" at {', '.join(loads)}" if loads else ""
    return text + (f" with {' and '.join(rest)}" if rest else "")


_FULL = 0.95
"""Share of the CPUs in use from which a machine counts as full."""


def bounds_of(
    study: Study,
    layout: Layout,
    panels: tuple[Panel, ...],
    comparisons: tuple[CellComparison, ...],
) -> tuple[str, ...]:
    """What the machine's CPUs did at the largest gain; nothing if that was not measured."""
    cpus = cpu_count(study.meta.facts)
    best = headline(comparisons)
    if best is None or best.tone != "better" or best.metric.name != THROUGHPUT or cpus is None:
        return ()
    found = _busy_at(panels, best)
    if found is None:
        return ()
    before, after = found
    texts = [
        f"At the largest gain ({gain_text(best.comparison)} % at {cell_phrase(best.cell)}) server "
        f"and client, which share this machine, kept {estimate_text(after)} of its {cpus:g} CPUs "
        f"busy (n = {after.n} runs); at the baseline ({layout.baseline}) it was "
        f"{estimate_text(before)}."
    ]
    if after.mean >= _FULL * cpus:
        texts.append(
            "That is all the CPU time there is: at that place this machine, and not only the "
            "thing compared, bounds the gain. More CPUs may show more."
        )
    else:
        texts.append(
            f"{_idle(cpus, after)} of the CPU time was left idle there, so CPU time alone did not "
            "bound the gain."
        )
    return tuple(texts)


def _busy_at(panels: tuple[Panel, ...], best: CellComparison) -> tuple[Estimate, Estimate] | None:
    """CPUs busy at the baseline and at the level, at the place of a comparison."""
    for panel in panels:
        table = panel.metric("cpus_busy")
        for row in panel.gains:
            if table is None or best not in row.gains:
                continue
            column = row.gains.index(best)
            before = table.rows[0].estimates[column]
            own = next(each for each in table.rows if each.label == row.label)
            after = own.estimates[column]
            return None if before is None or after is None else (before, after)
    return None


def _idle(cpus: float, busy: Estimate) -> str:
    return f"{(1 - busy.mean / cpus) * 100:.0f} %"
