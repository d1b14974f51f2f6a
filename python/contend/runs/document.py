"""A history as JSON for other programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from contend.runs.model import Break, ChangePoint, History, Series
from contend.runs.words import blame_text, lead_text, series_name
from contend.stats import finite


def as_json(history: History) -> dict[str, Any]:
    """Plain JSON values. Logarithms are natural; a bound that is infinite is null."""
    return {
        "experiment": history.experiment,
        "answer": lead_text(history),
        "confidence": history.confidence,
        "found_by": history.asked or None,
        "runs": [
            {
                "run": run.name,
                "path": str(run.path),
                "began": run.began,
                "finished": run.study.finished,
                "state": run.state or None,
                "ln_distance_ns": run.distance,
                "facts": {name: one.value for name, one in run.conditions.items()},
            }
            for run in history.runs
        ],
        "series": [_series(history, one) for one in history.series],
        "breaks": [_break(history, one) for one in history.breaks],
        "uncertain": [_point(history, one) for one in history.uncertain],
        "too_few": [_point(history, one) for one in history.too_few],
        "notices": list(history.notices),
    }


def _series(history: History, one: Series) -> dict[str, Any]:
    return {
        "name": series_name(history, one),
        "kind": one.kind,
        "metric": one.metric.name,
        "cell": dict(one.cell),
        "level": one.level,
        "over": one.over,
        "points": [
            {"run": each.run, "log": each.log, "half": finite(each.half), "n": each.n}
            for each in one.points
        ],
    }


def _break(history: History, one: Break) -> dict[str, Any]:
    return {
        "run": one.run,
        "points": [_point(history, each) for each in one.points],
        "altered": [asdict(each) for each in one.altered],
        "distance_ns": None if one.moved is None else list(one.moved),
        "of_host": one.of_host,
        "of_other": one.of_other,
        "says": blame_text(one),
    }


def _point(history: History, one: ChangePoint) -> dict[str, Any]:
    before, after = one.runs_a_side
    found = None if one.finding is None else one.finding.change
    return {
        "series": one.series,
        "run": history.series[one.series].points[one.at].run,
        "runs_before": before,
        "runs_after": after,
        "ratio": None if found is None else found.ratio,
        "low": None if found is None else finite(found.low),
        "high": None if found is None else finite(found.high),
        "verdict": None if one.finding is None else one.finding.word,
    }
