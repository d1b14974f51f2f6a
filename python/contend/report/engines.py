"""Why one storage engine answers the same statements sooner: what each reads, and from where."""

from __future__ import annotations

from functools import partial

from contend.findings import Compared, Study, over_repeats
from contend.report.causes import Explanation
from contend.report.model import Cause, Layout, Panel, TextTable
from contend.report.words import estimate_text
from contend.store import RunRecord

COUNTERS = (
    ("Handler_read_rnd_next", "rows read by scans"),
    ("Handler_read_next", "rows read along an index"),
    ("Handler_read_key", "look-ups by key"),
    ("Innodb_buffer_pool_read_requests", "buffer pool requests"),
    ("Key_read_requests", "key cache requests"),
    ("Aria_pagecache_read_requests", "Aria page cache requests"),
)
"""Of SHOW GLOBAL STATUS, per query; what stays 0 at all levels is left out."""


class Engines(Explanation):
    """The analysis of the experiment on `data.engine`."""

    def cause(
        self, study: Study, layout: Layout, panels: tuple[Panel, ...], compared: Compared
    ) -> Cause | None:
        del compared
        roles = study.roles
        if roles.compared is None or roles.compared.path != "data.engine" or not panels:
            return None
        runs = {
            label: [
                run
                for context in roles.table_contexts()
                for column in roles.column_levels
                for run in study.runs_of(roles.cell(context, column, level))
            ]
            for label, level in zip(layout.levels, roles.levels, strict=True)
        }
        table = _table(study, runs)
        if table is None:
            return None
        return Cause(
            title="Why: the engines read the same rows along different ways",
            lead=(
                "All engines were asked the same statements over the same rows. What differs is "
                "how they keep them: MyISAM and Aria leave rows to the page cache of the system "
                "and keep only index pages (Aria: rows too) in a cache of their own; InnoDB keeps "
                "rows inside the primary key, in its buffer pool, and looks at each row's version "
                "before it answers."
            ),
            paragraphs=(_same_plan(table), _by_statement()),
            tables=(table,),
            charts=(),
            refutation=(
                "Counters that differ by as much as the times do would say that the engines were "
                "given different plans, and that statistics or indexes, not the engines, made the "
                "difference."
            ),
        )


def _table(study: Study, runs: dict[str, list[RunRecord]]) -> TextTable | None:
    rows = []
    for counter, name in COUNTERS:
        per_query = partial(_per_query, counter)
        found = [over_repeats(study, of_level, per_query) for of_level in runs.values()]
        if any(one is not None and one.mean > 0 for one in found):
            cells = (("not recorded" if one is None else estimate_text(one)) for one in found)
            rows.append((f"{name} ({counter})", *cells))
    if not rows:
        return None
    return TextTable(
        caption="What a statement of the list reads, on average (intervals after ±)",
        columns=("per statement", *runs),
        rows=tuple(rows),
    )


def _per_query(counter: str, run: RunRecord) -> float | None:
    status = run.probes.get("status") or {}
    asked = status.get("Questions") or 0
    # A counter that did not change is not recorded.
    return max(0, status.get(counter, 0)) / asked if asked else None


def _same_plan(table: TextTable) -> str:
    scans = next((row for row in table.rows if "Handler_read_rnd_next" in row[0]), None)
    if scans is None:
        return "No statement of the list scans a table."
    names = table.columns[1:]
    listed = ", ".join(f"{name} {figure}" for name, figure in zip(names, scans[1:], strict=True))
    return (
        f"Rows that a statement reads by scans: {listed}. As far as these agree, the plans do, and "
        "the difference in time is the engines' own."
    )


def _by_statement() -> str:
    return (
        'Which engine wins at which statement stands under "Each statement": a list may be '
        "shorter as a whole although one of its statements is not."
    )
