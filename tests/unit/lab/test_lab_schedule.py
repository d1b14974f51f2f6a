"""When an experiment is over, in a time that exists only there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lab_in_slices import IN_SLICES, START_S, Bench, Noise, made_up

from contend.lab import walk
from contend.lab.design import Design
from contend.lab.events import RunBegan
from contend.lab.walk import Schedule
from contend.stats import Estimate
from contend.why.tried import DifferenceTried

MakeBench = Callable[..., Bench]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeBench:
    """`make("at_most = …")`: a bench whose experiment has that said of its comparison."""

    def made(said: str = "", **changes: str) -> Bench:
        text = IN_SLICES.replace("repeats = 2", f"repeats = 3\n{said}")
        return made_up(monkeypatch, Bench(tmp_path, text, **changes))

    return made


def finished(bench: Bench) -> str | None:
    with bench.folder() as folder:
        return folder.meta().finished


def measured_s(bench: Bench) -> float:
    """From the beginning of the first block to the end of the last."""
    with bench.folder() as folder:
        ended = folder.ended()
    return max(one.ended_s for one in ended) - min(one.started_s for one in ended)


def repeats(bench: Bench) -> dict[int, int]:
    """How many blocks each has."""
    found: dict[int, set[int]] = {}
    for record in bench.records():
        found.setdefault(record.repeat, set()).add(record.block)
    return {repeat: len(blocks) for repeat, blocks in found.items()}


def whole(bench: Bench) -> bool:
    """Whether every run that was planned was made once, and numbers have no gaps."""
    with bench.folder() as folder:
        planned = [one.run for one in folder.meta().planned]
    made = [record.run for record in bench.records()]
    return made == planned == list(range(1, len(made) + 1))


class TestFixed:
    def test_all_that_was_planned_is_made(self, make: MakeBench) -> None:
        bench = make()
        bench.play()
        assert finished(bench) == "all planned runs are done"
        assert repeats(bench) == {1: 2, 2: 2, 3: 2}
        assert whole(bench)

    def test_how_long_the_rest_takes_is_told(self, make: MakeBench) -> None:
        bench = make()
        bench.play()
        told = [event.left_s for event in bench.heard if isinstance(event, RunBegan)]
        assert len(told) == 12 and None not in told
        lefts = [left_s for left_s in told if left_s is not None]
        assert lefts[-1] < lefts[0] / 3
        assert {(e.blocks, e.runs) for e in bench.heard if isinstance(e, RunBegan)} == {(6, 12)}


class TestTime:
    def test_it_is_over_before_a_repeat_that_would_not_fit(self, make: MakeBench) -> None:
        bench = make('at_most = "2m"')
        bench.play(Noise(bench, slices=0.05))
        assert str(finished(bench)).startswith("time is up: ±")
        assert 60 < measured_s(bench) <= 120
        assert len(repeats(bench)) >= 3
        assert whole(bench)

    @pytest.mark.parametrize("said", ["at_most = 1", 'at_most = "700ms"'])
    def test_the_first_repeat_is_made_however_short_it_is(self, make: MakeBench, said: str) -> None:
        """For one look it suffices, or it would have been refused."""
        bench = make(said)
        bench.play(Noise(bench, slices=0.05))
        assert {record.repeat for record in bench.records()} == {1}
        assert {record.status for record in bench.records()} == {"ok"}
        assert str(finished(bench)).startswith("time is up: no interval after 1 ")

    def test_making_the_data_takes_none_of_it(self, make: MakeBench) -> None:
        bench = make('at_most = "2m"')
        bench.copy_s = 1000.0
        bench.play(Noise(bench, slices=0.05))
        assert len(repeats(bench)) >= 3

    def test_starting_servers_takes_some_of_it(self, make: MakeBench) -> None:
        bench = make('at_most = "2m"')
        bench.play(Noise(bench, slices=0.05))
        with bench.folder() as folder:
            spans = {one.block: one.ended_s - one.started_s for one in folder.ended()}
        in_blocks = sum(spans.values())
        starts_s = 2 * START_S * (len(repeats(bench)) - 1)
        assert measured_s(bench) == pytest.approx(in_blocks + starts_s, rel=0.01)

    def test_runs_of_their_own_end_with_it_too(self, make: MakeBench) -> None:
        bench = make('at_most = "30s"')
        bench.play(by="runs")
        assert str(finished(bench)).startswith("time is up: ±")
        assert 15 < measured_s(bench) <= 30
        counted = Counter(
            (str(record.cell), record.repeat) for record in bench.records() if record.done
        )
        assert set(counted.values()) == {1}
        assert len(counted) == 4 * len(repeats(bench)) >= 12
        assert "slices" not in bench.records()[0].plan["load"]


class TestWidth:
    def test_it_is_over_when_it_is_reached(self, make: MakeBench) -> None:
        bench = make('until = "±5 %"')
        bench.play(Noise(bench, slices=0.02))
        assert str(finished(bench)).startswith("width reached: ±")
        assert len(repeats(bench)) == 3, "and not before the least number of repeats"

    def test_it_takes_as_many_repeats_as_it_takes(self, make: MakeBench) -> None:
        bench = make('until = "±2 %"')
        bench.play(Noise(bench, servers=0.02, slices=0.001))
        assert str(finished(bench)).startswith("width reached: ±")
        assert len(repeats(bench)) > 3
        width = float(str(finished(bench)).split("±")[1].split(" %")[0])
        assert width <= 2

    def test_what_the_answer_is_decides_nothing(self, make: MakeBench) -> None:
        """A level that is twice as fast is measured as long as one that is as fast."""
        bench = make('until = "±2 %"')
        noise = Noise(bench, servers=0.02, slices=0.001)
        bench.play(lambda arm, round_: noise(arm, round_) * (2 if arm.endswith("32") else 1))
        faster = len(repeats(bench))
        other = make('until = "±2 %"')
        other.path = other.path.with_name("other")
        other.play(Noise(other, servers=0.02, slices=0.001))
        assert faster == len(repeats(other))

    def test_one_that_the_time_does_not_suffice_for_says_what_it_would_take(
        self, make: MakeBench
    ) -> None:
        bench = make('until = "±1 %"\nat_most = "1m"')
        bench.play(Noise(bench, servers=0.05, slices=0.001))
        said = str(finished(bench))
        assert said.startswith("time is up: ±")
        assert "; ±1 % would take about" in said and said.endswith(" more")

    def test_one_that_is_out_of_reach_plans_no_repeat_that_would_not_fit(
        self, make: MakeBench
    ) -> None:
        """As few repeats as reach it would each take longer than there is."""
        bench = make('until = "±0.1 %"\nat_most = "2m"')
        bench.play(Noise(bench, slices=0.15))
        assert str(finished(bench)).startswith("time is up: ±")
        assert 60 < measured_s(bench) <= 120
        assert len(repeats(bench)) >= 3


TREATED = """
[treatments]
"a.1" = { "load.connections" = 2 }
"a.2" = { "load.connections" = 3 }
"b.1" = { "load.connections" = 4 }
"b.2" = { "load.connections" = 5 }
"""


def treated(make: MakeBench, monkeypatch: pytest.MonkeyPatch, decided: dict[str, int]) -> Bench:
    """A run of two candidates, each of which is decided after so many repeats."""

    def tried_of(study: Any) -> Any:
        repeats = len({one.repeat for one in study.measured})
        return DifferenceTried(
            Estimate(0.3, 0.2, 0.4, repeats, 0.99),
            certain=True,
            repeats=repeats,
            candidates=tuple(
                SimpleNamespace(  # type: ignore[misc]
                    record={
                        "candidate": name,
                        "doses": [f"{name}.1", f"{name}.2"],
                        "placebo": f"{name}.2",
                    }
                )
                for name in decided
            ),
            decided=tuple(name for name, after in decided.items() if after <= repeats),
        )

    monkeypatch.setattr(walk, "tried_of", tried_of)
    bench = make(
        'at_most = "20m"' + TREATED,
        **{'"load.connections" = [1, 8]': '"treatment" = ["none", "a.1", "a.2", "b.1", "b.2"]'},
    )
    bench.tiny = replace(bench.tiny, compare=replace(bench.tiny.compare, repeats=16))
    bench.facts = {"why": {"tried": [], "untested": {}}}
    return bench


def treatments_by_repeat(bench: Bench) -> list[set[str]]:
    by_repeat: dict[int, set[str]] = {}
    for record in bench.records():
        by_repeat.setdefault(record.repeat, set()).add(str(record.cell["treatment"]))
    return list(by_repeat.values())


def test_a_candidate_is_measured_until_a_look_decides_it(
    make: MakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After 3 repeats the one is, after 6 the other; looks are due after 4 and 8. Smaller doses
    are measured in the first repeat, and of what is still open between the two looks."""
    bench = treated(make, monkeypatch, {"a": 3, "b": 6})
    bench.play()
    assert "decided after 8 repeats" in str(finished(bench))
    assert treatments_by_repeat(bench) == [
        {"none", "a.1", "a.2", "b.1", "b.2"},
        *(3 * [{"none", "a.2", "b.2"}]),
        *(4 * [{"none", "b.1", "b.2"}]),
    ]
    assert whole(bench)


