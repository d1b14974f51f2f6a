"""What `contend warm` shows: how far it is while it loads, on standard error (a live display on a
terminal, plain lines elsewhere); with `--status` a table with bars, or JSON."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from typing import Any, Self

from rich.progress import TaskID

from contend.cli.console import CleanConsole, bars
from contend.cli.parser import columns
from contend.outside import one_line
from contend.settings.server import PRODUCTS
from contend.units import format_count, format_duration, format_size
from contend.warm.model import Cache
from contend.warm.pool import COUNTS, EXACT, LIST, OTHERS, Coverage
from contend.warm.status import Misses, Rate, Status
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
    """`notice` and `progress` are told what happens."""

    def __init__(self, console: CleanConsole, page: int) -> None:
        self._console = console
        self._page = page
        self._speed = Speed()
        self._began: float | None = None
        self._shown = 0.0
        self._ended: set[str] = set()
        self._task: TaskID | None = None
        self._bars = bars(console, is_shown=console.is_terminal)

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
            # Of a resumed warm-up much is done when it begins.
            self._began = done
        speed = self._speed.add(progress.elapsed_s, done - self._began)
        self._tell_ended(progress)
        now = one_line(next((name for name in progress.done if name not in self._ended), ""))
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


BAR = 10
_EIGHTHS = " ▏▎▍▌▋▊▉█"

_HOW = {
    LIST: "from the list of pages that the server wrote, and its files",
    COUNTS: "from the server's count of pages of each index (INNODB_CACHED_INDEXES)",
    EXACT: "from INNODB_BUFFER_PAGE",
}

_TITLES = {
    "innodb": "InnoDB's buffer pool",
    "myisam": "MyISAM's key cache",
    "aria": "Aria's page cache",
}


def as_text(status: Status) -> str:
    """The status for people."""
    lines = [f"{_name(status)}", ""]
    lines += _table(
        ["cache", "used", "of", ""],
        [
            [cache.name, _size(cache.used), format_size(cache.size), _bar(_share(cache))]
            for cache in status.caches
            if cache.engine != "myisam"
        ]
        + [
            [f"key cache {cache.name}", format_size(cache.used), format_size(cache.size),
             _bar(cache.used / cache.size if cache.size else None)]
            for cache in status.key_caches
        ],
    )  # fmt: skip
    lines.append("")
    lines += _innodb(status)
    lines += _files(status)
    lines += _miss_lines(status.misses)
    return "\n".join(lines).rstrip() + "\n"


def _name(status: Status) -> str:
    return f"{PRODUCTS[status.survey.kind]} {status.survey.version}"


def _innodb(status: Status) -> list[str]:
    held = status.innodb
    if held.how is None:
        return [f"Which tables are in InnoDB's buffer pool is not known: {held.why_not}.",
                "`--exact` asks INNODB_BUFFER_PAGE, at a cost to the server.", ""]  # fmt: skip
    shown = sorted(
        (part for part in held.parts if part.table != OTHERS),
        key=lambda part: (part.table, part.index != "PRIMARY", part.index or ""),
    )
    shown += [part for part in held.parts if part.table == OTHERS]
    if not shown:
        return ["No InnoDB table but the server's own.", ""]
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
    lines = _table(["table", "index", "in the buffer pool", "of", ""], rows)
    why = f"; {held.why_not}" if held.why_not else ""
    lines.append(f"({_HOW[held.how]}{why})")
    lines += [
        f"The indexes of {part.table} are not told apart: {part.why_not}."
        for part in shown
        if part.why_not
    ]
    return [*lines, ""]


def _files(status: Status) -> list[str]:
    engines = {table.engine.lower() for table in status.survey.tables}
    if status.files_why_not is not None:
        if not engines & {"myisam", "aria"}:
            return []
        return [
            "How much of the files of MyISAM and Aria tables is in the page cache is not known: "
            f"{status.files_why_not}.",
            "",
        ]
    rows = [
        [file.table, f"{file.part} ({file.engine})", format_size(file.resident),
         format_size(file.size), _bar(file.share)]
        for file in status.files
    ]  # fmt: skip
    lines = _table(["table", "files", "in the page cache", "of", ""], rows)
    lines += [
        f"How much of {table} is in the page cache is not known: no file of it was found in the "
        "data folder."
        for table in status.without_files
    ]
    return [*lines, ""] if lines else []


def _miss_lines(misses: Sequence[Misses]) -> list[str]:
    rows = [
        [
            _TITLES[entry.engine],
            *(_rate(rate) for rate in (entry.first, entry.second)),
            _slope(entry),
        ]
        for entry in misses
        if entry.first.requests_per_s or entry.second.requests_per_s
    ]
    if not rows:
        return ["Nothing was asked of the caches while this looked, so there is no miss rate.", ""]
    return [*_table(["misses", "first reading", "second reading", ""], rows), ""]


def _rate(rate: Rate) -> str:
    share = "" if rate.share is None else f", {rate.share:.2%} of requests"
    return f"{rate.misses_per_s:,.0f}/s{share}"


def _slope(misses: Misses) -> str:
    """Whether misses still fall. Two readings of some thousands of requests are no more certain
    than that."""
    first, second = misses.first.share, misses.second.share
    if first is None or second is None:
        return ""
    if max(first, second) < 0.001:
        return "warm: next to none"
    if second < first * 0.8:
        return "falling: it gets warmer"
    return "rising" if second > first * 1.25 else "flat"


def as_json(status: Status) -> str:
    """The status for programs. Sizes are bytes, shares lie between 0 and 1."""
    held = status.innodb
    document: dict[str, Any] = {
        "server": {"kind": status.survey.kind, "version": status.survey.version},
        "caches": [
            {"engine": cache.engine, "size_bytes": cache.size, "used_bytes": cache.used,
             "page_bytes": cache.page}
            for cache in status.caches
        ],
        "innodb": {
            "how": held.how,
            "why_not": held.why_not,
            "parts": [_part(part) for part in held.parts],
        },
        "key_caches": [
            {"name": cache.name, "size_bytes": cache.size, "used_bytes": cache.used}
            for cache in status.key_caches
        ],
        "files": [
            {"table": file.table, "engine": file.engine, "part": file.part,
             "resident_bytes": file.resident, "size_bytes": file.size}
            for file in status.files
        ],
        "files_why_not": status.files_why_not,
        "without_files": list(status.without_files),
        "misses": [
            {"engine": entry.engine, "readings": [_reading(entry.first), _reading(entry.second)]}
            for entry in status.misses
        ],
    }  # fmt: skip
    return json.dumps(document, indent=2) + "\n"


def _part(part: Coverage) -> dict[str, Any]:
    return {
        "table": part.table,
        "index": part.index,
        "resident_pages": part.resident,
        "pages": part.pages,
        "page_bytes": part.page_bytes,
        "share": part.share,
        "why_not": part.why_not,
    }


def _reading(rate: Rate) -> dict[str, Any]:
    return {
        "requests_per_s": rate.requests_per_s,
        "misses_per_s": rate.misses_per_s,
        "miss_share": rate.share,
    }


def _share(cache: Cache) -> float | None:
    return None if cache.used is None or not cache.size else min(1.0, cache.used / cache.size)


def _size(size: int | None) -> str:
    return "not known" if size is None else format_size(size)


def _bar(share: float | None) -> str:
    """A bar of `BAR` places with eighths, and the share in words."""
    if share is None:
        return ""
    eighths = round(min(1.0, share) * BAR * 8)
    bar = "█" * (eighths // 8)
    bar += _EIGHTHS[eighths % 8] if eighths % 8 else ""
    return f"{bar:<{BAR}} {share:4.0%}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns side by side, numbers flush right."""
    if not rows:
        return []
    right = {column for column, name in enumerate(head) if name in _NUMBERS}
    return columns([head, *rows], right=right)


_NUMBERS = frozenset({"used", "of", "in the buffer pool", "in the page cache"})
