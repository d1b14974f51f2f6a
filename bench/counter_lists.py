"""How often does the list "What else differs" name a counter where nothing differs?

    contend run bench/experiments/counters-null.toml --out NULL
    python bench/counter_lists.py NULL [--pages 2000]

The run's two levels differ in nothing that a query meets. A page is made of `n` of its repeats,
drawn at random, with the labels of level and baseline exchanged at random in each (all cells of a
repeat alike, since they share its time). Counted are pages that pick any counter, under the rule
of Benjamini and Hochberg and under that of Benjamini and Yekutieli (2001), which holds whatever the
dependence. Then one counter of a page is made larger by a known factor, and it is counted how
often it is found.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from claims import clopper_pearson
from rounds import markdown_table, publish

from contend.findings import study_of
from contend.findings.changes import pairs_of
from contend.sections.counters import FALSE_SHARE, CountedPair, KeptCounters
from contend.stats import discover, pair_counts
from contend.store import RunFolder

UNITS = (4, 6, 8, 12)
FACTORS = (1.05, 1.2, 2.0)


def places_of(path: Path) -> tuple[list[CountedPair], int]:
    """Both sides of every place of a run folder, and how many counters there are."""
    with RunFolder.open(path) as folder:
        study = study_of(folder, percentiles=False)
        kept = KeptCounters(study.measured, set())
        pairs = [kept.pairs(study, one, other) for _, one, other in pairs_of(study.roles)]
    return pairs, len(kept.keys)


def page(pairs: list[CountedPair], n: int, chance: np.random.Generator) -> list[CountedPair]:
    """`n` repeats, with labels exchanged at random."""
    units = chance.choice(len(pairs[0].counts[0]), n, replace=False)
    swapped = chance.random(n) < 0.5

    def sides(both: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        one, other = (side[units] for side in both)
        exchange = swapped[:, None]
        return np.where(exchange, other, one), np.where(exchange, one, other)

    return [CountedPair(*map(sides, (one.counts, one.queries, one.seconds))) for one in pairs]


def p_of(pairs: list[CountedPair]) -> np.ndarray:
    return np.concatenate([pair_counts(one.counts, one.queries, one.seconds).p for one in pairs])


def harmonic(m: int) -> float:
    return float(np.sum(1 / np.arange(1, m + 1)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--pages", type=int, default=2000)
    asked = parser.parse_args()
    pairs, counters = places_of(asked.run)
    rows, found_rows = [], []
    for n in UNITS:
        chance = np.random.default_rng([24, n])
        by_rule, tested, found = {"BH": 0, "BY": 0}, [], dict.fromkeys(FACTORS, 0)
        tries = dict.fromkeys(FACTORS, 0)
        for _ in range(asked.pages):
            drawn = page(pairs, n, chance)
            p = p_of(drawn)
            seen = discover(p, FALSE_SHARE)
            tested.append(seen.tested)
            by_rule["BH"] += bool(seen.picked.any())
            by_rule["BY"] += bool(
                discover(p, FALSE_SHARE / harmonic(max(1, seen.tested))).picked.any()
            )
            known = np.flatnonzero(np.isfinite(p[:counters]))
            at = int(chance.choice(known))
            factor = FACTORS[int(chance.integers(len(FACTORS)))]
            drawn[0].counts[1][:, at] *= factor
            tries[factor] += 1
            found[factor] += bool(discover(p_of(drawn), FALSE_SHARE).picked[at])
        for rule, count in by_rule.items():
            low, high = clopper_pearson(count, asked.pages)
            rows.append(
                [
                    *(str(n), rule, f"{np.median(tested):.0f}", f"{count} of {asked.pages}"),
                    f"{100 * count / asked.pages:.2f} ({100 * low:.2f} to {100 * high:.2f})",
                ]
            )
        found_rows.append(
            [str(n), *(f"{100 * found[one] / max(1, tries[one]):.0f} %" for one in FACTORS)]
        )
    publish(
        "counter-lists",
        "Lists of counters where nothing differs",
        [
            f"a run of {len(pairs[0].counts[0])} repeats, {len(pairs)} cells, {counters} counters",
            f"{asked.pages} pages of each size, labels exchanged at random in each repeat",
        ],
        markdown_table(
            ["repeats", "rule", "comparisons, median", "pages that pick any", "of them, % (95 %)"],
            rows,
        )
        + "\n\nOne counter, drawn at random, made larger at the level in one cell; found:\n\n"
        + markdown_table(["repeats", *(f"x {one:g}" for one in FACTORS)], found_rows),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