def test_what_is_decided_stays_so_if_a_run_goes_on_the_next_day(
    make: MakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = treated(make, monkeypatch, {"a": 4, "b": 6})
    count = bench.each_plan

    def stop(plan: dict[str, Any]) -> None:
        count(plan)
        if bench.starts()[0] == 6:
            raise KeyboardInterrupt

    bench.each_plan = stop
    with pytest.raises(KeyboardInterrupt):
        bench.play()
    bench.each_plan = count
    bench.play()
    assert treatments_by_repeat(bench)[4:] == 4 * [{"none", "b.1", "b.2"}]
    assert whole(bench)


def test_the_pilot_has_two_blocks_of_each_context_and_then_as_many_as_pay(
    make: MakeBench,
) -> None:
    """All noise lies between servers, so that nothing but more of them helps."""
    bench = make('at_most = "3m"')
    bench.play(Noise(bench, servers=0.05, slices=0.001))
    found = repeats(bench)
    assert (found[1], found[2]) == (4, 4)
    assert set(list(found.values())[2:]) == {2}


class TestResumed:
    def interrupted(self, bench: Bench, at: int) -> None:
        noise = Noise(bench, slices=0.05)
        count = bench.each_plan
        plans: list[object] = []

        def stop(plan: dict[str, Any]) -> None:
            count(plan)
            plans.append(plan)
            if len(plans) == at:
                raise KeyboardInterrupt

        bench.each_plan = stop
        with pytest.raises(KeyboardInterrupt):
            bench.play(noise)
        # A night, a start of the host.
        bench.clock.now_s += 36_000.0
        bench.each_plan = lambda _plan: None

    def test_in_the_middle_of_a_repeat_it_goes_on_there(self, make: MakeBench) -> None:
        bench = make()
        self.interrupted(bench, 4)
        assert [record.block for record in bench.records()] == [1, 1, 2, 2, 3, 3]
        bench.play()
        assert whole(bench)
        assert finished(bench) == "all planned runs are done"
        assert bench.starts() == [4, 4], "on servers that were started for it"

    def test_the_time_of_earlier_sessions_counts(self, make: MakeBench) -> None:
        bench = make('at_most = "2m"')
        self.interrupted(bench, 7)
        with bench.folder() as folder:
            spans = {one.block: one.ended_s - one.started_s for one in folder.ended()}
            effort = Schedule(bench.tiny, folder, Design("slices"), bench.clock).effort
            assert effort.spent_s == pytest.approx(sum(spans.values()))
            assert effort.left_s == pytest.approx(120 - sum(spans.values()))
        assert sum(spans.values()) > 10
        before = bench.clock.now_s
        bench.play(Noise(bench, slices=0.05))
        assert str(finished(bench)).startswith("time is up")
        # But for the start of the servers, which comes before the first that are ready; what a
        # repeat takes is an estimate.
        left_s = 120 - sum(spans.values())
        assert left_s / 2 < bench.clock.now_s - before - 2 * START_S <= 1.02 * left_s
        assert whole(bench)

    def test_a_repeat_that_was_planned_before_has_no_more_slices_than_one_of_now(
        self, make: MakeBench
    ) -> None:
        """With many blocks a context it was planned; few blocks of many slices are the plan now."""
        bench = make('at_most = "2m"')
        self.interrupted(bench, 11)
        assert max(repeats(bench).values()) <= 8
        before = bench.clock.now_s
        bench.play(Noise(bench, slices=0.05))
        assert bench.clock.now_s - before <= 120 + 2 * START_S
        assert whole(bench)

    def test_what_earlier_sessions_measured_counts(self, make: MakeBench) -> None:
        bench = make('until = "±5 %"')
        self.interrupted(bench, 9)
        bench.play(Noise(bench, slices=0.02))
        assert str(finished(bench)).startswith("width reached")
        assert whole(bench)

    def test_a_repeat_that_is_lost_is_no_repeat(self, make: MakeBench) -> None:
        """Its units are missing, so one more is made for it."""
        bench = make('until = "±5 %"')
        noise = Noise(bench, slices=0.02)
        count = bench.each_plan

        def die(plan: dict[str, Any]) -> None:
            count(plan)
            if bench.starts()[0] == 2:
                raise bench.kills(1)

        bench.each_plan = die
        bench.play(noise)
        by_repeat: dict[int, set[str]] = {}
        for record in bench.records():
            by_repeat.setdefault(record.repeat, set()).add(record.status)
        assert by_repeat == {1: {"ok"}, 2: {"lost"}, 3: {"ok"}, 4: {"ok"}}
