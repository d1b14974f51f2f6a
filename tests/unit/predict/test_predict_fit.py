"""A fit finds again what it was told, and a band holds the gain of another machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from contend.errors import RequestError
from contend.predict.band import MODEL, predict
from contend.predict.fit import MeasuredGain, cells_of, fit, ln_gains
from contend.predict.machine import Assumed, Machine
from contend.predict.virtual import (
    PlacedDraw,
    VirtualStudy,
    demands,
    speeds,
    usual_work,
    with_pages,
)

SMALL = Machine("small", 2, costs={**Machine("", 1).costs, "cold_ns": Assumed.known(0.0)})
LARGE = Machine("large", 8, given=frozenset({"handover_near_ns"}), costs=SMALL.costs)
WORK = {
    **{name: Assumed.known(one.value) for name, one in usual_work().items()},
    "held_ns": usual_work()["held_ns"],
}
KNOWN = {name: Assumed.known(one.value) for name, one in SMALL.costs.items()}
del KNOWN["handover_near_ns"]
TRUTH = {**{name: one.value for name, one in {**SMALL.costs, **WORK}.items()}, "held_ns": 400.0}
CONNECTIONS = (2, 8)


@pytest.fixture(scope="module")
def study(load_program: Path) -> VirtualStudy:
    small = VirtualStudy(rows=20_000, points=10, measure_s=0.01)
    return with_pages(load_program, small)


def gains_of(
    program: Path, study: VirtualStudy, machine: Machine, at: dict[str, float]
) -> list[MeasuredGain]:
    wanted = [MeasuredGain(10, 32, count, 0.0) for count in CONNECTIONS]
    placed = [PlacedDraw(machine, at, cells_of(wanted))]
    found = ln_gains(speeds(program, replace(study, measure_s=0.05), placed), wanted)[0]
    return [replace(one, ln_gain=float(ln)) for one, ln in zip(wanted, found, strict=True)]


def test_a_fit_finds_the_cost_again_and_the_band_holds_the_other_machine(
    load_program: Path, study: VirtualStudy
) -> None:
    small = replace(SMALL, costs={**SMALL.costs, **KNOWN})
    large = replace(LARGE, costs={**LARGE.costs, **KNOWN})
    measured = gains_of(load_program, study, small, TRUTH)
    fitted = fit(load_program, study, small, WORK, measured, tried=32, draws=40)
    assert list(fitted.unknown) == ["held_ns", "handover_near_ns"]
    held = [fitted.values(draw)["held_ns"] for draw in range(40)]
    assert 250 < np.median(held) < 620 and np.std(held) < 200
    assert fitted.off < 0.06
    truth = gains_of(load_program, study, large, TRUTH)
    one = predict(load_program, study, fitted, large, [(10, 32, count) for count in CONNECTIONS])
    for gain, known in zip(one.gains, truth, strict=True):
        assert gain.low < gain.ln_gain < gain.high
        assert gain.low - 0.02 < known.ln_gain < gain.high + 0.02
    names = [name for name, _ in one.parts]
    assert set(names) == {"held_ns", "handover_near_ns", MODEL}
    shares = [share for _, share in one.parts]
    assert shares == sorted(shares, reverse=True) and 0.5 < sum(shares) < 1.5


def test_too_few_draws_for_a_surface_are_refused(load_program: Path, study: VirtualStudy) -> None:
    with pytest.raises(ValueError, match="3 draws"):
        fit(load_program, study, SMALL, WORK, [], tried=3, draws=2)


def test_the_demands_of_a_query_sum_to_its_cpu_time() -> None:
    found = demands(TRUTH, points=10, pages=9.0)
    page = 2 * (found["lock_ns"] + found["unlock_ns"]) + sum(
        found[name] for name in ("find_ns", "release_ns", "copy_ns", "search_ns")
    )
    point = 9 * page + found["point_ns"] + found["row_ns"]
    answer = TRUTH["wake_ns"] + 1_500 + TRUTH["switch_ns"]
    whole = found["query_ns"] + 10 * point + answer
    assert whole == pytest.approx(TRUTH["cpu_us"] * 1e3)
    # Pages that would take more than the whole point are shortened.
    crowded = demands({**TRUTH, "page_ns": 50_000.0}, points=10, pages=9.0)
    assert crowded["point_ns"] > 0 and crowded["search_ns"] < 35_000


def test_a_run_that_is_impossible_is_refused(load_program: Path, study: VirtualStudy) -> None:
    gains = [MeasuredGain(10, 65, 4, 0.0)]
    placed = [PlacedDraw(SMALL, TRUTH, cells_of(gains))]
    with pytest.raises(RequestError, match="key_cache_segments"):
        speeds(load_program, study, placed)
