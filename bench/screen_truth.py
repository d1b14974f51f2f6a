"""Does a screen find the lines that matter, how often does it claim one that does nothing, and does
a crossing find that two work together?

    python bench/screen_truth.py [--pool FILE…] [--sd 0.02 0.03 0.05 0.08] [--heavy]

Made-up screens of twelve lines. The noise is synthetic, or that of pairs which
`bench/screen_live.py` kept: drawn, each with a drawn sign, since neither place of a pair is faster.
The first of the two places is 2 % faster throughout.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rounds import markdown_table

from contend.experiment import OF_LINES, TOGETHER
from contend.findings.screen import SHARES
from contend.stats import Change, crossing_pairs, screen_effects, screen_rows, together

SCREENS = 1_000
PAIRS = (48, 96, 144)
SDS = (0.02, 0.03, 0.05, 0.08)
EFFECTS = np.log1p([0, 0, 0, 0, 0, 0, 0, 0, 0.02, 0.05, -0.05, 0.1])
LINES = len(EFFECTS)
GAINS = (0.1, 0.2)
PLACE = np.log1p(0.02)
ERROR, MARGIN = 0.05, 0.02
"""The chance of a false claim in a whole report, of which each part of a screen has a share."""

Noise = Callable[[int], np.ndarray]
"""So many log-ratios of pairs of equal servers."""


@dataclass(frozen=True)
class Design:
    x: np.ndarray
    place: np.ndarray

    @classmethod
    def of_rounds(cls, rows: np.ndarray, pairs: int) -> Design:
        """The rows again and again; the places are exchanged in each round."""
        rounds, row = np.divmod(np.arange(pairs), len(rows))
        return cls(rows[row].astype(float), 1.0 - 2 * (rounds % 2))

    def effects(self, truth: np.ndarray, noise: Noise) -> tuple[Change, ...]:
        y = self.x @ truth + PLACE * self.place + noise(len(self.x))
        return screen_effects(
            y, self.x, self.place, confidence=1 - ERROR * SHARES[OF_LINES], margin=MARGIN
        )


def synthetic(sd: float, heavy: bool) -> Noise:
    chance = np.random.default_rng(1946)

    def drawn(n: int) -> np.ndarray:
        wild = heavy * (chance.random(n) < 0.05)
        return np.asarray(chance.normal(0, sd, n) * (1 + 4 * wild))

    return drawn


def recorded(pool: np.ndarray) -> Noise:
    chance = np.random.default_rng(1946)
    return lambda n: np.asarray(chance.choice(pool, n) * chance.choice((-1, 1), n))


def claimed(change: Change) -> bool:
    return change.verdict in ("higher", "lower")


def half_width(changes: tuple[Change, ...]) -> float:
    """The median one, in percent."""
    return 50 * float(np.median([np.log(one.high / one.low) for one in changes]))


def screens(noise: Noise, pairs: int) -> list[str]:
    """What screens find, and their precision next to that of one line at a time."""
    design = Design.of_rounds(screen_rows(LINES), pairs)
    nothing = np.flatnonzero(EFFECTS == 0)
    wrong, found, holds, widths = 0, np.zeros(LINES, dtype=int), np.zeros(LINES), []
    all_hold = 0
    for _ in range(SCREENS):
        changes = design.effects(EFFECTS, noise)
        right = np.array([claimed(one) for one in changes])
        wrong += right[nothing].any()
        signs = [one.ratio > 1 for one in changes] == (EFFECTS > 0)
        found += right & signs
        hold = [
            np.log(one.low) <= effect <= np.log(one.high)
            for one, effect in zip(changes, EFFECTS, strict=True)
        ]
        holds += hold
        all_hold += all(hold)
        widths.append(half_width(changes))
    alone = Design.of_rounds(np.eye(LINES), pairs)
    one_at_a_time = [half_width(alone.effects(EFFECTS, noise)) for _ in range(SCREENS // 10)]
    return [
        percent(wrong), *(percent(found[at]) for at in (8, 9, 10, 11)),
        f"{100 * holds.mean() / SCREENS:.1f}", percent(all_hold),
        f"{np.median(widths):.1f}", f"{np.median(one_at_a_time):.1f}",
    ]  # fmt: skip


def both(noise: Noise, pairs: int, crossing: int, gain: float) -> list[str]:
    """Two lines that gain together and do nothing alone. If the screen finds both, they are
    crossed."""
    design = Design.of_rounds(screen_rows(LINES), pairs)
    truth = np.zeros(LINES)
    # Everything two lines do together cancels in a pair, so each shows half of it.
    truth[:2] = np.log1p(gain) / 2
    both_found = says = 0
    for _ in range(SCREENS):
        changes = design.effects(truth, noise)
        if all(one.verdict == "higher" for one in changes[:2]):
            both_found += 1
            says += crossed(noise, crossing, (0, 0, np.log1p(gain))).verdict == "higher"
    return [percent(both_found), percent(says)]


def apart(noise: Noise, crossing: int) -> list[str]:
    """Crossings of two lines with gains of 10 and 5 % that only add up."""
    found = [crossed(noise, crossing, (np.log(1.1), np.log(1.05), 0)) for _ in range(SCREENS)]
    return [percent(sum(map(claimed, found))), f"{half_width(tuple(found)):.1f}"]


def crossed(noise: Noise, pairs: int, effects: tuple[float, float, float]) -> Change:
    """What two lines do together, by a crossing; `effects` of each alone and of both together."""
    edges = crossing_pairs(2)
    rounds, at = np.divmod(np.arange(pairs), len(edges))
    place = 1.0 - 2 * (rounds % 2)
    f = {
        (i, j): i * effects[0] + j * effects[1] + i * j * effects[2] for i in (0, 1) for j in (0, 1)
    }
    differences = np.array([f[one] - f[other] for one, other in edges])
    y = differences[at] + PLACE * place + noise(pairs)
    (both,) = together(
        y,
        [edges[edge] for edge in at],
        2,
        place,
        confidence=1 - ERROR * SHARES[TOGETHER],
        margin=MARGIN,
    ).together
    return both


def percent(count: int) -> str:
    return f"{100 * int(count) / SCREENS:.1f}"


def report(scenes: dict[str, Callable[[], Noise]], pairs: list[int], crossing: int) -> None:
    head = [
        "noise", "pairs", "any false claim, %", "+2 % found", "+5 % found", "-5 % found",
        "+10 % found", "intervals that hold, %", "all 12 hold, %", "half-width, %",
        "one at a time, %",
    ]  # fmt: skip
    rows = [[name, str(n), *screens(noise(), n)] for name, noise in scenes.items() for n in pairs]
    print(f"{SCREENS} screens of {LINES} lines for each row.\n")
    print(markdown_table(head, rows))
    print(f"\nTwo lines that gain only together. The crossing has {crossing} pairs.\n")
    head = ["noise", "pairs", "gain together, %", "both found, %", "and said to work together, %"]
    rows = [
        [name, str(n), f"{100 * gain:+.0f}", *both(noise(), n, crossing, gain)]
        for name, noise in scenes.items()
        for gain in GAINS
        for n in pairs
    ]
    print(markdown_table(head, rows))
    print("\nCrossings of two lines that only add up.\n")
    rows = [[name, *apart(noise(), crossing)] for name, noise in scenes.items()]
    print(markdown_table(["noise", "false claim, %", "half-width, %"], rows))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pool", type=Path, nargs="+", help="files of bench/results/screen-live")
    parser.add_argument("--sd", type=float, nargs="+", default=SDS, help="of a pair's log-ratio")
    parser.add_argument("--heavy", action="store_true", help="one pair in 20 scatters 5 times more")
    parser.add_argument("--pairs", type=int, nargs="+", default=PAIRS, help="of a screen")
    parser.add_argument("--crossing", type=int, default=48, help="pairs of a crossing")
    asked = parser.parse_args()
    scenes: dict[str, Callable[[], Noise]] = {}
    if asked.pool:
        for file in asked.pool:
            lines = file.read_text().splitlines()
            pool = np.array([json.loads(line)["noise"] for line in lines])
            name = f"{file.stem}, {len(pool)} pairs, sd {100 * np.sqrt(np.mean(pool**2)):.1f} %"
            scenes[name] = lambda pool=pool: recorded(pool)
    else:
        for sd in asked.sd:
            scenes[f"sd {100 * sd:g} %{', heavy' * asked.heavy}"] = lambda sd=sd: synthetic(
                sd, asked.heavy
            )
    report(scenes, list(asked.pairs), asked.crossing)
    return 0


if __name__ == "__main__":
    sys.exit(main())
