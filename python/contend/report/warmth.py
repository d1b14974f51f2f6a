"""What each way of warming leaves in the buffer pool, what is still read from disk, and how long
it takes until the server is as fast as it gets: the analysis of `buffer-pool-warmup`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from contend.findings import Compared, Study
from contend.metrics import metric_of
from contend.report.causes import Explanation
from contend.report.model import Cause, Layout, Panel, TextTable
from contend.report.warmth_charts import curves
from contend.report.warmth_words import (
    COLD,
    REPEATED,
    asked,
    open_questions,
    page_cache_share,
    payoff,
)
from contend.report.words import cell_phrase, estimate_text
from contend.spec import Level, Roles
from contend.stats import Estimate, estimate
from contend.store import RunRecord

WARM = 0.95
"""Share of the warm throughput from which on a server counts as warm."""

_STEADY = 3
"""Intervals that have to be that fast on average, so that one lucky one is not enough."""

NAMES = {
    "cold": "cold",
    "repeated": "the same queries",
    "queries": "counts of rows",
    "queries-repeated": "counts and the same queries",
    "scan": "contend's scan",
    "list": "contend's page list",
    "list-25": "page list, 25 %",
    "list-100": "page list, 100 %",
    "primary": "a primary's page list",
}

_SECONDS = metric_of("seconds")
_READS = metric_of("status.Innodb_buffer_pool_reads_per_query")
_DISK = metric_of("read_bytes_per_query")


@dataclass(frozen=True, slots=True)
class Way:
    """What was measured of one way to warm, in one context; None of what is not known.

    Args:
        seconds: of the run.
        reads: pages for each query that were not in the buffer pool.
        disk: bytes for each query that came from the disk; what is read and did not was in the page
            cache of the system.
        resident: share of the tables that was in the pool when the run began.
        warming_s: what the warming took.
        until_warm_s: warming and run until `WARM` of the warm throughput; infinite if the run
            ended before.
        gained_s: how much sooner all queries were answered than by a cold server, the warming
            counted.
    """

    level: Level | None
    seconds: Estimate | None
    reads: Estimate | None
    disk: Estimate | None
    resident: Estimate | None
    warming_s: Estimate | None
    until_warm_s: Estimate | None
    not_warm: int = 0
    gained_s: Estimate | None = None


class BufferPoolWarmup(Explanation):
    """The analysis of the experiment on warming."""

    def level(self, level: Level) -> str:
        return NAMES.get(str(level), str(level))

    def change(self, roles: Roles, level: Level) -> str:
        if roles.baseline != COLD or level == COLD:
            return super().change(roles, level)
        return f"warming by {self.level(level)} instead of starting cold"

    def cause(
        self, study: Study, layout: Layout, panels: tuple[Panel, ...], compared: Compared
    ) -> Cause | None:
        del layout, compared
        name = self.level
        tables, charts, gains = [], [], []
        texts: list[str | None] = [asked(study.measured)]
        for panel in panels:
            for column in study.roles.column_levels:
                place = _place(study, panel.context, column)
                runs = {
                    level: study.runs_of(study.roles.cell(panel.context, column, level))
                    for level in study.roles.levels
                }
                ways = {level: _way(study, level, own, runs) for level, own in runs.items()}
                if not any(one.warming_s for one in ways.values()):
                    continue
                where = f" ({place})" if place else ""
                tables.append(_table(place, self, ways))
                charts += curves(place, name, runs)
                gains.append((place, ways))
                texts += [*open_questions(where, ways), page_cache_share(where, ways, name)]
        if not tables:
            return None
        if len(gains) > 1:
            tables.insert(0, _gains(self, gains))
        return Cause(
            title="What is in the buffer pool, and what is still read",
            lead="Each way begins with a server that was restarted, with nothing of its files in "
            "the page cache. What a query costs then is what it has to read. A list of pages was "
            "saved beforehand: of its warming only the loading counts.",
            paragraphs=tuple(filter(None, [*texts, payoff(gains, name)])),
            tables=tuple(tables),
            charts=tuple(charts),
            refutation="A way after which as many pages are read for a query as after another, and "
            "which is slower all the same, has a cause that is not in the buffer pool.",
        )


def _place(study: Study, context: Mapping[str, Level], column: Level | None) -> str:
    cell = dict(context)
    if study.roles.columns is not None and column is not None:
        cell[study.roles.columns.path] = column
    return cell_phrase(cell) if cell else ""


def _way(
    study: Study,
    level: Level | None,
    runs: Sequence[RunRecord],
    others: Mapping[Level | None, Sequence[RunRecord]],
) -> Way:
    confidence = study.experiment.compare.confidence
    repeated = {run.block: run for run in others.get(REPEATED, ())}
    cold = {run.block: _in_all_s(run) for run in others.get(COLD, ())}

    def figure(values: Sequence[float | None]) -> Estimate | None:
        known = [value for value in values if value is not None]
        return estimate(known, confidence) if known else None

    warming = [run.probes.get("warming") or {} for run in runs]
    untils = []
    for run in runs:
        neighbour = repeated.get(run.block)
        warm = neighbour.done["qps"] if neighbour is not None and neighbour.done else None
        untils.append(None if warm is None else until_warm_s(run, warm))
    reached = [value for value in untils if value is not None and value != float("inf")]
    missed = sum(value == float("inf") for value in untils)
    return Way(
        level,
        figure([_SECONDS.value(run) for run in runs]),
        figure([_READS.value(run) for run in runs]),
        figure([_DISK.value(run) for run in runs]),
        figure([one.get("resident_share") for one in warming]),
        figure([one.get("seconds") for one in warming]),
        estimate(reached, confidence) if reached and not missed else None,
        missed,
        figure([_difference(cold.get(run.block), _in_all_s(run)) for run in runs]),
    )


def _in_all_s(run: RunRecord) -> float | None:
    """The warming and the queries."""
    warming, queries = (run.probes.get("warming") or {}).get("seconds"), _SECONDS.value(run)
    return None if warming is None or queries is None else float(warming) + queries


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else before - after


def until_warm_s(run: RunRecord, warm_qps: float) -> float | None:
    """Seconds of warming and of the run until it stays at `WARM` of the warm throughput; infinite
    if it never does, None if it has no intervals."""
    warming = (run.probes.get("warming") or {}).get("seconds")
    if warming is None or not run.intervals:
        return None
    intervals = [one for one in run.intervals if one["duration_s"] > 0]
    rates, enough = [one["qps"] for one in intervals], WARM * warm_qps
    for number in range(max(1, len(rates) - _STEADY + 1)):
        ahead = rates[number : number + _STEADY]
        if ahead and mean(ahead) >= enough and ahead[0] >= enough:
            return float(warming) + float(intervals[number]["start_s"])
    return float("inf")


def _table(place: str, names: Explanation, ways: Mapping[Level | None, Way]) -> TextTable:
    return TextTable(
        caption=f"What each way leaves{f', {place}' if place else ''}",
        columns=(
            "",
            "queries, s",
            "pages read per query",
            "bytes from disk per query",
            "resident at the begin",
            "warming, s",
            "gained in all, s",
            f"until {WARM:.0%} of warm, s",
        ),
        rows=tuple(
            (
                names.level(level) if level is not None else "",
                _text(way.seconds),
                _text(way.reads),
                _text(way.disk),
                "not looked at" if way.resident is None else f"{way.resident.mean:.0%}",
                _text(way.warming_s),
                "" if level == COLD else _text(way.gained_s),
                "not within the run" if way.not_warm else _text(way.until_warm_s),
            )
            for level, way in ways.items()
        ),
    )


def _text(figure: Estimate | None) -> str:
    return "not known" if figure is None else estimate_text(figure)


def _gains(
    names: Explanation, places: Sequence[tuple[str, Mapping[Level | None, Way]]]
) -> TextTable:
    """When warming pays and when it does not: one row for each place."""
    levels = [level for level in places[0][1] if level not in (None, COLD)]
    return TextTable(
        caption="Seconds gained over a cold server, the warming counted",
        columns=("", *(names.level(level) for level in levels if level is not None)),
        rows=tuple(
            (place, *(_text(ways[level].gained_s) for level in levels)) for place, ways in places
        ),
    )
