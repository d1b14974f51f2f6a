"""Which of many lines matter: all of them vary in every pair of servers.

A line is an option with an old and a new value. A pair runs a row of a two-level design on one
server and the row's mirror image, with every line turned, on a second one at the same time. So
every pair tells something about every line, and n pairs measure each line as precisely as n pairs
spent on it alone.

Write the logarithm of the metric as `f = mu + sum b_i x_i + sum b_ij x_i x_j + ...` with x = +1
for new and -1 for old. The row minus its mirror image is then `2 sum b_i x_i` plus terms of three
lines, five lines and so on: mu and everything that two lines do together cancel. A line's effect,
ln(new / old) = 2 b_i, is thus the coefficient of x_i in the pair's log-ratio. It is the mean over
the other lines' values, half of them old and half new. A gain that two lines have only together
shows as half of it in each. Effects of three lines together do not cancel; they shift the
estimates of other lines.

Sources: R. L. Plackett and J. P. Burman, "The design of optimum multifactorial experiments",
Biometrika 33 (1946); R. E. A. C. Paley, "On orthogonal matrices", Journal of Mathematics and
Physics 12 (1933); G. E. P. Box and K. B. Wilson, "On the experimental attainment of optimum
conditions", Journal of the Royal Statistical Society B 13 (1951), for the mirror images.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from contend.stats.change import Change
from contend.stats.fit import fitted

SCREEN_LINES_MIN = 2
SCREEN_LINES_MAX = 31


def screen_rows(lines: int) -> np.ndarray:
    """The rows of one round: +1 for the new value of a line, -1 for the old. (rows x lines, int8)

    There are 4, 8, 12, ... 32 rows, the first such number above `lines`. In the first row all
    lines are new. Each column has as many +1 as -1, and each pair of columns has all four
    combinations equally often.

    Raises:
        ValueError: fewer than 2 lines, or more than 31.
    """
    if not SCREEN_LINES_MIN <= lines <= SCREEN_LINES_MAX:
        raise ValueError(
            f"a screen has {SCREEN_LINES_MIN} to {SCREEN_LINES_MAX} lines, not {lines}"
        )
    square = _hadamard(4 * (lines // 4 + 1))
    square = square * square[0]
    square = square * square[:, :1]
    return np.asarray(square[:, 1 : lines + 1], dtype=np.int8)


def _hadamard(order: int) -> np.ndarray:
    """A square of +1 and -1 whose rows are orthogonal; of order 4, 8, 12, ... 32."""
    if order == 16:
        return np.asarray(np.kron([[1, 1], [1, -1]], _hadamard(8)))
    if order == 28:
        # Paley's second construction, q = 13.
        core, diagonal = _bordered(_residues(13), 1), np.eye(14, dtype=int)
        square = np.kron(core, [[1, 1], [1, -1]]) + np.kron(diagonal, [[1, -1], [-1, -1]])
        return np.asarray(square)
    # Paley's first, where q = order - 1 is a prime that leaves 3 when divided by 4.
    return _bordered(_residues(order - 1), -1) + np.eye(order, dtype=int)


def _residues(q: int) -> np.ndarray:
    """The quadratic character of row - column, modulo the odd prime q. (q x q)"""
    character = np.full(q, -1)
    character[np.arange(q) ** 2 % q] = 1
    character[0] = 0
    numbers = np.arange(q)
    return np.asarray(character[(numbers[:, None] - numbers) % q])


def _bordered(square: np.ndarray, left: int) -> np.ndarray:
    """With a row of 1 above, a column of `left` before, and 0 in their corner."""
    bordered = np.pad(square, ((1, 0), (1, 0)), constant_values=1)
    bordered[1:, 0] = left
    bordered[0, 0] = 0
    return bordered


def screen_effects(
    y: np.ndarray,
    x: np.ndarray,
    place: np.ndarray,
    *,
    confidence: float,
    margin: float,
    interim: bool = False,
) -> tuple[Change, ...]:
    """Each line's effect, new over old. All intervals hold together with `confidence`.

    No line has an interval before the first round of rows is complete.

    Args:
        y: ln(metric of the row / metric of its mirror image) per pair; NaN if lost. (pairs)
        x: the row of each pair. (pairs x lines)
        place: +1 if the row had the first of the two servers' places, -1 if its mirror image had
            it. The difference between the places is fitted. (pairs)
        margin, interim: see `fitted`.

    Raises:
        ValueError: the shapes do not fit together.
    """
    lines = np.shape(x)[-1]
    return fitted(
        y, np.column_stack((x, place)), contrasts=np.eye(lines, lines + 1), margin=margin,
        confidence=confidence, interim=interim,
    )  # fmt: skip


def sum_of(
    y: np.ndarray,
    x: np.ndarray,
    place: np.ndarray,
    which: Sequence[int],
    *,
    confidence: float,
    margin: float,
    interim: bool = False,
) -> Change:
    """The sum of some lines' effects, as a ratio. The arguments are those of `screen_effects`.

    The sum over all lines is the effect of changing all of them, if no three work together.
    The interval holds if `which` was fixed before measuring. Lines that were chosen because they
    look best in the same pairs look better than they are.

    Args:
        which: the lines, counted from 0.

    Raises:
        ValueError: the shapes do not fit together.
    """
    weights = np.zeros((1, np.shape(x)[-1] + 1))
    weights[0, list(which)] = 1
    (change,) = fitted(
        y, np.column_stack((x, place)), contrasts=weights, margin=margin, confidence=confidence,
        interim=interim,
    )  # fmt: skip
    return change
