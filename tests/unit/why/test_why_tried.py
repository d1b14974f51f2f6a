"""Candidates' verdicts from differences of known size, and which treatments are still measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from contend.experiment.settings.treatments import TREATMENT
from contend.findings.study import sides_of
from contend.metrics import metric_of
from contend.metrics.probed import TriedRecord, WhyFacts
from contend.why import tried

RECORD: TriedRecord = {
    "candidate": "log-flush",
    "title": "commits wait",
    "refuted_by": "",
    "least": 0.5,
    "doses": ["a.1", "a.2"],
    "placebo": "a.placebo",
    "words": {},
}
OTHER: TriedRecord = {**RECORD, "candidate": "redo-log", "doses": ["b.1", "b.2"]}
CONTAINS: TriedRecord = {**RECORD, "candidate": "connection-setup", "contains": ["b.2"]}
NAMES = ("none", "a.1", "a.2", "a.placebo")
ABOUT: WhyFacts = {"tried": [RECORD], "untested": {}}

Values = dict[str, np.ndarray]


def scattered(
    left: Mapping[str, float] | Sequence[float],
    seed: int = 7,
    *,
    gain: float = 0.5,
    noise: float = 0.01,
    repeats: int = 8,
) -> Values:
    """With these shares of the difference left under each treatment, or with half the dose, the
    whole dose and the placebo."""
    chance = np.random.default_rng(seed)
    shares = left if isinstance(left, Mapping) else dict(zip(NAMES, (1.0, *left), strict=True))
    return {n: gain * s + noise * chance.standard_normal(repeats) for n, s in shares.items()}


def as_sides(values: Values, *, slower_gains: float = 1.0) -> Values:
    """Baseline and level with these differences. `slower_gains` is the slower side's share of the
    reduction; the rest is the faster side's loss."""
    untreated = float(np.nanmean(values["none"]))
    found = {}
    for name, ratios in values.items():
        left = np.nan_to_num(ratios, nan=untreated)
        lost = (1 - slower_gains) * (abs(np.mean(left)) - abs(untreated))
        sides = [lost - np.abs(untreated) / untreated * ratios, np.full(len(ratios), lost)]
        columns = sides if untreated > 0 else sides[::-1]
        found[name] = np.where(np.isfinite(ratios)[:, None], np.column_stack(columns), np.nan)
    return found


def judged(
    values: Values,
    *records: TriedRecord,
    is_over: bool = True,
    slower_gains: float = 1.0,
    until: int | None = None,
) -> tried.DifferenceTried:
    """At all looks of the first `until` repeats."""
    sides = as_sides(values, slower_gains=slower_gains)
    so_far = {name: of[:until] for name, of in sides.items()}
    result = tried.judged_in_turn(list(records or (RECORD,)), so_far, is_over=is_over)
    assert result is not None
    return result


def verdicts(result: tried.DifferenceTried) -> list[str]:
    return [one.verdict for one in result.candidates]


def of_study(
    monkeypatch: pytest.MonkeyPatch,
    values: Values,
    better: str = "higher",
    failed: Sequence[str] = (),
) -> tried.DifferenceTried:
    """As read from a run folder."""
    sign = 1.0 if better == "higher" else -1.0
    sides = as_sides(values)
    monkeypatch.setattr(tried, "sides_under", lambda _study, name: sign * sides[name])
    study: Any = SimpleNamespace(
        meta=SimpleNamespace(facts={"why": ABOUT}),
        roles=SimpleNamespace(baseline=0),
        metrics=[SimpleNamespace(better=better)],
        finished=True,
        records=[
            SimpleNamespace(
                cell={TREATMENT.path: name}, status="failed", error={"message": "access denied"}
            )
            for name in failed
        ],
    )
    result = tried.tried_of(study)
    assert result is not None
    return result


@pytest.mark.parametrize("gain", [0.5, -0.5])
@pytest.mark.parametrize(
    ("left", "verdict"),
    [
        ((0.5, 0.1, 1.0), "confirmed"),
        ((1.0, 1.0, 1.0), "refuted"),
        ((0.5, 0.1, 0.1), "refuted"),  # the placebo takes as much
        ((0.9, 0.8, 1.0), "a part"),  # less than predicted
        ((0.9, 0.9, 1.0), "refuted"),  # next to nothing
        ((0.7, 0.8, 0.8), "refuted"),  # as much as the placebo
        ((0.0, 0.4, 1.0), "not certain"),  # a larger dose takes less
    ],
)
def test_a_verdict_follows_the_differences(
    left: tuple[float, float, float], verdict: str, gain: float
) -> None:
    result = judged(scattered(left, gain=gain))
    assert result.certain
    assert verdicts(result) == [verdict]


