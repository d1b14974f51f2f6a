"""Which lines of two option sets matter, whether those work together, and whether they are all.

The unit is a pair: two cells side by side on freshly started servers, or in one block of a server
that is switched. In the part `lines` the log-ratio of a pair is the sum of the effects of all lines
with the signs of its row, so every pair tells about every line. The other two parts are measured
after the lines that matter are known, and use no pair of the first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from contend.experiment import (
    LINES,
    OF_LINES,
    PROOF,
    TOGETHER,
    Experiment,
    ScreenLine,
    all_new,
    part_of,
)
from contend.findings.families import Family, described, rule_of
from contend.findings.model import Contrast, Finding
from contend.findings.study import log_ratio, reading_of
from contend.metrics import Metric, metric_of
from contend.metrics.probed import LeftOut
from contend.stats import (
    CROSSING_LINES_MAX,
    Change,
    fitted,
    residuals,
    screen_effects,
    sum_of,
    together,
)
from contend.store import RunRecord

SHARES = {OF_LINES: 0.4, TOGETHER: 0.2, PROOF: 0.4}
"""Parts of the chance of a false claim in the whole report."""

UNIT = "pairs"
NOISE_DF_MIN = 8
"""With fewer degrees of freedom the noise of pairs is a guess."""


@dataclass(frozen=True, slots=True)
class ScreenPair:
    """Two cells side by side: the digits of each, and the runs."""

    part: str
    block: int
    first: str
    second: str
    runs: tuple[RunRecord, RunRecord]


def left_out_text(one: LeftOut) -> str:
    """Why a line is not screened, without the message of the server."""
    line = f"{one['line']}={one['value']}" if one["value"] else one["line"]
    where = f" together with {', '.join(one['together_with'])}" if one["together_with"] else ""
    if one["needs_others"]:
        where = " while the other lines are old"
    return f"{line} is left out, because no server starts with it{where}"


def pairs_in(records: Iterable[RunRecord], part: str) -> list[ScreenPair]:
    """The measured pairs of a part, in the order of their blocks."""
    blocks: dict[int, list[RunRecord]] = {}
    for record in records:
        if record.status == "ok" and record.done and part_of(record.cell) == part:
            blocks.setdefault(record.block, []).append(record)
    found = []
    for block, runs in sorted(blocks.items()):
        if len(runs) == 2:
            first, second = sorted(runs, key=lambda one: one.run)
            one, other = (str(run.cell[LINES.path]) for run in (first, second))
            found.append(ScreenPair(part, block, one, other, (first, second)))
    return found


def log_ratios(pairs: Sequence[ScreenPair], metric: Metric) -> np.ndarray:
    """ln(first / second) of each pair; NaN if a figure is missing."""
    read = ([reading_of(metric, run) for run in pair.runs] for pair in pairs)
    return np.array([log_ratio(metric, [(second, first)]) for first, second in read])


def signs(pairs: Sequence[ScreenPair]) -> np.ndarray:
    """pairs x lines: 1 if the line is new in the first cell only, -1 if in the second only, else
    0."""
    each = [[int(a) - int(b) for a, b in zip(one.first, one.second, strict=True)] for one in pairs]
    return np.array(each, dtype=float)


@dataclass(frozen=True, slots=True)
class LineFound:
    """A line with its effect: new over old, at all other lines' old and new values alike."""

    number: int
    line: ScreenLine
    finding: Finding


@dataclass(frozen=True, slots=True)
class TogetherFound:
    """What two lines do together, beyond what each does by itself, with all other lines old."""

    one: int
    other: int
    finding: Finding


@dataclass(frozen=True, slots=True)
class ScreenFound:
    """The answer of a screen by one metric.

    Args:
        lines: all of them, in their order.
        matter: numbers of the lines whose effect is certain; fixed when the first part ended.
        total: all lines new over all old, as the sum of the effects; better: the same of the lines
            that make the metric better, None without any. They are descriptions.
        crossed: numbers of the lines that were crossed; alone: what each does with all other lines
            old, a description; together: each two of them. Empty if none were crossed.
        proof: the new set over the old set with only the lines that matter; None if not measured.
        pairs: measured pairs by part.
    """

    metric: Metric
    lines: tuple[LineFound, ...]
    matter: tuple[int, ...]
    total: Finding
    better: Finding | None
    crossed: tuple[int, ...]
    alone: tuple[LineFound, ...]
    together: tuple[TogetherFound, ...]
    proof: Finding | None
    pairs: dict[str, int]


