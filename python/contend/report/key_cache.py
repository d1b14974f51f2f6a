"""Why 32 locks behave like a few: a page lives in one segment, and every lookup visits the root.

From information_schema.KEY_CACHES before and after each run come the visits of each segment. The
share of the most visited one sets a ceiling on what the segments can gain: if only its lock
queued, throughput could rise to 1/share of that behind a single lock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from contend.findings import Compared, Finding, Read, Study, over_repeats
from contend.metrics import THROUGHPUT
from contend.report.basis import repeats_text
from contend.report.bounds import surest
from contend.report.causes import Explanation
from contend.report.charts import shares_chart
from contend.report.key_requests import requests_paragraph, requests_tables
from contend.report.model import Cause, Chart, Layout, Panel, TextTable
from contend.report.words import (
    UNKNOWN,
    error_text,
    estimate_text,
    gain_text,
    level_phrase,
    share_text,
)
from contend.spec import Level, Roles
from contend.stats import Estimate
from contend.store import RunRecord

WARM_BELOW = 0.001
"""Key cache misses per query below which the cache counts as warm."""

_LISTED = 6


@dataclass(frozen=True, slots=True)
class _Visits:
    """Visits of the segments in one panel at one level, over all its repeats, and the gain over
    all its columns."""

    panel: Panel
    label: str
    level: Level
    shares: tuple[tuple[str, float], ...]
    hottest: Estimate
    gain: Finding | None

    @property
    def ceiling_percent(self) -> float:
        return (1 / self.hottest.mean - 1) * 100

    def ceiling_text(self) -> str:
        low, high = self.hottest.low, self.hottest.high
        if self.hottest.n < 2 or low <= 0:
            return f"+{self.ceiling_percent:.0f} {UNKNOWN}"
        half = (1 / low - 1 / high) / 2 * 100
        places = 0 if half >= 0.95 else 1
        return f"+{self.ceiling_percent:.{places}f} {error_text(half, places)}"


class SegmentedKeyCache(Explanation):
    """The analysis of the experiment on `key_cache_segments`."""

    def level(self, level: Level) -> str:
        return "off" if level == 0 else str(level)

    def change(self, roles: Roles, level: Level) -> str:
        instead = "" if roles.baseline in (0, 1) else f" instead of {roles.baseline}"
        return f"splitting the key cache into {level} segments{instead}"

    def cause(
        self, study: Study, layout: Layout, panels: tuple[Panel, ...], compared: Compared
    ) -> Cause | None:
        visits = _visits(study, layout, panels, compared)
        if not visits or study.metrics[0].name != THROUGHPUT:
            return None
        texts = (
            _MECHANISM,
            requests_paragraph(study),
            _ceiling_paragraph(visits),
            _warmth(panels),
        )
        hottest = max(visits, key=lambda one: one.hottest.mean)
        first = visits[0]
        return Cause(
            title="Why: every lookup visits the root page, and that lives in one segment",
            lead=_lead(first),
            paragraphs=tuple(text for text in texts if text),
            tables=(_table(visits), *requests_tables(study, layout, panels)),
            charts=tuple(_chart(one) for one in visits if one.level == first.level),
            refutation=_REFUTATION.format(ceiling=f"+{hottest.ceiling_percent:.0f} %"),
        )


_MECHANISM = (
    "MyISAM finds a row by walking down the B-tree of its index, and asks the key cache for each "
    "page on the way, under a lock. The segments divide that lock, but a page always belongs to "
    "the same segment, chosen by its file and position. Every walk begins at the root page, so "
    "the segment that holds it is visited by every lookup, and the pages just below it draw most "
    "of the rest to a few more. Other segments stand nearly idle, and adding more of them does "
    "not divide the visits to the root."
)

_REFUTATION = (
    "A gain certainly above {ceiling} would refute this, and so would a gain that stays when the "
    "same queries are spread over many tables, each with a root page of its own, or one that "
    "comes without fewer context switches per query."
)


def _lead(first: _Visits) -> str:
    where = f" ({first.panel.title})" if first.panel.title else ""
    columns = len(first.panel.gains[0].gains) if first.panel.gains else 1
    over = f" over {columns} columns" if columns > 1 else ""
    measured = f"{gain_text(first.gain.change)} %{over}" if first.gain else "not known yet"
    return (
        f"Of {len(first.shares)} segments, the most visited one takes {share_text(first.hottest)} "
        f"of all visits to the key cache{where}, n = {repeats_text(first.hottest.n)}; an even "
        f"share would be {100 / len(first.shares):.1f} %. However many segments there are, the "
        f"gain that they alone can bring ends at 1/share - 1 = {first.ceiling_text()} %; what was "
        f"measured there is {measured}."
    )


def _ceiling_paragraph(visits: Sequence[_Visits]) -> str:
    first = visits[0]
    listed = ", ".join(f"{share * 100:.0f}" for _, share in first.shares[:_LISTED])
    text = f"The most visited segments have {listed} % of the visits."
    surest_of = [(one, best) for one in visits if (best := surest(_gains(one))) is not None]
    for one, best in surest_of:
        if (best.change.low - 1) * 100 > one.ceiling_percent:
            return (
                f"{text} In the table {one.panel.title} the gain of {gain_text(best.change)} % at "
                f"{_place(best)} lies above the ceiling: here the root page alone does not explain "
                "the curve."
            )
    return f"{text} No gain lies certainly above its ceiling."


def _warmth(panels: Sequence[Panel]) -> str:
    found = [
        (panel, row.label, estimate)
        for panel in panels
        if (table := panel.metric("key_misses_per_query")) is not None
        for row in table.rows
        for estimate in row.estimates
        if estimate is not None
    ]
    if not found:
        return "Key cache misses were not recorded, so it is not known whether the cache was warm."
    panel, label, worst = max(found, key=lambda one: one[2].mean)
    if worst.mean == 0:
        return "The key cache was warm: not one key cache miss was counted in any run."
    where = f"{panel.title}, {label}" if panel.title else label
    text = f"at most {estimate_text(worst)} key cache misses per query (n = {worst.n}, {where})"
    if worst.mean < WARM_BELOW:
        return f"The key cache was warm in every cell: {text}."
    return (
        f"The key cache was not warm everywhere: {text}. There the disk or the page cache counts."
    )


def _table(visits: Sequence[_Visits]) -> TextTable:
    rows = []
    for one in visits:
        best = surest(_gains(one))
        column = _column_of(one, best)
        rows.append(
            (
                one.panel.title or "all",
                one.label,
                share_text(one.hottest),
                one.ceiling_text(),
                gain_text(one.gain.change) if one.gain else "not measured",
                _place(best) if best else "",
                _before_after(one, "switches_per_query", column),
                _before_after(one, "cpus_busy", column),
            )
        )
    return TextTable(
        caption="The ceiling that the most visited segment sets, beside the gain over all columns, "
        "and what changed where it is certainly largest (intervals after ±)",
        columns=(
            "table",
            "segments",
            "most visited",
            "ceiling, %",
            "gain, %",
            "at",
            "switches per query, off → split",
            "CPUs busy, off → split",
        ),
        rows=tuple(rows),
    )


def _gains(one: _Visits) -> list[Finding]:
    return [gain for row in one.panel.gains if row.level == one.level for gain in row.gains if gain]


def _column_of(one: _Visits, best: Finding | None) -> int | None:
    for row in one.panel.gains:
        for column, gain in enumerate(row.gains):
            if best is not None and gain is best:
                return column
    return None


def _place(best: Finding) -> str:
    path = "load.connections"
    return level_phrase(path, best.cell[path]) if path in best.cell else ""


def _before_after(one: _Visits, key: str, column: int | None) -> str:
    table = one.panel.metric(key)
    if table is None or column is None:
        return "not recorded"
    before = table.rows[0].estimates[column]
    after = next((row.estimates[column] for row in table.rows if row.label == one.label), None)
    if before is None or after is None:
        return "not recorded"
    return f"{estimate_text(before)} → {estimate_text(after)}"


def _chart(one: _Visits) -> Chart:
    return shares_chart(
        f"segments-{one.panel.slug}",
        f"Visits to each of {len(one.shares)} segments",
        one.panel.title,
        one.shares,
        noun="segment",
        caption="Share of all key cache read requests, over all repeats; dashed: an even share.",
    )


def _visits(
    study: Study, layout: Layout, panels: Sequence[Panel], compared: Compared
) -> list[_Visits]:
    roles = study.roles
    visits = []
    for row, panel in enumerate(panels):
        for label, level in zip(layout.levels, roles.levels, strict=True):
            runs = [
                run
                for column in roles.column_levels
                for run in study.runs_of(roles.cell(panel.context, column, level))
            ]
            shares = [(run, found) for run in runs if (found := _shares_of_run(run))]
            if level is None or not shares:
                continue
            gain = next(
                (
                    one
                    for one in compared.rows
                    if one.level == level and one.change.place.first_row == row
                ),
                None,
            )
            visits.append(_gathered(study, panel, label, level, shares, gain))
    return visits


def _gathered(
    study: Study,
    panel: Panel,
    label: str,
    level: Level,
    runs: Sequence[tuple[RunRecord, Mapping[str, float]]],
    gain: Finding | None,
) -> _Visits:
    shares = {run.run: of_run for run, of_run in runs}
    over = {
        segment: over_repeats(study, (run for run, _ in runs), _share_in(shares, segment))
        for segment in dict.fromkeys(name for of_run in shares.values() for name in of_run)
    }
    known = [(name, one) for name, one in over.items() if one is not None]
    known.sort(key=lambda item: -item[1].mean)
    ordered = tuple((name, one.mean) for name, one in known)
    return _Visits(panel, label, level, ordered, known[0][1], gain)


def _share_in(shares: Mapping[int, Mapping[str, float]], segment: str) -> Read:
    return lambda run: shares[run.run].get(segment, 0.0)


def _shares_of_run(record: RunRecord) -> dict[str, float]:
    """Each segment's share of the read requests of one run; empty if there are no segments.

    A row without a segment number is a cache that is not split.
    """
    visits = {
        _segment_name(row.get("cache"), segment): row.get("read_requests") or 0
        for row in record.probes.get("key_caches") or ()
        if (segment := row.get("segment")) is not None
    }
    total = sum(visits.values())
    if len(visits) < 2 or total <= 0:
        return {}
    return {segment: count / total for segment, count in visits.items()}


@cache
def _segment_name(key_cache: str | None, segment: int) -> str:
    return f"{segment}" if key_cache in (None, "", "default") else f"{key_cache} {segment}"