@pytest.mark.parametrize(
    ("slower_gains", "verdict"), [(1.0, "confirmed"), (0.6, "confirmed"), (0.4, "refuted")]
)
def test_the_slower_side_has_to_gain_more_than_the_faster_one_loses(
    slower_gains: float, verdict: str
) -> None:
    """Processes that keep CPUs awake slowed both of two servers, the faster one more, and were
    called the cause of a slow disk."""
    (one,) = judged(scattered((0.5, 0.1, 1.0)), slower_gains=slower_gains).candidates
    assert one.verdict == verdict
    assert (one.both_faster > 0) is (verdict == "confirmed")


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_a_gain_is_that_of_the_metric(monkeypatch: pytest.MonkeyPatch, better: str) -> None:
    (one,) = of_study(monkeypatch, scattered((0.6, 0.2, 1.0)), better).candidates
    assert (one.verdict, round(one.both_faster, 1)) == ("confirmed", 0.2)


@pytest.mark.parametrize(
    ("left", "left_by_contained", "expected"),
    [
        (0.1, 0.1, ["confirmed", "refuted"]),  # the part is the cause
        (0.1, 0.9, ["refuted", "confirmed"]),  # the whole is
        (0.1, 0.4, ["confirmed", "confirmed"]),  # both
    ],
)
def test_a_candidate_has_to_take_more_than_the_one_it_contains(
    left: float, left_by_contained: float, expected: list[str]
) -> None:
    shares = {
        **{"none": 1.0, "a.1": (1 + left) / 2, "a.2": left, "a.placebo": 1.0},
        **{"b.1": (1 + left_by_contained) / 2, "b.2": left_by_contained},
    }
    values = scattered(shares, 3)
    assert verdicts(judged(values, OTHER, CONTAINS)) == expected
    alone = {**values, "b.2": np.full(8, np.nan)}
    assert verdicts(judged(alone, CONTAINS)) == ["confirmed"]


def test_a_containing_candidate_does_not_set_its_part_aside() -> None:
    """Nearly all goes with the whole, as much as with the part, which scatters more."""
    noise = 0.1 * np.array([1.0, -1.0, 0.5, -0.5])
    shares = {"none": 1.0, "a.1": 0.6, "a.2": 0.0, "a.placebo": 1.0, "b.1": 0.8, "b.2": 0.4}
    values = {name: 0.3 * share + noise for name, share in shares.items()}
    assert "redo-log" not in judged(values, OTHER, CONTAINS, is_over=False).aside


def test_an_open_candidate_has_the_missing_repeats() -> None:
    (one,) = judged(scattered((0.5, 0.1, 1.0), noise=0.9)).candidates
    assert one.verdict == "not certain"
    assert one.more is None or one.more > 0


def test_without_a_difference_nothing_is_confirmed() -> None:
    result = judged(scattered((0.5, 0.1, 1.0), gain=0.0))
    assert not result.certain
    assert verdicts(result) == ["not certain"]


def test_the_share_that_is_left_is_as_uncertain_as_the_difference() -> None:
    """If a difference is hardly certain, its remaining share is uncertain too, even if the
    reduction is known exactly."""
    chance = np.random.default_rng(3)
    untreated = 0.3 + 0.06 * chance.standard_normal(8)
    known = untreated - 0.15 + 0.001 * chance.standard_normal(8)
    each = (untreated, 0.5 * untreated, known, untreated)
    result = judged(dict(zip(NAMES, each, strict=True)))
    assert result.certain
    (one,) = result.candidates
    spread = (result.log_difference.high - result.log_difference.low) / result.log_difference.mean
    assert one.left.high - one.left.low > 0.5 * one.left.mean * spread


def test_intervals_and_verdicts_agree() -> None:
    for share in np.linspace(0, 1.2, 25):
        (one,) = judged(scattered((share, share, 1.0), noise=0.03)).candidates
        if one.verdict == "refuted":
            assert one.left.low > 0.5
        if one.verdict == "confirmed":
            assert one.left.high < 1


