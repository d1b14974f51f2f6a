"""What the pairs of a screen say: effects of lines, of lines together, and the proof."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_screen import (
    DOUBLE,
    FLUSH,
    POOL,
    by_effects,
    pair_of,
    screen_experiment,
    screen_of_lines,
)

from contend.experiment import (
    OF_LINES,
    PROOF,
    TOGETHER,
    Experiment,
    Planned,
    all_new,
    round_of_lines,
    runs_of_pairs,
)
from contend.findings import (
    ScreenFound,
    costs_by_line,
    crossed_lines,
    noise_of_pairs,
    only,
    screen_found,
)
from contend.findings.screen import (
    SHARES,
    crossed_in,
    family_of_part,
    log_ratios,
    pairs_in,
    signs,
)
from contend.metrics import FIXED
from contend.store import RunRecord

QPS = FIXED["qps"]
Rate = Callable[[set[str]], float]


@pytest.fixture
def seven(tmp_path: Path) -> Experiment:
    return screen_experiment(tmp_path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For files of experiments."""
    return tmp_path_factory.mktemp("screens")


def rounds(experiment: Experiment, count: int = 2) -> list[Planned]:
    planned: list[Planned] = []
    for _ in range(count):
        planned += round_of_lines(experiment, planned)
    return planned


def measured(
    experiment: Experiment, planned: Sequence[Planned], rate: Rate, *, noise: float = 0.0
) -> list[RunRecord]:
    """Records of pairs: places and minutes differ too."""
    blocks: dict[int, list[Planned]] = {}
    for one in planned:
        blocks.setdefault(one.block, []).append(one)
    return [record for pair in blocks.values() for record in pair_of(experiment, pair, rate, noise)]


def found_in(experiment: Experiment, records: Sequence[RunRecord]) -> ScreenFound:
    found = screen_found(experiment, records)
    assert found is not None
    return found


# --- pairs ---


def test_a_pair_has_both_runs(seven: Experiment) -> None:
    records = measured(seven, rounds(seven, 1), by_effects({}))
    whole = pairs_in(records, OF_LINES)
    assert [one.block for one in whole] == list(range(1, 9))
    assert all(one.runs[0].run == 2 * one.block - 1 for one in whole)
    broken = [
        replace(records[0], status="failed", done=None, error={"message": "it died"}),
        records[1],
        records[2],
        replace(records[3], done=None),
        replace(records[4], status="lost"),
        *records[5:],
    ]
    assert pairs_in(broken, OF_LINES) == whole[3:]
    assert pairs_in(records[:-1], OF_LINES) == whole[:-1]
    assert pairs_in(records[::-1], OF_LINES) == whole
    assert pairs_in(records, PROOF) == [] and pairs_in([], OF_LINES) == []


def test_pairs_of_parts_are_kept_apart(seven: Experiment) -> None:
    planned = rounds(seven, 1)
    planned += runs_of_pairs(planned, TOGETHER, [("1000000", "0000000")])
    planned += runs_of_pairs(planned, PROOF, [("1000000", all_new(7))] * 2)
    found = found_in(seven, measured(seven, planned, by_effects({FLUSH: 1.2})))
    assert found.pairs == {OF_LINES: 8, TOGETHER: 1, PROOF: 2}
    # What was measured later changes no line.
    first = found_in(seven, measured(seven, planned[:16], by_effects({FLUSH: 1.2})))
    assert first.lines == found.lines and first.proof is None


def test_the_first_run_is_compared_with_the_second(seven: Experiment) -> None:
    planned = runs_of_pairs(
        (), OF_LINES, [("1100000", "0000000"), ("0000000", "1000000"), ("1000001", "1100000")]
    )
    records = measured(seven, planned, by_effects({FLUSH: 2.0, POOL: 0.5}))
    pairs = pairs_in(records, OF_LINES)
    assert signs(pairs).tolist() == [
        [1, 1, 0, 0, 0, 0, 0],
        [-1, 0, 0, 0, 0, 0, 0],
        [0, -1, 0, 0, 0, 0, 1],
    ]
    # The first place is 3 % faster.
    place = math.log(1.03)
    ratios = log_ratios(pairs, QPS) - place
    assert ratios == pytest.approx([0.0, -math.log(2), math.log(2)], abs=1e-9)
    without = [replace(record, done={**record.done, "qps": 0.0}) for record in records[:2]]  # type: ignore[dict-item]
    assert np.isnan(log_ratios(pairs_in(without, OF_LINES), QPS)).all()


