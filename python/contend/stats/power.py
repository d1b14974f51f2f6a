"""What an experiment of this size could have seen, and what size it would take to see more."""

from __future__ import annotations

import math

from scipy.special import nctdtr, stdtrit

_MOST_PAIRS = 10_000


def minimal_detectable_effect(
    sd_log: float, n: int, *, confidence: float = 0.95, power: float = 0.8
) -> float:
    """The smallest relative change that `n` such pairs would show with probability `power`.

    Solves the power of the two-sided paired t test (noncentral t) for the effect, and takes the
    far tail as nothing, which it is wherever power is above one half.

    Args:
        sd_log: standard deviation of the pairs' log-ratios.
        n: pairs.

    Returns:
        A relative change: 0.03 means that +3 % (ratio 1.03) would be seen; inf below two pairs.
    """
    if n < 2 or math.isnan(sd_log):
        return math.inf
    critical = float(stdtrit(n - 1, 0.5 + confidence / 2))
    low, high = 0.0, critical
    while _power(high, n, critical) < power:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _power(middle, n, critical) < power else (low, middle)
    exponent = high * sd_log / math.sqrt(n)
    return math.expm1(exponent) if exponent < 700 else math.inf


def pairs_needed(
    sd_log: float, effect: float, *, confidence: float = 0.95, power: float = 0.8
) -> int | None:
    """Pairs that would show a relative change of `effect` with probability `power`.

    None where more than ten thousand would not do. `sd_log` from few pairs is itself uncertain,
    and so is this number: read it as a size, not as a promise.
    """
    if not effect > 0:
        raise ValueError("an effect is above 0")
    low, high = 1, 2
    while minimal_detectable_effect(sd_log, high, confidence=confidence, power=power) > effect:
        low, high = high, high * 2
        if low > _MOST_PAIRS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        seen = minimal_detectable_effect(sd_log, middle, confidence=confidence, power=power)
        low, high = (low, middle) if seen <= effect else (middle, high)
    return high


def _power(noncentrality: float, n: int, critical: float) -> float:
    return 1 - float(nctdtr(n - 1, noncentrality, critical))