def test_a_candidate_with_an_impossible_treatment_is_no_longer_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = {n: np.full(1, v) for n, v in zip(NAMES, (0.5, 0.3, 0.1, np.nan), strict=True)}
    result = of_study(monkeypatch, values, failed=["a.placebo"])
    assert (result.candidates, result.unmeasured) == ((), (RECORD,))
    assert tried.open_treatments(result) == frozenset()
    assert tried.why_decided(result) is not None
    assert tried.untested_of(ABOUT, result) == {"log-flush": "under a.placebo: access denied"}


def test_a_run_without_an_answer_in_the_first_repeat_ends_no_candidate() -> None:
    """For example if the host stood still during that run: its treatments are measured until the
    first look, the unmeasured smaller dose too."""
    values = {name: np.full(4, 0.5) for name in NAMES} | {"a.2": np.full(4, np.nan)}
    for repeats in (1, 3):
        result = judged(values, until=repeats)
        assert tried.open_treatments(result) == {"a.1", "a.2", "a.placebo"}
        assert tried.why_decided(result) is None
    result = judged(values)
    assert tried.open_treatments(result) == frozenset()
    assert tried.why_decided(result) is not None
    assert tried.untested_of(ABOUT, result) == {"log-flush": tried.NO_ANSWER}


def test_all_looks_together_err_no_more_often_than_one_comparison_may() -> None:
    chances = [tried.chance_at(repeats) for repeats in (*tried.LOOKS, math.inf)]
    assert sum(chances) == pytest.approx(1 - tried.CONFIDENCE)
    # Between two looks, the chance of the next one counts.
    between = [tried.chance_at(n) for n in (2, 4, 5, 8, 9, 13, 19)]
    assert between == [chances[n] for n in (0, 0, 1, 1, 2, 3, 4)]


def test_as_many_repeats_decide_as_were_planned() -> None:
    """A candidate that takes away the predicted minimum is confirmed in most cases, with this
    scatter and the planned repeats."""
    chance, confirmed, made = np.random.default_rng(5), 0, 100
    for _ in range(made):
        ratios = 0.3 + 0.07 * chance.standard_normal(6)
        repeats = tried.repeats_to_decide(ratios, 0.5, 1)
        values = {
            name: 0.3 * left + 0.07 * chance.standard_normal(repeats)
            for name, left in zip(NAMES, (1.0, 0.7, 0.3, 1.0), strict=True)
        }
        result = tried.judged([RECORD], as_sides(values), is_end=True)
        assert result is not None
        confirmed += verdicts(result) == ["confirmed"]
    assert confirmed >= 0.6 * made


def test_repeats_to_decide_grow_with_noise_and_with_candidates() -> None:
    ratios = 0.3 + 0.05 * np.array([1.0, -1.0, 1.0, -1.0])
    few = tried.repeats_to_decide(ratios, 0.5, 1)
    assert few <= tried.repeats_to_decide(ratios, 0.5, 4)
    assert few < tried.repeats_to_decide(ratios, 0.2, 1) <= tried.MANY_REPEATS
    assert tried.repeats_to_decide(ratios - 0.3, 0.5, 1) == tried.MANY_REPEATS
    assert tried.repeats_to_decide(ratios[:2], 0.5, 1) == tried._FEW


@pytest.mark.parametrize(
    ("repeats", "noise", "is_decided"),
    [(3, 1e-3, False), (4, 1e-3, True), (5, 1e-3, True), (8, 0.9, False)],
)
def test_it_is_decided_from_a_look_on_if_every_candidate_is(
    repeats: int, noise: float, is_decided: bool
) -> None:
    result = judged(scattered((0.5, 0.1, 1.0), repeats=repeats, noise=noise))
    assert (tried.why_decided(result) is not None) is is_decided


def test_a_verdict_of_a_look_stays_and_its_treatments_are_no_longer_measured() -> None:
    """Refuted after four repeats, and never measured again; the other is decided later."""
    other: TriedRecord = {**OTHER, "placebo": "b.placebo"}
    left = {**dict.fromkeys(NAMES, 1.0), "b.1": 0.7, "b.2": 0.4, "b.placebo": 1.0}
    values = scattered(left, 2, noise=0.02, repeats=9)
    values["b.2"] = values["b.2"] + 0.3 * np.array([1, -1, 1, -1, 0, 0, 0, 0, 0])
    first = judged(values, RECORD, other, is_over=False, until=4)
    assert verdicts(first) == ["refuted", "not certain"]
    assert tried.open_treatments(first) == {"b.1", "b.2", "b.placebo"}
    assert tried.why_decided(first) is None
    # Later repeats do not change the first verdict.
    for name in ("a.1", "a.2", "a.placebo", "b.1"):
        values[name][4:] = np.nan
    last = judged(values, RECORD, other)
    assert last.repeats == 9
    assert last.candidates[0] == first.candidates[0]
    assert [one.left.n for one in last.candidates] == [4, 9]


