"""What the server itself counts that bears on a query's time, cell by cell: row locks, temporary
tables, rows touched, misses of caches. Of the measured runs, so no look disturbs it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from contend.findings.figures import cell_figures
from contend.findings.study import Study
from contend.metrics import Metric, Run
from contend.metrics.counters import SOURCES, CounterSource, counters_in
from contend.spec import Level
from contend.stats import Estimate

_ASKED: Mapping[str, str] = {
    "status": r"Handler_(?!commit|external_lock).+|Innodb_row_lock_(time|waits)|Table_locks_waited"
    r"|Created_tmp_.+|Sort_merge_passes|Qcache_(hits|inserts|lowmem_prunes|not_cached)"
    r"|Key_(read_requests|reads|write_requests|writes)|Aria_pagecache_reads"
    r"|Innodb_(buffer_pool_reads|buffer_pool_wait_free|log_waits|data_fsyncs|os_log_fsyncs)",
    "innodb": r".*(wait|lock|usec|latency).*",
    "key_cache": r".+",
}
"""Which counters, by their source."""

_IN_MS = frozenset({"Innodb_row_lock_time"})
"""Those are told in microseconds, like all times of a query."""


@dataclass(frozen=True, slots=True)
class ServerCount:
    """One counter a query, in the cells side by side; None where it was not kept."""

    name: str
    figures: tuple[Estimate | None, ...]


def server_says(study: Study, cells: Sequence[Mapping[str, Level]]) -> list[ServerCount]:
    """What was counted in these cells, in the order of the sources; what nobody counted is left
    out. n counts repeats."""
    runs = [run for cell in cells for run in study.runs_of(cell)]
    found = {(source.name, name) for run in runs for source, name in counters_in(run)}
    asked = [
        _metric(source, name)
        for source in SOURCES
        if source.queries is not None
        for name in sorted(name for of, name in found if of == source.name)
        if re.fullmatch(_ASKED.get(source.name, "(?!)"), name)
    ]
    wanted = replace(study, shown=tuple(asked))
    told = [cell_figures(wanted, cell) for cell in cells]
    counts = [
        ServerCount(
            metric.title,
            tuple(None if one is None else one.figures.get(metric.name) for one in told),
        )
        for metric in asked
    ]
    return [one for one in counts if any(figure and figure.mean for figure in one.figures)]


def _metric(source: CounterSource, name: str) -> Metric:
    metric = source.metric(name)
    if name not in _IN_MS:
        return replace(metric, title=name if source.name == "status" else f"{source.name}.{name}")

    def in_us(run: Run) -> float | None:
        value = metric.value(run)
        return None if value is None else value * 1000

    return replace(metric, title=f"{name}, us", value=in_us)