def screen_found(experiment: Experiment, records: Sequence[RunRecord]) -> ScreenFound | None:
    """The answer so far by the first metric; None if no pair was measured."""
    metric = metric_of(experiment.compare.metric[0])
    design = pairs_in(records, OF_LINES)
    if not design:
        return None
    lines = effects_of(experiment, design, metric, family_of_part(experiment, OF_LINES))
    helping = [one.finding.tone == "better" for one in lines]
    matter = tuple(one.number for one in lines if one.finding.is_certain)
    crossing, proof = (pairs_in(records, part) for part in (TOGETHER, PROOF))
    crossed = crossed_in(crossing)
    alone, together = _crossed(experiment, crossing, crossed, metric)
    return ScreenFound(
        metric,
        lines,
        matter,
        _sum(experiment, design, metric, [True] * len(lines)),
        _sum(experiment, design, metric, helping) if any(helping) else None,
        crossed,
        alone,
        together,
        _proof(experiment, proof, metric) if proof else None,
        {OF_LINES: len(design), TOGETHER: len(crossing), PROOF: len(proof)},
    )


def family_of_part(experiment: Experiment, part: str) -> Family:
    """The claims of a part, which hold together."""
    rule, error = rule_of(experiment), (1 - experiment.compare.confidence) * SHARES[part]
    tighter = (1 - rule.interval_confidence) / (1 - rule.confidence) if part == OF_LINES else 1.0
    return Family(part, 1 - error, 1 - error * tighter)


def effects_of(
    experiment: Experiment, pairs: Sequence[ScreenPair], metric: Metric, family: Family
) -> tuple[LineFound, ...]:
    """Each line's effect from the pairs of the design."""
    effects = screen_effects(
        log_ratios(pairs, metric),
        signs(pairs),
        np.ones(len(pairs)),
        margin=experiment.compare.margin,
        confidence=family.confidence,
        interim=not family.decides,
    )
    return tuple(
        LineFound(number, line, _finding(experiment, metric, family, line.name, change))
        for number, (line, change) in enumerate(zip(experiment.lines, effects, strict=True))
    )


def _sum(
    experiment: Experiment, pairs: Sequence[ScreenPair], metric: Metric, which: Sequence[bool]
) -> Finding:
    """The sum of the effects of some lines."""
    family = described("described", experiment)
    change = sum_of(
        log_ratios(pairs, metric),
        signs(pairs),
        np.ones(len(pairs)),
        [number for number, is_one in enumerate(which) if is_one],
        margin=experiment.compare.margin,
        confidence=family.confidence,
        interim=True,
    )
    return _finding(experiment, metric, family, "several lines", change)


def costs_by_line(
    experiment: Experiment, records: Sequence[RunRecord], metric: Metric
) -> tuple[LineFound, ...]:
    """Each line's effect on another metric, each interval by itself; empty without its figures."""
    if not (pairs := pairs_in(records, OF_LINES)):
        return ()
    lines = effects_of(experiment, pairs, metric, described("described", experiment))
    is_known = any(math.isfinite(one.finding.change.ratio) for one in lines)
    return lines if is_known else ()


def crossed_lines(found: ScreenFound, most: int = CROSSING_LINES_MAX) -> tuple[int, ...]:
    """The lines to cross: those that matter most, if at least two do."""
    ordered = sorted(
        found.matter, key=lambda one: -abs(np.log(found.lines[one].finding.change.ratio))
    )
    return tuple(sorted(ordered[:most])) if len(ordered) > 1 else ()


def only(lines: int, new: Iterable[int]) -> str:
    """The digits of a cell with these lines new and the others old."""
    chosen = set(new)
    return "".join("1" if number in chosen else "0" for number in range(lines))