# --- effects ---


@settings(max_examples=25)
@given(lines=st.integers(2, 31), seed=st.integers(0, 1000))
def test_effects_are_exact_without_noise(folder: Path, lines: int, seed: int) -> None:
    """Whatever the minute, the place, and two lines together do."""
    it = screen_of_lines(folder, lines)
    chance = random.Random(seed)
    effects = {one.name: math.exp(chance.uniform(-0.5, 0.5)) for one in it.lines}
    names = list(effects)
    one, other = chance.sample(names, 2)
    both = math.exp(chance.uniform(-0.3, 0.3))
    found = found_in(it, measured(it, rounds(it), by_effects(effects, {(one, other): both})))
    for line in found.lines:
        # The mean over the other line's old and new value.
        wanted = effects[line.line.name] * (both**0.5 if line.line.name in (one, other) else 1)
        assert line.finding.change.ratio == pytest.approx(wanted, rel=1e-6)
    assert [line.line.name for line in found.lines] == names
    assert [line.number for line in found.lines] == list(range(lines))
    total = math.prod(effects.values()) * both
    assert found.total.change.ratio == pytest.approx(total, rel=1e-6)


def test_lines_that_matter_are_certain_ones(seven: Experiment) -> None:
    rate = by_effects({FLUSH: 1.4, POOL: 0.8, "query_cache_type": 0.9})
    found = found_in(seven, measured(seven, rounds(seven, 4), rate, noise=0.01))
    names = [seven.lines[number].name for number in found.matter]
    assert set(names) == {FLUSH, POOL, "query_cache_type"}
    tones = {one.line.name: one.finding.tone for one in found.lines}
    assert (tones[FLUSH], tones[POOL], tones["table_open_cache"]) == (
        "better",
        "worse",
        "equivalent",
    )
    assert found.better is not None
    assert found.better.change.low < 1.4 < found.better.change.high
    assert found.total.change.low < 1.4 * 0.8 * 0.9 < found.total.change.high
    for one in found.lines:
        wanted = {FLUSH: 1.4, POOL: 0.8, "query_cache_type": 0.9}.get(one.line.name, 1.0)
        assert one.finding.change.low < wanted < one.finding.change.high


def test_nothing_helps(seven: Experiment) -> None:
    found = found_in(seven, measured(seven, rounds(seven, 3), by_effects({POOL: 0.7}), noise=0.01))
    assert found.better is None
    assert [seven.lines[number].name for number in found.matter] == [POOL]
    assert found.crossed == () and found.alone == () and found.together == ()


def test_too_few_pairs_decide_nothing(seven: Experiment) -> None:
    assert screen_found(seven, []) is None
    found = found_in(seven, measured(seven, rounds(seven, 1)[:6], by_effects({FLUSH: 3.0})))
    assert found.matter == ()
    assert all(math.isinf(one.finding.change.high) for one in found.lines)


# --- together ---


def crossing(lines: Sequence[int], passes: int = 2) -> list[tuple[str, str]]:
    """Each line old and new, at all values of the others; places change in every other pass."""
    pairs = []
    for number in range(passes):
        for line in lines:
            rest = [one for one in lines if one != line]
            for mask in range(2 ** len(rest)):
                others = [one for at, one in enumerate(rest) if mask >> at & 1]
                pair = (only(7, [line, *others]), only(7, others))
                pairs.append(pair if (number + len(pairs)) % 2 == 0 else pair[::-1])
    return pairs


def test_lines_together_and_alone_are_exact_without_noise(seven: Experiment) -> None:
    rate = by_effects(
        {FLUSH: 1.2, POOL: 0.8, DOUBLE: 1.1, "thread_cache_size": 1.3},
        {(FLUSH, DOUBLE): 1.25, (POOL, DOUBLE): 0.9},
    )
    planned = rounds(seven)
    # The fifth line, which has an effect, is old in all pairs.
    planned += runs_of_pairs(planned, TOGETHER, crossing([0, 1, 2]))
    found = found_in(seven, measured(seven, planned, rate))
    assert found.crossed == (0, 1, 2)
    assert [one.number for one in found.alone] == [0, 1, 2]
    assert [one.finding.change.ratio for one in found.alone] == pytest.approx([1.2, 0.8, 1.1])
    assert [(one.one, one.other) for one in found.together] == [(0, 1), (0, 2), (1, 2)]
    assert [one.finding.change.ratio for one in found.together] == pytest.approx([1, 1.25, 0.9])
    assert {one.finding.change.n for one in found.together} == {24}


