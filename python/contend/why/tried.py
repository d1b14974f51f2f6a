"""The verdict on each candidate, from the difference under its treatments.

A repeat gives one log-ratio of the two levels under each treatment. A treatment takes away the mean
difference without it minus that with it. This counts only if the slower side becomes faster: a
difference also shrinks if the faster side is slowed. Blocks of one repeat scatter independently, so
treatments are not paired; they share degrees of freedom. All verdicts of one comparison together
have an error chance of 1 %.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from contend.experiment.settings.treatments import TREATMENT, UNTREATED
from contend.findings.study import Study, ratios_of, sides_under
from contend.metrics.probed import TriedRecord, WhyFacts
from contend.stats import Change, Estimate, Mean, means_of, ratio_of, weighted
from contend.stats.student import t_quantile
from contend.store import RunRecord

CONFIDENCE = 0.99
"""Confidence of all verdicts of one comparison together, over all looks."""

LOOKS = {4: 0.05, 8: 0.10, 12: 0.10, 18: 0.15}
"""Numbers of repeats after which verdicts are checked, each with its share of the error chance. A
small share is enough for differences that few repeats can decide. The rest is for the end."""

FIRST_LOOK, SECOND_LOOK = sorted(LOOKS)[:2]
"""Until the first look every candidate is measured, with whole doses and placebos; the first repeat
has all doses. Then only the leading ones go on, with their smaller doses until the second look."""

ASIDE = 0.5
"""The first look sets aside candidates that took less than this share of the best one's effect
beyond its placebo, if any. They are no longer measured, and stay open."""

MANY_REPEATS = 64
"""The upper limit, above what any plan has time for."""

DOSE_SLACK = 0.1
"""Share of the difference by which a larger dose may leave more than a smaller one, in addition to
a standard error for noise."""

OVER_PLACEBO = 0.5
"""Share of the prediction that must disappear beyond the placebo's effect, and beyond that of each
contained candidate."""

PART = 0.15
"""Share of the difference, beyond the placebo's effect, that a cause must take to be a part."""

TriedVerdict = Literal["confirmed", "a part", "refuted", "not certain"]
"""A part: it certainly takes some of the difference away, but apparently less than predicted."""


@dataclass(frozen=True, slots=True)
class CandidateTried:
    """The result of one candidate.

    left, left_with_placebo: of the difference under the whole dose and under the placebo, as shares
        of the untreated one, which is equally uncertain. `left_at_doses` by treatment. The
        interval is of the family.
    took: how much more disappeared, as a share, than with the placebo, or than with a candidate
        that this one contains, whichever took more.
    both_faster: how much faster the two sides together are under the whole dose than under the
        placebo, as the logarithm of the geometric mean of their figures. Below 0, the effect is
        more the faster side's loss than the slower one's gain.
    more: additional repeats that would decide it; None if it is decided, or unknown.
    """

    record: TriedRecord
    verdict: TriedVerdict
    left: Estimate
    left_with_placebo: float
    took: float
    both_faster: float
    left_at_doses: Mapping[str, float]
    more: int | None


