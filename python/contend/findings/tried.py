"""What became of a difference under treatments: each candidate's verdict.

A repeat gives one log-ratio of the two levels under each treatment. What a treatment takes away is
the difference without it less that with it, repeat by repeat. All verdicts of one comparison
together err by 1 %.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from contend.findings.study import Study, log_ratio, reading_of
from contend.probed import TriedRecord, WhyFacts
from contend.settings.treatments import TREATMENT, UNTREATED
from contend.stats import Change, Estimate, estimate, ratio_of_means
from contend.stats.student import t_quantile
from contend.store import RunRecord

CONFIDENCE = 0.99
"""Of all verdicts of one comparison together, at all looks whether all is decided."""

LOOKS = {4: 0.05, 8: 0.10, 16: 0.15}
"""After so many repeats it is looked whether all is decided, each time with this share of the
chance to err: with few repeats little is decided that a small share would not decide as well. What
is left is for the end."""

MANY_REPEATS = 64
"""So many stand for what no time has room for."""

DOSE_SLACK = 0.1
"""Of the difference, how much more may be left by noise at a larger dose than at a smaller one."""

OVER_PLACEBO = 0.5
"""Of what is foretold, how much must be taken away beyond what the placebo takes."""

TriedVerdict = Literal["confirmed", "refuted", "not certain"]


@dataclass(frozen=True, slots=True)
class CandidateTried:
    """What was found of one candidate.

    left, left_with_placebo: of the difference under the whole dose and under the placebo, as shares
        of the untreated one, which is as uncertain as they are; `left_at_doses` by treatment. The
        interval is of the family.
    more: repeats beside those made that would decide it; None if it is decided, or nobody knows.
    """

    record: TriedRecord
    verdict: TriedVerdict
    left: Estimate
    left_with_placebo: float
    left_at_doses: Mapping[str, float]
    more: int | None


@dataclass(frozen=True, slots=True)
class DifferenceTried:
    """The untreated difference in the same minutes, as the logarithm of level over baseline with
    its sign taken off, and the candidates; `certain` if there is one to explain. `unmeasured` are
    the names of those whose treatments could not be had."""

    log_difference: Estimate
    certain: bool
    repeats: int
    candidates: tuple[CandidateTried, ...]
    unmeasured: tuple[str, ...] = ()


def tried_of(study: Study) -> DifferenceTried | None:
    """What a run of treatments says; None if nothing was measured of it yet."""
    about = study.meta.facts.get("why")
    if about is None or study.roles.baseline is None:
        return None
    records = about["tried"]
    ratios = {n: ratios_under(study, n) for n in (UNTREATED, *_names(records))}
    looked = judged(records, ratios)
    ends = study.finished and why_decided(looked) is None
    return judged(records, ratios, is_end=True) if ends else looked


def judged(
    records: list[TriedRecord], by_treatment: Mapping[str, np.ndarray], *, is_end: bool = False
) -> DifferenceTried | None:
    """The verdicts; None if the untreated pair was never measured.

    Args:
        by_treatment: ln(level / baseline) by repeat, NaN where it was not measured.
        is_end: no look comes after this one.
    """
    untreated = by_treatment[UNTREATED]
    if not np.any(np.isfinite(untreated)):
        return None
    sign = 1.0 if np.nanmean(untreated) >= 0 else -1.0
    d = {name: sign * one for name, one in by_treatment.items()}
    measured = [one for one in records if _is_measured(d, one)]
    unmeasured = tuple(one["candidate"] for one in records if one not in measured)
    chance = chance_at(math.inf if is_end else int(np.isfinite(untreated).sum()))
    whole = _mean(d[UNTREATED], chance)
    certain = whole.low > 0
    found = tuple(
        _verdict(one, d, whole, chance / len(measured), certain=certain) for one in measured
    )
    return DifferenceTried(whole, certain, whole.n, found, unmeasured)


def chance_at(repeats: float) -> float:
    """How often one comparison may err that has so many repeats: the share of the look that is due
    by then, or that of the end. All together err no more often than `CONFIDENCE` leaves."""
    due = next((share for at, share in LOOKS.items() if repeats <= at), 1 - sum(LOOKS.values()))
    return (1 - CONFIDENCE) * due


def repeats_to_decide(ratios: np.ndarray, goes: float, candidates: int) -> int:
    """Repeats with which a candidate among so many is decided four times in five, if it takes away
    the share `goes` of the difference and its placebo nothing, and they scatter as `ratios` do;
    the fewest if too few ratios are known, and `MANY_REPEATS` if it takes more."""
    known = ratios[np.isfinite(ratios)]
    if len(known) < _FEW:
        return _FEW
    effect = goes * abs(float(np.mean(known)))
    sd = math.sqrt(2) * float(np.std(known, ddof=1))
    chance = chance_at(math.inf) / candidates
    for n in range(_FEW, MANY_REPEATS):
        wanted = t_quantile(n - 1, 1 - chance) + t_quantile(n - 1, _POWER)
        if wanted * sd / math.sqrt(n) <= effect:
            return n
    return MANY_REPEATS


def why_decided(tried: DifferenceTried | None) -> str | None:
    """Why no further repeat is wanted; None if some are, or if no look is due."""
    if tried is None or tried.repeats not in LOOKS:
        return None
    if not tried.candidates or not tried.certain:
        return None
    if any(one.verdict == "not certain" for one in tried.candidates):
        return None
    return f"what was tried is decided after {tried.repeats} repeats"


def _names(records: list[TriedRecord]) -> list[str]:
    return [name for one in records for name in (*one["doses"], one["placebo"])]


def pairs_under(study: Study, treatment: str) -> list[list[tuple[RunRecord, RunRecord]]]:
    """Runs of baseline and level under a treatment, block by block, by repeat."""
    roles = study.roles
    assert roles.compared is not None and roles.baseline is not None
    cells = [
        {TREATMENT.path: treatment, roles.compared.path: level}
        for level in (roles.baseline, roles.others[0])
    ]
    return list(study.blocks_in_common(*cells).values())


def ratios_under(study: Study, treatment: str) -> np.ndarray:
    """ln(level / baseline) under a treatment, by repeat; NaN if it was not measured."""
    return ratios_of(study, pairs_under(study, treatment))


def ratios_of(study: Study, pairs: Iterable[Sequence[tuple[RunRecord, RunRecord]]]) -> np.ndarray:
    """ln(level / baseline) of runs side by side, by repeat; NaN if there are none."""
    metric = study.metrics[0]
    return np.array(
        [
            log_ratio(metric, [(reading_of(metric, a), reading_of(metric, b)) for a, b in both])
            for both in pairs
        ]
    )


def _is_measured(d: Mapping[str, np.ndarray], one: TriedRecord) -> bool:
    """Whether any repeat has all that a verdict takes."""
    needed = (UNTREATED, *one["doses"], one["placebo"])
    return bool(np.any(np.all([np.isfinite(d[name]) for name in needed], axis=0)))


def logs_of(change: Change) -> Estimate:
    """Its ratio and its interval as logarithms."""
    low = math.log(change.low) if change.low > 0 else -math.inf
    high = math.log(change.high) if math.isfinite(change.high) else math.inf
    return Estimate(math.log(change.ratio), low, high, change.n, CONFIDENCE)


def _verdict(
    record: TriedRecord,
    d: Mapping[str, np.ndarray],
    untreated: Estimate,
    chance: float,
    *,
    certain: bool,
) -> CandidateTried:
    """The verdict of one candidate, which may be false with this chance.

    Confirmed takes all of its conditions, so that each may err with the whole chance on its side:
    a cause that is none fails at one of them. Either of two refutes, so each has half.
    """
    none, whole, placebo = d[UNTREATED], d[record["doses"][-1]], d[record["placebo"]]
    left = ratio_of_means(whole, none, chance=chance, confidence=CONFIDENCE)
    most = 1 - record["least"]
    beyond = _mean(placebo - whole, 2 * chance)
    beyond_short = _mean(placebo - whole - OVER_PLACEBO * record["least"] * none, chance)
    as_foretold = left.mean <= most and beyond_short.mean >= 0
    is_confirmed = (
        certain and as_foretold and left.high < 1 and beyond.low > 0 and _grows(d, record)
    )
    is_refuted = certain and (left.low > most or beyond_short.high < 0)
    if as_foretold:
        needed = [(untreated, 1.0), (_mean(none - whole, chance), 1.0), (beyond, 1.0)]
    else:
        short = _mean(most * none - whole, chance)
        worse = min(short, beyond_short, key=lambda one: one.mean)
        needed = [(untreated, 1.0), (worse, -1.0)]

    def share(name: str) -> float:
        return float(np.nanmean(d[name])) / untreated.mean

    return CandidateTried(
        record=record,
        verdict="confirmed" if is_confirmed else "refuted" if is_refuted else "not certain",
        left=left,
        left_with_placebo=share(record["placebo"]),
        left_at_doses={name: share(name) for name in record["doses"]},
        more=None if is_confirmed or is_refuted else more_repeats(needed),
    )


def _mean(values: np.ndarray, chance: float) -> Estimate:
    """With the chance that its interval, of two sides, misses the true one."""
    found = estimate(values[np.isfinite(values)], 1 - chance)
    return replace(found, confidence=CONFIDENCE)


def _grows(d: Mapping[str, np.ndarray], record: TriedRecord) -> bool:
    """A larger dose leaves no more of the difference than a smaller one, but for noise."""
    left = [float(np.nanmean(d[name])) for name in record["doses"]]
    slack = DOSE_SLACK * float(np.nanmean(d[UNTREATED]))
    return all(later <= earlier + slack for earlier, later in itertools.pairwise(left))


NO_ADVICE = 100
"""So many repeats more are no advice."""


def more_repeats(needed: list[tuple[Estimate, float]]) -> int | None:
    """How many repeats more bring each mean as far from 0 as its interval is wide, if all stays as
    it is."""
    most = 0.0
    for one, sign in needed:
        half = (one.high - one.low) / 2
        if not math.isfinite(half) or one.mean * sign <= 0:
            return None
        most = max(most, one.n * (half / one.mean) ** 2)
    made = min(one.n for one, _ in needed)
    return max(1, math.ceil(most) - made)


COULD_NOT_BE_HAD = "what would be changed could not be had, see the runs that failed"

_FEW = 3
_POWER = 0.8


def untested_of(about: WhyFacts, tried: DifferenceTried | None) -> dict[str, str]:
    """What was not tried and why, what failed among it."""
    failed = dict.fromkeys(tried.unmeasured if tried else (), COULD_NOT_BE_HAD)
    return {**about["untested"], **failed}


def by_reason(untested: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Name and reason, row by row. Many that have one reason are in one row: how many they are,
    and the reason with their names."""
    names: dict[str, list[str]] = {}
    for name, why in untested.items():
        names.setdefault(why, []).append(name)
    few = [(name, why) for name, why in untested.items() if len(names[why]) <= _FEW]
    many = [
        (f"{len(of)} more", f"{why}: {', '.join(of)}")
        for why, of in names.items()
        if len(of) > _FEW
    ]
    return (*few, *many)
