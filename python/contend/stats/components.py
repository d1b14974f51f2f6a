"""The sources of noise: the variance of each tier of repetition, from slices in nested tiers.

A *tier* is a level of repetition ("level" already means a compared setting). A log ratio of one
round of slices lies in a block: one run of the load generator, a set of connections. The block lies
in a unit, a set of freshly started server processes; the unit, if copies are reused, on a copy of
the data. More slices do not remove the differences between units of a comparison.

Unweighted means: the mean of a block is that of its rounds, of a unit that of its blocks. S² of a
tier is the variance of its means, pooled over their parents and over the tables. Its expectation is
T² of the tier plus known parts of those below, so T² is unbiased even with unequal counts. With
equal counts these are the S_i² and T_i² of Kalibera & Jones, Rigorous benchmarking in reasonable
time, 2013. Intervals are generalized ones (Weerahandi 1995): each S² is divided by draws of
chi²/df. The chance of no variance among these draws is the F test's p.

Identical processes may differ for life because of their memory layout (Mytkowicz et al. 2009;
Curtsinger & Berger 2013). The variance between units shows whether they do here, and whether
matching the layouts is worthwhile.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

TIERS = ("copy", "unit", "block", "round")
"""Tiers of repetition, the highest first."""

PLACES = {
    "copy": "copies of the data",
    "unit": "server processes",
    "block": "sets of connections",
    "round": "slices",
}
_DRAWS = 10_000


@dataclass(frozen=True, slots=True)
class Component:
    """The contribution of one tier to the noise.

    tier: one of TIERS.
    variance: T², the variance of log ratios that this tier alone makes; the unbiased estimate, or 0
        if that is negative. NaN: not known, because nothing was repeated at this tier; the tier
        above then includes it.
    unbiased: the estimate itself, which chance may make negative.
    low, high: interval of the variance at the requested confidence; 0 and inf if not known.
    freedom: degrees of freedom behind it. Values that several tables share count once.
    p_none: p of "this tier adds nothing" (F test); 1 if not known.
    in_mean: the part of the variance that is left in the mean of a table: 1 / units for units,
        1 / (units x blocks) for blocks, and so on.
    """

    tier: str
    variance: float
    unbiased: float
    low: float
    high: float
    freedom: float
    p_none: float
    in_mean: float

    @property
    def known(self) -> bool:
        """Whether anything was repeated at this tier."""
        return not math.isnan(self.variance)

    @property
    def sd(self) -> float:
        """Standard deviation of log ratios; 0.04 is about 4 %."""
        return math.sqrt(self.variance)


@dataclass(frozen=True, slots=True)
class Components:
    """The tiers of one experiment, the highest first.

    common: the share of the units' variance, 0 to 1, that all contexts of a unit have in common.
        This share does not average out over contexts. 1 if not known.
    tables: pairs of a context and a level that the estimates are pooled over.
    confidence: of the intervals.
    """

    tiers: tuple[Component, ...]
    common: float
    tables: int
    confidence: float

    def get(self, tier: str) -> Component | None:
        """The component of a tier; None if the data have no such tier."""
        return next((component for component in self.tiers if component.tier == tier), None)

    @property
    def known(self) -> bool:
        """Whether the highest tier was repeated, which planning requires."""
        return self.tiers[0].known

    def of_a_level(self, tier: str, contexts: int = 1) -> float:
        """The part of a tier's variance left in a mean over `contexts`, each counted once.

        Each context has its own blocks and rounds, and shares part of the units' variance. 0 for a
        tier that is not known or absent.
        """
        component = self.get(tier)
        if component is None or not component.known:
            return 0.0
        part = {"copy": 1.0, "unit": self.common + (1 - self.common) / contexts}
        return component.variance * part.get(tier, 1 / contexts)

    def shares(self, contexts: int = 1) -> dict[str, float]:
        """The share of each known tier in the variance of the answer; they add up to 1.

        Args:
            contexts: 1 for the answer of one cell, else the number averaged in a level as a whole.

        Empty if the highest tier is not known, or if there is no noise at all.
        """
        if not self.known:
            return {}
        parts = {c.tier: self.of_a_level(c.tier, contexts) * c.in_mean for c in self.tiers}
        total = sum(parts.values())
        if not total > 0:
            return {}
        return {c.tier: parts[c.tier] / total for c in self.tiers if c.known}

    def by_rounds(self, rounds: float) -> Components:
        """If the lowest tier is the block: its variance expressed as that of its rounds, given
        their number in the mean."""
        *above, block = self.tiers
        assert block.tier == "block"
        of_rounds = replace(
            block,
            tier="round",
            variance=block.variance * rounds,
            unbiased=block.unbiased * rounds,
            low=block.low * rounds,
            high=block.high * rounds,
            in_mean=block.in_mean / rounds,
        )
        none = replace(block, variance=0.0, unbiased=0.0, low=0.0, high=0.0, p_none=1.0)
        return replace(self, tiers=(*above, none, of_rounds))

    def words(self, contexts: int = 1) -> str:
        """One line: "60 % of the noise is between slices, 40 % between server processes"."""
        if not self.known:
            return (
                "the source of the noise is not known yet: at least two "
                f"{PLACES[self.tiers[0].tier]} per level are needed"
            )
        shares = self.shares(contexts)
        if not shares:
            return "there is no noise: all repeats gave the same result"
        percents = _whole_percents(shares)
        parts = [
            f"{percent} % {'' if i else 'of the noise is '}between {self._place(tier)}"
            for i, (tier, percent) in enumerate(percents)
        ]
        return ", ".join(parts)

    def _place(self, tier: str) -> str:
        """A tier with those below it that are indistinguishable from it."""
        names = [c.tier for c in self.tiers]
        places = [PLACES[tier]]
        for component in self.tiers[names.index(tier) + 1 :]:
            if component.known:
                break
            places.append(PLACES[component.tier])
        return " and ".join(places)


def estimate_components(
    log_ratios: Sequence[float] | np.ndarray,
    tiers: Mapping[str, Sequence[Hashable]],
    *,
    contexts: Sequence[Hashable] | None = None,
    levels: Sequence[Hashable] | None = None,
    row: str = "round",
    confidence: float = 0.95,
) -> Components:
    """Estimate the variance of each tier.

    Args:
        log_ratios: (N,) ln(level / baseline) of one round each. NaN: lost, and left out.
        tiers: for each tier above the row, (N,) labels of the groups that contain the rows, such as
            `{"unit": [...], "block": [...]}`. The same label in two contexts or levels means the
            same thing (the same server processes, the same run of the load generator).
        contexts, levels: (N,) labels of the cell and of the level compared. Each pair is a table
            with its own mean. None: all rows are of one.
        row: the tier of a row. "unit" if each row is a whole unit, as with separate runs.

    Raises:
        ValueError: lengths differ, nothing is left, a tier is not one of TIERS or not above the
            row, or a value is infinite.
    """
    values = np.asarray(log_ratios, dtype=float)
    if row not in TIERS or set(tiers) - set(TIERS[: TIERS.index(row)]):
        raise ValueError(f"tiers are {', '.join(TIERS)}, those with labels above the row's")
    if np.any(np.isinf(values)):
        raise ValueError("log ratios are finite, or NaN if lost")
    names = [*(tier for tier in TIERS if tier in tiers), row]
    nothing: list[Hashable] = [None] * len(values)
    columns = [nothing if labels is None else list(labels) for labels in (contexts, levels)]
    columns += [list(tiers[tier]) for tier in names[:-1]]
    if values.ndim != 1 or any(len(column) != len(values) for column in columns):
        raise ValueError("each row needs one label of each tier, context and level")
    kept = np.flatnonzero(~np.isnan(values))
    if not len(kept):
        raise ValueError("components need at least one log ratio")
    paths = [tuple(column[i] for column in columns) for i in kept]
    return _Fold(values[kept], paths, names).components(confidence)


class _Fold:
    """Rows folded into the means of their blocks, these into the means of their units, …

    A path (context, level, highest tier, …) locates a mean. Each mean comes with the
    composition of its variance: the multiple of each tier's T².
    """

    def __init__(self, values: np.ndarray, paths: list[tuple[Hashable, ...]], names: list[str]):
        self.names = names
        k = len(names)
        self.mean_squares, self.freedom = np.full(k, np.nan), np.zeros(k)
        self.expected = np.eye(k)
        made_of = np.zeros((len(values), k))
        self.units: tuple[np.ndarray, list[tuple[Hashable, ...]]] = values[:0], []
        for tier in reversed(range(k)):
            made_of[:, tier] += 1
            if names[tier] == "unit":
                self.units = (values, paths)
            values, made_of, paths = self._fold(tier, values, made_of, paths)
        self.tables = paths
        self.in_mean = made_of.mean(axis=0)
        # Sums of thirds and the like: 7.000000000000001 degrees are 7.
        self.freedom = np.round(self.freedom, 9)

    def _fold(
        self, tier: int, values: np.ndarray, made_of: np.ndarray, paths: list[tuple[Hashable, ...]]
    ) -> tuple[np.ndarray, np.ndarray, list[tuple[Hashable, ...]]]:
        """Means of the values with the same parent; also S² of this tier and its expectation."""
        # Rows have no labels: they are shared to the extent that their parents are.
        depth = 2 + tier + (tier < len(self.names) - 1)
        shared: dict[tuple[Hashable, ...], set[tuple[Hashable, ...]]] = defaultdict(set)
        children: dict[tuple[Hashable, ...], list[int]] = defaultdict(list)
        for i, path in enumerate(paths):
            shared[path[2:depth]].add(path[:2])
            children[path[: 2 + tier]].append(i)
        means, parts = np.empty(len(children)), np.empty((len(children), len(self.names)))
        squares, degrees, expected = 0.0, 0, np.zeros(len(self.names))
        for at, members in enumerate(children.values()):
            n = len(members)
            means[at], part = values[members].mean(), made_of[members].mean(axis=0)
            parts[at] = part / n
            squares += float(np.sum((values[members] - means[at]) ** 2))
            degrees += n - 1
            expected += (n - 1) * part
            own = np.mean([1 / len(shared[paths[i][2:depth]]) for i in members])
            self.freedom[tier] += (n - 1) * own
        if degrees:
            self.mean_squares[tier] = squares / degrees
            self.expected[tier] = expected / degrees
        return means, parts, list(children)

    def components(self, confidence: float) -> Components:
        """T² of the known tiers from their S², with intervals from draws of S²."""
        known = self.freedom > 0
        solve = np.linalg.inv(self.expected[np.ix_(known, known)])
        unbiased = np.full(len(known), np.nan)
        unbiased[known] = solve @ self.mean_squares[known]
        drawn = solve @ (self.mean_squares[known][:, None] / _draws(tuple(self.freedom[known])))
        tail = (1 - confidence) / 2
        bounds = np.tile([[0.0], [math.inf]], len(known))
        bounds[:, known] = np.maximum(np.quantile(drawn, [tail, 1 - tail], axis=1), 0.0)
        p_none = np.ones(len(known))
        p_none[known] = np.mean(drawn <= 0, axis=1)
        return Components(
            tiers=tuple(
                Component(
                    tier=name,
                    variance=max(float(unbiased[i]), 0.0) if known[i] else math.nan,
                    unbiased=float(unbiased[i]),
                    low=float(bounds[0, i]),
                    high=float(bounds[1, i]),
                    freedom=float(self.freedom[i]),
                    p_none=float(p_none[i]),
                    in_mean=float(self.in_mean[i]),
                )
                for i, name in enumerate(self.names)
            ),
            common=self._common(dict(zip(self.names, unbiased, strict=True))),
            tables=len(self.tables),
            confidence=confidence,
        )

    def _common(self, unbiased: dict[str, float]) -> float:
        """The units' covariance between contexts over their variance within one.

        Blocks and rounds are each context's own, so their noise is in no covariance.
        """
        own = unbiased.get("unit", math.nan)
        if not own > 0:
            return 1.0
        of_level: dict[Hashable, dict[Hashable, dict[Hashable, float]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        for value, (context, level, *unit) in zip(*self.units, strict=True):
            of_level[level][context][tuple(unit)] = value
        total, degrees = 0.0, 0
        for tables in of_level.values():
            units = sorted({unit for table in tables.values() for unit in table}, key=repr)
            grid = np.array([[table.get(u, np.nan) for u in units] for table in tables.values()])
            for i in range(len(grid)):
                for j in range(i):
                    both = ~np.isnan(grid[i] + grid[j])
                    if both.sum() > 1:
                        a, b = grid[i][both], grid[j][both]
                        total += float(np.sum((a - a.mean()) * (b - b.mean())))
                        degrees += int(both.sum()) - 1
        if not degrees:
            return 1.0
        copies = unbiased.get("copy", math.nan)
        covariance = total / degrees - (copies if copies > 0 else 0.0)
        return min(max(float(covariance) / own, 0.0), 1.0)


@functools.lru_cache(maxsize=16)
def _draws(freedom: tuple[float, ...]) -> np.ndarray:
    """(tiers, draws) of chi² over its degrees of freedom; always the same."""
    of_tier = np.array(freedom)[:, None]
    chance = np.random.default_rng(2013)
    return np.asarray(chance.chisquare(of_tier, (len(freedom), _DRAWS)) / of_tier)


def _whole_percents(shares: dict[str, float]) -> list[tuple[str, int]]:
    """Shares as whole percents that add up to 100, the largest first, without those of 0."""
    percents = {tier: math.floor(100 * share) for tier, share in shares.items()}
    by_rest = sorted(shares, key=lambda tier: percents[tier] - 100 * shares[tier])
    for tier in by_rest[: 100 - sum(percents.values())]:
        percents[tier] += 1
    return sorted(((t, p) for t, p in percents.items() if p), key=lambda item: -item[1])


PART_THAT_PAYS = 1 / 3
"""Part of the answer's noise from which on matching is worthwhile: it saves at most that part of
the time."""

Layout = Literal["matched", "system"]


@dataclass(frozen=True, slots=True)
class LayoutSpread:
    """How much an answer varies over server processes, beyond the noise of their slices.

    advice: "matched" if the processes differ (p below 1 - confidence) and cause at least a third
        of the noise; otherwise "system", the layout that the system gives.
    sd: standard deviation of log ratios between units beyond the noise; NaN if not known.
    low, high: its interval; 0 and inf if not known.
    p_none: p of "processes differ by no more than their slices"; 1 if not known.
    share: of the processes in the noise of a cell's answer, 0 to 1; NaN if not known.
    """

    advice: Layout
    sd: float
    low: float
    high: float
    p_none: float
    share: float
    confidence: float

    @property
    def certain(self) -> bool:
        """Whether processes differ by more than their slices' noise."""
        return self.p_none < 1 - self.confidence

    def words(self) -> str:
        """One line for the report."""
        if math.isnan(self.sd):
            return "the difference between server processes is not known: two per level are needed"
        if self.certain:
            return (
                f"the answer varies by {_percent(self.sd)} (standard deviation; "
                f"{_percent(self.low)} to {_percent(self.high)}) between server starts, "
                "beyond the noise of the slices"
            )
        return (
            "no difference between server processes is certain beyond the noise of their slices "
            f"(standard deviation below {_percent(self.high)})"
        )


def layout_spread(components: Components, *, part: float = PART_THAT_PAYS) -> LayoutSpread:
    """Judge the processes of a pilot or of a whole experiment."""
    unit = components.get("unit")
    slices = components.get("round")
    share = components.shares().get("unit", math.nan)
    if unit is None or not unit.known or slices is None or not slices.known:
        return LayoutSpread("system", math.nan, 0.0, math.inf, 1.0, share, components.confidence)
    pays = unit.p_none < 1 - components.confidence and share >= part
    return LayoutSpread(
        advice="matched" if pays else "system",
        sd=unit.sd,
        low=math.sqrt(unit.low),
        high=math.sqrt(unit.high),
        p_none=unit.p_none,
        share=share,
        confidence=components.confidence,
    )


def _percent(sd_log: float) -> str:
    return f"{100 * math.expm1(sd_log):.1f} %" if sd_log < 1 else f"{math.exp(sd_log):.1f}x"