def crossed_in(pairs: Sequence[ScreenPair]) -> tuple[int, ...]:
    """The lines that differ in any of the pairs of a crossing."""
    varied = np.flatnonzero(np.any(signs(pairs) != 0, axis=0)) if pairs else ()
    return tuple(int(one) for one in varied)


def _crossed(
    experiment: Experiment, pairs: Sequence[ScreenPair], crossed: tuple[int, ...], metric: Metric
) -> tuple[tuple[LineFound, ...], tuple[TogetherFound, ...]]:
    if len(crossed) < 2:
        return (), ()
    family, margin = family_of_part(experiment, TOGETHER), experiment.compare.margin
    corners = [(_corner(one.first, crossed), _corner(one.second, crossed)) for one in pairs]
    answer = together(
        log_ratios(pairs, metric),
        corners,
        len(crossed),
        np.ones(len(pairs)),
        confidence=family.confidence,
        margin=margin,
    )
    names = [line.name for line in experiment.lines]
    return (
        tuple(
            LineFound(
                number,
                experiment.lines[number],
                # The chance of error is that of lines together.
                _finding(experiment, metric, family, names[number], replace(change, verdict=None)),
            )
            for number, change in zip(crossed, answer.alone, strict=True)
        ),
        tuple(
            TogetherFound(
                one,
                other,
                _finding(experiment, metric, family, f"{names[one]}, {names[other]}", change),
            )
            for (one, other), change in zip(
                itertools.combinations(crossed, 2), answer.together, strict=True
            )
        ),
    )


def _corner(digits: str, crossed: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(digits[line]) for line in crossed)


def _proof(experiment: Experiment, pairs: Sequence[ScreenPair], metric: Metric) -> Finding:
    """The new set over the other side of the pairs, in whichever place it was."""
    family = family_of_part(experiment, PROOF)
    new = all_new(len(experiment.lines))
    x = np.array([[1.0 if one.first == new else -1.0] for one in pairs])
    (change,) = fitted(
        log_ratios(pairs, metric),
        np.hstack([x, np.ones((len(pairs), 1))]),
        contrasts=np.array([[1.0, 0.0]]),
        margin=experiment.compare.margin,
        confidence=family.confidence,
    )
    return _finding(experiment, metric, family, "the whole new set", change)


def _finding(
    experiment: Experiment, metric: Metric, family: Family, what: str, change: Change
) -> Finding:
    contrast = Contrast("line", metric, {}, what, None, family, UNIT)
    return Finding(contrast, change, experiment.compare.margin)


@dataclass(frozen=True, slots=True)
class PairNoise:
    """Variances of log-ratios: of one slice, and of a pair beyond its slices (0 if the slices
    explain it). `slices` is the mean number of slices of a pair."""

    of_slice: float
    of_pair: float
    slices: float


def noise_of_pairs(experiment: Experiment, records: Sequence[RunRecord]) -> PairNoise | None:
    """The sources of noise in the pairs of the design; None if they are not known yet."""
    metric = metric_of(experiment.compare.metric[0])
    pairs = pairs_in(records, OF_LINES)
    if not pairs:
        return None
    within = [_of_slices(pair) for pair in pairs]
    counted = [one for one in within if len(one) > 1]
    rest, df = residuals_of(pairs, metric)
    if not counted or df < NOISE_DF_MIN:
        return None
    residual = float(np.nansum(rest**2)) / df
    of_slice = float(np.mean([np.var(one, ddof=1) for one in counted]))
    slices = float(np.mean([len(one) for one in counted]))
    return PairNoise(of_slice, max(0.0, residual - of_slice / slices), slices)


def residuals_of(pairs: Sequence[ScreenPair], metric: Metric) -> tuple[np.ndarray, int]:
    """What the effects of the lines and of the places leave of each pair of the design, and its
    degrees of freedom."""
    x = np.hstack([signs(pairs), np.ones((len(pairs), 1))])
    return residuals(log_ratios(pairs, metric), x)


def _of_slices(pair: ScreenPair) -> np.ndarray:
    """ln(first / second) of the rate in each slice."""
    first, second = ({one["index"]: one["qps"] for one in run.intervals} for run in pair.runs)
    both = [(first[at], second[at]) for at in first if at in second]
    return np.array([math.log(one / other) for one, other in both if one > 0 and other > 0])
