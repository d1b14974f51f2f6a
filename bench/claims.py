"""How often a table of levels that do nothing claims something, by simulation, and what it costs.

    python bench/claims.py [--tables 400]

Two rules of `contend.stats` beside what they replaced: pairs of levels that hold together against
each level tested against the one that came out best, and variances that are only drawn upwards
against ones that are drawn both ways, and against none that lend anything. Eight units, tables of
three rows and seven columns, two levels.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from unittest import mock

import numpy as np

from contend.stats import Estimate, TableShape, answer_table, family
from contend.stats.contrasts import chances
from contend.stats.moderate import Moderated, moderate

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


def _excludes_1(one: Estimate) -> bool:
    return not one.low < 1 < one.high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=400, help="of each kind")
    asked = parser.parse_args()
    variances(asked.tables)
    print()
    pairs(asked.tables)


if __name__ == "__main__":
    main()
