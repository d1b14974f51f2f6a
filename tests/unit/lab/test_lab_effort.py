"""How much is measured: what was learned decides on layouts, lengths and counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from fake_load import percentiles
from lab_in_slices import IN_SLICES, Bench, Noise, made_up

from contend.experiment import cell_spec
from contend.lab.design import PADDING_VARIABLE, Design
from contend.lab.effort import ROUNDS, Effort, short_of_repeats
from contend.lab.walk import Schedule

MakeBench = Callable[..., Bench]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeBench:
    def made(said: str = "") -> Bench:
        text = IN_SLICES.replace("repeats = 2", f"repeats = 6\n{said}")
        return made_up(monkeypatch, Bench(tmp_path, text))

    return made


def effort_of(bench: Bench) -> Effort:
    return Effort(bench.tiny, Design("slices"), bench.clock)


def rounds(bench: Bench) -> list[int]:
    """Of each block."""
    return [each[0].plan["load"]["slices"]["rounds"] for each in bench.blocks().values()]


def padded(bench: Bench) -> list[bool]:
    """Start by start, whether it was in a layout that is alike in all servers."""
    of_one, of_other = (
        [environment.get(PADDING_VARIABLE) for _, environment in server.launches]
        for server in bench.servers
    )
    assert of_one == of_other
    return [padding is not None for padding in of_one]


def test_without_a_limit_every_block_has_the_usual_slices(make: MakeBench) -> None:
    bench = make()
    bench.play(Noise(bench, slices=0.1))
    assert set(rounds(bench)) == {ROUNDS}


@pytest.mark.parametrize(
    ("said", "way", "words"),
    [
        ('at_most = "60s"', "slices", None),
        ("", "slices", None),
        ('at_most = "4s"', "slices", "4 s is enough for about 1 of 6 repeats"),
        ('at_most = "1s"', "runs", "1 s is enough for about 1 of 6 repeats"),
    ],
)
def test_repeats_that_do_not_fit_are_said_first(
    make: MakeBench, said: str, way: Literal["slices", "runs"], words: str | None
) -> None:
    short = short_of_repeats(make(said).tiny, Design(way))
    assert (short is None) if words is None else (short is not None and short.startswith(words))


def test_waiting_for_a_better_host_is_no_part_of_the_time_that_was_given(make: MakeBench) -> None:
    bench = make('at_most = "60s"')
    effort = effort_of(bench)
    effort.begin_repeat()
    effort.waited(3.0)
    effort.ready()
    bench.clock.now_s += 5.0
    effort.waited(5.0)
    bench.clock.now_s += 1.0
    assert effort.spent_s == 1.0
    assert effort.left_s == 59.0


def test_time_without_a_limit_is_endless_and_rest_unknown(make: MakeBench) -> None:
    effort = effort_of(make('until = "±2 %"'))
    assert effort.left_s == float("inf")
    assert effort.more_s is None


def test_what_is_left_counts_from_the_first_server_that_was_ready(make: MakeBench) -> None:
    bench = make("at_most = 60")
    effort = effort_of(bench)
    bench.clock.now_s += 1000.0
    assert effort.left_s == effort.more_s == 60.0
    effort.ready()
    bench.clock.now_s += 10.0
    effort.ready()
    assert effort.spent_s == 10.0
    assert effort.left_s == effort.more_s == 50.0
    bench.clock.now_s += 100.0
    assert effort.more_s == 0.0


def test_noise_between_slices_is_met_with_slices(make: MakeBench) -> None:
    """Once the pilot has said so; noise between servers, with servers."""
    quiet = make('at_most = "2m"')
    quiet.play(Noise(quiet, slices=0.1))
    many = quiet.records()[-1].repeat
    last = rounds(quiet)[-1]
    other = make('at_most = "2m"')
    other.path = other.path.with_name("other")
    other.play(Noise(other, slices=0.001, servers=0.1))
    assert rounds(other)[-1] < last
    assert other.records()[-1].repeat > many


class TestLayout:
    def test_servers_that_do_not_differ_are_left_to_the_system(self, make: MakeBench) -> None:
        bench = make('at_most = "2m"')
        bench.play(Noise(bench, slices=0.05))
        assert not any(padded(bench))

    def test_servers_that_differ_are_matched_from_the_pilot_on(self, make: MakeBench) -> None:
        bench = make('at_most = "2m"')
        bench.play(Noise(bench, servers=0.1, slices=0.01))
        matched = padded(bench)
        assert not any(matched[:2]), "the pilot looks at what the system does"
        assert all(matched[2:]) and len(matched) > 3

    def test_what_was_found_to_pay_is_kept(self, make: MakeBench) -> None:
        """Servers that are matched differ no longer, which is no reason to let them."""
        bench = make('at_most = "2m"')
        wild, tame = Noise(bench, servers=0.1, slices=0.01), Noise(bench, slices=0.01)

        def rates(arm: str, round_: int) -> float:
            return (wild if bench.starts()[0] <= 2 else tame)(arm, round_)

        bench.play(rates)
        matched = padded(bench)
        assert not any(matched[:2]) and all(matched[2:])

    @pytest.mark.parametrize(("asked", "all_"), [("matched", True), ("system", False)])
    def test_what_is_asked_for_is_done(self, make: MakeBench, asked: str, all_: bool) -> None:
        bench = make(f'layout = "{asked}"')
        bench.play(Noise(bench, servers=0.1, slices=0.01))
        assert padded(bench) == [all_] * 6


def test_slices_of_a_context_follow_its_own_response_time(make: MakeBench) -> None:
    bench = make()

    def slow(plan: dict[str, object]) -> None:
        load = plan["load"]
        assert isinstance(load, dict)
        p50 = 100_000.0 if load["connections"] == 8 else 300.0
        bench.changes = {"latency_us": {**percentiles(100), "p50": p50}}

    bench.each_plan = slow
    bench.play()
    lengths = {
        (record.cell["load.connections"], record.repeat > 1): record.plan["load"]["slices"][
            "slice_s"
        ]
        for record in bench.records()
    }
    assert lengths == {(1, False): 0.1, (8, False): 0.1, (1, True): 0.1, (8, True): 0.5}


def test_a_context_whose_answers_take_long_has_fewer_slices_until_that_is_known(
    make: MakeBench,
) -> None:
    """Or it would have most of the time that was given."""
    bench = make('at_most = "60s"')
    first: dict[int, list[tuple[float, int]]] = {1: [], 8: []}

    def slow(plan: dict[str, Any]) -> None:
        connections, slices = plan["load"]["connections"], plan["load"]["slices"]
        if bench.starts()[0] == 1:
            first[connections].append((slices["slice_s"], slices["rounds"]))
        p50 = 80_000.0 if connections == 8 else 100.0
        bench.changes = {"latency_us": {**percentiles(100), "p50": p50}}

    bench.each_plan = slow
    bench.play()
    usual = first[1][0][1]
    assert first[1] == [(0.1, usual)] * 2
    assert first[8] == [(0.1, usual), (0.4, round(usual / 4))]


def test_a_resumed_session_knows_the_response_times(make: MakeBench) -> None:
    bench = make()
    bench.changes = {"latency_us": {**percentiles(100), "p50": 100_000.0}}
    bench.play()
    with bench.folder() as folder:
        effort = Schedule(bench.tiny, folder, Design("slices"), bench.clock).effort
    run = bench.records()[0].cell
    assert effort.slices(run, [cell_spec(bench.tiny, run)]).slice_s == pytest.approx(0.5)
