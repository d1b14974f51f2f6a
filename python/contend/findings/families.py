"""Who shares the chance of a false claim, fixed before the run.

Of the 5 % that a whole report may err with (at a confidence of 95 %), the metric that decides keeps
4, whatever is looked at beside it: its verdicts are the same alone and among twenty others. All
else that a report claims shares the rest among the families that the experiment has: what the
experiment names itself, further metrics and statements, has 4 parts, each of the others 1. Which
families it has is read off the experiment and not off what was measured.

What somebody asks afterwards (`show --metric`) was chosen with the answer in sight. It has
intervals and no verdicts, and takes nothing from anybody.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from contend.spec import STATEMENTS, Experiment, roles_of
from contend.stats import StoppingRule

FIRST_SHARE = 0.8
"""Of the chance of a false claim, what the metric that decides keeps."""


@dataclass(frozen=True, slots=True)
class Family:
    """Contrasts that hold together.

    promises: the confidence of all of them together.
    confidence: at which they are computed, so that they hold that.
    decides: whether they have verdicts.
    """

    name: str
    promises: float
    confidence: float
    decides: bool = True


def family_of(experiment: Experiment, name: str) -> Family:
    """One of the families that an experiment has.

    first: the metric that decides. metrics: others that the experiment compares. costs: what each
    level costs. statements: each statement by itself. leads: the cell that stands out. growth:
    along the columns. kinds: kinds of workload beside one another. steadiness: whether a cell
    settled. causes: why. asked: what was not named before the run.

    A family that the experiment does not have decides nothing: no chance of error was set aside for
    its claims.
    """
    of_first = 1.0 if name == "first" else _share_of_rest(experiment, name) / FIRST_SHARE
    if not of_first:
        return described(name, experiment)
    rule = rule_of(experiment)
    promises, computed = (
        1 - of_first * (1 - one) for one in (rule.confidence, rule.interval_confidence)
    )
    return Family(name, promises, computed)


def described(name: str, experiment: Experiment) -> Family:
    """Without verdicts, at the confidence that the experiment asks for."""
    usual = experiment.compare.confidence
    return Family(name, usual, usual, decides=False)


def rule_of(experiment: Experiment) -> StoppingRule:
    """When the experiment is finished, and at which confidence the metric that decides is read:
    what the lab stops by is what the report prints."""
    compare = experiment.compare
    return StoppingRule(
        until=compare.width,
        at_most_s=math.inf if compare.at_most_s is None else compare.at_most_s,
        units_min=compare.repeats,
        confidence=1 - FIRST_SHARE * (1 - compare.confidence),
        of_cells=compare.is_width_of_cells,
    )


def _share_of_rest(experiment: Experiment, name: str) -> float:
    roles = roles_of(experiment)
    compares, columns = roles.baseline is not None, len(roles.column_levels)
    kinds = {str(experiment.base["workload"].get("kind"))}
    kinds |= {str(one) for f in experiment.factors if f.path == "workload.kind" for one in f.levels}
    explains = experiment.explain is not None
    figures = any(row.figures for one in experiment.published for row in one.rows)
    parts = {
        "metrics": 4 * (compares and len(experiment.compare.metric) > 1),
        "costs": compares,
        "statements": 4 * (compares and bool(kinds & set(STATEMENTS))),
        "leads": compares and columns * len(roles.table_contexts()) > 2,
        "growth": columns > 1 and (figures or explains),
        "kinds": compares and len(kinds) > 1,
        "steadiness": 1,
        "causes": explains,
        "asked": 0,
    }
    return (1 - FIRST_SHARE) * parts[name] / sum(parts.values())
