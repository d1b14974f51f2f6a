"""What `contend run` shows while it works: a live display on a terminal, plain lines elsewhere.

Both write to standard error, so that standard output is the result alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Self

from rich.progress import TaskID

from contend.cli.console import CleanConsole, bars
from contend.lab import events
from contend.metrics import SECONDS, metric_of
from contend.outside import one_line
from contend.plan import Load
from contend.settings.values import level_word
from contend.store import RunRecord
from contend.units import format_count, format_duration, format_size

PLAIN_STEP = 0.1
"""Without a terminal, long steps are told at each tenth."""
QUIET_S = 10.0
"""A step that was told once, such as making the data for another repeat, is told again only if it
takes longer."""


def display_on(console: CleanConsole) -> Display:
    """The display for what `console` writes to: a terminal, or a file."""
    return LiveDisplay(console) if console.is_terminal else PlainDisplay(console)


class Clock:
    """How long the rest will take, from what the runs so far took.

    What comes before the first run does not count: the data may have been loaded for it.
    """

    def __init__(self, began: events.Began) -> None:
        self._left = began.total - began.ended
        self._planned_s = began.load_s / max(1, began.total)
        self._at_most = began.at_most
        self._ends_s: list[float] = []
        self._told: tuple[float, float] | None = None

    def run_began(self, event: events.RunBegan) -> None:
        if event.left_s is not None:
            self._told = event.left_s, time.monotonic()

    def run_ended(self, record: RunRecord) -> None:
        self._left -= 1
        self._ends_s.append(time.monotonic())
        if self._at_most and record.done is not None:
            # It took what it took, and not what it might have.
            load: Load | None = record.plan.get("load")
            warmup_s = load.get("warmup_s", 0.0) if load else 0.0
            self._planned_s = warmup_s + record.done["measured_s"]
            self._at_most = False

    @property
    def left_s(self) -> float:
        if self._told is not None:
            left_s, at_s = self._told
            return max(0.0, left_s - (time.monotonic() - at_s))
        if not self._ends_s:
            return self._planned_s * self._left
        first_s, last_s = self._ends_s[0], self._ends_s[-1]
        counted = len(self._ends_s) - 1
        each_s = (last_s - first_s) / counted if counted else self._planned_s
        return max(0.0, each_s * self._left - (time.monotonic() - last_s))

    def __str__(self) -> str:
        """`3 min left`, or `at most 3 min left` if that is all that is known."""
        return f"{'at most ' if self._at_most else ''}{format_duration(self.left_s)} left"


def label(cell: Mapping[str, object]) -> str:
    """`key_cache_segments=32 points=10 connections=64`."""
    return one_line(
        " ".join(f"{path.rpartition('.')[2]}={level_word(level)}" for path, level in cell.items())
    )


class PlainDisplay:
    """For logs and pipes: a line for each repeat, for what failed, and now and then for a step."""

    def __init__(self, console: CleanConsole) -> None:
        self._console = console
        self._shown: tuple[str, float] = ("", 0.0)
        self._step_began = 0.0
        self._told: set[str] = set()
        self._total = 0
        self._clock: Clock | None = None
        self._repeat: list[RunRecord] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._repeat_ended()

    def paused(self) -> AbstractContextManager[None]:
        return nullcontext()

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.Notice(text):
                self._say(text)
            case events.StepProgress():
                # Rounds take seconds together; that they begin was told.
                if event.unit != "rounds":
                    self._progress(event)
            case events.Began():
                self._total = event.total
                self._clock = Clock(event)
                self._say(f"{event.total - event.ended} runs to make in {event.folder}")
            case events.RunBegan():
                self._total = event.runs
                if self._clock is not None:
                    self._clock.run_began(event)
            case events.RunEnded(record):
                self._run_ended(record)

    def _run_ended(self, record: RunRecord) -> None:
        if self._repeat and self._repeat[0].repeat != record.repeat:
            self._repeat_ended()
        if self._clock is not None:
            self._clock.run_ended(record)
        if record.done is None:
            self._say(f"run {record.run}/{self._total}  {label(record.cell)}: {_outcome([record])}")
        else:
            self._repeat.append(record)

    def _repeat_ended(self) -> None:
        """Tell of the runs since the last such line."""
        if not self._repeat:
            return
        ended, self._repeat = self._repeat, []
        left = f"  ({self._clock})" if self._clock is not None else ""
        until = f"repeat {ended[0].repeat}, run {ended[-1].run}/{self._total}"
        self._say(f"{until}: {_outcome(ended)}{left}")

    def _progress(self, event: events.StepProgress) -> None:
        share = event.done / max(1, event.total)
        what, shown = self._shown
        if what != event.what or share < shown:
            self._step_began = time.monotonic()
        elif share < shown + PLAIN_STEP and not share >= 1.0 > shown:
            return
        self._shown = (event.what, share)
        if event.what not in self._told or time.monotonic() - self._step_began > QUIET_S:
            self._say(f"{event.what}: {share:.0%}")
        if share >= 1.0:
            self._told.add(event.what)

    def _say(self, text: str) -> None:
        self._console.print(one_line(text), soft_wrap=True)


class LiveDisplay:
    """One moving line for the long steps, one for all runs."""

    def __init__(self, console: CleanConsole) -> None:
        self._console = console
        self._progress = bars(console)
        self._step: TaskID | None = None
        self._step_started = 0.0
        self._runs: TaskID | None = None
        self._clock: Clock | None = None
        self._where = ""

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Keep still while the user is asked something."""
        self._progress.stop()
        yield
        self._progress.start()

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.Notice(text):
                self._progress.console.print(one_line(text))
            case events.StepProgress():
                self._show_step(event)
            case events.Began():
                self._clock = Clock(event)
                self._runs = self._progress.add_task(
                    "runs", total=event.total, completed=event.ended, state=""
                )
            case events.RunBegan():
                self._where = f"block {event.block}/{event.blocks}  {label(event.cell)}"
                if self._clock is not None and self._runs is not None:
                    self._clock.run_began(event)
                    self._progress.update(self._runs, total=event.runs)
                self._show_runs("")
            case events.Pace(_, qps):
                self._show_runs(f"{format_count(qps)} q/s")
            case events.RunEnded(record):
                self._run_ended(event)
                if record.status != "ok":
                    message = (record.error or {}).get("message", "")
                    said = f"run {record.run} ({label(record.cell)}) {record.status}: {message}"
                    self._progress.console.print(one_line(said))

    def _show_step(self, event: events.StepProgress) -> None:
        if self._step is None:
            self._step = self._progress.add_task(one_line(event.what), total=event.total, state="")
            self._step_started = time.monotonic()
        elapsed_s = max(1e-6, time.monotonic() - self._step_started)
        rate = event.done / elapsed_s
        shown = f"{event.done}/{event.total}"
        if event.unit != "rounds":
            rows = event.unit == "rows"
            shown = f"{format_count(rate)} rows/s" if rows else f"{format_size(rate)}/s"
        left_s = (event.total - event.done) / rate if rate > 0 else 0.0
        self._progress.update(
            self._step,
            description=one_line(event.what),
            completed=event.done,
            total=event.total,
            state=f"{shown}  {format_duration(left_s)} left",
        )
        if event.done >= event.total:
            self._progress.remove_task(self._step)
            self._step = None

    def _run_ended(self, event: events.RunEnded) -> None:
        if self._clock is not None:
            self._clock.run_ended(event.record)
        if self._runs is not None:
            self._progress.advance(self._runs)
        self._show_runs(_outcome([event.record]))

    def _show_runs(self, pace: str) -> None:
        if self._runs is None or self._clock is None:
            return
        done = self._progress.tasks[self._progress.task_ids.index(self._runs)]
        self._progress.update(
            self._runs,
            state=f"{done.completed:.0f}/{done.total:.0f}  {self._where}  {pace}  {self._clock}",
        )


Display = LiveDisplay | PlainDisplay
"""A listener of the lab with a beginning and an end."""


def _outcome(records: Sequence[RunRecord]) -> str:
    """`1,234 to 5,678 q/s`, with the marks of the runs; of one without figures why."""
    done = [record.done for record in records if record.done is not None]
    if not done:
        return f"{records[0].status}: {(records[0].error or {}).get('message', '')}"
    seconds = [s for one in records if (s := metric_of(SECONDS).value(one)) is not None]
    marks = ", ".join(sorted({str(mark["code"]) for one in records for mark in one.warnings}))
    took = f"{_span([f'{one:.3g}' for one in sorted(seconds)])} s, " if seconds else ""
    rates = [
        f"{qps:,.0f}" if qps >= 100 else format_count(qps) for qps in sorted(d["qps"] for d in done)
    ]
    return f"{took}{_span(rates)} q/s" + (f"  [{marks}]" if marks else "")


def _span(ordered: Sequence[str]) -> str:
    first, last = ordered[0], ordered[-1]
    return first if first == last else f"{first} to {last}"