def test_lines_are_crossed_by_the_size_of_their_effects(seven: Experiment) -> None:
    effects = {line.name: 1.1 + 0.1 * n for n, line in enumerate(seven.lines)}
    effects[FLUSH] = 1 / 2.5
    found = found_in(seven, measured(seven, rounds(seven, 3), by_effects(effects), noise=0.005))
    assert len(found.matter) == 7
    assert crossed_lines(found) == (0, 4, 5, 6)
    assert crossed_lines(found, 3) == (0, 5, 6)
    assert crossed_lines(replace(found, matter=(3,))) == ()
    assert crossed_lines(replace(found, matter=())) == ()
    assert crossed_lines(replace(found, matter=(5, 3))) == (3, 5)


def test_digits_of_some_lines() -> None:
    assert only(5, [1, 4]) == "01001"
    assert only(3, []) == "000"
    assert crossed_in([]) == ()


# --- the proof ---


@pytest.mark.parametrize("orders", ["01", "0111", "0001"])
def test_the_proof_is_of_the_new_set_in_either_place(seven: Experiment, orders: str) -> None:
    planned = rounds(seven)
    pair = (only(7, [0]), all_new(7))
    pairs = [pair if order == "0" else pair[::-1] for order in orders * 3]
    planned += runs_of_pairs(planned, PROOF, pairs)
    rate = by_effects({FLUSH: 1.4, POOL: 0.9})
    proof = found_in(seven, measured(seven, planned, rate)).proof
    assert proof is not None and proof.change.n == len(pairs)
    # The difference between places is no part of it.
    assert proof.change.ratio == pytest.approx(0.9)
    assert proof.is_certain and proof.tone == "worse"


def test_the_proof_certainly_finds_what_is_missing(seven: Experiment) -> None:
    planned = rounds(seven, 3)
    pairs = [(only(7, [0]), all_new(7)), (all_new(7), only(7, [0]))] * 6
    planned += runs_of_pairs(planned, PROOF, pairs)
    rate = by_effects({FLUSH: 1.4, POOL: 0.9})
    proof = found_in(seven, measured(seven, planned, rate, noise=0.01)).proof
    assert proof is not None and proof.is_certain and proof.tone == "worse"
    assert proof.change.low < 0.9 < proof.change.high


@pytest.mark.parametrize("is_swapped", [False, True])
def test_a_proof_with_one_order_of_places_decides_nothing(
    seven: Experiment, is_swapped: bool
) -> None:
    """If the pairs of the other order all failed, the difference may be one of the places."""
    planned = rounds(seven)
    pair = (only(7, [0]), all_new(7))
    planned += runs_of_pairs(planned, PROOF, [pair[::-1] if is_swapped else pair] * 8)
    proof = found_in(seven, measured(seven, planned, by_effects({POOL: 0.9}))).proof
    assert proof is None or not proof.is_certain


def test_lines_that_the_measured_rows_do_not_tell_apart_do_not_matter(seven: Experiment) -> None:
    """If two rows fail in every round, six are left for seven lines."""
    records = measured(seven, rounds(seven, 4), by_effects({FLUSH: 1.4}))
    lost = {"1111111", "0000000", *_second_row(seven)}
    left = [one for one in records if one.cell["screen.lines"] not in lost]
    assert found_in(seven, left).matter == ()


def _second_row(experiment: Experiment) -> set[str]:
    levels = experiment.factors[0].levels
    return {str(one) for one in levels[2:4]}


# --- costs ---


