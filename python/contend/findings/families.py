"""Which claims share the chance of a false claim, fixed before the run.

A whole report may err with 5 % (at a confidence of 95 %). The metric that decides keeps 4 of them,
with or without further metrics: its verdicts are the same alone and among twenty. In a gate of
several metrics all of them decide, and share these 4, as tables that hold together. All further
claims of a report share the rest among the families of the experiment. Metrics and statements that
the experiment names have 4 parts, each of the other families 1. The experiment determines its
families, and the measurements do not.

Metrics requested afterwards (`show --metric`) were chosen with the answer in sight. They have
intervals and no verdicts, and do not reduce the share of any family.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from contend.experiment import STATEMENTS, Experiment, roles_of
from contend.experiment.settings.equal_load import ALONE
from contend.stats import StoppingRule

FIRST_SHARE = 0.8
"""The share of the chance of a false claim that the metric that decides keeps."""


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

    def part(self, parts: int) -> Family:
        """One of several parts that have an equal share of the chance of a false claim each."""
        promises, computed = (1 - (1 - one) / parts for one in (self.promises, self.confidence))
        return replace(self, promises=promises, confidence=computed)


def family_of(experiment: Experiment, name: str) -> Family:
    """One of the families that an experiment has.

    first: the metric that decides, and those of a gate. metrics: others that the experiment
    compares. costs: the costs of each level. statements: each statement by itself. leads: the cell
    that differs most. growth: along the columns. kinds: kinds of workload compared with each other.
    steadiness: whether a cell settled. causes: why. asked: metrics that were not named before the
    run.

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
    """Without verdicts, at the experiment's confidence."""
    usual = experiment.compare.confidence
    return Family(name, usual, usual, decides=False)


def rule_of(experiment: Experiment) -> StoppingRule:
    """When the experiment is finished, and the confidence of the metric that decides. The lab stops
    by the same interval that the report prints."""
    compare = experiment.compare
    return StoppingRule(
        until=compare.widths,
        at_most_s=math.inf if compare.at_most_s is None else compare.at_most_s,
        units_min=compare.repeats,
        confidence=1 - FIRST_SHARE * (1 - compare.confidence),
        of_cells=compare.is_width_of_cells,
    )


def _share_of_rest(experiment: Experiment, name: str) -> float:
    roles, compare = roles_of(experiment), experiment.compare
    compares, columns = roles.baseline is not None, len(roles.column_levels)
    kinds = {str(experiment.base["workload"].get("kind"))}
    kinds |= {str(one) for f in experiment.factors if f.path == "workload.kind" for one in f.levels}
    alone = next((f.levels for f in experiment.factors if f.path == ALONE), ())
    asks_alone = bool(experiment.base[ALONE]) or True in alone
    explains = experiment.explain is not None
    figures = any(row.figures for one in experiment.published for row in one.rows)
    parts = {
        "metrics": 4 * (compares and len(compare.metric) > len(compare.deciding)),
        "costs": compares,
        "statements": 4 * (compares and (bool(kinds & set(STATEMENTS)) or asks_alone)),
        "leads": compares and columns * len(roles.table_contexts()) > 2,
        "growth": columns > 1 and (figures or explains),
        "kinds": compares and len(kinds) > 1,
        "steadiness": 1,
        "causes": explains,
        "asked": 0,
    }
    return (1 - FIRST_SHARE) * parts[name] / sum(parts.values())
