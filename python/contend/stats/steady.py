"""Is a server at its steady state? Searches the first slices of an arm for a trend or a cycle.

A fixed warm-up time is a guess (Barrett et al. 2017: fewer than half of the pairs of machine and
benchmark reached a steady peak at all). Three tests use logarithms of the speeds, in at most
BATCHES means. Does the mean of some head differ from that of the rest (a change point, the largest
t over all places)? Do they rise or fall (Mann & Kendall)? Do they repeat after some lag and are
opposite at half of it (autocorrelation)? Neighbours have similar noise, so the first two are
divided by its long-run standard deviation, that of AR(1) around a cubic. If there is a change,
MSER-5 (White 1997: the truncation with the least marginal standard error) gives its end. An end in
the last half means that it has not ended.

The critical values call mere noise unsteady in at most 5 of 100, be it independent or AR(1) of up
to 0.6. The price is less power in short series, whose correlation is uncertain. The table gives
percent of 2,000 series with noise of 9 % (1,000 for warming). Warming is a speed that grows from
80 % to 100 % of itself, over the first half or throughout. Brackets: the share of those found that
is called steady from some slice of the first half on, which is wrong if it grows throughout:

| slices | mere noise, AR 0, 0.3, 0.6, 0.8 | warming, first half, AR 0, 0.3 | throughout, AR 0 |
|--------|---------------------------------|--------------------------------|------------------|
| 12     | 0.2, 0.8, 3.0, 8.2              | 4, 10                          | 3                |
| 24     | 0.7, 1.0, 4.3, 10.6             | 38 (80), 26 (74)               | 36 (58)          |
| 40     | 0.9, 1.9, 4.6, 11.0             | 86 (76), 56 (75)               | 83 (47)          |
| 60     | 1.0, 1.8, 3.7, 12.2             | 99 (81), 84 (78)               | 99 (41)          |
| 100    | 1.5, 2.6, 3.8, 6.3              | 100 (85), 98 (82)              | 100 (23)         |
| 200    | 2.2, 2.8, 4.0, 3.7              | 100 (78), 100 (71)             | 100 (4)          |
| 600    | 2.7, 3.2, 3.5, 3.1              | 100 (49), 100 (44)             | 100 (0)          |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

State = Literal["steady", "warming", "cooling", "cyclic", "none", "unknown"]

SLICES_MIN = 12
"""Slices needed to separate a trend from noise."""

CYCLE_MIN = 24
"""Slices needed to recognise a cycle: three of at least four slices, with room."""

BATCHES = 60
PHI_MOST = 0.7
"""Correlation of neighbouring slices above which it is not noise."""


@dataclass(frozen=True, slots=True)
class Steadiness:
    """The trend in the first slices of an arm.

    state: steady; warming (it becomes faster), cooling (slower); cyclic; none: it changes in a
        different way, and the cell is marked; unknown: too few slices.
    steady_from: index of the first slice from which on it is steady; None: not within these.
    period: slices of one cycle; None unless cyclic. Measure whole cycles.
    change: relative change of the speed, 0.2 for +20 %. It compares the steady part with the
        part before; without a steady part, the last half with the first.
    why: one line.
    """

    state: State
    steady_from: int | None
    period: int | None
    change: float
    why: str


def look_for_trend(
    speeds: Sequence[float] | np.ndarray,
    *,
    half_width: float = 0.02,
) -> Steadiness:
    """Judge successive slices of one arm.

    Args:
        speeds: (N,) throughput of each slice, not negative, in order.
        half_width: requested relative half-width of the experiment: a change of less than half of
            it over these slices does not matter.

    Raises:
        ValueError: a speed is negative or not finite.
    """
    values = np.asarray(speeds, dtype=float)
    if values.ndim != 1 or not np.all(np.isfinite(values)) or np.any(values < 0):
        raise ValueError("speeds are finite and not negative, one per slice")
    n = len(values)
    if n < SLICES_MIN:
        why = f"{n} slices are too few to detect a trend; {SLICES_MIN} are needed"
        return Steadiness("unknown", None, None, math.nan, why)
    if not np.any(values > 0):
        return Steadiness("unknown", None, None, math.nan, f"no query was answered in {n} slices")
    # A slice without an answer counts as half of the slowest.
    logs = np.asarray(np.log(np.maximum(values, values[values > 0].min() / 2)))
    whole = _change(logs[: n // 2], logs[n // 2 :])
    period = _period(logs)
    if period is not None:
        return Steadiness("cyclic", 0, period, whole, f"repeats itself about every {period} slices")
    logs = _without_stalls(logs)
    if not _changes(logs, half_width):
        why = f"no trend and no cycle in {n} slices ({whole:+.1%})"
        return Steadiness("steady", 0, None, whole, why)
    begins = _truncation(logs)
    # After a change the burden is reversed: the remainder has to look flat.
    if begins and n - begins >= SLICES_MIN and not _changes(logs[begins:], half_width, doubt=0.75):
        change = _change(logs[:begins], logs[begins:])
        why = f"{_faster(change)} until slice {begins}, steady from then on"
        return Steadiness("warming" if change > 0 else "cooling", begins, None, change, why)
    if abs(_trend(_batches(logs))) > 2:
        why = f"{_faster(whole)} from the first half of {n} slices to the last, and not steady yet"
        return Steadiness("warming" if whole > 0 else "cooling", None, None, whole, why)
    why = f"changes within {n} slices, and neither settles nor repeats"
    return Steadiness("none", None, None, whole, why)


def _faster(change: float) -> str:
    return f"becomes {abs(change):.0%} {'faster' if change > 0 else 'slower'}"


def _change(head: np.ndarray, tail: np.ndarray) -> float:
    return math.expm1(float(tail.mean() - head.mean()))


def _without_stalls(logs: np.ndarray) -> np.ndarray:
    """Keep each slice within 5 standard deviations of the median of its neighbours (Hampel),
    so that one stall does not count as a trend.
    """
    around = np.lib.stride_tricks.sliding_window_view(np.pad(logs, 2, mode="reflect"), 5)
    middle = np.median(around, axis=1)
    away = logs - middle
    wild = 5 * 1.4826 * float(np.median(np.abs(away)))
    return middle + np.clip(away, -wild, wild) if wild > 0 else logs


def _batches(logs: np.ndarray) -> np.ndarray:
    """At most BATCHES means of neighbours, as even as can be."""
    n = len(logs)
    count = n // math.ceil(n / BATCHES)
    edges = np.linspace(0, n, count + 1).round().astype(int)
    return np.asarray(np.add.reduceat(logs, edges[:-1]) / np.diff(edges))


def _changes(logs: np.ndarray, half_width: float, *, doubt: float = 1.0) -> bool:
    """Whether a series has a change point or trend that is certain, and large enough to matter."""
    n = len(logs)
    if n < SLICES_MIN:
        return False
    y = _batches(logs)
    sd, phi = _noise(y)
    if sd <= 1e-12:
        return False
    count = np.arange(2, len(y) - 1)
    sums = np.cumsum(y)
    steps = (sums[-1] - sums[count - 1]) / (len(y) - count) - sums[count - 1] / count
    t = np.abs(steps) / (sd * np.sqrt(1 / count + 1 / (len(y) - count)))
    at = int(np.argmax(t))
    z = abs(_trend(y)) * math.sqrt((1 - phi) / (1 + phi))
    # Short series give a poor estimate of their own correlation.
    certain = t[at] > doubt * (3.1 + 40 / n) or z > doubt * (2.4 + 15 / n)
    return bool(certain and abs(math.expm1(steps[at])) > half_width / 2)


def _noise(y: np.ndarray) -> tuple[float, float]:
    """Long-run standard deviation and AR(1) coefficient of the residuals of a cubic.

    The coefficient of few residuals is too small on average; both are corrected for the four
    parameters of the cubic. A series that a cubic cannot follow looks like noise of a high
    coefficient. So the differences of neighbours and PHI_MOST limit the deviation.
    """
    n = len(y)
    basis, _ = np.linalg.qr(np.vander(np.linspace(-1, 1, n), 4))
    rest = y - basis @ (basis.T @ y)
    squares = float(rest @ rest)
    if squares <= 1e-24 * n:
        return 0.0, 0.0
    phi = (float(rest[1:] @ rest[:-1]) / squares * n + 4) / (n - 6)
    phi = min(max(phi, 0.0), 0.9)
    steps = np.diff(rest)
    wild = 3 * 1.4826 * float(np.median(np.abs(steps)))
    apart = float(np.std(np.clip(steps, -wild, wild))) / math.sqrt(2)
    most = apart * math.sqrt(1 + PHI_MOST) / (1 - PHI_MOST)
    return min(math.sqrt(squares / (n - 4) * (1 + phi) / (1 - phi)), most), min(phi, PHI_MOST)


def _trend(y: np.ndarray) -> float:
    """Mann and Kendall's S in its standard deviations under no trend and independent values."""
    n = len(y)
    i, j = np.triu_indices(n, 1)
    s = float(np.sum(np.sign(y[j] - y[i])))
    return s / math.sqrt(n * (n - 1) * (2 * n + 5) / 18)


