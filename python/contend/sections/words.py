"""Formatting: labels of levels and cells, numbers with their intervals, short phrases.

A value is rounded to the precision of its interval: `23.46 ±0.21`, not `23.4567 ±0.2134`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from contend.errors import ContendError
from contend.experiment import GoalSpec, Level
from contend.experiment.settings.values import level_word
from contend.findings import Compared, Constant, Finding, ReportText
from contend.metrics import THROUGHPUT, Metric
from contend.sections.model import Layout
from contend.stats import Change, Estimate, finite
from contend.stats.estimate import reciprocal
from contend.units import format_duration, format_size

_COUNTED = {
    "load.connections": ("connection", "connections"),
    "load.threads": ("thread", "threads"),
    "workload.points": ("point", "points"),
    "workload.batch_rows": ("row per batch", "rows per batch"),
    "data.rows": ("row", "rows"),
}
"""The unit that a level of these counts: singular and plural."""


def factor_label(path: str) -> ReportText:
    """The last word of a path: `connections`, `points`, `key_cache_segments`; for a kind inside a
    section, the parent's name: `distribution`."""
    if path == "server.use":
        return ReportText("server")
    section, *rest = path.split(".")
    is_kind = len(rest) > 1 and rest[-1] == "kind"
    return ReportText.written(rest[-2] if is_kind else (rest or [section])[-1])


SCRIPT_WIDTH = 40
"""A longer path of a script is cut to its end: tables have room for no more."""


def level_label(level: Level) -> ReportText:
    """A level as a reader writes it: `on`, `512M`, `20,000,000`; `''` if it is empty. A long path
    of a script is cut at the front: `…/queues/skip_locked.lua`. Text that reads like a number is
    in quotes, so that it differs from the number."""
    if isinstance(level, bool) or level == "":
        return ReportText.written(level_word(level))
    if isinstance(level, str) and level.endswith(".lua") and len(level) > SCRIPT_WIDTH:
        return ReportText.written(_end_of_path(level))
    if isinstance(level, str):
        return ReportText.written(f'"{level}"' if _NUMBER.fullmatch(level) else level)
    return ReportText.written(f"{level:,}" if abs(level) >= 100_000 else str(level))


_NUMBER = re.compile(r"[-+]?[\d,]+(\.\d+)?([eE][-+]?\d+)?")


def _end_of_path(path: str) -> str:
    """The file with as many of its folders as fit, and one at least: two compared scripts may have
    the same file name."""
    *folders, end = path.split("/")
    end = "/".join([*folders[-1:], end])
    folders = folders[:-1]
    while folders and len(f"…/{folders[-1]}/{end}") <= SCRIPT_WIDTH:
        end = f"{folders.pop()}/{end}"
    return f"…/{end}" if folders else end


def is_counted(path: str) -> bool:
    return path in _COUNTED


def level_phrase(path: str, level: Level) -> ReportText:
    """One level in a sentence: `64 connections`, `1 connection`, `engine = MyISAM`."""
    if path in _COUNTED:
        one, several = _COUNTED[path]
        return ReportText("{} {}", level_label(level), one if level == 1 else several)
    return ReportText("{} = {}", factor_label(path), level_label(level))


def cell_phrase(cell: Mapping[str, Level]) -> ReportText:
    """A cell in a sentence; the load comes first: `64 connections, 10 points`."""
    paths = sorted(cell, key=lambda path: not path.startswith("load."))
    return ReportText.joined(", ", (level_phrase(path, cell[path]) for path in paths))


def change_noun(metric: Metric, baseline: str | None) -> str:
    """The name of a change: a gain only if more is better."""
    return f"change from {baseline}" if metric.less_is_better else f"gain over {baseline}"


def change_of(metric: Metric) -> ReportText:
    """The quantity that changes, without naming a direction."""
    return ReportText("the throughput") if metric.name == THROUGHPUT else subject_text(metric)


def title_text(metric: Metric) -> ReportText:
    return ReportText.written(metric.title)


def subject_text(metric: Metric) -> ReportText:
    return ReportText.written(metric.subject)


def unit_text(metric: Metric) -> ReportText:
    return ReportText.written("queries per second" if metric.name == THROUGHPUT else metric.unit)


def verdict_text(metric: Metric, verdict: str) -> ReportText:
    """`faster`, `longer`."""
    return ReportText.written(metric.changed(verdict))