@dataclass(frozen=True, slots=True)
class DifferenceTried:
    """The untreated difference in the same minutes, as the absolute logarithm of level over
    baseline, and the candidates. `certain`: there is a difference to explain. `unmeasured` lack
    a figure under some treatment. Three groups are no longer measured: `failed`, by name with the
    error of an impossible treatment; `decided` and `aside`, by name.
    """

    log_difference: Estimate
    certain: bool
    repeats: int
    candidates: tuple[CandidateTried, ...]
    unmeasured: tuple[TriedRecord, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    decided: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()


def tried_of(study: Study) -> DifferenceTried | None:
    """The results of a run of treatments; None if nothing was measured yet."""
    about = study.meta.facts.get("why")
    if about is None or study.roles.baseline is None:
        return None
    records = about["tried"]
    sign = 1.0 if study.metrics[0].better == "higher" else -1.0
    sides = {n: sign * sides_under(study, n) for n in (UNTREATED, *_names(records))}
    found = judged_in_turn(records, sides, is_over=study.finished)
    return found and replace(found, failed=_failed(found.unmeasured, study.records))


def _failed(unmeasured: Iterable[TriedRecord], runs: Iterable[RunRecord]) -> dict[str, str]:
    """The error of the first treatment that failed, by candidate."""
    errors = {
        run.cell[TREATMENT.path]: (run.error or {}).get("message", "")
        for run in runs
        if run.status != "ok"
    }
    lost = {one["candidate"]: [n for n in _names([one]) if n in errors] for one in unmeasured}
    return {name: f"under {of[0]}: {errors[of[0]]}" for name, of in lost.items() if of}


def judged_in_turn(
    records: list[TriedRecord], sides: Mapping[str, np.ndarray], *, is_over: bool
) -> DifferenceTried | None:
    """The verdicts of all looks so far. A verdict reached at a look stays, with its figures: from
    then on contend does not measure that candidate alone.

    Args:
        sides: see `judged`.
        is_over: no repeat follows.
    """
    made = np.flatnonzero(np.isfinite(ratios_of(sides[UNTREATED])))
    decided: dict[str, CandidateTried] = {}
    certain = False
    aside: tuple[str, ...] = ()
    for at in (look for look in LOOKS if look <= len(made)):
        so_far = {name: of[: made[at - 1] + 1] for name, of in sides.items()}
        result = judged(records, so_far)
        assert result is not None, "the untreated pair was measured by then"
        certain |= result.certain
        for one in result.candidates:
            if one.verdict != "not certain":
                decided.setdefault(one.record["candidate"], one)
        if at == FIRST_LOOK:
            aside = _behind(result)
    last = judged(records, sides, is_end=is_over)
    if last is None:
        return None
    found = tuple(decided.get(one.record["candidate"], one) for one in last.candidates)
    return replace(
        last,
        certain=certain or last.certain,
        candidates=found,
        decided=tuple(decided),
        aside=aside,
    )


def _behind(result: DifferenceTried) -> tuple[str, ...]:
    """Undecided candidates that took little of the difference compared with the best one; none if
    even the best one had no effect."""
    took = {one.record["candidate"]: one.took for one in result.candidates}
    best = max(took.values(), default=0.0)
    enough = ASIDE * best if best > 0 else -math.inf
    return tuple(
        one.record["candidate"]
        for one in result.candidates
        if one.verdict == "not certain" and took[one.record["candidate"]] < enough
    )


def judged(
    records: list[TriedRecord], sides: Mapping[str, np.ndarray], *, is_end: bool = False
) -> DifferenceTried | None:
    """The verdicts; None if the untreated pair was never measured.

    Args:
        sides: by treatment, repeats x (baseline, level): logarithms of their figures, the larger
            the better; NaN if not measured.
        is_end: no look follows.
    """
    untreated = ratios_of(sides[UNTREATED])
    if not np.any(np.isfinite(untreated)):
        return None
    sign = 1.0 if np.nanmean(untreated) >= 0 else -1.0
    means = means_of({name: sign * ratios_of(one) for name, one in sides.items()})
    together = means_of({name: one.mean(axis=1) for name, one in sides.items()})
    measured = [one for one in records if all(means[name].n for name in _names([one]))]
    unmeasured = tuple(one for one in records if one not in measured)
    chance = chance_at(math.inf if is_end else means[UNTREATED].n)
    whole = weighted(means, {UNTREATED: 1.0}, chance, CONFIDENCE)
    certain = whole.low > 0
    found = tuple(
        _verdict(
            one, means, together, whole, chance / len(measured), certain=certain, is_end=is_end
        )
        for one in measured
    )
    return DifferenceTried(whole, certain, whole.n, found, unmeasured)


def chance_at(repeats: float) -> float:
    """The error chance of a comparison with this number of repeats: the share of the next look, or
    that of the end. All chances add up to 1 - `CONFIDENCE`."""
    due = next((share for at, share in LOOKS.items() if repeats <= at), 1 - sum(LOOKS.values()))
    return (1 - CONFIDENCE) * due


def repeats_to_decide(ratios: np.ndarray, taken: float, candidates: int) -> int:
    """Repeats that decide one of several candidates four times in five, if it takes away the share
    `taken` of the difference, its placebo nothing, and all scatter like `ratios`. The fewest if
    too few ratios are known, at most `MANY_REPEATS`."""
    known = ratios[np.isfinite(ratios)]
    if len(known) < _FEW:
        return _FEW
    effect = taken * abs(float(np.mean(known)))
    sd = math.sqrt(2) * float(np.std(known, ddof=1))
    chance = chance_at(math.inf) / candidates
    for n in range(_FEW, MANY_REPEATS):
        df = _POOLED_DF * (n - 1)
        wanted = t_quantile(df, 1 - chance) + t_quantile(df, _POWER)
        if wanted * sd / math.sqrt(n) <= effect:
            return n
    return MANY_REPEATS


def why_decided(tried: DifferenceTried | None) -> str | None:
    """Why no further repeat is needed; None if some are."""
    if tried is None or open_treatments(tried):
        return None
    if not tried.candidates:
        return "no candidate could be measured"
    aside = " or set aside" if tried.aside else ""
    many = "1 repeat" if tried.repeats == 1 else f"{tried.repeats} repeats"
    return f"every candidate is decided{aside} after {many}"


def open_treatments(tried: DifferenceTried) -> frozenset[str]:
    """The treatments that the next repeat has to measure besides the untreated pair. Until the
    first look they include those without a figure."""
    over = {*tried.decided, *tried.aside, *tried.failed}
    records = [one.record for one in tried.candidates if one.record["candidate"] not in over]
    first = 0 if FIRST_LOOK <= tried.repeats < SECOND_LOOK else -1
    names = [name for one in records for name in (*one["doses"][first:], one["placebo"])]
    if tried.repeats < FIRST_LOOK:
        names += _names([one for one in tried.unmeasured if one["candidate"] not in over])
    return frozenset(names)


def _names(records: Sequence[TriedRecord]) -> list[str]:
    return [name for one in records for name in (*one["doses"], one["placebo"])]


def logs_of(change: Change) -> Estimate:
    """Its ratio and its interval as logarithms."""
    low = math.log(change.low) if change.low > 0 else -math.inf
    high = math.log(change.high) if math.isfinite(change.high) else math.inf
    return Estimate(math.log(change.ratio), low, high, change.n, CONFIDENCE)


def _verdict(
    record: TriedRecord,
    means: Mapping[str, Mean],
    together: Mapping[str, Mean],
    untreated: Estimate,
    chance: float,
    *,
    certain: bool,
    is_end: bool,
) -> CandidateTried:
    """The verdict of one candidate, false with at most this chance.

    A confirmation needs all of its conditions, so each may err with the whole chance: a false cause
    fails one of them, and the same one if judged a part. A refutation needs one of several, so
    they share the chance. One that takes too little and may be a part stays open to the end.

    Args:
        means: of the differences, by treatment.
        together: of both sides' figures together.
    """
    whole, placebo = record["doses"][-1], record["placebo"]
    # A contained candidate counts like a placebo: this one has to take away more.
    contained = [name for name in record.get("contains", ()) if means[name].n > 1]
    others = [placebo, *contained]
    most = 1 - record["least"]
    share_of_chance = 2 * chance / (2 + len(others))

    def total(weights: Mapping[str, float], of_chance: float) -> Estimate:
        return weighted(means, weights, of_chance, CONFIDENCE)

    left = ratio_of(means[whole], means[UNTREATED], share_of_chance, CONFIDENCE)
    beyond = [total({other: 1.0, whole: -1.0}, 2 * chance) for other in others]
    least = {whole: -1.0, UNTREATED: -OVER_PLACEBO * record["least"]}
    enough = [total({**least, other: 1.0}, share_of_chance) for other in others]
    both = weighted(together, {whole: 1.0, placebo: -1.0}, share_of_chance, CONFIDENCE)
    took = min(beyond, key=lambda one: one.mean)
    is_gain = both.mean >= 0
    as_predicted = left.mean <= most and all(one.mean >= 0 for one in enough)
    takes = (
        certain and left.high < 1 and all(one.low > 0 for one in beyond) and _grows(means, record)
    )
    too_little = certain and (left.low > most or any(one.high < 0 for one in enough))
    may_be_part = took.mean >= PART * untreated.mean
    verdict: TriedVerdict = "not certain"
    if certain and both.high < 0:
        verdict = "refuted"
    elif takes and is_gain and as_predicted:
        verdict = "confirmed"
    elif takes and is_gain and may_be_part and (too_little or is_end):
        verdict = "a part"
    elif too_little and (is_end or not may_be_part):
        verdict = "refuted"
    if as_predicted:
        taken = total({UNTREATED: 1.0, whole: -1.0}, chance)
        needed = [(untreated, 1.0), (taken, 1.0), (took, 1.0)]
    else:
        goes = total({UNTREATED: most, whole: -1.0}, chance)
        needed = [(untreated, 1.0), (min(goes, *enough, key=lambda one: one.mean), -1.0)]
        if may_be_part:
            needed.append((took, 1.0))

    def share(name: str) -> float:
        return means[name].mean / untreated.mean

    return CandidateTried(
        record=record,
        verdict=verdict,
        left=left,
        left_with_placebo=share(placebo),
        took=took.mean / untreated.mean,
        both_faster=both.mean,
        left_at_doses={name: share(name) for name in record["doses"]},
        more=more_repeats(needed) if verdict == "not certain" and is_gain else None,
    )


def _grows(means: Mapping[str, Mean], record: TriedRecord) -> bool:
    """Whether a larger dose leaves no more of the difference than a smaller one, except for noise;
    False if a smaller one was measured less than twice."""
    slack = DOSE_SLACK * means[UNTREATED].mean
    return all(
        means[smaller].n > 1
        and means[larger].mean - means[smaller].mean
        <= slack + math.sqrt(means[larger].variance + means[smaller].variance)
        for smaller, larger in itertools.pairwise(record["doses"])
    )


NO_ADVICE = 100
"""Beyond this number of further repeats there is no advice."""


def more_repeats(needed: list[tuple[Estimate, float]]) -> int | None:
    """The additional repeats that bring each mean as far from 0 as its interval is wide, if means
    and scatter stay the same."""
    most = 0.0
    for one, sign in needed:
        half = (one.high - one.low) / 2
        if not math.isfinite(half) or one.mean * sign <= 0:
            return None
        most = max(most, one.n * (half / one.mean) ** 2)
    done = min(one.n for one, _ in needed)
    return max(1, math.ceil(most) - done)


NO_ANSWER = "under one of its treatments, no query was answered in any repeat"

_FEW = 3
_POWER = 0.8
_POOLED_DF = 1.5
"""Factor on the degrees of freedom of one treatment, if four to seven share theirs."""


def untested_of(about: WhyFacts, tried: DifferenceTried | None) -> dict[str, str]:
    """The candidates that were not tried or failed, with the reason."""
    if tried is None:
        return dict(about["untested"])
    without = {one["candidate"]: NO_ANSWER for one in tried.unmeasured}
    return {**about["untested"], **without, **tried.failed}


def by_reason(untested: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Name and reason, row by row. Many candidates with the same reason share a row: their number,
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
