"""One answer for a whole table: how each level changes a figure, overall, by column, row and cell.

The data are log-ratios by unit. A unit is what was drawn anew from the highest level on: a set of
freshly started server processes, or a block of runs. In a unit the contexts share the processes,

    y[u, c, l] = mu[c, l] + block[u, c] + process[u, l] + e[u, c, l],

so that the block cancels in the ratio to the baseline, and the process does not: neither slices
nor contexts make up for few units. Every standard error therefore comes from how far the units
lie apart.

Intervals hold for all members of the table together, and a verdict is read off its interval and
nothing else: the two cannot contradict each other.

Sources: Smyth 2004 (variances moderated over members); Hothorn, Bretz, Westfall 2008
(simultaneous intervals); Schuirmann 1987 (equivalence); Bell and McCaffrey 2002 (errors from
units that miss some of the cells).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contend.stats.compare import Verdict
from contend.stats.contrasts import Depth, Place, TableShape
from contend.stats.estimate import Estimate


@dataclass(frozen=True, slots=True)
class Change:
    """How much higher the metric is at a level than at the baseline, at one place of the table.

    ratio: geometric mean over the units, and over the place's cells; 1.25 is +25 %.
    low, high: simultaneous interval of the ratio: all of a table's intervals hold together with
        `confidence`.
    verdict: read off `low` and `high`; None in an interim answer.
    n: units that have at least one of the place's cells.
    df: degrees of freedom of the interval; more than n - 1 if other members of the depth lent
        theirs, less if units miss cells.
    sd_log: standard deviation over the units of the log-ratio, of this place alone.
    detectable: the smallest relative change that such units show (verdict higher or lower) in 4
        of 5 experiments, with the same simultaneous interval; inf if none is known.
    cells, of_cells: cells of the place that were measured, of those it has. The change is that
        of the measured ones.
    alone: the interval that would hold for this place alone, from its own units, unadjusted.
    p_sign_flip, robust: twins of `alone` that assume less, see `sign_flip_p`, `hodges_lehmann`.

    If fewer than two units tell, no interval exists: low is 0, high and detectable are inf, df is
    0 and the verdict is inconclusive; ratio is that of the one unit, or NaN.
    """

    place: Place
    ratio: float
    low: float
    high: float
    verdict: Verdict | None
    n: int
    df: float
    sd_log: float
    detectable: float
    cells: int
    of_cells: int
    alone: Estimate
    p_sign_flip: float
    robust: Estimate

    @property
    def twins_disagree(self) -> bool:
        """Whether a twin that can tell (from six units on) doubts what `alone` says about "the
        ratio is 1", or the other way round: a wild unit, most often.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class DepthFigures:
    """What the intervals of a depth rest on.

    alpha: its share of the chance of a false claim.
    members: how many intervals hold together.
    p_each: two-sided chance left to each of them; `alpha / members` if they told nothing of each
        other, more if they are correlated.
    lent_df: degrees of freedom of what the members' variances have in common; 0 if nothing was
        lent.
    """

    depth: Depth
    alpha: float
    members: int
    p_each: float
    lent_df: float


@dataclass(frozen=True, slots=True)
class Adjustment:
    """What the covariates bought.

    slopes: change of the log-ratio by one unit of each covariate.
    sd_before, sd_after: standard deviation of a cell's log-ratio over the units, pooled.
    """

    slopes: tuple[float, ...]
    sd_before: float
    sd_after: float


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """Every change of the table by one metric.

    process_share: share of a cell's variance over units that all cells of the unit have in common
        (the process, its memory layout), 0 to 1; NaN if unknown.
    """

    shape: TableShape
    levels: int
    changes: tuple[Change, ...]
    depths: tuple[DepthFigures, ...]
    process_share: float
    adjustment: Adjustment | None
    margin: float
    confidence: float

    def whole(self, level: int) -> Change:
        """The level as a whole."""
        raise NotImplementedError

    def columns(self, level: int, first: int, last: int) -> Change:
        """The mean over the rows and the columns first to last: one column, "up to" or "from … on".

        Raises:
            KeyError: the range neither is one column nor touches an edge of the table.
        """
        raise NotImplementedError

    def row(self, level: int, row: int) -> Change:
        """The mean over the columns."""
        raise NotImplementedError

    def cell(self, level: int, row: int, column: int) -> Change:
        """One cell. In a table of one row it is the column, in one of one column the row."""
        raise NotImplementedError


def answer_table(
    d: np.ndarray,
    shape: TableShape,
    *,
    margin: float = 0.02,
    confidence: float = 0.95,
    covariates: Sequence[np.ndarray] = (),
    interim: bool = False,
) -> TableAnswer:
    """Every change of a table, with intervals that hold together.

    Args:
        d: ln(metric at the level / metric at the baseline), units x contexts x levels, NaN if it
            was not measured. Contexts are counted row by row. Units are independent of each other.
        shape: rows and columns of the table.
        margin: relative difference that does not matter: 0.02 for 2 %.
        confidence: 0.95 for intervals that all hold in 95 of 100 experiments.
        covariates: differences of a measured disturbance between level and baseline, each shaped
            as `d`, 0 if nothing differed. The answer is then that of undisturbed units. Only those
            that were chosen before the run.
        interim: intervals without verdicts, for a run that is not finished.

    Raises:
        ValueError: the shapes do not fit, a value is infinite, or a covariate is not known
            although the ratio is.
    """
    raise NotImplementedError


def advantage(
    d: np.ndarray,
    shape: TableShape,
    level: int,
    row: int,
    column: int,
    *,
    margin: float = 0.02,
    confidence: float = 0.95,
    interim: bool = False,
) -> Change:
    """The ratio of one cell's change over the mean change of the level's other cells.

    Its interval has the confidence of the table's cells, and holds together with those of the
    advantages of all other cells: the cell may be picked because it is the largest.
    """
    raise NotImplementedError
