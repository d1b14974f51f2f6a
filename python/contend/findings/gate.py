"""Is anything slower than permitted? One answer for all cells, to decide whether to release.

A gate depends only on the printed intervals. It has passed if no cell can be slower by the limit:
the far end of every interval lies within it. It has failed if one cell is certainly slower (its
interval excludes no change) and its estimate lies at the limit or beyond. All other results are
inconclusive. The intervals hold together for all cells and all metrics of the gate, so a gate of
many fails falsely no more often than one of a single cell.

It does not wait until the whole interval lies beyond the limit: detecting a slowdown of 5 % with a
limit of 3 % would take about six times as long.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from contend.experiment import Level, cell_key
from contend.findings.changes import Analysis, pairs_of
from contend.findings.model import Finding
from contend.findings.study import Study
from contend.findings.waiting import REMEDY
from contend.metrics import Metric, metric_of
from contend.stats.change import detectable_slowdowns

GateOutcome = Literal["passed", "slower", "uncertain"]

LIMITED = "client-limited"
"""A client at its limit hides a server's loss."""


@dataclass(frozen=True, slots=True)
class Slowdown:
    """How much slower, as a share of the baseline's figure: less throughput, more time. Below 0 it
    is faster."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Gated:
    """One cell of a gate, by one of its metrics.

    limit: the slowdown that fails it, as a share of the baseline's figure.
    finding: None if it was not measured on both sides.
    why: the reason against passing although the interval allows it; empty if there is none.
    """

    metric: Metric
    limit: float
    cell: Mapping[str, Level]
    level: Level
    finding: Finding | None
    why: str = ""

    @property
    def outcome(self) -> GateOutcome:
        return judged(self.finding, self.limit, self.why)

    @property
    def slowdown(self) -> Slowdown | None:
        return None if self.finding is None else slowdown_of(self.finding)


@dataclass(frozen=True, slots=True)
class ReleaseGate:
    """All cells of a gate, metric by metric."""

    cells: tuple[Gated, ...]

    @property
    def limits(self) -> dict[Metric, float]:
        return {one.metric: one.limit for one in self.cells}

    @property
    def outcome(self) -> GateOutcome:
        found = {one.outcome for one in self.cells}
        if "slower" in found:
            return "slower"
        return "passed" if found == {"passed"} else "uncertain"

    @property
    def deciding(self) -> tuple[Gated, ...]:
        """The cells that make the outcome, the worst in relation to its limit first."""
        cells = [one for one in self.cells if one.outcome == self.outcome]
        return tuple(sorted(cells, key=self._badness, reverse=True))

    def _badness(self, one: Gated) -> float:
        found = one.slowdown
        if found is None:
            return math.inf
        return (found.estimate if self.outcome == "slower" else found.high) / one.limit


def slowdown_of(finding: Finding) -> Slowdown:
    """A change as a slowdown."""
    change = finding.change
    if finding.metric.less_is_better:
        return Slowdown(change.ratio - 1, change.low - 1, change.high - 1)
    return Slowdown(1 - change.ratio, 1 - change.high, 1 - change.low)


def judged(finding: Finding | None, limit: float, why: str = "") -> GateOutcome:
    """One cell against the limit; `why` is the reason against passing."""
    if finding is None or finding.held or finding.change.df <= 0 or finding.change.verdict is None:
        return "uncertain"
    found = slowdown_of(finding)
    if found.low > 0 and found.estimate >= limit:
        return "slower"
    return "passed" if found.high < limit and not why else "uncertain"


def smallest_slowdown(finding: Finding, limit: float) -> float:
    """The slowdown that a gate of such units detects in four of five experiments, as a share. It
    assumes that all units scatter like these."""
    change = finding.change
    se = change.sd_log / math.sqrt(change.n)
    if not se > 0 or not change.df > 0:
        return limit
    critical = math.log(change.high / change.low) / 2 / se
    errors, df, half = (np.array([one]) for one in (se, change.df, critical))
    log = float(detectable_slowdowns(errors, df, half, limit)[0])
    return math.expm1(log) if finding.metric.less_is_better else -math.expm1(-log)


def gate_of(study: Study, deciding: Mapping[str, Analysis | None]) -> ReleaseGate | None:
    """The gate of an experiment; None if it has no gate, is not finished, or names a metric that
    is not known.

    Args:
        deciding: see `deciding_of`.
    """
    limits = study.experiment.compare.fail_if_slower
    if not limits or not study.finished or limits.keys() - deciding.keys():
        return None
    roles, cells = study.roles, []
    for name, limit in limits.items():
        analysis = deciding[name]
        findings = analysis.compared.comparisons if analysis is not None else ()
        found = {cell_key(one.cell): one for one in findings}
        for (_, at), baseline, cell in pairs_of(roles):
            one = found.get(cell_key(cell))
            why = _in_the_way(study, one, (baseline, cell))
            cells.append(Gated(metric_of(name), limit, cell, roles.others[at], one, why))
    return ReleaseGate(tuple(cells))


def _in_the_way(study: Study, one: Finding | None, sides: Sequence[Mapping[str, Level]]) -> str:
    if one is None:
        return "it was not measured"
    if one.held:
        return f"{one.held}; {REMEDY}"
    if one.lost:
        return f"{one.lost} of {one.lost + one.change.n} repeats failed"
    runs = [run for side in sides for run in study.runs_of(side)]
    if any(warning.get("code") == LIMITED for run in runs for warning in run.warnings):
        return "the client was at its limit, which would hide a slower server"
    return ""