def _truncation(logs: np.ndarray) -> int | None:
    """Slices to leave out by MSER-5; None if that lies in the last half.

    Batches are smaller than 5 if there are fewer than 50 slices.
    """
    n = len(logs)
    size = max(1, min(5, n // 10))
    count = n // size
    # Leave out the remainder at the end: the question is about the beginning.
    y = logs[: count * size].reshape(count, size).mean(axis=1)
    # Far in the last half a few similar batches look best by chance: only its edge is used.
    errors = [float(np.var(y[d:])) / (count - d) for d in range(count // 2 + 2)]
    best = int(np.argmin(errors))
    return best * size if best <= count // 2 else None


def _period(logs: np.ndarray) -> int | None:
    """Slices of a cycle that comes three times: the lag at which the series resembles itself, and
    is opposite at half of the lag.
    """
    if len(logs) < CYCLE_MIN:
        return None
    y = _batches(logs)
    n = len(y)
    score = _score(y, n // 3)
    best = max(score.values(), default=0.0)
    if best * math.sqrt(n) < 1.9 + 0.012 * n:
        return None
    # Twice a period is one too: the shortest that is nearly as good.
    lag = next(lag for lag in score if score[lag] >= 0.8 * best)
    lag = max((k for k in (lag, lag + 1, lag + 2) if k in score), key=lambda k: score[k])
    size = len(logs) / n
    if size == 1:
        return lag
    near = _score(logs, len(logs) // 3)
    around = [k for k in near if abs(k - lag * size) <= size]
    return max(around, key=lambda k: near[k])


def _score(y: np.ndarray, most: int) -> dict[int, float]:
    """For each lag: half of the correlation there less that at half of it; 1 for a pure cycle."""
    z = y - y.mean()
    squares = float(z @ z)
    if squares <= 1e-24 * len(y):
        return {}
    r = [float(z[k:] @ z[: len(z) - k]) / squares for k in range(most + 1)]
    return {k: (r[k] - (r[k // 2] + r[(k + 1) // 2]) / 2) / 2 for k in range(4, most + 1)}
