"""How things are said: labels of levels and cells, numbers with their intervals, short phrases.

A value is rounded where its interval stops saying anything: `23.46 ±0.21`, not `23.4567 ±0.2134`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from contend.metrics import Metric
from contend.report.model import CellComparison, Progress, Report
from contend.spec import Level
from contend.stats import Comparison, Estimate

_COUNTED = ("load.connections", "load.threads", "workload.points", "data.rows")


def factor_label(path: str) -> str:
    """The last word of a path: `connections`, `points`, `key_cache_segments`."""
    return path.rpartition(".")[2]


def level_label(level: Level) -> str:
    """A level as a reader writes it: `on`, `20M`, `512M`; `none` if it is empty."""
    if level == "":
        return "none"
    if isinstance(level, bool):
        return "on" if level else "off"
    if isinstance(level, int) and abs(level) >= 100_000:
        for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
            if level % size == 0:
                return f"{level // size}{unit}"
    return str(level)


def level_phrase(path: str, level: Level) -> str:
    """One level in a sentence: `64 connections`, `1 connection`, `engine = MyISAM`."""
    name = factor_label(path)
    if path in _COUNTED:
        singular = name.removesuffix("s") if level == 1 else name
        return f"{level_label(level)} {singular}"
    return f"{name} = {level_label(level)}"


def cell_phrase(cell: Mapping[str, Level]) -> str:
    """A cell in a sentence; the load comes first: `64 connections, 10 points`."""
    paths = sorted(cell, key=lambda path: not path.startswith("load."))
    return ", ".join(level_phrase(path, cell[path]) for path in paths)


def change_noun(metric: Metric, baseline: str | None) -> str:
    """What a change is called: a gain only if more is better."""
    return f"change from {baseline}" if metric.less_is_better else f"gain over {baseline}"


def change_title(metric: Metric, baseline: str | None) -> str:
    """Over a table of changes: `Throughput: gain over off, percent`."""
    less = "; less is better" if metric.less_is_better else ""
    return f"{metric.title}: {change_noun(metric, baseline)}, percent{less}"


def slug(text: str) -> str:
    """Fit for a file name or an HTML id."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "all"


UNKNOWN = "±?"
"""Stands if one run gives no interval."""


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
    """Decimals that leave one digit of the error, or two if the first is a 1."""
    exponent = math.floor(math.log10(half))
    leading = half / 10**exponent
    return max(0, -exponent + (1 if leading < 1.95 else 0))


def _gain_places(gain: float) -> int:
    """Whole percents, as the studies print them; tenths if the gain is small."""
    return 1 if abs(gain) < 9.95 else 0


def _gain_error(gain: float, half: float) -> str:
    tenths = half < 0.95 or (_gain_places(gain) == 1 and half < 9.95)
    return f"{half:.{1 if tenths else 0}f}"


def _signed(value: float, places: int) -> str:
    text = f"{value:+.{places}f}"
    return text.replace("-", "+") if float(text) == 0 else text


def progress_text(progress: Progress) -> str:
    """`504 of 504 measured`, and what became of the others."""
    parts = [f"{progress.measured} of {progress.planned} measured"]
    if progress.failed:
        parts.append(f"{progress.failed} failed")
    if progress.lost:
        parts.append(f"{progress.lost} lost")
    if progress.state != "complete":
        parts.append(progress.state)
    return ", ".join(parts)


def notices_text(report: Report) -> str:
    """How many warnings and failures there are, in a sentence each; empty if there are none."""
    sentences = []
    failed, warned = sum(notice.runs for notice in report.failures), len(report.warnings)
    if failed:
        sentences.append(
            "1 run failed or was lost." if failed == 1 else f"{failed} runs failed or were lost."
        )
    if warned:
        sentences.append("There is 1 warning." if warned == 1 else f"There are {warned} warnings.")
    return " ".join(sentences)


def pairs_text(comparisons: Sequence[CellComparison]) -> str:
    """`n = 8 pairs each`, or the range if it varies."""
    sizes = [one.comparison.n for one in comparisons]
    fewest, most = min(sizes, default=0), max(sizes, default=0)
    return f"n = {most} pairs each" if fewest == most else f"n = {fewest} to {most} pairs"