def amount_text(one: Finding, *, with_noun: bool = True) -> ReportText:
    """`34 % (±12) more new orders a minute`, `13 % (±1) slower`; of a large change `161 times (±43)
    as many new orders a minute`, `slower by a factor of 12 (±1)`."""
    metric, verdict = one.metric, one.change.verdict
    assert verdict is not None
    if not metric.noun:
        return changed_text(one.change, metric.changed(verdict))
    amount = metric.amount(verdict)
    if is_multiple(one):
        times, _, error = factor_text(one.change).partition(" ")
        amount = f"{'as many' if metric.counted else 'as much'} {metric.noun}"
        text = f"{times} times{error and ' '}{error} {amount}"
    else:
        text = changed_text(one.change, amount)
    return ReportText.written(text if with_noun else text.replace(f" {metric.noun}", "", 1))


def is_multiple(one: Finding) -> bool:
    """Whether `amount_text` has the form `as many as`."""
    return bool(one.metric.noun) and is_large(one.change) and one.change.ratio > 1


def changed_text(change: Change, word: str) -> ReportText:
    """`13 % (±1) slower`, `slower by a factor of 12 (±1)`."""
    size = size_text(change)
    return ReportText.written(f"{word} by {size}" if is_large(change) else f"{size} {word}")


def duration_text(seconds: float) -> ReportText:
    return ReportText.written(format_duration(seconds))


def long_text(seconds: Estimate) -> ReportText:
    """A measured duration: `1.31 s (±0.21)`; `53 ms (2 times)` if its interval says nothing."""
    scale, unit = (1000, "ms") if seconds.mean < 1 else (1, "s")
    mean, low, high = (scale * each for each in (seconds.mean, seconds.low, seconds.high))
    if not 0 < (high - low) / 2 <= mean:
        times = "once" if seconds.n == 1 else f"{seconds.n} times"
        return ReportText.written(f"{significant(mean, 2)} {unit} ({times})")
    value, error = estimate_text(replace(seconds, mean=mean, low=low, high=high)).split(" ", 1)
    return ReportText.written(f"{value} {unit} ({error})")


def size_change_text(named: ReportText, before: int, after: int) -> ReportText:
    """What a change of bytes does to a thing: `adds 4 MiB to orders (+67 %)`."""
    if not before or not after:
        verb = "makes" if after else "removes"
        return ReportText.written(f"{verb} {named} of {format_size(after or before)}")
    if before == after:
        return ReportText.written(f"leaves {named} at {format_size(after)}")
    verb, to = ("adds", "to") if after > before else ("takes", "from")
    size, change = format_size(abs(after - before)), (after / before - 1) * 100
    return ReportText.written(f"{verb} {size} {to} {named} ({change:+.0f} %)")


def verbatim_text(text: str) -> ReportText:
    """Names of things on a server, and what it says of them."""
    return ReportText.written(text)


def message_text(error: ContendError) -> ReportText:
    return ReportText.written(error.message)


def change_title(metric: Metric, baseline: str | None) -> str:
    """Over a table of changes: `Throughput: gain over off, percent`."""
    less = "; less is better" if metric.less_is_better else ""
    return f"{metric.title}: {change_noun(metric, baseline)}, percent{less}"


