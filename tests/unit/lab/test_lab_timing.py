"""Statements that take long: timed first, then measured in slices that they fit into."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_load import percentiles
from lab_in_slices import IN_SLICES, Bench, made_up

from contend.errors import ContendError, RequestError
from contend.lab.events import Notice
from contend.load import LoadFailed
from contend.load.plan import planned_s

MIX = "@quick weight 99\nSELECT SLEEP(0.001);\n@slow weight 1\nSELECT SLEEP(2);"


def takes_s(text: str) -> dict[str, float]:
    """What each kind of event takes, by the statements."""
    names = re.findall(r"@(\w+)", text) or [""]
    return dict(zip(names, map(float, re.findall(r"SLEEP\(([\d.]+)\)", text)), strict=True))


class Sleeping:
    """A server whose statements take as long as they say, on a bench.

    Attributes:
        timed: kinds that were timed alone, `all` for what is asked as a whole; in order.
        slices: of each block: how long, settling, rounds.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.timed: list[str] = []
        self.slices: list[dict[str, float]] = []
        bench.each_plan = self._answer

    def _answer(self, plan: dict[str, Any]) -> None:
        load, workload = plan["load"], plan["workload"]
        times = takes_s(workload["text"])
        only = next(iter(workload.get("shares", {})), None)
        slices = load["slices"]
        if "events_each" in load:
            self.timed.append(only or "all")
            # A mix seldom begins with what it seldom asks.
            first = only or next(iter(times))
            seen = {first}
            self.bench.clock.now_s += len(plan["arms"]) * slices["rounds"] * times[first]
            self.bench.clock.now_s -= planned_s(plan)
        else:
            self.slices.append(slices)
            seen = set(times)
            if slices["slice_s"] < max(times.values()):
                raise LoadFailed("slices are too short")
        known = {kind: seconds if kind in seen else 0.0 for kind, seconds in times.items()}
        self.bench.changes = {
            "latency_us": {**percentiles(10), "p50": 1e6 * max(known.values())},
            "kinds": [
                {"name": kind, "latency_us": {**percentiles(10), "p50": 1e6 * seconds}}
                for kind, seconds in known.items()
                if len(times) > 1
            ],
        }

    def notices(self) -> list[str]:
        return [one.text for one in self.bench.heard if isinstance(one, Notice)]


Make = Callable[..., Sleeping]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    def made(text: str, said: str = "", **changes: str) -> Sleeping:
        changes = {
            'kind = "point_select"': f'kind = "sql"\ntext = """{text}"""',
            "repeats = 2": f"repeats = 4\n{said}",
            **changes,
        }
        return Sleeping(made_up(monkeypatch, Bench(tmp_path, IN_SLICES, **changes)))

    return made


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        *((0.01, ""), (0.1, 'at_most = "2m"'), (0.3, ""), (1.0, 'at_most = "20m"'), (3.0, "")),
        (10.0, 'at_most = "40m"'),
    ],
)
def test_slices_hold_five_answers_and_blocks_ten(make: Make, seconds: float, said: str) -> None:
    server = make(f"SELECT SLEEP({seconds});", said)
    server.bench.play()
    records = server.bench.records()
    assert {record.status for record in records} == {"ok"}
    again = ["all", "all"] if seconds <= 0.5 else ["all"]
    assert server.timed == 2 * again, "once for each number of connections"
    for slices in server.slices:
        assert slices["slice_s"] == pytest.approx(max(0.1, 5 * seconds))
        assert slices["settle_s"] == pytest.approx(max(0.02, seconds))
        assert slices["rounds"] * slices["slice_s"] / seconds >= 10 or seconds < 0.1
    told = [text for text in server.notices() if "statements take up to" in text]
    assert bool(told) == (seconds > 0.02)


def test_a_mix_is_cut_for_its_longest_kind(make: Make) -> None:
    server = make(MIX, 'at_most = "20m"')
    server.bench.play()
    assert {record.status for record in server.bench.records()} == {"ok"}
    of_context = ["all", "all", "quick", "quick", "slow"]
    assert server.timed == 2 * of_context
    assert all(slices["slice_s"] == pytest.approx(10.0) for slices in server.slices)


def test_what_is_long_has_few_rounds_if_no_time_is_given(make: Make) -> None:
    server = make("SELECT SLEEP(3);")
    server.bench.play()
    assert {slices["rounds"] for slices in server.slices} == {2}


def test_what_is_long_has_one_block_of_each_context(make: Make) -> None:
    server = make("SELECT SLEEP(3);", 'at_most = "20m"')
    server.bench.play()
    of_first = [record.cell["load.connections"] for record in server.bench.records()]
    assert sorted(of_first[:4]) == [1, 1, 8, 8]


def test_time_that_has_no_room_for_the_repeats_is_told_before_any(make: Make) -> None:
    server = make("SELECT SLEEP(3);", 'at_most = "5m"')
    server.bench.play()
    (first, *_) = server.notices()
    assert "up to 3 s, " in first and "measured for 15 s" in first
    assert "about 2 of 4 repeats" in first


def test_time_that_has_no_room_for_one_is_refused(make: Make) -> None:
    server = make("SELECT SLEEP(3);", 'at_most = "60s"')
    with pytest.raises(RequestError, match=r"60 s is too short: .* up to 3 s") as e:
        server.bench.play()
    assert "4 repeats take" in str(e.value.hint)
    assert server.bench.records() == [] and server.slices == []


@pytest.mark.parametrize(("slice_s", "is_short"), [(2.0, False), (0.3, False), (0.2, True)])
def test_slices_that_the_experiment_says_keep_their_length(
    make: Make, slice_s: float, is_short: bool
) -> None:
    server = make("SELECT SLEEP(0.3);", **{'warmup = "100ms"': f'slice = "{slice_s}s"'})
    with contextlib.suppress(ContendError):
        server.bench.play()
    assert all(slices["slice_s"] == slice_s for slices in server.slices)
    assert any("load.slice" in text for text in server.notices()) == is_short


def test_statements_that_cannot_be_timed_are_told_by_their_block(make: Make) -> None:
    server = make("SELECT SLEEP(0.01);")

    def refuse(plan: dict[str, Any]) -> None:
        raise LoadFailed("no such table", code=1146)

    server.bench.each_plan = refuse
    with pytest.raises(RequestError, match="no such table"):
        server.bench.play()
