"""What `contend warm` shows while it loads, on standard error: a live display on a terminal, plain
lines elsewhere."""

from __future__ import annotations

from collections import deque
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Bars

from contend.units import format_count, format_duration, format_size
from contend.warm.work import WarmProgress

PLAIN_STEP = 0.1
"""Without a terminal, progress is told at each tenth."""

WINDOW_S = 5.0
"""The speed is that of the last seconds."""


class Speed:
    """Bytes a second over the last seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque([(0.0, 0.0)])

    def add(self, at_s: float, size: float) -> float:
        self._seen.append((at_s, size))
        while len(self._seen) > 2 and self._seen[0][0] < at_s - WINDOW_S:
            self._seen.popleft()
        first_s, first = self._seen[0]
        return (size - first) / max(1e-6, at_s - first_s)


class WarmDisplay:
    """`notice` and `progress` are told what happens.

    Args:
        page: bytes of a page.
    """

    def __init__(self, console: Console, page: int) -> None:
        self._console = console
        self._page = page
        self._speed = Speed()
        self._began: float | None = None
        self._shown = 0.0
        self._ended: set[str] = set()
        self._task: TaskID | None = None
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[state]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def notice(self, text: str) -> None:
        self._bars.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def progress(self, progress: WarmProgress) -> None:
        done, total = sum(progress.done.values()), sum(progress.sizes.values())
        if self._began is None:
            # Of a resumed warm-up much is done when it begins.
            self._began = done
        speed = self._speed.add(progress.elapsed_s, done - self._began)
        self._tell_ended(progress)
        now = next((name for name in progress.done if name not in self._ended), "")
        state = _state(progress, now, speed, self._page)
        if self._console.is_terminal:
            if self._task is None:
                self._task = self._bars.add_task(now, total=total, state=state)
            self._bars.update(self._task, description=now, completed=done, state=state)
        elif total and done / total >= self._shown + PLAIN_STEP:
            self._shown = done / total
            self.notice(f"{done / total:.0%}  {now}  {state}")

    def _tell_ended(self, progress: WarmProgress) -> None:
        for name, done in progress.done.items():
            if name not in self._ended and done >= progress.sizes.get(name, 0):
                self._ended.add(name)
                self.notice(f"{name}: {format_size(done)}, {self._pages(done)} pages")

    def _pages(self, size: float) -> str:
        return format_count(size // self._page)


def _state(progress: WarmProgress, name: str, speed: float, page: int) -> str:
    """`1.2M of 1.5M pages  210 MiB/s  2 s left, of all 12 s`; why it is held back, if it is."""
    done, total = sum(progress.done.values()), sum(progress.sizes.values())
    left = max(0.0, progress.sizes.get(name, 0) - progress.done.get(name, 0.0))
    words = f"{format_count(done // page)} of {format_count(total // page)} pages"
    words += f"  {format_size(speed)}/s"
    if speed > 0:
        words += f"  {format_duration(left / speed)} left, of all "
        words += format_duration((total - done) / speed)
    return words if progress.held is None else f"{words}  held back: {progress.held}"