def slug(text: str) -> str:
    """Fit for a file name or an HTML id."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "all"


def rate_text(rate: Estimate) -> ReportText:
    """`2,400 (±150)`, to the digits that the interval has; the ends of an interval that is wider
    than the rate."""
    half = half_of(rate)
    if not 0 < half < math.inf:
        return ReportText.written(f"{plain_rate(rate.mean)} (±?)")
    if half > rate.mean / 2:
        ends = f"{plain_rate(rate.low)} to {plain_rate(rate.high)}"
        return ReportText.written(f"{plain_rate(rate.mean)} ({ends})")
    places = min(0, 1 - math.floor(math.log10(half))) if half >= 10 else 1 if half < 1 else 0
    mean, half = round(rate.mean, places), round(half, places)
    shown = max(places, 0)
    return ReportText.written(f"{mean:,.{shown}f} (±{half:,.{shown}f})")


def ratio_of_rates_text(over: Estimate) -> ReportText:
    """`2.5 times (±0.2)`."""
    half = half_of(over)
    if not 0 < half < math.inf:
        return ReportText.written(f"{significant(over.mean, 2)} times (±?)")
    if half > over.mean / 2:
        ends = f"{significant(over.low, 2)} to {significant(over.high, 2)}"
        return ReportText.written(f"{significant(over.mean, 2)} times ({ends})")
    places = max(0, -math.floor(math.log10(half)))
    return ReportText.written(f"{over.mean:.{places}f} times (±{half:.{places}f})")


def plain_rate(rate: float) -> ReportText:
    """A rate that was chosen, not measured: `12,000`."""
    return ReportText.written(f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}")


def goal_text(goal: GoalSpec) -> ReportText:
    """`p99 < 20 ms`."""
    return ReportText.written(goal.text)


UNKNOWN = "±?"
"""Printed if one run gives no interval, or two or three give a meaningless one."""

SAYS_NOTHING = 1000
"""An interval whose upper end is this multiple of its figure says nothing."""


def gain_text(change: Change) -> ReportText:
    """A ratio as a gain in percent with half its interval: `+82 ±6`."""
    gain = percent(change)
    if math.isnan(gain):
        return ReportText("n/a")
    places, error = _rounded(change)
    if error is None:
        error = f"({' to '.join(_signed(bound, _gain_places(bound)) for bound in _bounds(change))})"
    return ReportText.written(f"{_signed(gain, places)} {error}")


TIMES_FROM = 10
"""From this factor on, or down to its reciprocal, sentences have a change as a factor: percents say
little of more than ten times as much, or less than a tenth."""


def is_large(change: Change) -> bool:
    return change.ratio >= TIMES_FROM or 0 < change.ratio <= 1 / TIMES_FROM


def factor_text(change: Change) -> ReportText:
    """The factor between both sides, 1 or more, with its interval: `161 (±43)`, `161 (90 to
    280)`."""
    ends = (change.ratio, change.low, change.high)
    if change.ratio < 1:
        ends = (reciprocal(change.ratio), reciprocal(change.high), reciprocal(change.low))
    mean, low, high = ends
    if not high <= mean * SAYS_NOTHING:
        return plain_rate(mean)
    if high > mean * _MUCH_WIDER:
        text = f"{plain_rate(mean)} ({plain_rate(low)} to {plain_rate(high)})"
        return ReportText.written(text)
    return rate_text(Estimate(mean, low, high, change.n, 0.0))


def change_text(change: Change) -> ReportText:
    """A change in a sentence that says no direction: `+82 ±6 %`, `a factor of 161 (±43)`, `a factor
    of 1/161`."""
    if not is_large(change):
        return ReportText.written(f"{gain_text(change)} %")
    return ReportText.written(
        f"a factor of {'' if change.ratio > 1 else '1/'}{factor_text(change)}"
    )


def size_text(change: Change) -> ReportText:
    """The size of a change without its direction, for a sentence: `82 % (±6)`, `a factor of 161
    (±43)`."""
    if is_large(change):
        return ReportText("a factor of {}", factor_text(change))
    places, error = _rounded(change)
    if error is None:
        bounds = sorted(map(abs, _bounds(change)))
        error = " to ".join(f"{bound:.{_gain_places(bound)}f}" for bound in bounds)
    known = "" if error == UNKNOWN else f" ({error})"
    return ReportText.written(f"{abs(percent(change)):.{places}f} %{known}")


def spread_text(log: float) -> ReportText:
    """A difference of logarithms as a change: `4.0 %`, `2.8x`."""
    percent_of = f"{significant(100 * math.expm1(log), 2)} %"
    return ReportText.written(percent_of if log < 1 else f"{math.exp(log):.1f}x")


def _bounds(change: Change) -> tuple[float, float]:
    return (change.low - 1) * 100, (change.high - 1) * 100


def _rounded(change: Change) -> tuple[int, str | None]:
    """Decimals of a gain, and its error as ±; None if ± would place 0 differently from the
    interval. Intervals are even on the scale of logarithms, so a wide one reaches much farther up
    than down. If it ends just before 0, rounding may hide that."""
    gain, half = percent(change), gain_half(change)
    places = _gain_places(gain, half)
    if not math.isfinite(half) or change.high > change.ratio * SAYS_NOTHING:
        return places, UNKNOWN
    if change.low > 0 and change.high / change.ratio <= _MUCH_WIDER:
        covers = change.low <= 1 <= change.high
        for more in range(3):
            error = _gain_error(gain, half) if not more else f"{half:.{places + more}f}"
            hides = half > 0 and not float(error)
            if not hides and (abs(float(f"{gain:.{places + more}f}")) <= float(error)) == covers:
                return places + more, f"±{error}"
        if 0 < half < _SHOWN_AS_NOTHING:
            return places, f"±<{_SHOWN_AS_NOTHING:g}"
    return places, None


def plain_gain(gain_percent: float) -> str:
    """A published gain, which has no interval."""
    return _signed(gain_percent, 0 if abs(gain_percent) >= 1 or gain_percent == 0 else 1)


_SHOWN_AS_NOTHING = 0.1
"""Percent; an error below it that no few decimals show."""

_MUCH_WIDER = 1.5
"""How much farther an interval may reach up than down and still be printed as ±."""


def percent(change: Change) -> float:
    return (change.ratio - 1) * 100


def gain_half(change: Change) -> float:
    """Half the width of the interval, in percent of the baseline."""
    return (change.high - change.low) / 2 * 100


def detectable_text(change: float) -> str:
    """The smallest change that shows: `1.4 %`."""
    return "not known" if not change < SAYS_NOTHING else f"{significant(change * 100, 2)} %"


def times_of(change: Change) -> Estimate:
    """A ratio as a figure with its interval, for printing as a multiple."""
    return Estimate(change.ratio, change.low, change.high, change.n, 0.0)


def times_text(change: Change) -> ReportText:
    """`2.41 ±0.12`. If ± would hide that the interval ends above 0, its ends: `1.05 to 4.20`.
    `2.4 ±?` if they are meaningless."""
    if math.isfinite(change.high) and 0 < change.ratio * _MUCH_WIDER < change.high:
        if change.high > change.ratio * SAYS_NOTHING:
            return ReportText.written(f"{significant(change.ratio, 2)} {UNKNOWN}")
        ends = (significant(end, 3) for end in (change.low, change.high))
        return ReportText.written(" to ".join(ends))
    return estimate_text(times_of(change))


SAYS_LITTLE = 10
"""If half of an interval is this multiple of its figure, it says little about the figure."""


def figure_text(estimate: Estimate) -> ReportText:
    """`23.46 ±0.21` for values that cannot be below 0; `194904 ±?` if two repeats are too few."""
    if 0 < estimate.mean * SAYS_LITTLE < half_of(estimate) < math.inf:
        return ReportText.written(f"{significant(estimate.mean, 3)} {UNKNOWN}")
    return estimate_text(estimate)


def measured_range_text(figure: Estimate, last: float) -> ReportText:
    """`23 (18 to 31)`; a value beyond the last measured one is not given as a number."""
    digits = 2 if figure.high > _NEAR * figure.low else 3
    low, mean = (significant(one, digits) for one in (figure.low, figure.mean))
    beyond = f"more than {last:g}"
    if figure.mean > last:
        least = f" (interval from {low})" if figure.low <= last else ""
        return ReportText.written(f"{beyond}{least}")
    high = beyond if figure.high > last else significant(figure.high, digits)
    return ReportText.written(f"{mean} ({low} to {high})")


_NEAR = 1.2
"""Ends of an interval nearer than this factor need a third digit to look different."""


def estimate_text(estimate: Estimate) -> ReportText:
    """`23.46 ±0.21`."""
    mean, half = estimate.mean, half_of(estimate)
    if not 0 < half < math.inf:
        return ReportText.written(f"{significant(mean, 3)} {'±0' if half <= 0 else UNKNOWN}")
    places = _places_for(half)
    return ReportText.written(f"{mean:.{places}f} ±{half:.{places}f}")


def repeats_text(count: int) -> ReportText:
    return ReportText("{} repeat{}", Constant(count), "" if count == 1 else "s")


def share_text(estimate: Estimate) -> ReportText:
    """A share as percent with half its interval: `26.1 % ±0.3`."""
    half = half_of(estimate) * 100
    if not math.isfinite(half):
        return ReportText.written(f"{estimate.mean * 100:.1f} % {UNKNOWN}")
    places = max(1, min(2, _places_for(half))) if half > 0 else 1
    return ReportText.written(f"{estimate.mean * 100:.{places}f} % {error_text(half, places)}")


def increase_text(one: Estimate) -> str:
    """A share as an increase in percent: `+26.1 ±0.3`."""
    half = half_of(one) * 100
    if not math.isfinite(half):
        return f"{one.mean * 100:+.0f} {UNKNOWN}"
    places = 0 if half >= 0.95 else 1
    return f"{one.mean * 100:+.{places}f} {error_text(half, places)}"


def _ms_text(one: Estimate) -> str:
    scaled = replace(one, mean=one.mean / 1000, low=one.low / 1000, high=one.high / 1000)
    return estimate_text(scaled)


CHANGE_FORMATS: dict[str, Callable[[Change], str]] = {
    "gain": gain_text,
    "change": change_text,
    "size": size_text,
    "times": times_text,
}
FIGURE_FORMATS: dict[str, Callable[[Estimate], str]] = {
    "": estimate_text,
    "share": share_text,
    "percent": lambda one: f"{one.mean * 100:.0f}",
    "plain": lambda one: f"{one.mean * 100:+.0f}",
    "gain": increase_text,
    "size": lambda one: estimate_text(one).removeprefix("-"),
    "ms": _ms_text,
    "n": lambda one: repeats_text(one.n),
    "count": lambda one: f"{one.n}",
}
"""The formats of findings and of figures in the sentences of a cause."""


def error_text(half: float, places: int) -> str:
    """`±0.3`; an error that rounds to 0 is not shown as 0."""
    least = 10.0**-places
    return f"±<{least:.{places}f}" if 0 < half < least / 2 else f"±{half:.{places}f}"


def known_text(
    one: Estimate | None, how: Callable[[Estimate], str] = estimate_text, unknown: str = "not known"
) -> str:
    return unknown if one is None else str(how(one))


def half_of(estimate: Estimate) -> float:
    return (estimate.high - estimate.low) / 2


def significant(value: float, digits: int) -> str:
    """A value without its own interval, to `digits` digits, never with an exponent."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "n/a"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{places}f}"