def test_costs_are_effects_on_other_metrics(seven: Experiment) -> None:
    def spent(record: RunRecord) -> RunRecord:
        """Each query of a server with the first line new takes twice the CPU."""
        assert record.done is not None
        each = 60.0 if str(record.cell["screen.lines"])[0] == "1" else 30.0
        server: Any = {"cpu_us": each * record.done["queries"]}
        return replace(record, done={**record.done, "server": server})

    metric = FIXED["server_cpu_us_per_query"]
    records = [spent(one) for one in measured(seven, rounds(seven), by_effects({POOL: 0.8}))]
    costs = costs_by_line(seven, records, metric)
    assert costs[0].finding.change.ratio == pytest.approx(2.0)
    assert [one.finding.change.ratio for one in costs[1:]] == pytest.approx([1.0] * 6)
    assert not any(one.finding.contrast.family.decides for one in costs)
    assert all(one.finding.change.verdict is None for one in costs)


def test_costs_without_figures_are_absent(seven: Experiment) -> None:
    records = [
        replace(record, done={**record.done, "server": None})  # type: ignore[dict-item]
        for record in measured(seven, rounds(seven), by_effects({}))
    ]
    assert costs_by_line(seven, records, FIXED["server_cpu_us_per_query"]) == ()
    assert costs_by_line(seven, [], QPS) == ()


# --- noise ---


def with_slices(record: RunRecord, spread: float, *, slices: int = 8) -> RunRecord:
    """Slices whose logarithms alternate around the run's rate, opposite in the two runs."""
    assert record.done is not None
    qps = record.done["qps"]
    sign = 1 if record.run % 2 else -1
    intervals: list[Any] = [
        {"index": at, "qps": qps * math.exp(sign * spread * (1 if at % 2 else -1))}
        for at in range(slices)
    ]
    return replace(record, intervals=intervals)


def test_noise_of_slices_and_of_pairs(seven: Experiment) -> None:
    quiet = [
        with_slices(one, 0.05) for one in measured(seven, rounds(seven, 3), by_effects({FLUSH: 2}))
    ]
    noise = noise_of_pairs(seven, quiet)
    assert noise is not None
    # The difference of two slices is twice as far from its mean, in 8 slices.
    assert noise.of_slice == pytest.approx(0.1**2 * 8 / 7)
    assert noise.slices == 8
    assert noise.of_pair == 0.0
    restless = measured(seven, rounds(seven, 6), by_effects({FLUSH: 2}), noise=0.1)
    more = noise_of_pairs(seven, [with_slices(one, 0.001) for one in restless])
    assert more is not None
    # Both runs of a pair have a noise of 0.1.
    assert more.of_pair == pytest.approx(2 * 0.1**2, rel=0.5)
    # The noise of slices is no part of it, by the mean of 8.
    both = noise_of_pairs(seven, [with_slices(one, 0.05) for one in restless])
    assert both is not None and both.of_slice == pytest.approx(noise.of_slice)
    assert more.of_pair - both.of_pair == pytest.approx(noise.of_slice / 8, rel=0.01)


def test_noise_is_unknown_without_slices_or_without_a_second_round(seven: Experiment) -> None:
    records = measured(seven, rounds(seven), by_effects({}))
    assert noise_of_pairs(seven, []) is None
    assert noise_of_pairs(seven, records) is None
    assert noise_of_pairs(seven, [with_slices(one, 0.01, slices=1) for one in records]) is None
    assert noise_of_pairs(seven, [with_slices(one, 0.01) for one in records[:16]]) is None


def test_slices_without_an_answer_are_not_counted(seven: Experiment) -> None:
    def stalled(record: RunRecord) -> RunRecord:
        whole = with_slices(record, 0.05)
        first: Any = {**whole.intervals[0], "qps": 0.0}
        return replace(whole, intervals=[first, *whole.intervals[1:]])

    records = [stalled(one) for one in measured(seven, rounds(seven), by_effects({}))]
    noise = noise_of_pairs(seven, records)
    assert noise is not None and noise.slices == 7


# --- families ---


def test_parts_share_the_chance_of_a_false_claim(seven: Experiment) -> None:
    error = 1 - seven.compare.confidence
    families = [family_of_part(seven, part) for part in SHARES]
    assert set(SHARES) == {OF_LINES, TOGETHER, PROOF}
    assert sum(1 - one.promises for one in families) <= error + 1e-12
    assert all(one.decides and one.confidence >= one.promises for one in families)
    # Looks before the end cost the lines a tighter interval.
    timed = replace(seven, compare=replace(seven.compare, at_most_s=600.0, until=0.02))
    for one, other in zip(families, [family_of_part(timed, part) for part in SHARES], strict=True):
        assert one.promises == other.promises
        assert one.confidence <= other.confidence
