"""Requests to the key cache for each point, beside what the depth of the index lets expect."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from contend.findings import Study, over_repeats
from contend.findings.key_depth import (
    POINTS_BELOW,
    WALKS,
    Depth,
    depth_of,
    expected_of,
    requests_per_point,
)
from contend.report.basis import repeats_text
from contend.report.model import Layout, Panel, TextTable
from contend.report.words import estimate_text
from contend.spec import Level
from contend.stats import Estimate
from contend.store import RunRecord
from contend.units import format_count

AGREES_WITHIN = 0.05
"""A level more or less changes the requests by a fifth at least; the entries that are the last of
their page, and the server's own requests, by about a hundredth."""

_NOT_KNOWN = "not known"


def requests_paragraph(study: Study) -> str:
    """What was counted over all runs, and whether it is what was expected; empty if the runs
    did not ask for points."""
    of_depth: dict[Depth | None, list[RunRecord]] = defaultdict(list)
    for run in study.measured:
        if requests_per_point(run) is not None:
            of_depth[depth_of(study, run)].append(run)
    counted = {
        depth: over_repeats(study, runs, requests_per_point) for depth, runs in of_depth.items()
    }
    return " ".join(_sentence(depth, one) for depth, one in counted.items() if one is not None)


def requests_tables(study: Study, layout: Layout, panels: Sequence[Panel]) -> tuple[TextTable, ...]:
    """What was counted at each level beside what was expected: a row a panel; no table if the
    runs did not ask for points."""
    if not any(requests_per_point(run) is not None for run in study.measured):
        return ()
    rows = []
    for panel in panels:
        by_level = [_runs_of(study, panel, level) for level in study.roles.levels]
        expected = expected_of(study, [run for runs in by_level for run in runs])
        rows.append(
            (
                panel.title or "all",
                *(_counted_text(study, runs) for runs in by_level),
                _NOT_KNOWN if expected is None else f"{expected:.0f}",
            )
        )
    return (
        TextTable(
            caption="Requests to the key cache for each point, beside what the depth of the "
            "table's key lets expect (intervals after ±)",
            columns=("table", *layout.levels, "expected"),
            rows=tuple(rows),
        ),
    )


def _runs_of(study: Study, panel: Panel, level: Level | None) -> list[RunRecord]:
    roles = study.roles
    return [
        run
        for column in roles.column_levels
        for run in study.runs_of(roles.cell(panel.context, column, level))
    ]


def _counted_text(study: Study, runs: Sequence[RunRecord]) -> str:
    counted = over_repeats(study, runs, requests_per_point)
    return _NOT_KNOWN if counted is None else estimate_text(counted)


def _sentence(depth: Depth | None, counted: Estimate) -> str:
    n = repeats_text(counted.n)
    made = f"A point makes {estimate_text(counted)} requests to the key cache (n = {n})"
    if depth is None:
        return (
            f"{made}. How many to expect is only known of the study's own table, asked for fewer "
            f"than {POINTS_BELOW} points a query."
        )
    levels = f"{depth.levels} level{'' if depth.levels == 1 else 's'}"
    why = (
        f"the key of {format_count(depth.rows)} rows has {levels}, and the server walks down it "
        f"{WALKS} times for each point, twice to estimate how many rows it has and once to read "
        "them"
    )
    if abs(counted.mean / depth.requests - 1) <= AGREES_WITHIN:
        return (
            f"{made}, and {depth.requests} are expected of the study's table, or a few hundredths "
            f"more for entries that end a page: {why}."
        )
    return (
        f"{made}, but {depth.requests} are expected of the study's table: {why}. So this is "
        "another table, or another plan of the server, and what follows from the depth of the "
        "study's does not hold here."
    )
