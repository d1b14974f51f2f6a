"""How a number is written: the one place that puts a value, its interval and its unit in words.

A value is rounded where its interval stops saying anything: `23.46 ±0.21`, not `23.4567 ±0.2134`.
"""

from __future__ import annotations

import math

from contend.stats import Comparison, Estimate

UNKNOWN = "±?"
"""Stands where one run gives no interval."""


def gain_text(comparison: Comparison) -> str:
    """A ratio as a gain in percent with half its interval: `+82 ±6`."""
    gain = percent(comparison)
    if math.isnan(gain):
        return "n/a"
    half = gain_half(comparison)
    error = f"±{_gain_error(gain, half)}" if math.isfinite(half) else UNKNOWN
    if _is_uneven(comparison):
        low, high = ((bound - 1) * 100 for bound in (comparison.low, comparison.high))
        bounds = (_signed(bound, _gain_places(bound)) for bound in (low, high))
        error = f"({' to '.join(bounds)})"
    return f"{_signed(gain, _gain_places(gain))} {error}"


def difference_text(percent: Estimate) -> str:
    """A difference in percent with half its interval: `+0.4 ±1.2`."""
    if math.isnan(percent.mean):
        return "n/a"
    half = half_of(percent)
    error = f"±{_gain_error(percent.mean, half)}" if math.isfinite(half) else UNKNOWN
    return f"{_signed(percent.mean, _gain_places(percent.mean))} {error}"


def size_text(comparison: Comparison) -> str:
    """The size of a change without its direction, for a sentence: `82 % (±6)`."""
    gain, half = percent(comparison), gain_half(comparison)
    error = f" (±{_gain_error(gain, half)})" if math.isfinite(half) else ""
    if _is_uneven(comparison):
        bounds = sorted(abs(bound - 1) * 100 for bound in (comparison.low, comparison.high))
        error = f" ({' to '.join(f'{bound:.{_gain_places(bound)}f}' for bound in bounds)})"
    return f"{abs(gain):.{_gain_places(gain)}f} %{error}"


def plain_gain(gain_percent: float) -> str:
    """A published gain, which has no interval."""
    return _signed(gain_percent, 0 if abs(gain_percent) >= 1 or gain_percent == 0 else 1)


def _is_uneven(comparison: Comparison) -> bool:
    """Whether ± would say of 0 something else than the interval does. Intervals are even on the
    scale of logarithms, so a wide one reaches much farther up than down."""
    half = gain_half(comparison)
    if not math.isfinite(half):
        return False
    return (abs(percent(comparison)) > half) == (comparison.low <= 1 <= comparison.high)


def percent(comparison: Comparison) -> float:
    return (comparison.ratio - 1) * 100


def gain_half(comparison: Comparison) -> float:
    """Half the width of the interval, in percent of the baseline."""
    return (comparison.high - comparison.low) / 2 * 100


def estimate_text(estimate: Estimate) -> str:
    """`23.46 ±0.21`."""
    mean, half = estimate.mean, half_of(estimate)
    if not math.isfinite(half):
        return f"{significant(mean, 3)} {UNKNOWN}"
    if half <= 0:
        return f"{significant(mean, 3)} ±0"
    places = _places_for(half)
    return f"{mean:.{places}f} ±{half:.{places}f}"


def share_text(estimate: Estimate) -> str:
    """A share as percent with half its interval: `26.1 % ±0.3`."""
    half = half_of(estimate) * 100
    if not math.isfinite(half):
        return f"{estimate.mean * 100:.1f} % {UNKNOWN}"
    places = max(1, min(2, _places_for(half))) if half > 0 else 1
    return f"{estimate.mean * 100:.{places}f} % {error_text(half, places)}"


def error_text(half: float, places: int) -> str:
    """`±0.3`; an error that rounds to nothing is not shown as none."""
    least = 10.0**-places
    return f"±<{least:.{places}f}" if 0 < half < least / 2 else f"±{half:.{places}f}"


def half_of(estimate: Estimate) -> float:
    return (estimate.high - estimate.low) / 2


def significant(value: float, digits: int) -> str:
    """A value without an interval of its own, to so many digits, never with an exponent."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "n/a"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{places}f}"


def _places_for(half: float) -> int:
    """Decimals that leave one digit of the error, or two where the first is a 1."""
    exponent = math.floor(math.log10(half))
    leading = half / 10**exponent
    return max(0, -exponent + (1 if leading < 1.95 else 0))


def _gain_places(gain: float) -> int:
    """Whole percents, as the studies print them; tenths where the gain is small."""
    return 1 if abs(gain) < 9.95 else 0


def _gain_error(gain: float, half: float) -> str:
    tenths = half < 0.95 or (_gain_places(gain) == 1 and half < 9.95)
    return f"{half:.{1 if tenths else 0}f}"


def _signed(value: float, places: int) -> str:
    text = f"{value:+.{places}f}"
    return text.replace("-", "+") if float(text) == 0 else text
