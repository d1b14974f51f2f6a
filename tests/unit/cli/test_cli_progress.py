"""The display of a run: plain lines without a terminal, a live line on one."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from fake_load import done_of

from contend.cli import progress
from contend.cli.console import CleanConsole
from contend.cli.progress import Clock, LiveDisplay, PlainDisplay, display_on, label
from contend.lab import events
from contend.store import RunRecord

CELL = {"server.options.key_cache_segments": 32, "load.connections": 64}
BEGAN = events.Began(Path("runs/x"), total=4, ended=1, load_s=8.0)


def record(status: str = "ok", **changes: object) -> RunRecord:
    done = done_of({"load": {"connections": 64, "measure_s": 1.0}}) if status == "ok" else None
    fields: dict[str, object] = {
        "run": 2,
        "block": 1,
        "repeat": 1,
        "cell": CELL,
        "status": status,
        "started_at": "",
        "ended_at": "",
        "done": done,
    }
    return RunRecord(**(fields | changes))  # type: ignore[arg-type]


def plain(*received: events.Event) -> list[str]:
    out = io.StringIO()
    with PlainDisplay(CleanConsole(file=out, width=200)) as display:
        for event in received:
            display(event)
    return out.getvalue().splitlines()


def test_a_pipe_gets_plain_lines_and_a_terminal_a_live_one() -> None:
    assert isinstance(display_on(CleanConsole(file=io.StringIO())), PlainDisplay)
    live = display_on(CleanConsole(file=io.StringIO(), force_terminal=True))
    assert isinstance(live, LiveDisplay)


def test_a_cell_is_named_by_the_ends_of_its_paths() -> None:
    assert label(CELL) == "key_cache_segments=32 connections=64"
    assert label({"server.wrap": ""}) == "wrap=''"
    assert label({"setup.index": True, "setup.other": False}) == "index=on other=off"


def test_each_repeat_is_one_line() -> None:
    marks = [{"code": "client-limited", "message": "…"}]
    runs = [events.RunEnded(record(run=run, warnings=marks)) for run in (2, 3)]
    again = events.RunBegan(4, 2, 2, CELL, 6, repeat=2)
    lines = plain(BEGAN, *runs, again, events.RunEnded(record(run=4, repeat=2)))
    assert lines[0].startswith("3 runs ") and lines[0].endswith(" runs/x")
    assert lines[1].startswith("run 3/4  repeat 1: 64,000 q/s  [client-limited]  (")
    assert lines[1].endswith(" left)")
    assert lines[2].startswith("run 4/6  repeat 2: 64,000 q/s  (")
    assert len(lines) == 3


def test_a_long_repeat_is_one_line_per_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    out = io.StringIO()
    with PlainDisplay(CleanConsole(file=out, width=200)) as display:
        display(BEGAN)
        for run in range(12):
            now[0] += 21.0
            display(events.RunEnded(record(run=run)))
    assert len(out.getvalue().splitlines()) == 1 + 12 / 3


@pytest.mark.parametrize("status", ["failed", "lost"])
def test_a_run_without_figures_says_why(status: str) -> None:
    lines = plain(BEGAN, events.RunEnded(record(status, error={"message": "table is full"})))
    assert f"{status}: table is full" in lines[1]


def test_long_steps_are_printed_at_each_tenth_at_most_every_ten_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    out = io.StringIO()
    with PlainDisplay(CleanConsole(file=out, width=200)) as display:
        for each_s in (1.0, 0.01, 0.01, 1.0):
            for done in range(0, 101, 5):
                display(events.StepProgress("restoring a", done, 100, "bytes"))
                now[0] += each_s
    begun, *later = out.getvalue().splitlines()
    assert begun == "restoring a: 0%"
    assert later == ["restoring a: 50%", "restoring a: 100%"] * 2
    once = [events.StepProgress("restoring b", n, 1000, "bytes") for n in (996, 1000, 996, 1000)]
    assert plain(*once) == ["restoring b: 100%"]


def test_square_brackets_are_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert plain(events.Notice("value [red]x[/red] and [64]")) == ["value [red]x[/red] and [64]"]


def test_the_clock_goes_by_the_plan_until_runs_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    clock = Clock(BEGAN)
    assert clock.left_s == pytest.approx(6.0)
    now[0] += 3.0
    assert clock.left_s == pytest.approx(6.0), "while data are loaded"
    clock.run_ended(record())
    assert clock.left_s == pytest.approx(4.0)
    now[0] += 3.0
    clock.run_ended(record())
    assert clock.left_s == pytest.approx(3.0)
    now[0] += 1.0
    assert clock.left_s == pytest.approx(2.0)


def test_work_that_may_end_early_has_a_maximum_time_until_the_first_run_ended() -> None:
    clock = Clock(events.Began(Path("runs/x"), total=4, ended=1, load_s=1200.0, at_most=True))
    assert str(clock).startswith("at most 15 min")
    clock.run_ended(record("failed", error={"message": "table is full"}))
    assert str(clock).startswith("at most 10 min"), "nothing is known yet"
    clock = Clock(events.Began(Path("runs/x"), total=4, ended=1, load_s=1200.0, at_most=True))
    ended = record(plan={"load": {"connections": 64, "warmup_s": 4.0, "measure_s": 300.0}})
    assert ended.done is not None and ended.done["measured_s"] == 1.0
    clock.run_ended(ended)
    assert clock.left_s == pytest.approx(2 * (4.0 + 1.0), abs=0.5)
    assert "at most" not in str(clock)


def test_the_live_display_shows_cell_block_pace_and_time_left() -> None:
    out = io.StringIO()
    with LiveDisplay(CleanConsole(file=out, force_terminal=True, width=160)) as display:
        display(events.StepProgress("loading 1M rows", 500_000, 1_000_000, "rows"))
        display(events.StepProgress("loading 1M rows", 1_000_000, 1_000_000, "rows"))
        display(BEGAN)
        display(events.RunBegan(2, 1, 2, CELL, 4))
        display(events.Pace(2, 41_234.0))
        with display.paused():
            pass
        display(events.RunEnded(record("failed", error={"message": "table is full"})))
        display(events.RunEnded(record()))
        display._progress.refresh()
    shown = out.getvalue()
    assert "block 1/2" in shown
    assert "key_cache_segments=32" in shown
    assert "failed: table is full" in shown
    assert " left" in shown


def test_the_time_left_from_the_lab_has_priority(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    clock = Clock(BEGAN)
    clock.run_began(events.RunBegan(2, 1, 2, CELL, 4, left_s=90.0))
    assert clock.left_s == pytest.approx(90.0)
    now[0] += 30.0
    clock.run_ended(record())
    assert clock.left_s == pytest.approx(60.0)
    assert str(clock) == "60 s left"
    clock.run_began(events.RunBegan(3, 2, 2, CELL, 8, left_s=10.0))
    now[0] += 20.0
    assert clock.left_s == 0.0, "and never less"


def test_runs_planned_later_are_counted() -> None:
    lines = plain(
        BEGAN,
        events.RunBegan(2, 1, 4, CELL, 8, left_s=60.0),
        events.RunEnded(record()),
    )
    assert lines[1].startswith("run 2/8  ")
    assert lines[1].endswith("(60 s left)")