def _places_for(half: float) -> int:
    """Decimals that leave one digit of the error, or two if the first is a 1."""
    exponent = math.floor(math.log10(half))
    leading = half / 10**exponent
    return max(0, -exponent + (1 if leading < 1.95 else 0))


def _gain_places(gain: float, half: float = 0.0) -> int:
    """Whole percents, as the studies print them; tenths if the gain and its error are small."""
    return 1 if abs(gain) < 9.95 and (half < 9.95 or not math.isfinite(half)) else 0


def _gain_error(gain: float, half: float) -> str:
    tenths = half < 0.95 or (_gain_places(gain) == 1 and half < 9.95)
    return f"{half:.{1 if tenths else 0}f}"


def _signed(value: float, places: int) -> str:
    text = f"{value:+.{places}f}"
    return text.replace("-", "+") if float(text) == 0 else text


def repeats_each_text(comparisons: Sequence[Finding]) -> str:
    """`n = 8 repeats each`, or the range if it varies."""
    sizes = [one.change.n for one in comparisons]
    fewest, most = min(sizes, default=0), max(sizes, default=0)
    if fewest == most:
        return f"n = {most} repeat{'' if most == 1 else 's'} each"
    return f"n = {fewest} to {most} repeats"


def ratio_text(ratio: Estimate) -> str:
    """A ratio as a change in percent."""
    if finite(ratio.mean) is None:
        return "not known"
    change, half = (ratio.mean - 1) * 100, half_of(ratio) * 100
    return f"{change:+.1f} %" + ("" if finite(half) is None else f" ±{significant(half, 2)}")


