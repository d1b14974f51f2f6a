"""What each step of a ladder gains: every level over the one before it, in the file's order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from contend.findings.evidence import Called, Cause, Evidence, EvidenceTable, written
from contend.findings.model import Contrast, Figure
from contend.findings.sentence import Sentence, say
from contend.findings.study import log_ratio, reading_of
from contend.spec import Level
from contend.stats import estimate


def _gain(
    evidence: Evidence,
    table: Mapping[str, Level],
    step: tuple[Level, Level],
    column: Level | None,
) -> Figure | None:
    """How much more a level has than another, as a share, over the repeats that have both; None if
    there is none."""
    study, metric = evidence.study, evidence.first.metric
    before, after = (study.roles.cell(table, column, level) for level in step)
    logs = [
        log_ratio(metric, [(reading_of(metric, one), reading_of(metric, two)) for one, two in both])
        for both in study.blocks_in_common(before, after).values()
    ]
    ratios = [math.exp(one) for one in logs if math.isfinite(one)]
    if not ratios:
        return None
    found = estimate(ratios, study.experiment.compare.confidence, log_scale=True)
    more = replace(found, mean=found.mean - 1, low=found.low - 1, high=found.high - 1)
    contrast = Contrast("figure", metric, after, step[1], step[0], study.described)
    return Figure(contrast, more)


def _levels(evidence: Evidence) -> tuple[Level, ...]:
    compared = evidence.study.roles.compared
    return tuple(compared.levels) if compared is not None else ()


def _lead(evidence: Evidence) -> Sentence | None:
    if len(_levels(evidence)) < 3:
        return None
    return say(
        "The levels are steps: each has all that the one before it has, and one thing more. The "
        "table says what each step gains over the one before it, and what all gain together."
    )


def _tables(evidence: Evidence) -> Iterable[EvidenceTable]:
    levels, roles = _levels(evidence), evidence.study.roles
    steps = [*itertools.pairwise(levels), (levels[0], levels[-1])]
    for table in roles.table_contexts():
        rows: list[tuple[str | Sentence, ...]] = []
        place: str | Sentence = ""
        for column in roles.column_levels:
            for number, step in enumerate(steps):
                one = _gain(evidence, table, step, column)
                if one is None:
                    continue
                place = say("{it:table}", it=one) if table else ""
                is_whole = number == len(steps) - 1
                name = "all together" if is_whole else say("{it:level}", it=one)
                at = (say("{it:head}", it=one),) if roles.columns is not None else ()
                rows.append((*at, name, written(one, "gain")))
        heads = (Called("column"),) if roles.columns is not None else ()
        if rows:
            caption = "What each step gains over the one before it, in percent"
            yield EvidenceTable(caption, (*heads, Called("level"), "gain"), tuple(rows), place)


STEPS = Cause(
    name="steps",
    title="Step by step",
    lead=_lead,
    tables=(_tables,),
    refuted_by="A step whose interval holds 0 has not been shown to gain anything.",
)
