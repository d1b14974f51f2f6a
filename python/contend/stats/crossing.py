"""Do a few lines work together? Pairs of servers that differ in one line, the other lines being
old or new.

A corner says which lines are new (1) and which are old (0). Each pair measures two corners at the
same time. With f the logarithm of the metric, two lines i and j work together by
`f(ij) - f(i) - f(j) + f(0)`, all lines not named being old. The model has an effect of each line
alone and one of each two lines together. Effects that need three lines are ignored; with two lines
nothing is.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contend.stats.change import Change
from contend.stats.fit import fitted

CROSSING_LINES_MIN = 2
CROSSING_LINES_MAX = 4

Corner = tuple[int, ...]


@functools.cache
def crossing_pairs(m: int) -> tuple[tuple[Corner, Corner], ...]:
    """One round: all `m * 2^(m-1)` pairs of corners that differ in one line.

    The next pair is always the one whose value is predicted worst (a greedy D-optimal design). So
    the fewest possible pairs, 4, 7 or 11, estimate every effect. Where the first intervals exist,
    three pairs later, they are at most an eighth wider, pair for pair, than those of the whole
    round. Which corner comes first is chosen likewise: the difference between the two places is
    known although the first corner of each pair has the first place throughout a round.

    Raises:
        ValueError: fewer than 2 lines, or more than 4.
    """
    _check_lines(m)
    left = [
        (one, other)
        for one, other in itertools.permutations(itertools.product((0, 1), repeat=m), 2)
        if sum(abs(a - b) for a, b in zip(one, other, strict=True)) == 1
    ]
    inverse = 1e6 * np.eye(m + m * (m - 1) // 2 + 1)
    order: list[tuple[Corner, Corner]] = []
    while left:
        x = _design(left, m, np.ones(len(left)))
        # Rounded, so that equal candidates are equal on every machine; the first is taken.
        at = int(np.argmax(np.round(np.sum(x @ inverse * x, axis=1), 6)))
        spread = inverse @ x[at]
        inverse -= np.outer(spread, spread) / (1 + x[at] @ spread)
        first, second = left[at]
        order.append((first, second))
        left = [pair for pair in left if pair not in ((first, second), (second, first))]
    return tuple(order)


@dataclass(frozen=True, slots=True)
class CrossingAnswer:
    """alone: each line's effect, new over old, the other lines being old. (m)
    together: what two lines add to the product of their effects, as a ratio, in the order of
        `itertools.combinations`: 01, 02, 12 for three lines. (m (m - 1) / 2)

    The intervals of each of the two hold together.
    """

    alone: tuple[Change, ...]
    together: tuple[Change, ...]


def together(
    y: np.ndarray,
    pairs: Sequence[tuple[Corner, Corner]],
    m: int,
    place: np.ndarray,
    *,
    confidence: float,
    margin: float,
    interim: bool = False,
) -> CrossingAnswer:
    """What each line does alone, and what two do together.

    Args:
        y: ln(metric of the pair's first corner / metric of its second); NaN if lost. (n)
        pairs: the two corners of each. (n)
        place: +1 if the pair's first corner had the first of the two servers' places, else -1. (n)
        confidence: that the intervals of `together` hold together; the same for `alone`.
        margin, interim: see `fitted`.

    Raises:
        ValueError: fewer than 2 lines or more than 4, or the shapes do not fit together.
    """
    _check_lines(m)
    x = _design(pairs, m, place)
    of_each = np.eye(x.shape[1])
    alone, both = (
        fitted(y, x, contrasts=contrasts, margin=margin, confidence=confidence, interim=interim)
        for contrasts in (of_each[:m], of_each[m:-1])
    )
    return CrossingAnswer(alone, both)


def _design(pairs: Sequence[tuple[Corner, Corner]], m: int, place: np.ndarray) -> np.ndarray:
    """A column per line, per two lines, and for the place. (n x parameters)"""
    corners = np.array(pairs, dtype=float).reshape(len(pairs), 2, m)
    i, j = np.triu_indices(m, 1)
    terms = np.concatenate((corners, corners[:, :, i] * corners[:, :, j]), axis=2)
    return np.column_stack((terms[:, 0] - terms[:, 1], place))


def _check_lines(m: int) -> None:
    if not CROSSING_LINES_MIN <= m <= CROSSING_LINES_MAX:
        raise ValueError(
            f"a crossing has {CROSSING_LINES_MIN} to {CROSSING_LINES_MAX} lines, not {m}"
        )
