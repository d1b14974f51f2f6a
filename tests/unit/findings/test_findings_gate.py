"""A gate: its outcome is what its intervals say, and nothing that is missing lets it pass."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic_run import (
    CONNECTIONS,
    POINTS,
    SEGMENTS,
    as_failed,
    study,
    with_gate,
    with_warning,
    write_slices,
)

from contend.findings import deciding_of, gate_of, judged, side_by_side, slowdown_of, study_of
from contend.findings.families import Family
from contend.findings.model import Contrast, Finding
from contend.metrics import FIXED
from contend.stats import TableShape, answer_tables, welch
from contend.stats.change import read_verdict
from contend.store import RunFolder, RunRecord

TWO_CELLS = (f"{CONNECTIONS}=[8, 64]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]", "compare.repeats=8")


def finding(metric: str, ratio: float, half: float) -> Finding:
    """A change with an interval that reaches so far up and down in logarithms."""
    change = welch([0.0, 0.1, 0.2], [0.0, 0.1, 0.2])
    low, high = ratio * math.exp(-half), ratio * math.exp(half)
    verdict = read_verdict(low, high, 0.02)
    change = replace(change, ratio=ratio, low=low, high=high, verdict=verdict)
    family = Family("first", 0.95, 0.95)
    contrast = Contrast("level", FIXED[metric], {}, 1, 0, family)
    return Finding(contrast, change, 0.02)


@pytest.mark.parametrize(
    ("metric", "ratio", "half", "outcome"),
    [
        ("qps", 1.0, 0.02, "passed"),
        ("qps", 1.0, 0.035, "uncertain"),
        ("qps", 0.95, 0.02, "slower"),
        ("qps", 0.95, 0.06, "uncertain"),
        ("qps", 0.98, 0.005, "passed"),
        ("qps", 0.975, 0.01, "uncertain"),
        ("qps", 1.05, 0.02, "passed"),
        ("response_us_p99", 1.05, 0.02, "slower"),
        ("response_us_p99", 0.95, 0.02, "passed"),
        ("response_us_p99", 1.0, 0.05, "uncertain"),
    ],
)
def test_a_cell_is_judged_by_its_interval(
    metric: str, ratio: float, half: float, outcome: str
) -> None:
    assert judged(finding(metric, ratio, half), 0.03) == outcome


@given(
    st.sampled_from(["qps", "response_us_p99"]),
    st.floats(0.5, 2.0),
    st.floats(0.0001, 1.0),
    st.floats(0.001, 0.5),
)
def test_an_outcome_and_its_interval_never_contradict(
    metric: str, ratio: float, half: float, limit: float
) -> None:
    one = finding(metric, ratio, half)
    found, outcome = slowdown_of(one), judged(one, limit)
    assert found.low <= found.estimate <= found.high
    if outcome == "passed":
        assert found.high < limit
        assert judged(one, limit, "something is in the way") == "uncertain"
    if outcome == "slower":
        assert found.low > 0
        assert found.estimate >= limit
        assert one.tone in ("worse", "equivalent")


def gate_in(path: Path, gains: dict[int, float], *sets: str, **how: Any) -> Any:
    write_slices(path, study(sets=(*TWO_CELLS, *sets)), gain=lambda _, __, at: gains[at], **how)
    if not sets:
        with_gate(path, 0.03)
    with RunFolder.open(path) as folder:
        found = study_of(folder)
        return gate_of(found, deciding_of(found))


def test_each_metric_has_its_own_limit(tmp_path: Path) -> None:
    """The response times of a slower server get longer: by more than one limit, and not another."""
    path = write_slices(tmp_path / "run", study(sets=TWO_CELLS), gain=lambda *_: 1.0)
    outcome = {}
    for limit in (0.04, 0.9):
        with_gate(path, 0.03, server_cpu_us_per_query=limit)
        with RunFolder.open(path) as folder:
            found = study_of(folder)
            gate = gate_of(found, deciding_of(found))
        assert gate is not None
        assert [one.metric.name for one in gate.cells] == [
            *("qps",) * 2,
            *("server_cpu_us_per_query",) * 2,
        ]
        outcome[limit] = gate.outcome
        assert {one.outcome for one in gate.cells[:2]} == {"passed"}
    assert outcome == {0.04: "slower", 0.9: "passed"}
    assert {one.finding.contrast.family.name for one in gate.cells if one.finding} == {"first"}


@pytest.mark.parametrize(("k", "cells"), [(1, 1), (3, 2), (6, 4)])
def test_a_gate_of_many_metrics_without_a_change_rarely_fails(k: int, cells: int) -> None:
    """Metrics that scatter very differently, and partly together, like throughput and p99."""
    chance, shape, experiments = np.random.default_rng(55), TableShape(1, cells), 300
    sd, failed = np.geomspace(0.005, 0.1, k), 0
    for _ in range(experiments):
        shared = chance.normal(size=(8, cells, 1))
        tables = [size * (0.6 * shared + 0.8 * chance.normal(size=(8, cells, 1))) for size in sd]
        answers = answer_tables(tables, shape, confidence=0.96, alike=False)
        changes = [one for answer in answers for one in answer.changes if one.cells == 1]
        # Exit code 3 without a limit on the size: something is certainly slower.
        failed += any(one.low > 1 for one in changes)
    assert failed <= 0.05 * experiments


def test_a_metric_scatters_no_less_because_of_another() -> None:
    """The variance of the throughput is not drawn towards that of the p99."""
    chance, shape = np.random.default_rng(5), TableShape(1, 4)
    calm, wild = (size * chance.normal(size=(8, 4, 1)) for size in (0.005, 0.2))
    alone = answer_tables([calm], shape)[0].cell(0, 0, 0)
    beside = answer_tables([calm, wild], shape, alike=False)[0].cell(0, 0, 0)
    assert beside.df == pytest.approx(alone.df, rel=0.05)
    assert 1 < math.log(beside.high / beside.low) / math.log(alone.high / alone.low) < 1.3


def test_a_disturbance_has_a_slope_for_each_direction() -> None:
    """It lowers a rate and lengthens a time; each metric loses one degree of freedom for it."""
    chance, shape = np.random.default_rng(3), TableShape(1, 1)
    stolen = chance.normal(0, 0.1, (10, 1, 1))
    rate, time = (by * stolen + chance.normal(0, 0.001, (10, 1, 1)) for by in (-0.5, 2.0))
    metrics = [FIXED["qps"], FIXED["response_us_p99"]]
    both = side_by_side(metrics, [{"steal": stolen}, {"steal": stolen}])
    first, second = answer_tables([rate, time], shape, covariates=both, alike=False)
    assert first.adjustment is not None
    assert first.adjustment.slopes == pytest.approx((-0.5, 2.0), abs=0.02)
    alone = answer_tables([rate], shape, covariates=[stolen])[0]
    assert first.whole(0).ratio == pytest.approx(alone.whole(0).ratio)
    assert {first.whole(0).df, second.whole(0).df} == {alone.whole(0).df}


def outcomes(gate: Any) -> dict[int, str]:
    return {one.cell[CONNECTIONS]: one.outcome for one in gate.cells}


def test_the_worst_cell_decides(tmp_path: Path) -> None:
    gate = gate_in(tmp_path / "run", {8: 1.0, 64: 0.9})
    assert outcomes(gate) == {8: "passed", 64: "slower"}
    assert gate.outcome == "slower"
    assert [one.cell[CONNECTIONS] for one in gate.deciding] == [64]


def test_a_gate_passes_if_every_cell_does(tmp_path: Path) -> None:
    assert gate_in(tmp_path / "run", {8: 1.0, 64: 1.0}).outcome == "passed"


def test_too_wide_is_not_certain(tmp_path: Path) -> None:
    gate = gate_in(tmp_path / "run", {8: 1.0, 64: 1.0}, server_sd=0.05)
    assert gate.outcome == "uncertain"


def test_an_experiment_without_a_gate_or_an_end_has_none(tmp_path: Path) -> None:
    gains = {8: 1.0, 64: 1.0}
    assert gate_in(tmp_path / "without", gains, "compare.margin=0.03") is None
    assert gate_in(tmp_path / "unfinished", gains, blocks=6, finished=None) is None


def at_64(change: Any) -> Any:
    def changed(record: RunRecord) -> RunRecord:
        is_it = record.cell[CONNECTIONS] == 64 and record.cell[SEGMENTS] == 32
        return change(record) if is_it else record

    return changed


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda one: with_warning(one, "client-limited", "busy"), "the client was at its limit"),
        (lambda one: as_failed(one, "gone") if one.repeat == 3 else one, "1 of 8 repeats failed"),
        (lambda one: as_failed(one, "gone"), "it was not measured"),
    ],
)
def test_what_was_not_measured_well_does_not_pass(tmp_path: Path, change: Any, why: str) -> None:
    gate = gate_in(tmp_path / "run", {8: 1.0, 64: 1.0}, change=at_64(change))
    assert outcomes(gate) == {8: "passed", 64: "uncertain"}
    assert why in gate.deciding[0].why
    assert gate.outcome == "uncertain"


def test_what_is_in_the_way_of_passing_is_not_in_that_of_failing(tmp_path: Path) -> None:
    limited = at_64(lambda one: with_warning(one, "client-limited", "busy"))
    assert gate_in(tmp_path / "run", {8: 1.0, 64: 0.8}, change=limited).outcome == "slower"
