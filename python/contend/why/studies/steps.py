"""What each step of a ladder gains: every level over the one before it, in the file's order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from contend.findings.model import Contrast, Figure
from contend.findings.sentence import Sentence, say
from contend.findings.study import log_ratio, reading_of
from contend.spec import Level
from contend.stats import estimate
from contend.store import RunRecord
from contend.why.evidence import (
    Called,
    Cause,
    Evidence,
    EvidenceTable,
    Step,
    StepBars,
    written,
)

LATE = "line-late"
"""Marks a run whose servers, or whose client, were farther apart than asked."""

_WHOLE = "all together"


@dataclass(frozen=True, slots=True)
class _Gain:
    """Of one step at one place; `figure` is None if a delay line was late there."""

    figure: Figure | None
    is_whole: bool


def _gain(
    evidence: Evidence,
    table: Mapping[str, Level],
    step: tuple[Level, Level],
    column: Level | None,
    *,
    is_whole: bool,
) -> _Gain | None:
    """How much more a level has than another, as a share, over the repeats that have both; None if
    there is none."""
    study, metric = evidence.study, evidence.first.metric
    before, after = (study.roles.cell(table, column, level) for level in step)
    in_common = study.blocks_in_common(before, after).values()
    if any(_is_late(run) for both in in_common for pair in both for run in pair):
        return _Gain(None, is_whole)
    logs = [
        log_ratio(metric, [(reading_of(metric, one), reading_of(metric, two)) for one, two in both])
        for both in in_common
    ]
    ratios = [math.exp(one) for one in logs if math.isfinite(one)]
    if not ratios:
        return None
    found = estimate(ratios, study.experiment.compare.confidence, log_scale=True)
    more = replace(found, mean=found.mean - 1, low=found.low - 1, high=found.high - 1)
    contrast = Contrast("figure", metric, after, step[1], step[0], study.described)
    return _Gain(Figure(contrast, more), is_whole)


def _is_late(run: RunRecord) -> bool:
    return any(warning.get("code") == LATE for warning in run.warnings)


def _levels(evidence: Evidence) -> tuple[Level, ...]:
    compared = evidence.study.roles.compared
    return tuple(compared.levels) if compared is not None else ()


def _gains(
    evidence: Evidence, table: Mapping[str, Level], column: Level | None
) -> Iterator[tuple[Level, _Gain]]:
    """Each step with the level that it leads to, and all of them together."""
    levels = _levels(evidence)
    for step in itertools.pairwise(levels):
        if (one := _gain(evidence, table, step, column, is_whole=False)) is not None:
            yield step[1], one
    whole = _gain(evidence, table, (levels[0], levels[-1]), column, is_whole=True)
    if whole is not None:
        yield levels[-1], whole


def _lead(evidence: Evidence) -> Sentence | None:
    if len(_levels(evidence)) < 3:
        return None
    return say(
        "The levels are steps: each has all that the one before it has, and one thing more. The "
        "table says what each step gains over the one before it, and what all gain together."
    )


def _without_verdict(evidence: Evidence) -> Sentence | None:
    roles = evidence.study.roles
    late = any(
        one.figure is None
        for table in roles.table_contexts()
        for column in roles.column_levels
        for _, one in _gains(evidence, table, column)
    )
    if not late:
        return None
    return say(
        "A delay line was late in some of the runs, so the servers were farther apart than asked: "
        "the steps from or to such a cell have no figure."
    )


def _tables(evidence: Evidence) -> Iterable[EvidenceTable]:
    roles = evidence.study.roles
    for table in roles.table_contexts():
        rows: list[tuple[str | Sentence, ...]] = []
        place: str | Sentence = ""
        for column in roles.column_levels:
            for level, one in _gains(evidence, table, column):
                # Only for its place: a step without a figure stands at one all the same.
                at = one.figure or _placed(evidence, roles.cell(table, column, level), level)
                place = say("{it:table}", it=at) if table else ""
                name = _WHOLE if one.is_whole else say("{it:level}", it=at)
                head = (say("{it:head}", it=at),) if roles.columns is not None else ()
                gain = "the delay line was late" if one.figure is None else None
                rows.append((*head, name, gain or written(one.figure, "gain")))
        heads = (Called("column"),) if roles.columns is not None else ()
        if rows:
            caption = "What each step gains over the one before it, in percent"
            yield EvidenceTable(caption, (*heads, Called("level"), "gain"), tuple(rows), place)


def _placed(evidence: Evidence, cell: Mapping[str, Level], level: Level) -> Figure:
    """A figure that is nothing but its place."""
    study = evidence.study
    contrast = Contrast("figure", evidence.first.metric, cell, level, None, study.described)
    return Figure(contrast, estimate([0.0], study.experiment.compare.confidence))


def _charts(evidence: Evidence) -> Iterable[StepBars]:
    roles = evidence.study.roles
    for table in roles.table_contexts():
        for column in roles.column_levels:
            known = [
                Step(None if one.is_whole else level, one.figure)
                for level, one in _gains(evidence, table, column)
                if one.figure is not None
            ]
            if known:
                yield StepBars(roles.cell(table, column, None), tuple(known))


STEPS = Cause(
    name="steps",
    title="Step by step",
    lead=_lead,
    says=(_without_verdict,),
    tables=(_tables,),
    is_answer=True,
    charts=_charts,
    refuted_by="A step whose interval holds 0 has not been shown to gain anything.",
)
