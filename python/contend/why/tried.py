"""What became of a difference under treatments: each candidate's verdict.

A repeat gives one log-ratio of the two levels under each treatment. What a treatment takes away is
the mean difference without it less that with it, and it counts only if it is the slower side that
becomes faster: a difference also shrinks if the faster one is slowed. Blocks of one repeat were
found to scatter each for itself, so that treatments are not paired, and lend each other degrees of
freedom. All verdicts of one comparison together err by 1 %.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from contend.findings.study import Study, ratios_of, sides_under
from contend.probed import TriedRecord, WhyFacts
from contend.settings.treatments import TREATMENT, UNTREATED
from contend.stats import Change, Estimate, Mean, means_of, ratio_of, weighted
from contend.stats.student import t_quantile
from contend.store import RunRecord

CONFIDENCE = 0.99
"""Of all verdicts of one comparison together, at all looks whether all is decided."""

LOOKS = {4: 0.05, 8: 0.10, 12: 0.10, 18: 0.15}
"""After so many repeats it is looked what is decided, each time with this share of the chance to
err: with few repeats little is decided that a small share would not decide as well. What is left is
for the end."""

FIRST_LOOK, SECOND_LOOK = sorted(LOOKS)[:2]
"""Until the first one all candidates are measured, with whole doses and placebos but for the first
repeat, which has all. Then those that are ahead, until the second one with their smaller doses."""

ASIDE = 0.5
"""At the first look those are set aside that took less than this share of what the best one took
beyond its placebo, if that took anything: they are measured no longer, and stay open."""

MANY_REPEATS = 64
"""So many stand for what no time has room for."""

DOSE_SLACK = 0.1
"""Of the difference, how much more may be left at a larger dose than at a smaller one, beside what
is noise: a standard error."""

OVER_PLACEBO = 0.5
"""Of what is foretold, how much must be taken away beyond what the placebo takes, and each
candidate that this one contains."""

PART = 0.15
"""Of the difference, how much must go beyond what the placebo takes for a cause to be a part of
it."""

TriedVerdict = Literal["confirmed", "a part", "refuted", "not certain"]
"""A part: it certainly takes some of the difference away, and less than is foretold, as far as that
can be said."""


@dataclass(frozen=True, slots=True)
class CandidateTried:
    """What was found of one candidate.

    left, left_with_placebo: of the difference under the whole dose and under the placebo, as shares
        of the untreated one, which is as uncertain as they are; `left_at_doses` by treatment. The
        interval is of the family.
    took: how much more went, as a share, than with the placebo, or than with a candidate that this
        one contains, whichever took more.
    both_faster: how much faster the two sides together are under the whole dose than under the
        placebo, as the logarithm of the geometric mean of their figures. If it is below 0, more of
        what went is the faster side's loss than the slower one's gain.
    more: repeats beside those made that would decide it; None if it is decided, or nobody knows.
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
    """The untreated difference in the same minutes, as the logarithm of level over baseline with
    its sign taken off, and the candidates; `certain` if there is one to explain. `unmeasured` are
    those without a figure under each of their treatments; those that `failed`, since a treatment
    could not be had (by name, with what was said of it), those `decided` and those set `aside`, by
    name, are measured no longer."""

    log_difference: Estimate
    certain: bool
    repeats: int
    candidates: tuple[CandidateTried, ...]
    unmeasured: tuple[TriedRecord, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    decided: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()


def tried_of(study: Study) -> DifferenceTried | None:
    """What a run of treatments says; None if nothing was measured of it yet."""
    about = study.meta.facts.get("why")
    if about is None or study.roles.baseline is None:
        return None
    records = about["tried"]
    sign = 1.0 if study.metrics[0].better == "higher" else -1.0
    sides = {n: sign * sides_under(study, n) for n in (UNTREATED, *_names(records))}
    found = judged_in_turn(records, sides, is_over=study.finished)
    return found and replace(found, failed=_failed(found.unmeasured, study.records))


def _failed(unmeasured: Iterable[TriedRecord], runs: Iterable[RunRecord]) -> dict[str, str]:
    """What was said of the first treatment of each candidate that could not be had."""
    said = {
        run.cell[TREATMENT.path]: (run.error or {}).get("message", "")
        for run in runs
        if run.status != "ok"
    }
    lost = {one["candidate"]: [n for n in _names([one]) if n in said] for one in unmeasured}
    return {name: f"under {of[0]}: {said[of[0]]}" for name, of in lost.items() if of}


def judged_in_turn(
    records: list[TriedRecord], sides: Mapping[str, np.ndarray], *, is_over: bool
) -> DifferenceTried | None:
    """The verdicts of all looks so far. One that was reached at a look stays, with its figures:
    from then on nothing is measured for it alone.

    Args:
        sides: as of `judged`.
        is_over: no repeat comes after these.
    """
    made = np.flatnonzero(np.isfinite(ratios_of(sides[UNTREATED])))
    decided: dict[str, CandidateTried] = {}
    certain = False
    aside: tuple[str, ...] = ()
    for at in (look for look in LOOKS if look <= len(made)):
        so_far = {name: of[: made[at - 1] + 1] for name, of in sides.items()}
        looked = judged(records, so_far)
        assert looked is not None, "the untreated pair was measured by then"
        certain |= looked.certain
        for one in looked.candidates:
            if one.verdict != "not certain":
                decided.setdefault(one.record["candidate"], one)
        if at == FIRST_LOOK:
            aside = _behind(looked)
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


def _behind(looked: DifferenceTried) -> tuple[str, ...]:
    """Those that are not decided and took little of the difference beside the best one; nobody if
    not even that one took anything, so that none is ahead."""
    took = {one.record["candidate"]: one.took for one in looked.candidates}
    best = max(took.values(), default=0.0)
    enough = ASIDE * best if best > 0 else -math.inf
    return tuple(
        one.record["candidate"]
        for one in looked.candidates
        if one.verdict == "not certain" and took[one.record["candidate"]] < enough
    )


def judged(
    records: list[TriedRecord], sides: Mapping[str, np.ndarray], *, is_end: bool = False
) -> DifferenceTried | None:
    """The verdicts; None if the untreated pair was never measured.

    Args:
        sides: by treatment the logarithms of the baseline's figure and of the level's, the larger
            the better, in columns; a row each repeat, NaN if it was not measured.
        is_end: no look comes after this one.
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
        df = _LENT * (n - 1)
        wanted = t_quantile(df, 1 - chance) + t_quantile(df, _POWER)
        if wanted * sd / math.sqrt(n) <= effect:
            return n
    return MANY_REPEATS


def why_decided(tried: DifferenceTried | None) -> str | None:
    """Why no further repeat is wanted; None if some are."""
    if tried is None or open_treatments(tried):
        return None
    if not tried.candidates:
        return "nothing that was to be tried could be measured"
    aside = " or set aside" if tried.aside else ""
    return f"what was tried is decided{aside} after {tried.repeats} repeats"


def open_treatments(tried: DifferenceTried) -> frozenset[str]:
    """What the next repeat has to measure beside the untreated pair. Until the first look that is
    also what has no figure yet for want of an answer."""
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
    """The verdict of one candidate, which may be false with this chance.

    Confirmed takes all of its conditions, so that each may err with the whole chance on its side:
    a cause that is none fails at one of them, and at the same one if it is to be a part. Each of
    several refutes, so they share the chance; what takes too little and may be a part is open until
    the end.

    Args:
        means: of the differences, by treatment.
        together: of both sides' figures together.
    """
    whole, placebo = record["doses"][-1], record["placebo"]
    # What a contained candidate takes away, this one has to exceed, as if it were a placebo.
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
    as_foretold = left.mean <= most and all(one.mean >= 0 for one in enough)
    takes = (
        certain and left.high < 1 and all(one.low > 0 for one in beyond) and _grows(means, record)
    )
    too_little = certain and (left.low > most or any(one.high < 0 for one in enough))
    may_be_part = took.mean >= PART * untreated.mean
    verdict: TriedVerdict = "not certain"
    if certain and both.high < 0:
        verdict = "refuted"
    elif takes and is_gain and as_foretold:
        verdict = "confirmed"
    elif takes and is_gain and may_be_part and (too_little or is_end):
        verdict = "a part"
    elif too_little and (is_end or not may_be_part):
        verdict = "refuted"
    if as_foretold:
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
    """A larger dose leaves no more of the difference than a smaller one, but for noise; no if a
    smaller one was hardly measured."""
    slack = DOSE_SLACK * means[UNTREATED].mean
    return all(
        means[smaller].n > 1
        and means[larger].mean - means[smaller].mean
        <= slack + math.sqrt(means[larger].variance + means[smaller].variance)
        for smaller, larger in itertools.pairwise(record["doses"])
    )


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


NO_ANSWER = "under one of its treatments no query was answered in any repeat"

_FEW = 3
_POWER = 0.8
_LENT = 1.5
"""Times as many degrees of freedom as one treatment has by itself, if four to seven are alike."""


def untested_of(about: WhyFacts, tried: DifferenceTried | None) -> dict[str, str]:
    """What was not tried and why, what failed among it."""
    if tried is None:
        return dict(about["untested"])
    without = {one["candidate"]: NO_ANSWER for one in tried.unmeasured}
    return {**about["untested"], **without, **tried.failed}


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