def test_a_candidate_far_behind_at_the_first_look_is_no_longer_measured() -> None:
    """Too noisy to be decided: one took nearly all, the other next to nothing."""
    left = {"none": 1.0, "a.1": 0.6, "a.2": 0.1, "a.placebo": 1.0, "b.1": 1.0, "b.2": 0.9}
    values = scattered(left, 4, noise=0.1, repeats=4)
    before = judged(values, RECORD, OTHER, is_over=False, until=3)
    assert before.aside == ()
    assert tried.open_treatments(before) == {"a.2", "b.2", "a.placebo"}
    first = judged(values, RECORD, OTHER, is_over=False)
    assert (first.aside, first.decided) == (("redo-log",), ())
    assert tried.open_treatments(first) == {"a.1", "a.2", "a.placebo"}


def test_no_candidate_is_behind_if_none_is_ahead() -> None:
    """After four noisy repeats the placebo happens to have taken more than either treatment. Once
    both were set aside for that, and the run ended with most of its time left."""
    noise = 0.1 * np.array([1.0, -1.0, 0.5, -0.5])
    left = {"none": 1.0, "a.1": 1.0, "a.2": 0.9, "a.placebo": 0.8, "b.1": 1.0, "b.2": 0.95}
    values = {name: 0.3 * share + noise for name, share in left.items()}
    result = judged(values, RECORD, OTHER, is_over=False)
    assert (result.aside, result.decided) == ((), ())
    assert tried.why_decided(result) is None


def test_a_candidate_whose_smaller_dose_was_measured_once_is_not_confirmed() -> None:
    values = scattered((0.6, 0.1, 1.0), 4)
    values["a.1"][1:] = np.nan
    assert verdicts(judged(values)) == ["not certain"]


@pytest.mark.parametrize(("is_over", "verdict"), [(False, "not certain"), (True, "refuted")])
def test_a_possible_part_is_open_until_the_end(*, is_over: bool, verdict: str) -> None:
    """It takes certainly less than predicted, and perhaps nothing."""
    scatter = 0.05 * np.array([1.3, -1.3, 0.7, -0.7, 1.1, -1.1, 0.9, -0.9])
    values = {n: mean + scatter for n, mean in zip(NAMES, (0.5, 0.46, 0.42, 0.5), strict=True)}
    result = judged(values, is_over=is_over)
    assert result.certain
    assert verdicts(result) == [verdict]


def test_frequent_looks_do_not_confirm_false_causes() -> None:
    """Without a cause, all looks together name one in less than 1 of 100 cases. That holds too if
    treatments scatter differently, or repeats have something in common."""
    chance, made = np.random.default_rng(11), 300
    for noise, in_common in (((1, 1, 1, 1), 0.0), ((1, 1, 2, 1), 0.0), ((1, 1, 1, 1), 1.0)):
        named = 0
        for _ in range(made):
            shared = in_common * chance.standard_normal(24)
            values = {
                name: 0.3 + 0.1 * (shared + times * chance.standard_normal(24))
                for name, times in zip(NAMES, noise, strict=True)
            }
            named += verdicts(judged(values))[0] in ("confirmed", "a part")
        assert named <= 0.01 * made + 4


def test_sides_are_counted_by_events() -> None:
    """Ten queries that are sent together count as one event."""

    def run(qps: float, queries: int) -> Any:
        return SimpleNamespace(done={"qps": qps, "queries": queries, "events": 100}, probes={})

    study: Any = SimpleNamespace(metrics=[metric_of("qps")])
    one_by_one, together = (run(2000, 1000), run(1000, 1000)), (run(250, 100), run(200, 100))
    sides = sides_of(study, [[one_by_one], [together], []])
    assert np.exp(sides[:2]) == pytest.approx(np.array([[200, 100], [250, 200]]))
    assert np.all(np.isnan(sides[2]))
