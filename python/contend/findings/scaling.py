"""How throughput grows with the connections: a curve for each sweep, or why there is none."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from contend.findings.changes import log_mean
from contend.findings.study import Study
from contend.metrics import FIXED, THROUGHPUT
from contend.spec import Level
from contend.stats import FIT_COLUMNS_MIN, FIT_UNITS_MIN, UslFit, fit_usl
from contend.store import RunRecord

CONNECTIONS = "load.connections"


@dataclass(frozen=True, slots=True)
class Sweep:
    """One level in one table, measured at several numbers of connections.

    context: the levels of its table. level: the row; None if nothing varies there.
    connections: those that were measured, rising. repeats: those that have all of them.
    fit: None if they are too few: below `FIT_COLUMNS_MIN` numbers, or
        below `FIT_UNITS_MIN` repeats.
    """

    context: Mapping[str, Level]
    level: Level | None
    connections: tuple[int, ...]
    repeats: int
    fit: UslFit | None


def sweeps_of(study: Study) -> tuple[Sweep, ...]:
    """Every sweep over connections; none if the columns are something else, or if events begin by
    the clock: then the throughput is what was asked for."""
    columns = study.roles.columns
    if columns is None or columns.path != CONNECTIONS or len(columns.levels) < 2:
        return ()
    if any("closed" not in _arrival(run) for run in study.measured):
        return ()
    contexts, levels = study.roles.table_contexts(), study.roles.levels
    found = (_sweep(study, *place) for place in itertools.product(contexts, levels))
    return tuple(one for one in found if len(one.connections) > 1)


def _arrival(run: RunRecord) -> str:
    arrival: str | None = run.done.get("arrival") if run.done else None
    return arrival or "closed-loop"


def _sweep(study: Study, context: Mapping[str, Level], level: Level | None) -> Sweep:
    """Of the numbers of connections that were measured, and the repeats that have all of them."""
    roles = study.roles
    counts, figures = [], []
    for count in sorted(int(one) for one in roles.column_levels if one is not None):
        runs = study.repeats_of(roles.cell(context, count, level))
        means = [log_mean(FIXED[THROUGHPUT], runs.get(repeat, ())) for repeat in study.repeats]
        if any(map(math.isfinite, means)):
            counts.append(count)
            figures.append(means)
    log_qps = np.array(figures).reshape(len(counts), len(study.repeats)).T
    whole = log_qps[np.isfinite(log_qps).all(axis=1)]
    enough = len(counts) >= FIT_COLUMNS_MIN and len(whole) >= FIT_UNITS_MIN
    fit = fit_usl(counts, whole, study.experiment.compare.confidence) if enough else None
    return Sweep(context, level, tuple(counts), len(whole), fit)
