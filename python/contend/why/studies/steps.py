"""The gain of each step of a ladder: every level over the one before it, in the file's order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from contend.experiment import Level
from contend.findings import Figure, log_ratio, reading_of
from contend.stats import estimate
from contend.store import RunRecord
from contend.why.candidate import Candidate
from contend.why.explain import Axis, Evidence, EvidenceTable, Explanation, StepBars

LATE = "line-late"
"""Warning of a run whose servers or client were farther apart than requested."""


@dataclass(frozen=True, slots=True)
class _Gain:
    """The gain of one step at one place, or of all together. If a delay line `was_late` there,
    `figure` only names the place."""

    figure: Figure
    is_whole: bool
    was_late: bool


def _gains(evidence: Evidence, table: Mapping[str, Level], column: Level | None) -> list[_Gain]:
    """Each step, and all of them together."""
    assert evidence.study.roles.compared is not None
    levels = evidence.study.roles.compared.levels
    steps = [
        *(
            _gain(evidence, table, step, column, is_whole=False)
            for step in itertools.pairwise(levels)
        ),
        _gain(evidence, table, (levels[0], levels[-1]), column, is_whole=True),
    ]
    return [one for one in steps if one is not None]


def _gain(
    evidence: Evidence,
    table: Mapping[str, Level],
    step: tuple[Level, Level],
    column: Level | None,
    *,
    is_whole: bool,
) -> _Gain | None:
    """The gain of the second level over the first, as a share, over the repeats that have both;
    None without any."""
    study, metric = evidence.study, evidence.first.metric
    before, after = (study.roles.cell(table, column, level) for level in step)
    in_common = study.blocks_in_common(before, after).values()
    was_late = any(_is_late(run) for both in in_common for pair in both for run in pair)
    logs = [
        log_ratio(metric, [(reading_of(metric, one), reading_of(metric, two)) for one, two in both])
        for both in in_common
    ]
    ratios = [math.exp(one) for one in logs if math.isfinite(one)]
    if was_late:
        ratios = [1.0]
    if not ratios:
        return None
    found = estimate(ratios, study.experiment.compare.confidence, log_scale=True)
    more = replace(found, mean=found.mean - 1, low=found.low - 1, high=found.high - 1)
    return _Gain(evidence.as_figure(metric, after, step[1], more), is_whole, was_late)


def _is_late(run: RunRecord) -> bool:
    return any(warning.get("code") == LATE for warning in run.warnings)


def _look(evidence: Evidence) -> Explanation | None:
    roles, say = evidence.study.roles, evidence.say
    if roles.compared is None or len(roles.compared.levels) < 3:
        return None
    tables, charts, any_late = [], [], False
    axes: tuple[Axis, ...] = ("column", "level") if roles.columns is not None else ("level",)
    heads = (*map(evidence.writer.axis, axes), "gain")
    for table in roles.table_contexts():
        rows, place = [], ""
        for column in roles.column_levels:
            gains = _gains(evidence, table, column)
            for one in gains:
                place = say(", {it:table}", it=one.figure) if table else ""
                rows.append(
                    (
                        *((say("{it:head}", it=one.figure),) if roles.columns is not None else ()),
                        "all together" if one.is_whole else say("{it:level}", it=one.figure),
                        "the delay line was late"
                        if one.was_late
                        else evidence.written(one.figure, "gain"),
                    )
                )
            any_late |= any(one.was_late for one in gains)
            known = tuple(
                (None if one.is_whole else one.figure.contrast.level, one.figure)
                for one in gains
                if not one.was_late
            )
            if known:
                charts.append(StepBars(roles.cell(table, column, None), known))
        if rows:
            caption = f"Gain of each step over the one before it, in percent{place}"
            tables.append(EvidenceTable(caption, heads, tuple(rows)))
    lead = say(
        "The levels are steps: each has all that the one before it has, and one thing more. The "
        "table shows the gain of each step over the one before it, and of all together."
    )
    late = say(
        "A delay line was late in some of the runs, so the servers were farther apart than "
        "requested: the steps from or to such a cell have no figure."
    )
    return Explanation(
        lead,
        (late if any_late else None,),
        tables,
        refuted_by=CANDIDATE.refuted_by,
        certain=evidence.is_certain,
        charts=charts,
        is_answer=True,
    )


CANDIDATE = Candidate(
    "steps",
    title="Step by step",
    look=_look,
    refuted_by="A step whose interval contains 0 has no proven gain.",
)
