"""What paths and levels are called in a sentence, a table head and a file name."""

from __future__ import annotations

import re
from collections.abc import Mapping

from contend.metrics import Metric
from contend.spec import Level

_COUNTED = ("load.connections", "load.threads", "workload.points", "data.rows")


def factor_label(path: str) -> str:
    """The last word of a path: `connections`, `points`, `key_cache_segments`."""
    return path.rpartition(".")[2]


def level_label(level: Level) -> str:
    """A level as a reader writes it: `on`, `20M`, `512M`."""
    if isinstance(level, bool):
        return "on" if level else "off"
    if isinstance(level, int) and abs(level) >= 100_000:
        for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
            if level % size == 0:
                return f"{level // size}{unit}"
    return str(level)


def level_phrase(path: str, level: Level) -> str:
    """One level in a sentence: `64 connections`, `1 connection`, `engine = MyISAM`."""
    name = factor_label(path)
    if path in _COUNTED:
        singular = name.removesuffix("s") if level == 1 else name
        return f"{level_label(level)} {singular}"
    return f"{name} = {level_label(level)}"


def cell_phrase(cell: Mapping[str, Level]) -> str:
    """A cell in a sentence; the load comes first: `64 connections, 10 points`."""
    paths = sorted(cell, key=lambda path: not path.startswith("load."))
    return ", ".join(level_phrase(path, cell[path]) for path in paths)


def change_noun(metric: Metric, baseline: str | None) -> str:
    """What a change is called: a gain only if more is better."""
    return f"change from {baseline}" if metric.less_is_better else f"gain over {baseline}"


def change_title(metric: Metric, baseline: str | None) -> str:
    """Over a table of changes: `Throughput: gain over off, percent`."""
    less = "; less is better" if metric.less_is_better else ""
    return f"{metric.title}: {change_noun(metric, baseline)}, percent{less}"


def slug(text: str) -> str:
    """Fit for a file name or an HTML id."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "all"
