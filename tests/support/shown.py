"""What a run folder's report says, and what `contend show` prints of it."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from contend.report import Report, build, terminal
from contend.store import RunFolder


def report_of(path: Path, *metrics: str) -> Report:
    with RunFolder.open(path) as folder:
        return build(folder, metrics)


def as_text(report: Report, *, full: bool = False, width: int = 200) -> str:
    out = io.StringIO()
    terminal.render(report, Console(file=out, width=width), full=full)
    return out.getvalue()