def figure_json(one: Estimate | None) -> dict[str, Any] | None:
    """An estimate as documents have it; None if it is not known."""
    if one is None:
        return None
    return {"mean": finite(one.mean), "low": finite(one.low), "high": finite(one.high), "n": one.n}


def mean_json(estimate: Estimate | None) -> float | None:
    return None if estimate is None else finite(estimate.mean)


DEPTHS: dict[str, Callable[[Compared], Sequence[Finding]]] = {
    "levels": lambda compared: compared.wholes,
    "columns": lambda compared: compared.columns,
    "rows": lambda compared: compared.rows,
    "comparisons": lambda compared: compared.comparisons,
}
"""Changes in documents, by their key."""


def change_json(layout: Layout, one: Finding) -> dict[str, Any]:
    """A change as plain numbers. `columns` are the first and the last of a range."""
    c, columns = one.change, layout.column_values
    ends = [columns[c.place.first_column], columns[c.place.last_column]]
    return {
        "metric": one.metric.name,
        "cell": dict(one.cell),
        **({"columns": ends} if c.place.depth == "columns" else {}),
        "level": one.level,
        "baseline": one.baseline,
        "ratio": finite(c.ratio),
        "low": finite(c.low),
        "high": finite(c.high),
        "n": c.n,
        "verdict": one.word or None,
        **({"held": one.held} if one.held else {}),
        "detectable": finite(c.detectable),
    }
