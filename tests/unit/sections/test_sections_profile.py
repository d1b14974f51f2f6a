"""What made-up samples say: functions that differ, and what the profiler did."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from profiled_run import HZ, write_profile

from contend.findings import study_of
from contend.sections.profile import CpuProfile, profile_of
from contend.store import RunFolder


def read(path: Path) -> CpuProfile | None:
    with RunFolder.open(path) as folder:
        return profile_of(study_of(folder, percentiles=False))


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> CpuProfile:
    found = read(write_profile(tmp_path_factory.mktemp("profile") / "run", slower=1.25))
    assert found is not None
    return found


def test_the_function_that_takes_less_comes_first(profile: CpuProfile) -> None:
    first, *others = profile.functions
    assert first.function == "lock" and first.more_us < 0
    assert first.finding is not None and first.finding.word == "lower"
    # The CPU time of a query is less at the level, so the same share of it is less too.
    assert {one.function for one in others} == {"search", "send", "rare"}
    assert next(one for one in others if one.function == "rare").finding is None


def test_the_times_of_all_functions_are_the_cpu_time_of_a_query(profile: CpuProfile) -> None:
    sums = [
        math.fsum(one.baseline_us for one in profile.functions),
        math.fsum(one.level_us for one in profile.functions),
    ]
    assert sums == pytest.approx(profile.cpu_us)
    by_stack = [
        math.fsum(one.baseline_us for one in profile.stacks),
        math.fsum(one.level_us for one in profile.stacks),
    ]
    assert by_stack == pytest.approx(profile.cpu_us)


def test_what_the_profiler_did_is_told(profile: CpuProfile) -> None:
    assert (profile.hz, profile.units) == (HZ, 6)
    cost = profile.cost
    assert cost is not None
    assert cost.baseline.low < 1 / 1.25 < cost.baseline.high < 1
    assert cost.of_effect.low < 1 < cost.of_effect.high
    assert cost.effect.low < cost.effect_profiled.mean < cost.effect.high * 1.05


def test_without_samples_there_is_no_profile(tmp_path: Path) -> None:
    assert read(write_profile(tmp_path / "run", why_not="perf is gone")) is None


def test_of_few_repeats_nothing_is_certain(tmp_path: Path) -> None:
    found = read(write_profile(tmp_path / "run", repeats=2))
    assert found is not None and found.tested == 0
    assert all(one.finding is None for one in found.functions)
