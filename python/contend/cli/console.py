"""The consoles of rich: colours, tables and bars of ours around text from outside.

No text is markup: a table named `[link=…]` stays what it is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from contend.cli.streams import raw_of
from contend.outside import clean


class CleanConsole(Console):
    """Everything printed here passes `clean` before it gets its colours."""

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
