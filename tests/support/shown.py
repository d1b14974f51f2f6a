"""What `contend show` prints of a report."""

from __future__ import annotations

import io

from rich.console import Console

from contend.report import Report, terminal


def as_text(report: Report, *, full: bool = False, width: int = 200) -> str:
    out = io.StringIO()
    terminal.render(report, Console(file=out, width=width), full=full)
    return out.getvalue()
