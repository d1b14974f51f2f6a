"""The output of `contend warm`: the plan; the progress on standard error (a live display on a
terminal, plain lines elsewhere); the result; with `--status` a table with bars, or JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Self

from rich.progress import TaskID

from contend.cli.console import CleanConsole, bars, console
from contend.cli.parser import columns
from contend.errors import one_line
from contend.experiment.settings.server import PRODUCTS
from contend.units import format_duration, format_size
from contend.warm.coverage import LIST, OTHERS, ByList, Status
from contend.warm.plan import Cache, WarmPlan
from contend.warm.scan import WarmProgress
from contend.warm.warm_up import WarmUpResult

PLAIN_STEP = 0.1
"""Without a terminal, progress is printed at each tenth."""

SHOWN, LEFT_OUT_SHOWN = 200, 20
"""Maximum lines of each list of a plan."""

BAR = 10
_EIGHTHS = " ▏▎▍▌▋▊▉█"


class WarmDisplay:
    """Shows `notice` and `progress` events."""

    def __init__(self, shown_on: CleanConsole | None = None) -> None:
        self._console = shown_on or console(stderr=True)
        self._began: float | None = None
        self._shown = 0.0
        self._ended: set[str] = set()
        self._task: TaskID | None = None
        self._bars = bars(self._console, is_shown=self._console.is_terminal)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def notice(self, text: str) -> None:
        self._bars.console.print(one_line(text), soft_wrap=True)

    def progress(self, progress: WarmProgress) -> None:
        done, total = sum(progress.done.values()), sum(progress.sizes.values())
        if self._began is None:
            # A resumed warm-up begins with much of its work done.
            self._began = done
        for name, size in progress.done.items():
            if name not in self._ended and size >= progress.sizes.get(name, 0):
                self._ended.add(name)
                self.notice(f"{name}: {format_size(size)}")
        now = one_line(next((name for name in progress.done if name not in self._ended), ""))
        speed = (done - self._began) / max(1e-6, progress.elapsed_s)
        state = f"{format_size(done)} of {format_size(total)}  {format_size(speed)}/s"
        if speed > 0:
            state += f"  {format_duration((total - done) / speed)} left"
        if progress.held is not None:
            state += f"  slowed down: {progress.held}"
        if self._console.is_terminal:
            if self._task is None:
                self._task = self._bars.add_task(now, total=total, state=state)
            self._bars.update(self._task, description=now, completed=done, state=state)
        elif total and done / total >= self._shown + PLAIN_STEP:
            self._shown = done / total
            self.notice(f"{done / total:.0%}  {now}  {state}")


def plan_text(plan: WarmPlan, way: ByList | str | None) -> str:
    """The items to be loaded and those left out, cache by cache.

    Args:
        way: the part loaded by a list of pages, or why InnoDB's tables are scanned; None to leave
            that out.
    """
    parts = [_cache(plan, cache) for cache in plan.caches if any(True for _ in plan.of(cache))]
    if not parts:
        parts = ["Nothing to load."]
    if isinstance(way, str):
        parts.append(
            f"InnoDB's tables are scanned, not loaded from a list of pages: {way.rstrip('.')}."
        )
    elif way is not None:
        parts.append(_by_list(way))
    if plan.left_out:
        rows = [
            (skipped.name, "" if skipped.size is None else format_size(skipped.size), skipped.why)
            for skipped in plan.left_out
        ]
        lines = _table(("WHAT", "SIZE", "WHY"), rows, LEFT_OUT_SHOWN)
        parts.append("\n".join(["Not loaded:", *lines]))
    parts += [one_line(f"Note: {notice}.") for notice in plan.notices]
    return "\n\n".join(part[:1].upper() + part[1:] for part in parts) + "\n"


def _cache(plan: WarmPlan, cache: Cache) -> str:
    items = list(plan.of(cache))
    wanted = sum(item.take for item in items)
    used = "" if cache.used is None else f", {format_size(cache.used)} of it in use"
    rows = [
        (
            str(item.table),
            item.part,
            format_size(item.size),
            "all" if item.take == item.size else f"{item.take / item.size:.0%}",
        )
        for item in items
    ]
    head = (
        f"{cache.name}: {format_size(cache.size)}{used}. To load: {format_size(wanted)}"
        f" ({wanted / max(1, cache.size):.0%})."
    )
    return "\n".join([head, *_table(("TABLE", "INDEX", "SIZE", "LOADED"), rows, SHOWN)])


def _by_list(way: ByList) -> str:
    lines = []
    pages = sum(len(pages) for pages in way.pages.values())
    if pages:
        lines.append(f"The server itself loads InnoDB's pages, from a list of {pages:,} pages.")
    if way.why_not:
        lines.append("Scanned, because a list cannot contain them:")
        lines += _table(("WHAT", "WHY"), list(way.why_not.items()), SHOWN)
    return "\n".join(lines)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], most: int) -> list[str]:
    """Aligned columns; a column that is empty in all rows is left out."""
    kept = [column for column in range(len(head)) if any(row[column] for row in rows)]
    shown = [[row[column] for column in kept] for row in (head, *rows[:most])]
    lines = [f"  {line}" for line in columns(shown)]
    return [*lines, f"  … and {len(rows) - most} more"] if len(rows) > most else lines


def result_text(loaded: WarmUpResult) -> str:
    """The result of a warm-up."""
    speed = loaded.size / loaded.seconds if loaded.seconds > 0 else 0.0
    lines = [
        f"Read {format_size(loaded.size)} in {format_duration(loaded.seconds)}"
        f" ({format_size(speed)}/s)."
    ]
    if loaded.held_s:
        lines.append(f"It was slowed down for {format_duration(loaded.held_s)} of that.")
    if loaded.refused:
        lines.append("Not loaded, or only in part:")
        lines += [one_line(f"  {name}: {why}") for name, why in loaded.refused.items()]
    return "\n".join(lines) + "\n"


def as_text(status: Status) -> str:
    """The status for people."""
    product = PRODUCTS[status.survey.kind]
    caches = [
        [cache.name, _size(cache.used), format_size(cache.size), _bar(_share(cache))]
        for cache in status.survey.caches
    ]
    blocks = [
        [f"{product} {status.survey.version}"],
        columns([["cache", "used", "of", ""], *caches], right={1, 2}),
        _innodb(status),
        _files(status),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _innodb(held: Status) -> list[str]:
    if held.why_not is not None:
        return [f"The content of the buffer pool is unknown: {held.why_not}."]
    shown = sorted(
        held.parts, key=lambda one: (one.table == OTHERS, one.table, one.index != "PRIMARY",
                                     one.index or "")
    )  # fmt: skip
    if not shown:
        return ["No InnoDB tables except the server's own."]
    rows = [
        [
            part.table,
            part.index or "",
            format_size(part.resident * part.page_bytes),
            _size(None if part.pages is None else part.pages * part.page_bytes),
            _bar(part.share),
        ]
        for part in shown
    ]
    return [
        *columns([["table", "index", "in the buffer pool", "of", ""], *rows], right={2, 3}),
        *(
            f"The indexes of {part.table} cannot be told apart: {part.why_not}."
            for part in shown
            if part.why_not
        ),
    ]


def _files(status: Status) -> list[str]:
    if status.files_why_not is not None:
        if not {table.engine.lower() for table in status.survey.tables} & {"myisam", "aria"}:
            return []
        return [
            "How much of the MyISAM and Aria files is in the page cache is unknown: "
            f"{status.files_why_not}."
        ]
    rows = [
        [file.table, f"{file.part} ({file.engine})", format_size(file.resident),
         format_size(file.size), _bar(file.share)]
        for file in status.files
    ]  # fmt: skip
    head = ["table", "files", "in the page cache", "of", ""]
    return columns([head, *rows], right={2, 3}) if rows else []


def _share(cache: Cache) -> float | None:
    return None if cache.used is None or not cache.size else min(1.0, cache.used / cache.size)


def _size(size: int | None) -> str:
    return "unknown" if size is None else format_size(size)


def _bar(share: float | None) -> str:
    """A bar of `BAR` places with eighths, and the share as text."""
    if share is None:
        return ""
    eighths = round(min(1.0, share) * BAR * 8)
    bar = "█" * (eighths // 8)
    bar += _EIGHTHS[eighths % 8] if eighths % 8 else ""
    return f"{bar:<{BAR}} {share:4.0%}"


def as_json(status: Status) -> str:
    """The status for programs. Sizes are bytes, shares are from 0 to 1."""
    document: dict[str, Any] = {
        "server": {"kind": status.survey.kind, "version": status.survey.version},
        "caches": [
            {"engine": cache.engine, "size_bytes": cache.size, "used_bytes": cache.used,
             "page_bytes": cache.page}
            for cache in status.survey.caches
        ],
        "innodb": {
            "how": LIST if status.why_not is None else None,
            "why_not": status.why_not,
            "parts": [
                {
                    "table": part.table,
                    "index": part.index,
                    "resident_pages": part.resident,
                    "pages": part.pages,
                    "page_bytes": part.page_bytes,
                    "share": part.share,
                    "why_not": part.why_not,
                }
                for part in status.parts
            ],
        },
        "files": [
            {"table": file.table, "engine": file.engine, "part": file.part,
             "resident_bytes": file.resident, "size_bytes": file.size}
            for file in status.files
        ],
        "files_why_not": status.files_why_not,
    }  # fmt: skip
    return json.dumps(document, indent=2) + "\n"
