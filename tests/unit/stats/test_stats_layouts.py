"""Whether server processes differ beyond their slices, and whether matching them pays."""

from __future__ import annotations

import math

import numpy as np
import pytest

from contend.stats import LayoutSpread, estimate_components, layout_spread


def pairs(
    chance: np.random.Generator, sd_process: float, *, pairs: int = 8, rounds: int = 24
) -> LayoutSpread:
    """Pairs of servers in rounds whose log ratios scatter by 9 %."""
    values = chance.normal(0, sd_process, (pairs, 1)) + chance.normal(0, 0.09, (pairs, rounds))
    units = np.repeat(range(pairs), rounds).tolist()
    return layout_spread(estimate_components(values.ravel(), {"unit": units}))


def test_processes_that_differ_by_5_percent_are_matched() -> None:
    chance = np.random.default_rng(1)
    found = [pairs(chance, 0.05) for _ in range(100)]
    assert np.mean([one.advice == "matched" for one in found]) >= 0.9
    assert np.mean([one.low <= 0.05 <= one.high for one in found]) >= 0.9


def test_processes_that_are_alike_are_left_as_the_system_starts_them() -> None:
    chance = np.random.default_rng(2)
    found = [pairs(chance, 0.0) for _ in range(300)]
    assert np.mean([one.advice == "system" for one in found]) >= 0.93
    assert np.mean([one.certain for one in found]) <= 0.07


def test_a_certain_difference_that_hardly_matters_is_left_too() -> None:
    chance = np.random.default_rng(3)
    values = chance.normal(0, 0.01, (40, 1)) + chance.normal(0, 0.09, (40, 100))
    components = estimate_components(values.ravel(), {"unit": np.repeat(range(40), 100).tolist()})
    spread = layout_spread(components, part=0.9)
    assert spread.certain and spread.share < 0.9
    assert spread.advice == "system"
    assert layout_spread(components, part=0.2).advice == "matched"


def test_an_unknown_spread_changes_nothing() -> None:
    for rounds in (1, 4):
        units = 1 if rounds > 1 else 4
        components = estimate_components(
            np.linspace(0, 0.1, units * rounds), {"unit": np.repeat(range(units), rounds).tolist()}
        )
        spread = layout_spread(components)
        assert spread.advice == "system" and not spread.certain
        assert math.isnan(spread.sd) and (spread.low, spread.high) == (0, math.inf)
        assert "not known" in spread.words()


def test_the_line_has_the_spread_over_layouts() -> None:
    spread = LayoutSpread("matched", 0.045, 0.028, 0.1, 0.001, 0.6, 0.95)
    assert "varies by 4.6 %" in spread.words() and "2.8 % to 10.5 %" in spread.words()
    alike = LayoutSpread("system", 0.01, 0.0, 0.03, 0.4, 0.1, 0.95)
    assert "is certain beyond the noise" in alike.words() and "below 3.0 %" in alike.words()
    assert not alike.certain


@pytest.mark.parametrize("p", [0.04, 0.06])
def test_certain_is_below_5_percent(p: float) -> None:
    assert LayoutSpread("system", 0.01, 0.0, 0.03, p, 0.1, 0.95).certain == (p < 0.05)
