"""What a point asks of MyISAM's key cache: as the server counted, and as the index's depth says.

A request is for one page of an index. For each point of `k IN (…)` the server walks down the key
`k` from its root to a leaf, so a request count that is not the expected one tells of a table, or
of a plan of the server, that is not the study's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contend.findings.study import Study
from contend.metrics import FIXED, KEY_REQUESTS
from contend.spec import SCRIPT
from contend.store import RunRecord

requests_per_point = FIXED[KEY_REQUESTS].value

WALKS = 3
"""Walks for a point: two to estimate how many rows it has, one to read them."""

POINTS_BELOW = 200
"""With so many points or more a server estimates from statistics, and walks once for each
(`eq_range_index_dive_limit`)."""

DECIDING_VARIABLES = ("eq_range_index_dive_limit", "myisam_block_size")
"""Server variables whose defaults the expectation rests on."""

CONTENT_SINCE = 2
"""The content version of datasets since which the schema `sbtest` is the study's table."""

_PAGE_BYTES = 1024
_PAGE_HEAD_BYTES = 2
_ENTRY_BYTES = 4 + 4
"""The value of k and the row pointer that MAX_ROWS makes so short."""
_CHILD_BYTES = 3
"""A pointer to the page below, one beside each entry and one more."""

LEAF_ENTRIES = (_PAGE_BYTES - _PAGE_HEAD_BYTES) // _ENTRY_BYTES
INNER_ENTRIES = (_PAGE_BYTES - _PAGE_HEAD_BYTES - _CHILD_BYTES) // (_ENTRY_BYTES + _CHILD_BYTES)


@dataclass(frozen=True, slots=True)
class Depth:
    """The key `k` of the study's table: how many rows, and how many pages from root to leaf."""

    rows: int
    levels: int

    @property
    def requests(self) -> int:
        """Expected for each point, but for the few whose entry is the last of its page."""
        return WALKS * self.levels


def levels_of(rows: int) -> int:
    """Levels of a key that was built by sorting, as a fill does: every page is full."""
    levels, held = 1, LEAF_ENTRIES
    widest = LEAF_ENTRIES
    while held < rows:
        widest *= INNER_ENTRIES
        held += widest
        levels += 1
    return levels


def depth_of(study: Study, record: RunRecord) -> Depth | None:
    """The depth of the run's key; None if its table or its plan is not the study's."""
    if int(study.meta.facts.get("content_version", 1)) < CONTENT_SINCE:
        return None
    cell = study.spec_of(record.cell)
    # Asked for every run, so only what counts here is looked at.
    table = (cell["data.schema"], cell["data.engine"], cell["data.table_options"])
    differ = record.probes.get("variables_that_differ") or {}
    if (
        table != ("sbtest", "MyISAM", "")
        or any(name in differ for name in DECIDING_VARIABLES)
        or not 0 < _points(cell["workload"]) < POINTS_BELOW
    ):
        return None
    return Depth(cell["data.rows"], levels_of(cell["data.rows"]))


def expected_of(study: Study, runs: Sequence[RunRecord]) -> float | None:
    """Requests expected for each point in these runs, if it is one figure and known."""
    depths = {depth_of(study, run) for run in runs if requests_per_point(run) is not None}
    depth = depths.pop() if len(depths) == 1 else None
    return None if depth is None else float(depth.requests)


def _points(workload: Mapping[str, Any]) -> int:
    """Points of one query; 0 if that is not known."""
    if workload["kind"] == SCRIPT:
        points = workload["options"].get("random_points", 10)
    else:
        points = workload.get("points")
    return points if isinstance(points, int) else 0
