"""How often levels that do nothing are claimed to do something, by simulation, and what it costs.

    python bench/claims.py [--tables 400] [--reports 1000]

Two rules of `contend.stats` beside what they replaced: pairs of levels that hold together against
each level tested against the one that came out best, and variances that are only drawn upwards
against ones that are drawn both ways, and against none that lend anything. Eight units, tables of
three rows and seven columns, two levels.

Then whole reports of experiments in which nothing differs, with everything that one claims: three
metrics, costs, statements, the cell that stands out, growth along the columns, whether cells
settled, and a cause with expectations and a ratio. Eight repeats in slices, two levels, a row of
four columns.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from unittest import mock

import null_reports
import numpy as np
from scipy.stats import beta

from contend.stats import Estimate, TableShape, answer_table, family
from contend.stats.contrasts import chances
from contend.stats.family import Moderated, moderate

TABLE = TableShape(3, 7)
UNITS = 8
CELL = 10
"""The noisy one."""

Rule = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], Moderated]


def both_ways(
    variance: np.ndarray, df: np.ndarray, correlation: np.ndarray, parts: np.ndarray
) -> Moderated:
    """Variances that are drawn downwards too."""
    upwards = moderate(variance, df, correlation, parts)
    if not upwards.lent_df:
        return upwards
    least = int(np.argmin(variance))
    w = np.ones(len(df)) if np.isinf(upwards.lent_df) else upwards.lent_df / (upwards.lent_df + df)
    own = (1 - w) * variance
    common = (upwards.variance[least] - own[least]) / w[least]
    return Moderated(w * common + own, upwards.df, upwards.lent_df)


def not_at_all(
    variance: np.ndarray, df: np.ndarray, _correlation: np.ndarray, _parts: np.ndarray
) -> Moderated:
    """Variances that lend each other nothing."""
    return Moderated(variance, df, 0.0)


RULES: dict[str, Rule] = {"both ways": both_ways, "upwards": moderate, "nothing lent": not_at_all}


def scenes() -> Iterator[tuple[str, np.ndarray, float]]:
    """What tables are like: noise of each cell, and what processes differ by."""
    one = np.ones(TABLE.contexts)
    yield "alike", one, 0.01
    for times in (3.0, 5.0):
        noisy = one.copy()
        noisy[CELL] = times
        yield f"one cell {times:g} times as noisy", noisy, 0.0
    yield "grows with load, processes differ", np.tile([1, 1, 1, 1.5, 2, 3, 4.5], 3), 0.02


def table(chance: np.random.Generator, noise: np.ndarray, process_sd: float) -> np.ndarray:
    """Log-ratios of two levels that do nothing."""
    y = chance.normal(0, 0.02, (UNITS, TABLE.contexts, 3)) * noise[None, :, None]
    y += chance.normal(0, process_sd, (UNITS, 1, 3))
    return y[:, :, 1:] - y[:, :, :1]


def variances(tables: int) -> None:
    of_cells = chances(TABLE, 2, 0.95)["cell"]
    print(f"| tables | variances | wrong: any, % (5) | cells, % ({100 * of_cells:.1f}) | ", end="")
    print("width: whole | column | cell |\n|---|---|---|---|---|---|---|")
    for name, noise, process_sd in scenes():
        seen: dict[str, list[float]] = {}
        for rule, moderated in RULES.items():
            chance = np.random.default_rng(1)
            wrong = cells = 0
            widths: dict[str, list[float]] = {"whole": [], "columns": [], "cell": []}
            with mock.patch.object(family, "moderate", moderated):
                for _ in range(tables):
                    answer = answer_table(table(chance, noise, process_sd), TABLE)
                    missed = [c for c in (*answer.changes, *answer.pairs) if not c.low < 1 < c.high]
                    wrong += bool(missed)
                    cells += any(c.place.depth == "cell" for c in missed)
                    for change in answer.changes:
                        if change.place.depth in widths:
                            widths[change.place.depth].append(np.log(change.high / change.low))
            seen[rule] = [float(np.median(of)) for of in widths.values()]
            ratios = " | ".join(
                f"{one / two:.2f}" for one, two in zip(seen[rule], seen["both ways"], strict=True)
            )
            print(
                f"| {name} | {rule} | {100 * wrong / tables:.2f} | {100 * cells / tables:.2f} ",
                end="",
            )
            print(f"| {ratios} |", flush=True)


def pairs(tables: int) -> None:
    print(
        "| levels | cells | each against the best at 5 %: differs, % | pairs: differs, % (share) |"
    )
    print("|---|---|---|---|")
    for levels in (3, 5):
        for shape in (TableShape(1, 1), TableShape(1, 6)):
            chance = np.random.default_rng(2)
            alone = together = 0
            for _ in range(tables):
                y = chance.normal(0, 0.02, (UNITS, shape.contexts, levels + 1))
                answer = answer_table(y[:, :, 1:] - y[:, :, :1], shape)
                best = max(range(levels), key=lambda one: answer.whole(one).ratio)
                others = [answer.pair(best, one) for one in range(levels) if one != best]
                alone += any(_excludes_1(one.alone) for one in others)
                together += any(not one.low < 1 < one.high for one in others)
            share = 100 * chances(shape, levels, 0.95)["pair"]
            print(f"| {levels} | {shape.contexts} | {100 * alone / tables:.1f} ", end="")
            print(f"| {100 * together / tables:.1f} ({share:.1f}) |", flush=True)


def reports(count: int) -> None:
    """Of so many reports, those with a false claim, by family."""
    template = null_reports.template()
    wrong: Counter[str] = Counter()
    for number in range(count):
        chance = np.random.default_rng([3, number])
        families = null_reports.false_claims(null_reports.drawn(template, chance))
        wrong.update(families)
        wrong["any"] += bool(families)
    print("| family | reports with a false claim | of them, % | 95 % interval | promised, % |")
    print("|---|---|---|---|---|")
    promised = null_reports.promised(template)
    for name in (*promised, "any"):
        low, high = clopper_pearson(wrong[name], count)
        share, may = 100 * wrong[name] / count, 100 * promised.get(name, 0.05)
        print(f"| {name} | {wrong[name]} of {count} | {share:.2f} ", end="")
        print(f"| {100 * low:.2f} to {100 * high:.2f} | {may:.2f} |", flush=True)


def clopper_pearson(seen: int, of: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of a share."""
    tail = (1 - confidence) / 2
    low = beta.ppf(tail, seen, of - seen + 1) if seen else 0.0
    high = beta.ppf(1 - tail, seen + 1, of - seen) if seen < of else 1.0
    return float(low), float(high)


def _excludes_1(one: Estimate) -> bool:
    return not one.low < 1 < one.high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=400, help="of each kind")
    parser.add_argument("--reports", type=int, default=1000, help="in which nothing differs")
    asked = parser.parse_args()
    if asked.tables:
        variances(asked.tables)
        print()
        pairs(asked.tables)
        print()
    reports(asked.reports)


if __name__ == "__main__":
    main()
