"""The consoles of rich: contend's colours, tables and bars around external text.

Text is never markup: a table named `[link=…]` is printed unchanged.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from contend.cli.streams import raw_of
from contend.errors import clean

if TYPE_CHECKING:
    from rich.progress import Progress


class CleanConsole(Console):
    """Everything printed here passes through `clean` before it is coloured."""

    def __init__(self, **how: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **how)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(clean(segment.text), segment.style)


def console(*, stderr: bool = False) -> CleanConsole:
    """A console on standard output or standard error."""
    stream = raw_of(sys.stderr if stderr else sys.stdout)
    return CleanConsole(file=stream)


def bars(console: CleanConsole, *, is_shown: bool = True) -> Progress:
    """Moving lines, each with a bar and a `state`; they disappear at the end."""
    # Most commands show none.
    from rich.progress import BarColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[state]}", markup=False),
        console=console,
        transient=True,
        # These pass through `clean`, unlike rich's own.
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not is_shown,
    )
