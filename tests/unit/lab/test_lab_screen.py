"""The lab screens lines: its pairs, their time and servers, and lines that do not start."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_screen import (
    CACHE,
    DESIGN,
    DOUBLE,
    FLUSH,
    POOL,
    ROWS,
    by_effects,
    pair_of,
    screen_experiment,
    screen_of_lines,
)

from contend.experiment import (
    OF_LINES,
    PROOF,
    TOGETHER,
    Planned,
    all_new,
    cell_spec,
    cells,
    part_of,
    planned_runs,
    to_dict,
)
from contend.experiment.screen import mirror, rows_of
from contend.findings import PairNoise, ScreenFound, only, screen_found
from contend.lab.screen import (
    MEASURED_S,
    MEASURED_S_MAX,
    MEASURED_S_MIN,
    SLICES_MIN,
    ScreenEffort,
    ScreenSchedule,
)
from contend.store import RunFolder, RunRecord

LINES, OPTIONS = "screen.lines", "server.options"
Pair = tuple[str, str]
Rate = Callable[[set[str]], float]


class Bench:
    """The made-up screen in a run folder; time passes by `pair_s` with each pair.

    Attributes:
        change: is applied to each record.
    """

    def __init__(
        self,
        tmp_path: Path,
        rate: Rate,
        *,
        pair_s: Callable[[int], float] = lambda _block: 3.0,
        noise: float = 0.005,
        **sets: str,
    ) -> None:
        tmp_path.mkdir(exist_ok=True)
        self.experiment = screen_experiment(tmp_path, **sets)
        self.path = tmp_path / "run"
        self.rate, self.pair_s, self.noise = rate, pair_s, noise
        self.now_s = 1_800_000_000.0
        self.change: Callable[[RunRecord], RunRecord] = lambda record: record

    def play(self, pairs: float = math.inf) -> ScreenSchedule:
        """Make this number of pairs, or all of them, in a session of their own."""
        with self._folder() as folder:
            schedule = ScreenSchedule(self.experiment, folder, DESIGN, lambda: self.now_s)
            made = 0
            while made < pairs and (pair := schedule.next()):
                schedule.effort.ready()
                began = self._iso()
                self.now_s += self.pair_s(pair[0].block)
                records = [
                    replace(self.change(one), started_at=began, ended_at=self._iso())
                    for one in pair_of(self.experiment, pair, self.rate, self.noise)
                ]
                folder.append(*records)
                schedule.ended(records)
                made += 1
        return schedule

    def _folder(self) -> RunFolder:
        if self.path.exists():
            return RunFolder.open(self.path, write=True)
        planned = planned_runs(self.experiment)
        return RunFolder.create(self.path, to_dict(self.experiment), planned, {})

    def _iso(self) -> str:
        return datetime.fromtimestamp(self.now_s, UTC).isoformat(timespec="milliseconds")

    def planned(self) -> tuple[Planned, ...]:
        with RunFolder.open(self.path) as folder:
            return tuple(folder.meta().planned)

    def records(self) -> list[RunRecord]:
        with RunFolder.open(self.path) as folder:
            return folder.records()

    def pairs(self, part: str) -> list[Pair]:
        """The digits of each measured pair of a part."""
        runs = [run for run in self.records() if part_of(run.cell) == part]
        return [
            (str(one.cell[LINES]), str(other.cell[LINES]))
            for one, other in zip(runs[::2], runs[1::2], strict=True)
        ]

    def counts(self) -> tuple[int, int, int]:
        """Pairs of the three parts."""
        lines, together, proof = (len(self.pairs(part)) for part in (OF_LINES, TOGETHER, PROOF))
        return lines, together, proof

    def finished(self) -> str:
        with RunFolder.open(self.path) as folder:
            return folder.meta().finished or ""

    def found(self) -> ScreenFound:
        found = screen_found(self.experiment, self.records())
        assert found is not None
        return found


THREE = by_effects({FLUSH: 1.4, POOL: 0.7, DOUBLE: 1.2})
TWO = by_effects({FLUSH: 1.4, POOL: 0.7})
EVERY = by_effects(
    {
        **{FLUSH: 1.4, POOL: 0.7, DOUBLE: 1.2, CACHE: 1.3, "thread_cache_size": 0.8},
        **{"query_cache_type": 0.75, "innodb_adaptive_hash_index": 1.25},
    }
)


# --- the schedule with a time ---


def test_three_parts_share_the_time(tmp_path: Path) -> None:
    bench = Bench(tmp_path, THREE, compare__at_most="600s")
    bench.play()
    # 360 s for whole rounds, 90 s for whole passes of 12 pairs, and the rest.
    assert bench.counts() == (15 * ROWS, 24, 56)
    assert bench.finished().startswith("the time is up: 120 pairs")
    parts = [part_of(run.cell) for run in bench.planned()]
    assert [part for part, _ in itertools.groupby(parts)] == [OF_LINES, TOGETHER, PROOF]


@pytest.mark.parametrize("at_most_s", [10, 30, 48])
def test_two_rounds_are_made_in_any_time(tmp_path: Path, at_most_s: int) -> None:
    bench = Bench(tmp_path, TWO, compare__at_most=f"{at_most_s}s")
    bench.play()
    assert bench.counts() == (2 * ROWS, 0, 0)
    assert bench.finished() == "the time is up: 16 pairs of the lines"


@settings(max_examples=12)
@given(at_most_s=st.integers(20, 2000), pair_s=st.floats(0.5, 20))
def test_no_part_takes_more_than_the_time(
    tmp_path_factory: pytest.TempPathFactory, at_most_s: int, pair_s: float
) -> None:
    # Fewer than 120 pairs are enough to see.
    pair_s = max(pair_s, at_most_s / 120)
    bench = Bench(
        tmp_path_factory.mktemp("screen"),
        TWO,
        pair_s=lambda _block: pair_s,
        compare__at_most=f"{at_most_s}s",
    )
    bench.play()
    lines, together, proof = bench.counts()
    assert lines % ROWS == 0 and lines >= 2 * ROWS
    assert lines == 2 * ROWS or lines * pair_s <= 0.6 * at_most_s + 1e-6
    assert together % 4 == 0 and together * pair_s <= 0.15 * at_most_s + 1e-6
    assert proof % 2 == 0
    if lines > 2 * ROWS:
        assert (lines + together + proof) * pair_s <= at_most_s + 1e-6
    # No time for two pairs is left.
    assert (lines + together + proof + 2) * pair_s > at_most_s - 1e-6


def test_starts_that_take_longer_leave_less_for_the_proof(tmp_path: Path) -> None:
    bench = Bench(
        tmp_path, TWO, pair_s=lambda block: 3.0 if block <= 40 else 12.0, compare__at_most="200s"
    )
    bench.play()
    # The crossing has no room for its second pass.
    assert bench.counts() == (40, 4, 2)
    assert bench.now_s - 1_800_000_000 <= 200


# --- until, or neither ---


def test_the_lines_end_when_their_intervals_are_narrow(tmp_path: Path) -> None:
    wide = Bench(tmp_path / "a", THREE, noise=0.02, compare__until="5%", compare__at_most="3000s")
    narrow = Bench(
        tmp_path / "b", THREE, noise=0.02, compare__until="1.5%", compare__at_most="3000s"
    )
    for bench in (wide, narrow):
        bench.play()
    assert wide.counts()[0] < narrow.counts()[0] < 0.6 * 1000
    for bench, until in ((wide, 0.05), (narrow, 0.015)):
        for one in bench.found().lines:
            change = one.finding.change
            assert math.sqrt(change.high / change.low) - 1 <= until


def test_the_lines_end_by_the_time_if_they_stay_wide(tmp_path: Path) -> None:
    bench = Bench(tmp_path, TWO, noise=0.3, compare__until="1%", compare__at_most="300s")
    bench.play()
    assert bench.counts()[0] == 7 * ROWS


def test_until_needs_no_time(tmp_path: Path) -> None:
    bench = Bench(tmp_path, TWO, noise=0.02, compare__until="3%", compare__repeats="2")
    bench.play()
    lines, together, proof = bench.counts()
    assert lines > 2 * ROWS and (together, proof) == (8, 8)
    assert bench.finished().startswith("all planned pairs are done: ")


@pytest.mark.parametrize(
    ("repeats", "counts"), [(2, (16, 8, 8)), (4, (32, 8, 16)), (6, (48, 12, 24))]
)
def test_without_a_time_repeats_decide(
    tmp_path: Path, repeats: int, counts: tuple[int, int, int]
) -> None:
    bench = Bench(tmp_path, TWO, compare__repeats=str(repeats))
    schedule = bench.play()
    assert bench.counts() == counts
    assert schedule.left_s is None
    assert (schedule.runs, schedule.blocks) == (2 * sum(counts), sum(counts))


# --- crossing ---


@pytest.mark.parametrize(("rate", "crossed"), [(by_effects({}), 0), (by_effects({POOL: 0.7}), 0)])
def test_fewer_than_two_lines_are_not_crossed(tmp_path: Path, rate: Rate, crossed: int) -> None:
    bench = Bench(tmp_path, rate, compare__repeats="4")
    bench.play()
    assert bench.counts() == (32, crossed, 16)


def test_a_pass_has_each_edge_once_and_places_change(tmp_path: Path) -> None:
    bench = Bench(tmp_path, THREE, compare__repeats="8")
    bench.play()
    pairs = bench.pairs(TOGETHER)
    assert len(pairs) == 4 * 12
    passes = [pairs[at : at + 12] for at in range(0, len(pairs), 12)]
    for one in passes:
        assert {frozenset(pair) for pair in one} == {frozenset(pair) for pair in passes[0]}
        assert len({frozenset(pair) for pair in one}) == 12
        for first, second in one:
            differ = [n for n in range(7) if first[n] != second[n]]
            assert len(differ) == 1 and set(differ) <= {0, 1, 2}
            assert first[3:] == second[3:] == "0000"
    # Each edge was as often in either order.
    orders = Counter(pairs)
    assert set(orders.values()) == {2} and len(orders) == 24


def test_at_most_four_lines_are_crossed(tmp_path: Path) -> None:
    bench = Bench(tmp_path, EVERY, compare__repeats="4")
    bench.play()
    assert len(bench.found().matter) == 7
    assert bench.counts() == (32, 2 * 32, 0)
    varied = {n for one, other in bench.pairs(TOGETHER) for n in range(7) if one[n] != other[n]}
    # Those with the largest effects.
    assert varied == {0, 1, 3, 5}


@pytest.mark.parametrize(
    ("at_most_s", "lines", "pairs"), [(1500, 4, 64), (1200, 3, 60), (400, 2, 20), (150, 0, 0)]
)
def test_fewer_lines_are_crossed_in_a_short_time(
    tmp_path: Path, at_most_s: int, lines: int, pairs: int
) -> None:
    bench = Bench(tmp_path, EVERY, compare__at_most=f"{at_most_s}s")
    bench.play()
    crossing = bench.pairs(TOGETHER)
    varied = {n for one, other in crossing for n in range(7) if one[n] != other[n]}
    assert (len(varied), len(crossing)) == (lines, pairs)


def test_a_crossing_ends_with_the_lines_that_it_began_with(tmp_path: Path) -> None:
    """Although slower starts would leave room for fewer."""
    bench = Bench(
        tmp_path, THREE, pair_s=lambda block: 3.0 if block <= 120 else 12.0, compare__at_most="600s"
    )
    bench.play()
    pairs = bench.pairs(TOGETHER)
    assert len(pairs) == 12 and len({frozenset(pair) for pair in pairs}) == 12


# --- the proof ---


def test_places_alternate_in_the_proof(tmp_path: Path) -> None:
    bench = Bench(tmp_path, TWO, compare__repeats="3")
    bench.play()
    few, new = only(7, [0, 1]), all_new(7)
    assert bench.pairs(PROOF) == [(few, new), (new, few)] * 6


def test_the_old_set_is_proved_if_no_line_matters(tmp_path: Path) -> None:
    bench = Bench(tmp_path, by_effects({}), compare__repeats="2")
    bench.play()
    assert bench.pairs(PROOF) == [("0" * 7, "1" * 7), ("1" * 7, "0" * 7)] * 4


@pytest.mark.parametrize("sets", [{"compare__repeats": "4"}, {"compare__at_most": "500s"}])
def test_there_is_nothing_to_prove_if_every_line_matters(
    tmp_path: Path, sets: dict[str, str]
) -> None:
    bench = Bench(tmp_path, EVERY, **sets)
    bench.play()
    assert bench.counts()[2] == 0
    assert bench.finished()


def test_a_planned_pair_of_the_proof_is_not_made_without_time(tmp_path: Path) -> None:
    bench = Bench(
        tmp_path, TWO, pair_s=lambda block: 3.0 if block < 79 else 64.0, compare__at_most="300s"
    )
    bench.play()
    planned, measured = bench.planned(), bench.records()
    # The first of two planned pairs took the time of the second.
    assert len(planned) == len(measured) + 2
    assert bench.finished().startswith("the time is up")
    bench.play()
    assert len(bench.records()) == len(measured)


def test_which_lines_matter_is_decided_once(tmp_path: Path) -> None:
    """Neither the crossing nor the proof changes it, even if they say otherwise."""
    bench = Bench(tmp_path, TWO, compare__repeats="4")
    bench.play(32)
    before = bench.found()
    bench.rate = by_effects({DOUBLE: 3.0})
    bench.play()
    after = bench.found()
    assert before.matter == after.matter == (0, 1)
    assert before.lines == after.lines
    assert set(bench.pairs(PROOF)[0]) == {only(7, [0, 1]), all_new(7)}


# --- other numbers of lines ---


@pytest.mark.parametrize("lines", [2, 3, 12])
def test_screens_of_any_number_of_lines(tmp_path: Path, lines: int) -> None:
    bench = Bench(tmp_path, by_effects({"line_0": 1.3}), compare__repeats="6")
    more = '[compare]\nrepeats = 6\n[workload]\nkind = "write_only"\n'
    bench.experiment = screen_of_lines(tmp_path, lines, more)
    bench.play()
    assert bench.counts() == (6 * len(rows_of(lines)), 0, 24)
    assert bench.found().matter == (0,)
    proof = bench.found().proof
    assert proof is not None and proof.tone == "equivalent"


# --- resumed ---


@pytest.mark.parametrize("stop", [1, 8, 33, 80, 85, 97, 130])
def test_a_resumed_screen_makes_the_same_pairs(tmp_path: Path, stop: int) -> None:
    whole = Bench(tmp_path / "whole", THREE, compare__at_most="400s")
    whole.play()
    resumed = Bench(tmp_path / "resumed", THREE, compare__at_most="400s")
    resumed.play(stop)
    assert resumed.finished() == ""
    # The night between sessions is not measured.
    resumed.now_s += 30_000
    resumed.play()
    assert [run.cell for run in resumed.records()] == [run.cell for run in whole.records()]
    assert resumed.planned() == whole.planned()
    assert resumed.finished() == whole.finished()
    assert all(whole.counts())
    assert resumed.found().matter == whole.found().matter
    assert resumed.found().proof == whole.found().proof


def test_a_screen_without_a_time_is_resumed_pair_by_pair(tmp_path: Path) -> None:
    whole = Bench(tmp_path / "whole", TWO, compare__repeats="3")
    whole.play()
    steps = Bench(tmp_path / "steps", TWO, compare__repeats="3")
    for _ in range(sum(whole.counts())):
        steps.play(1)
    steps.play()
    assert steps.planned() == whole.planned()
    assert steps.found() == whole.found()


# --- pairs that fail ---


def test_a_failed_pair_costs_that_pair_only(tmp_path: Path) -> None:
    bench = Bench(tmp_path, TWO, compare__repeats="4")
    dies = rows_of(7)[3]

    def failed(record: RunRecord) -> RunRecord:
        if dies not in (record.cell[LINES], mirror(str(record.cell[LINES]))):
            return record
        return replace(record, status="failed", done=None, error={"message": "it died"})

    bench.change = failed
    bench.play()
    found = bench.found()
    # The other rows still tell all lines, and the pairs are not made again.
    assert bench.counts() == (32, 8, 16)
    assert found.pairs[OF_LINES] == 4 * (ROWS - 1)
    assert found.matter == (0, 1)
    for one in found.lines:
        wanted = {FLUSH: 1.4, POOL: 0.7}.get(one.line.name, 1.0)
        assert one.finding.change.low < wanted < one.finding.change.high


def test_a_screen_without_a_measured_pair_ends(tmp_path: Path) -> None:
    bench = Bench(tmp_path, TWO, compare__repeats="2")
    bench.change = lambda one: replace(one, status="failed", done=None, error={"message": "no"})
    bench.play()
    assert bench.counts() == (16, 0, 0)
    assert bench.finished() == "nothing was measured"


# --- the time of a pair ---


@pytest.fixture
def effort(tmp_path: Path) -> ScreenEffort:
    """After pairs whose rounds took 0.25 s."""
    made = ScreenEffort(screen_experiment(tmp_path), DESIGN, lambda: 0.0)
    cell = next(iter(cells(screen_experiment(tmp_path))))
    made.observations.round_s[made.observations.context(cell)] = 0.25
    return made


def test_pairs_are_measured_longer_if_slices_are_noisier(effort: ScreenEffort) -> None:
    # 2 s of starts, and slices with 16 times the variance of pairs.
    effort.learn_noise(PairNoise(of_slice=0.0016, of_pair=0.0001, slices=4), pair_s=3.0)
    assert effort.measured_s == pytest.approx(math.sqrt(2.0 * 16 * 0.25))
    before = effort.measured_s
    effort.learn_noise(PairNoise(of_slice=0.0016, of_pair=0.0001, slices=4), pair_s=9.0)
    assert effort.measured_s > before
    effort.learn_noise(PairNoise(of_slice=0.0008, of_pair=0.0001, slices=4), pair_s=3.0)
    assert effort.measured_s == pytest.approx(before / math.sqrt(2))


def test_pairs_are_shortened_to_fit_into_their_time(effort: ScreenEffort) -> None:
    effort.learn_noise(PairNoise(of_slice=0.0016, of_pair=0.0001, slices=4), pair_s=3.0)
    long_s = effort.measured_s
    assert effort.pair_s == pytest.approx(2.0 + long_s)
    # With room to spare they stay, and half as long is the limit.
    assert effort.fit(10, 100.0) and effort.measured_s == long_s
    assert not effort.fit(10, 10 * (2.0 + 0.4 * long_s)) and effort.measured_s == long_s
    assert effort.fit(10, 10 * (2.0 + 0.6 * long_s))
    assert effort.pair_s == pytest.approx(2.0 + 0.6 * long_s)


@pytest.mark.parametrize(
    ("noise", "measured_s"),
    [
        (PairNoise(0.001, 0.0, 4), MEASURED_S_MAX),
        (PairNoise(1.0, 1e-9, 4), MEASURED_S_MAX),
        (PairNoise(0.0, 0.001, 4), MEASURED_S_MIN),
        (PairNoise(1e-9, 1.0, 4), MEASURED_S_MIN),
        (PairNoise(0.0, 0.0, 4), MEASURED_S_MAX),
    ],
)
def test_the_time_of_a_pair_has_limits(
    effort: ScreenEffort, noise: PairNoise, measured_s: float
) -> None:
    effort.learn_noise(noise, pair_s=3.0)
    assert effort.measured_s == measured_s
    # Even if the time of starts is not known, or slices took all of it.
    effort.learn_noise(noise, pair_s=0.0)
    assert MEASURED_S_MIN <= effort.measured_s <= MEASURED_S_MAX


def test_slices_fill_the_time_of_a_pair(effort: ScreenEffort, tmp_path: Path) -> None:
    experiment = screen_experiment(tmp_path)
    run, other = list(cells(experiment))[:2]
    specs = [cell_spec(experiment, one) for one in (run, other)]
    assert effort.measured_s == MEASURED_S
    assert effort.slices(run, specs).rounds == 6
    effort.measured_s = 10.0
    assert effort.slices(run, specs).rounds == 40
    effort.measured_s = 0.1
    assert effort.slices(run, specs).rounds == SLICES_MIN
    # Nothing is known before the first pair.
    fresh = ScreenEffort(experiment, DESIGN, lambda: 0.0)
    usual = fresh.slices(run, specs)
    assert usual.rounds == max(SLICES_MIN, round(MEASURED_S / (2 * usual.round_s)))
    fresh.learn_noise(PairNoise(1.0, 0.001, 4), pair_s=3.0)
    assert fresh.measured_s == MEASURED_S
