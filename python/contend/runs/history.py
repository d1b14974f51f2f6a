"""Run folders become a history."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from contend.errors import RequestError
from contend.runs import otava
from contend.runs.breaks import breaks_of
from contend.runs.model import ChangePoint, History
from contend.runs.over_time import family_over_time
from contend.runs.past import read_runs
from contend.runs.points import change_points
from contend.runs.series import series_of


def build(
    names: Sequence[str],
    *,
    experiment: str | None = None,
    metrics: Sequence[str] = (),
    environment: Path | None = None,
) -> History:
    """The history of the runs in these folders.

    Args:
        names: run folders, or folders of run folders.
        experiment: which one, if there are several.
        metrics: what has a series; without them, what the last run compares first.
        environment: Otava's; without one no change points are looked for.

    Raises:
        RequestError: the folders are not runs of one experiment, or fewer than two.
        NoOtava: it is not installed, and there are enough runs for a change to be told.
        ContendError: a folder that was named cannot be read; Otava failed.
    """
    runs, notices = read_runs(names, experiment, metrics)
    last = runs[-1].study
    wanted = last.metrics if metrics else last.metrics[:1]
    series = [one for metric in wanted for one in series_of(runs, metric)]
    if not series:
        raise RequestError(
            f"no two of these runs have {', '.join(one.name for one in wanted)} of one cell.",
            hint="Name another with --metric, or runs of the same levels.",
        )
    points: list[ChangePoint] = []
    can_tell = any(one.places for one in series)
    if environment is not None and (can_tell or otava.is_here(environment)):
        asked = otava.ask(environment, [[point.log for point in one.points] for one in series])
        points = change_points(series, asked, last.experiment.compare.margin)
    return History(
        experiment=last.experiment.name,
        question=last.experiment.question,
        runs=runs,
        series=series,
        breaks=breaks_of(runs, series, points),
        uncertain=[one for one in points if one.finding is not None and not one.told],
        too_few=[one for one in points if one.finding is None],
        confidence=family_over_time().promises,
        asked="" if environment is None else f"Apache Otava {otava.VERSION}",
        notices=notices,
    )
