"""Run folders become a history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from contend.errors import RequestError
from contend.findings import WAITS, waits_for_others
from contend.runs.changes import Break, ChangePoint, breaks_of, change_points
from contend.runs.series import PastRun, Series, read_runs, series_of


@dataclass(frozen=True, slots=True)
class History:
    """Runs of one experiment over time. `notices` list what is left out, and why."""

    experiment: str
    question: str
    runs: Sequence[PastRun]
    series: Sequence[Series]
    breaks: Sequence[Break]
    uncertain: Sequence[ChangePoint]
    too_few: Sequence[ChangePoint]
    notices: Sequence[str]

    @property
    def can_report(self) -> bool:
        """Whether any series has enough runs to report a change."""
        return any(one.places for one in self.series)


def _held(point: ChangePoint, series: Series, runs: Sequence[PastRun]) -> ChangePoint:
    """Without a claim if the time includes waiting for other statements, whose cost may have
    changed instead."""
    records = (run for one in series.points for run in runs[one.run].study.measured)
    if point.finding is None or not any(waits_for_others(series.metric, run) for run in records):
        return point
    return replace(point, finding=point.finding.hold(f"it {WAITS}"))


def build(
    names: Sequence[str], *, experiment: str | None = None, metrics: Sequence[str] = ()
) -> History:
    """The history of the runs in these folders.

    Args:
        names: run folders, or folders of run folders.
        experiment: which one, if there are several.
        metrics: those with a series; without them, the first one that the last run compares.

    Raises:
        RequestError: the folders are not runs of one experiment, or fewer than two.
        ContendError: a folder that was named cannot be read.
    """
    runs, notices = read_runs(names, experiment, metrics)
    last = runs[-1].study
    wanted = last.metrics if metrics else last.metrics[:1]
    series = [one for metric in wanted for one in series_of(runs, metric)]
    if not series:
        raise RequestError(
            f"no two of these runs have {', '.join(one.name for one in wanted)} for the same cell.",
            hint="Name a different --metric, or runs of the same levels.",
        )
    found = change_points(series, last.experiment.compare.margin)
    points = [_held(one, series[one.series], runs) for one in found]
    return History(
        experiment=last.experiment.name,
        question=last.experiment.question,
        runs=runs,
        series=series,
        breaks=breaks_of(runs, series, points),
        uncertain=[one for one in points if one.finding is not None and not one.is_reported],
        too_few=[one for one in points if one.finding is None],
        notices=notices,
    )
