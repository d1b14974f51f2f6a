"""Plans against the formula, against all other plans, and against what they then give."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from contend.stats import (
    Component,
    Components,
    Costs,
    RepeatPlan,
    TooShort,
    plan_for_time,
    plan_for_width,
)
from contend.stats.planning import units_for_width

COSTS = Costs({"unit": 2.0, "block": 0.3, "round": 0.2})


Made = tuple[int, int, int]
"""Units that are done, the blocks of each, and the rounds of each of these."""


def known(common: float = 1.0, made: Made = (1, 1, 1), **variances: float) -> Components:
    units, blocks, rounds = made
    in_mean = {"unit": units, "block": units * blocks, "round": units * blocks * rounds}
    tiers = tuple(
        Component(tier, v, v, 0.0, 2 * v, 7.0, 0.0, 1 / in_mean.get(tier, 1))
        if v == v
        else Component(tier, v, v, 0.0, math.inf, 0.0, 1.0, 1 / in_mean.get(tier, 1))
        for tier, v in variances.items()
    )
    return Components(tiers, common, 1, 0.95)


PILOT = known(unit=0.02**2, block=0.01**2, round=0.08**2)


def cost_and_variance(
    components: Components, costs: Costs, rounds: int, blocks: int
) -> tuple[float, float]:
    """Of one unit, written down once more, by hand."""
    c, n = costs.seconds, costs.contexts
    v = {one.tier: one.variance for one in components.tiers}
    unit = v["unit"] * (components.common + (1 - components.common) / n)
    return (
        c["unit"] + n * blocks * (c["block"] + rounds * c["round"]),
        unit + v["block"] / (n * blocks) + v["round"] / (n * blocks * rounds),
    )


def variance_of_done(components: Components, costs: Costs, made: Made) -> float:
    """Of one of the units that are done."""
    units, blocks, rounds = made
    return cost_and_variance(components, costs, rounds, blocks)[1] if units else 0.0


def half_width(done: int, of_done: float, more: int, of_more: float) -> float:
    units = done + more
    variance = (done * of_done + more * of_more) / units**2
    return math.expm1(reference.t.ppf(0.975, units - 1) * math.sqrt(variance))


def test_the_formula_by_hand() -> None:
    """Rounds a block: sqrt(0.4 / 0.1 x 16 / 1) = 8; blocks a unit: sqrt(3.6 / 0.4 x 1 / 1) = 3."""
    components = known(unit=1e-4, block=1e-4, round=16e-4)
    costs = Costs({"unit": 3.6, "block": 0.4, "round": 0.1})
    plan = plan_for_width(components, costs, 0.0005)
    assert (plan.repeats["round"], plan.repeats["block"]) == (8, 3)


variance = st.floats(-8, -3).map(lambda e: 10**e)
made = st.tuples(st.integers(1, 12), st.integers(1, 4), st.integers(1, 12))
cost = st.floats(-2, 2).map(lambda e: 10**e)


@given(unit=variance, block=variance, rounds=variance, c=st.tuples(cost, cost, cost))
@settings(max_examples=60, deadline=None)
def test_no_neighbour_of_the_formula_is_better(
    unit: float, block: float, rounds: float, c: tuple[float, float, float]
) -> None:
    components = known(unit=unit, block=block, round=rounds)
    costs = Costs(dict(zip(("unit", "block", "round"), c, strict=True)))
    # So narrow that whole units do not matter.
    width = math.sqrt((unit + block + rounds) / 5000) * 1.96
    plan = plan_for_width(components, costs, width)
    s, v = cost_and_variance(components, costs, plan.repeats["round"], plan.repeats["block"])
    ideal_rounds = math.sqrt(c[1] / c[2] * rounds / block)
    ideal_blocks = math.sqrt(c[0] / c[1] * block / unit)
    for r, b in itertools.product(
        (math.floor(ideal_rounds), math.ceil(ideal_rounds)),
        (math.floor(ideal_blocks), math.ceil(ideal_blocks)),
    ):
        other_s, other_v = cost_and_variance(
            components, costs, min(max(r, 2), 64), min(max(b, 1), 8)
        )
        assert s * v <= other_s * other_v * 1.02


@given(
    v=st.tuples(*[st.one_of(st.just(0.0), variance)] * 3),
    width=st.floats(0.002, 0.2),
    contexts=st.integers(1, 21),
    made=made,
)
@settings(max_examples=30, deadline=None)
def test_no_plan_of_that_width_takes_less(
    v: tuple[float, float, float], width: float, contexts: int, made: Made
) -> None:
    components = known(0.5, made, unit=v[0], block=v[1], round=v[2])
    done = made[0]
    costs = Costs(COSTS.seconds, contexts)
    bounds = {"least": {"round": 2, "block": 1}, "most": {"round": 6, "block": 3}}
    plan = plan_for_width(components, costs, width, done=done, **bounds)
    if plan.half_width > width:
        assert plan.repeats["unit"] == 10_000
        return
    cheapest, of_done = math.inf, variance_of_done(components, costs, made)
    for rounds, blocks in itertools.product(range(2, 7), range(1, 4)):
        s, variance_of_unit = cost_and_variance(components, costs, rounds, blocks)
        for more in itertools.count(max(8 - done, 0)):
            if (more * s) >= cheapest or more > 10_000:
                break
            if half_width(done, of_done, more, variance_of_unit) <= width * (1 + 1e-12):
                cheapest = more * s
    assert plan.seconds == pytest.approx(cheapest)
    assert plan.repeats["unit"] >= 8 and plan.enough and plan.known


@given(
    v=st.tuples(*[st.one_of(st.just(0.0), variance)] * 3),
    seconds=st.floats(1, 2000),
    contexts=st.integers(1, 10),
    made=made,
)
@settings(max_examples=60, deadline=None)
def test_no_plan_within_that_time_is_narrower(
    v: tuple[float, float, float], seconds: float, contexts: int, made: Made
) -> None:
    components = known(0.5, made, unit=v[0], block=v[1], round=v[2])
    done = made[0]
    costs = Costs(COSTS.seconds, contexts)
    bounds = {"least": {"round": 2, "block": 1}, "most": {"round": 6, "block": 3}}
    plan = plan_for_time(components, costs, seconds, done=done, **bounds)
    one_s = 2.0 + 0.5 * contexts
    if isinstance(plan, TooShort):
        assert seconds < one_s == pytest.approx(plan.least_s)
        assert plan.enough_s == pytest.approx(max(8 - done, 0) * one_s)
        return
    assert plan.seconds <= seconds * (1 + 1e-9)
    assert plan.enough == (plan.repeats["unit"] >= 8) == (max(8 - done, 0) * one_s <= seconds)
    for rounds, blocks in itertools.product(range(2, 7), range(1, 4)):
        s, variance_of_unit = cost_and_variance(components, costs, rounds, blocks)
        more = int(seconds / s)
        if done + more >= 8:
            of_done = variance_of_done(components, costs, made)
            other = half_width(done, of_done, more, variance_of_unit)
            assert plan.half_width <= other * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize("seconds", [60, 600])
def test_a_plan_is_kept_to(seconds: float) -> None:
    """On the way nothing speaks for longer units than were best at the beginning: those that are
    done become no better by them."""
    first = plan_for_time(PILOT, COSTS, seconds)
    assert isinstance(first, RepeatPlan)
    rounds, blocks, units = (first.repeats[tier] for tier in ("round", "block", "unit"))
    unit_s, _ = cost_and_variance(PILOT, COSTS, rounds, blocks)
    assert units > 8
    for done in range(1, units):
        so_far = known(made=(done, blocks, rounds), unit=0.02**2, block=0.01**2, round=0.08**2)
        left = plan_for_time(so_far, COSTS, (units - done) * unit_s, done=done)
        assert isinstance(left, RepeatPlan)
        assert left.half_width <= first.half_width * (1 + 1e-9)
        # Whole units leave a rest of the time, which another length may fill better.
        assert left.repeats["unit"] >= 0.9 * units
        wanted = plan_for_width(so_far, COSTS, first.half_width, done=done)
        assert wanted.seconds <= (units - done) * unit_s * (1 + 1e-9)


def test_planned_half_widths_are_reached() -> None:
    """Experiments of the plan have the half-width it expects."""
    plan = plan_for_width(PILOT, COSTS, 0.02)
    rounds, blocks, units = (plan.repeats[tier] for tier in ("round", "block", "unit"))
    chance = np.random.default_rng(6)
    values = (
        chance.normal(0, 0.02, (2000, units, 1, 1))
        + chance.normal(0, 0.01, (2000, units, blocks, 1))
        + chance.normal(0, 0.08, (2000, units, blocks, rounds))
    ).mean(axis=(2, 3))
    half = reference.t.ppf(0.975, units - 1) * values.std(axis=1, ddof=1) / math.sqrt(units)
    assert math.sqrt(np.mean(half**2)) == pytest.approx(math.log1p(plan.half_width), rel=0.03)
    assert plan.half_width <= 0.02


def test_where_processes_differ_more_units_are_started() -> None:
    differ = plan_for_time(known(unit=0.05**2, round=0.08**2), COSTS, 300)
    alike = plan_for_time(known(unit=0.0, round=0.08**2), COSTS, 300)
    assert isinstance(differ, RepeatPlan) and isinstance(alike, RepeatPlan)
    assert differ.repeats["unit"] > 2 * alike.repeats["unit"]
    assert alike.repeats["unit"] >= 8


def test_with_nothing_known_the_usual_counts() -> None:
    nothing = known(unit=math.nan, block=1e-4, round=1e-3)
    for components in (None, nothing):
        plan = plan_for_width(components, COSTS, 0.02)
        assert plan.repeats == {"unit": 8, "block": 1, "round": 8}
        assert (plan.known, plan.enough, plan.half_width) == (False, True, math.inf)
        assert plan.seconds == pytest.approx(8 * (2.0 + 0.3 + 8 * 0.2))


def test_with_nothing_known_rounds_give_way_and_then_units() -> None:
    for seconds, repeats, enough in [
        (90, {"unit": 23, "block": 1, "round": 8}, True),
        (25, {"unit": 8, "block": 1, "round": 4}, True),
        (20, {"unit": 8, "block": 1, "round": 1}, True),
        (19, {"unit": 7, "block": 1, "round": 1}, False),
        (2.5, {"unit": 1, "block": 1, "round": 1}, False),
    ]:
        plan = plan_for_time(None, COSTS, seconds)
        assert isinstance(plan, RepeatPlan)
        assert (plan.repeats, plan.enough, plan.known) == (repeats, enough, False)
        assert plan.seconds <= seconds
    assert plan_for_time(None, COSTS, 2.4) == TooShort(2.5, 20.0)


def test_contexts_are_paid_for_in_every_unit() -> None:
    short = plan_for_time(PILOT, Costs(COSTS.seconds, 21), 10)
    assert isinstance(short, TooShort)
    assert short.least_s == pytest.approx(2 + 21 * 0.5)
    assert short.enough_s == pytest.approx(8 * 12.5)


def test_too_few_units_are_planned_with_their_width() -> None:
    plan = plan_for_time(PILOT, COSTS, 12)
    assert isinstance(plan, RepeatPlan)
    assert plan.repeats == {"unit": 4, "block": 1, "round": 1}
    assert plan.known and not plan.enough
    sd = math.sqrt(0.02**2 + 0.01**2 + 0.08**2)
    assert plan.half_width == pytest.approx(math.expm1(reference.t.ppf(0.975, 3) * sd / 2))
    one = plan_for_time(PILOT, COSTS, 3)
    assert isinstance(one, RepeatPlan) and one.repeats["unit"] == 1 and math.isinf(one.half_width)


def test_units_that_are_done_count() -> None:
    plan = plan_for_width(PILOT, COSTS, 0.5, done=8)
    assert plan.repeats["unit"] == 8 and plan.seconds == 0 and plan.half_width <= 0.5
    left = plan_for_time(PILOT, COSTS, 3, done=8)
    assert isinstance(left, RepeatPlan) and left.enough and left.repeats["unit"] >= 8
    assert isinstance(plan_for_time(PILOT, COSTS, 1, done=8), TooShort)


def test_a_tier_that_was_not_repeated_is_not_repeated() -> None:
    components = known(unit=0.02**2, block=math.nan, round=0.08**2)
    plan = plan_for_width(components, COSTS, 0.01)
    assert plan.repeats["block"] == 1 and plan.repeats["round"] > 2


def test_separate_runs_have_units_alone() -> None:
    plan = plan_for_width(known(unit=0.1**2), Costs({"unit": 4.0}, contexts=3), 0.1)
    assert plan.repeats == {"unit": 8}
    assert plan.seconds == pytest.approx(8 * 12)


def test_copies_that_differ_are_made_again_for_each_unit() -> None:
    costs = Costs({"copy": 1.0, **COSTS.seconds})
    differ = known(copy=0.05**2, unit=0.0, block=0.0, round=0.05**2)
    alike = known(copy=0.0, unit=0.05**2, block=0.0, round=0.05**2)
    assert plan_for_width(differ, costs, 0.01).repeats["unit"] == 1
    assert plan_for_width(alike, costs, 0.01).repeats["unit"] > 1


def test_a_plan_that_cannot_reach_the_width_has_its_own() -> None:
    plan = plan_for_width(known(unit=1.0, round=1.0), COSTS, 0.001)
    assert plan.repeats["unit"] == 10_000 and plan.half_width > 0.001


@pytest.mark.parametrize("sd", [0.005, 0.05, 0.2, 0.5])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.965])
def test_units_for_a_width_are_the_least(sd: float, confidence: float) -> None:
    n = units_for_width(sd, 0.02, confidence=confidence)
    assert n is not None

    def width(count: int) -> float:
        t = reference.t.ppf(0.5 + confidence / 2, count - 1)
        return math.expm1(float(t) * sd / math.sqrt(count))

    assert width(n) <= 0.02
    assert n == 2 or width(n - 1) > 0.02


def test_units_for_a_width_may_be_too_many_to_wait_for() -> None:
    assert units_for_width(1.0, 0.001) is None
    assert units_for_width(0.0, 0.001) == 2
    one_of_many, alone = (units_for_width(0.1, 0.02, confidence=1 - p) for p in (0.01, 0.05))
    assert one_of_many is not None and alone is not None
    assert one_of_many == pytest.approx(alone * (2.576 / 1.96) ** 2, rel=0.03)
