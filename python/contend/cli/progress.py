"""Progress of `contend run`: a live display on a terminal, plain lines elsewhere.

Both write to standard error, so that standard output contains only the result.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Self

from rich.progress import TaskID

from contend.cli.console import CleanConsole, bars
from contend.errors import one_line
from contend.experiment.settings.values import level_word
from contend.lab import events
from contend.metrics import SECONDS, metric_of
from contend.metrics.plan import Load
from contend.store import RunRecord
from contend.units import format_count, format_duration, format_size

PLAIN_STEP = 0.1
QUIET_S = 10.0
"""Without a terminal a long step is printed when it begins, and then at each tenth, at most once
per this time; a repeated step, such as restoring the data, only if it takes longer."""

REPEAT_S = 60.0
"""Without a terminal: one line per repeat, or per this time if a repeat takes longer."""


def display_on(console: CleanConsole) -> Display:
    """The display for the output of `console`: a terminal, or a file."""
    return LiveDisplay(console) if console.is_terminal else PlainDisplay(console)


class Clock:
    """Estimates the remaining time from the times of the runs so far.

    The time before the first run does not count: the data may have been loaded for it.
    """

    def __init__(self, began: events.Began) -> None:
        self._left = began.total - began.ended
        self._planned_s = began.load_s / max(1, began.total)
        self._at_most = began.at_most
        self._ends_s: list[float] = []
        self._reported: tuple[float, float] | None = None

    def run_began(self, event: events.RunBegan) -> None:
        if event.left_s is not None:
            self._reported = event.left_s, time.monotonic()

    def run_ended(self, record: RunRecord) -> None:
        self._left -= 1
        self._ends_s.append(time.monotonic())
        if self._at_most and record.done is not None:
            # Replace the maximum time by the actual time.
            load: Load | None = record.plan.get("load")
            warmup_s = load.get("warmup_s", 0.0) if load else 0.0
            self._planned_s = warmup_s + record.done["measured_s"]
            self._at_most = False

    @property
    def left_s(self) -> float:
        if self._reported is not None:
            left_s, at_s = self._reported
            return max(0.0, left_s - (time.monotonic() - at_s))
        if not self._ends_s:
            return self._planned_s * self._left
        first_s, last_s = self._ends_s[0], self._ends_s[-1]
        counted = len(self._ends_s) - 1
        each_s = (last_s - first_s) / counted if counted else self._planned_s
        return max(0.0, each_s * self._left - (time.monotonic() - last_s))

    def __str__(self) -> str:
        """`3 min left`, or `at most 3 min left` if only a maximum is known."""
        return f"{'at most ' if self._at_most else ''}{format_duration(self.left_s)} left"


def label(cell: Mapping[str, object]) -> str:
    """`key_cache_segments=32 points=10 connections=64`."""
    return one_line(
        " ".join(f"{path.rpartition('.')[2]}={level_word(level)}" for path, level in cell.items())
    )


class PlainDisplay:
    """A line for each long step, each repeat and each run without a result, for logs and pipes."""

    def __init__(self, console: CleanConsole) -> None:
        self._console = console
        self._step: tuple[str, float] = ("", 0.0)
        self._shown: tuple[float, float] = (0.0, 0.0)
        self._known_steps: set[str] = set()
        self._total = 0
        self._clock: Clock | None = None
        self._ended: list[RunRecord] = []
        self._printed_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._print_repeat()

    def paused(self) -> AbstractContextManager[None]:
        return nullcontext()

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.Notice(text):
                self._print(text)
            case events.StepProgress():
                # Rounds take seconds together; their beginning was already printed.
                if event.unit != "rounds":
                    self._progress(event)
            case events.Began():
                self._total = event.total
                self._clock = Clock(event)
                self._printed_s = time.monotonic()
                self._print(f"{event.total - event.ended} runs to do in {event.folder}")
            case events.RunBegan():
                if self._ended and self._ended[-1].repeat != event.repeat:
                    self._print_repeat()
                self._total = event.runs
                if self._clock is not None:
                    self._clock.run_began(event)
            case events.RunEnded(record):
                self._run_ended(record)

    def _run_ended(self, record: RunRecord) -> None:
        if self._clock is not None:
            self._clock.run_ended(record)
        if record.done is None:
            self._print_runs(record, f"{label(record.cell)}: {_outcome(record)}")
            return
        self._ended.append(record)
        if time.monotonic() - self._printed_s > REPEAT_S:
            self._print_repeat()

    def _print_repeat(self) -> None:
        ended, self._ended = self._ended, []
        self._printed_s = time.monotonic()
        if not ended:
            return
        rates = sorted(record.done["qps"] for record in ended if record.done is not None)
        slowest, fastest = (_rate_text(rate) for rate in (rates[0], rates[-1]))
        pace = fastest if slowest == fastest else f"{slowest} to {fastest}"
        last = ended[-1]
        self._print_runs(last, f"repeat {last.repeat}: {pace} q/s{_marks(ended)}")

    def _print_runs(self, last: RunRecord, text: str) -> None:
        left = "" if self._clock is None else f"  ({self._clock})"
        self._print(f"run {last.run}/{self._total}  {text}{left}")

    def _progress(self, event: events.StepProgress) -> None:
        share, now = event.done / max(1, event.total), time.monotonic()
        step, before = self._step
        self._step = (event.what, share)
        if event.what not in self._known_steps:
            self._known_steps.add(event.what)
        elif step != event.what or share < before:
            self._shown = (0.0, now)
            return
        elif share < self._shown[0] + PLAIN_STEP or now - self._shown[1] < QUIET_S:
            return
        self._shown = (share, now)
        self._print(f"{event.what}: {share:.0%}")

    def _print(self, text: str) -> None:
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
        """Stop moving while a question waits for its answer."""
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
                    text = f"run {record.run} ({label(record.cell)}) {record.status}: {message}"
                    self._progress.console.print(one_line(text))

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
        self._show_runs(_outcome(event.record))

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


def _outcome(record: RunRecord) -> str:
    if record.done is None:
        return f"{record.status}: {(record.error or {}).get('message', '')}"
    seconds = metric_of(SECONDS).value(record)
    took = f"{seconds:.3g} s, " if seconds is not None else ""
    return f"{took}{_rate_text(record.done['qps'])} q/s{_marks([record])}"


def _rate_text(qps: float) -> str:
    return f"{qps:,.0f}" if qps >= 100 else format_count(qps)


def _marks(records: Iterable[RunRecord]) -> str:
    codes = {str(warning["code"]) for record in records for warning in record.warnings}
    return f"  [{', '.join(sorted(codes))}]" if codes else ""
