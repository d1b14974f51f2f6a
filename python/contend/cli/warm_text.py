"""What `contend warm` prints: the plan as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from contend.units import format_count, format_duration, format_size
from contend.warm.model import Cache, Item, WarmPlan
from contend.warm.progress import WarmUpResult

if TYPE_CHECKING:
    from contend.warm.by_list import ByList

SHOWN, LEFT_OUT_SHOWN = 200, 20
"""Lines of each list."""


def plan_in_words(plan: WarmPlan, way: ByList | str | None = None) -> str:
    """What would be loaded, cache by cache, and what would not.

    Args:
        way: what is loaded by a list of pages, or why InnoDB's tables are scanned; None to say
            nothing of it.
    """
    parts = [_cache(plan, cache) for cache in plan.caches if any(True for _ in plan.of(cache))]
    if not parts:
        parts = ["There is nothing to load."]
    if way is not None:
        parts.append(_way(way))
    if plan.left_out:
        parts.append(_left_out(plan))
    parts += [f"Note: {notice}." for notice in plan.notices]
    return "\n\n".join(part[:1].upper() + part[1:] for part in parts) + "\n"


def loaded_in_words(loaded: WarmUpResult) -> str:
    """What a warm-up came to."""
    speed = loaded.size / loaded.seconds if loaded.seconds > 0 else 0.0
    lines = [
        f"Read {format_size(loaded.size)} in {format_duration(loaded.seconds)}"
        f" ({format_size(speed)}/s)."
    ]
    if loaded.held_s:
        lines.append(f"It was held back for {format_duration(loaded.held_s)} of that.")
    if loaded.refused:
        lines.append("Not loaded, or not all of it:")
        lines += [f"  {name}: {why}" for name, why in loaded.refused.items()]
    return "\n".join(lines) + "\n"


def _way(way: ByList | str) -> str:
    if isinstance(way, str):
        return f"InnoDB's tables are scanned, not loaded by a list of pages: {way.rstrip('.')}."
    pages = sum(len(pages) for pages in way.pages.values())
    lines = []
    if pages:
        lines.append(f"The server loads InnoDB's pages by itself, by a list of {pages:,}.")
    if way.why_not:
        lines.append("Scanned, because a list cannot have them:")
        lines += _table(list(way.why_not.items()), ("WHAT", "WHY"))
    return "\n".join(lines)


def _cache(plan: WarmPlan, cache: Cache) -> str:
    items = list(plan.of(cache))
    wanted = sum(item.take for item in items)
    used = "" if cache.used is None else f", {format_size(cache.used)} of it in use"
    lines = [
        f"{cache.name}: {format_size(cache.size)}{used}. To load: {format_size(wanted)}"
        f" ({wanted / max(1, cache.size):.0%}), {plan.ordered_by}."
    ]
    lines += _table(map(_row, items[:SHOWN]), _HEAD)
    if len(items) > SHOWN:
        lines.append(f"  … and {len(items) - SHOWN} more")
    return "\n".join(lines)


_HEAD = ("TABLE", "INDEX", "SIZE", "LOADED", "READS")


def _row(item: Item) -> tuple[str, ...]:
    share = "all" if item.take == item.size else f"{item.take / item.size:.0%}"
    reads = "" if item.reads is None else format_count(item.reads)
    return str(item.table), item.part, format_size(item.size), share, reads


def _left_out(plan: WarmPlan) -> str:
    shown = plan.left_out[:LEFT_OUT_SHOWN]
    rows = [(one.name, "" if one.size is None else format_size(one.size), one.why) for one in shown]
    lines = ["Not loaded:", *_table(rows, ("WHAT", "SIZE", "WHY"))]
    if len(plan.left_out) > len(shown):
        lines.append(f"  … and {len(plan.left_out) - len(shown)} more")
    return "\n".join(lines)


def _table(rows: Iterable[Sequence[str]], head: Sequence[str]) -> list[str]:
    """Columns aligned; one that is empty in all rows is left out."""
    rows = list(rows)
    kept = [place for place in range(len(head)) if any(row[place] for row in rows)]
    lines = [[head[place] for place in kept], *([row[place] for place in kept] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(kept))]
    return [
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
