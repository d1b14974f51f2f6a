"""Why 32 locks behave like a few: a page is in one segment, and every lookup visits the root.

information_schema.KEY_CACHES before and after each run gives the visits of each segment. The share
of the most visited one limits the gain from segments. If only its lock queued, throughput could
rise to 1/share of that behind a single lock. A model server counts the locks themselves too: the
visits that waited, and how long they were held.

A request to the key cache is for one page of an index. For each point of `k IN (…)` the server
walks down the key `k` from its root to a leaf. So an unexpected request count means that a table,
or a plan of the server, is not the study's.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from contend.experiment import SCRIPT, Level
from contend.findings import (
    Constant,
    Figure,
    Finding,
    ReportText,
    Study,
    analyses_of,
    over_repeats,
    surest,
)
from contend.metrics import FIXED, KEY_REQUESTS, THROUGHPUT, Metric, Run, metric_of
from contend.stats import estimate
from contend.store import RunRecord
from contend.units import format_count
from contend.why.candidate import Candidate
from contend.why.explain import Evidence, EvidenceTable, Explanation, Shares

WARM_BELOW = 0.001
"""Key cache misses per query below which the cache counts as warm."""

AGREES_WITHIN = 0.05
"""One level more or less changes the requests by at least a fifth. Entries at the end of a page,
and the server's own requests, change them by about a hundredth."""

WALKS = 3
"""Walks per point, each with a request per level: two to estimate its number of rows, one to read
them. The exceptions are the few points whose entry is the last of its page."""

POINTS_BELOW = 200
"""From this number of points on, a server estimates from statistics and walks once per point
(`eq_range_index_dive_limit`)."""

DECIDING_VARIABLES = ("eq_range_index_dive_limit", "myisam_block_size")
"""Server variables whose defaults the expectation rests on."""

_PAGE_BYTES = 1024
_PAGE_HEAD_BYTES = 2
_ENTRY_BYTES = 4 + 4
"""The value of k and the row pointer, which MAX_ROWS shortens."""
_CHILD_BYTES = 3
"""A pointer to the page below: one per entry and one more."""

LEAF_ENTRIES = (_PAGE_BYTES - _PAGE_HEAD_BYTES) // _ENTRY_BYTES
INNER_ENTRIES = (_PAGE_BYTES - _PAGE_HEAD_BYTES - _CHILD_BYTES) // (_ENTRY_BYTES + _CHILD_BYTES)

_LISTED = 6

requests_per_point = FIXED[KEY_REQUESTS].value


def levels_of(rows: int) -> int:
    """Levels of a key that was built by sorting, as a fill does: every page is full."""
    levels, held = 1, LEAF_ENTRIES
    widest = LEAF_ENTRIES
    while held < rows:
        widest *= INNER_ENTRIES
        held += widest
        levels += 1
    return levels


def known_rows(study: Study, record: RunRecord) -> int | None:
    """Rows of the run's table; None if its table or its plan is not the study's."""
    cell = study.spec_of(record.cell)
    # Called for every run, so read only the needed parts.
    table = (cell["data.schema"], cell["data.engine"], cell["data.table_options"])
    differ = record.probes.get("variables_that_differ") or {}
    if (
        table != ("sbtest", "MyISAM", "")
        or any(name in differ for name in DECIDING_VARIABLES)
        or not 0 < _points(cell["workload"]) < POINTS_BELOW
    ):
        return None
    rows: int = cell["data.rows"]
    return rows


def _points(workload: Mapping[str, Any]) -> int:
    """Points of one query; 0 if that is not known."""
    if workload["kind"] == SCRIPT:
        points = workload["options"].get("random_points", 10)
    else:
        points = workload.get("points")
    return points if isinstance(points, int) else 0


def expected_of(study: Study, runs: Sequence[RunRecord]) -> float | None:
    """Expected requests per point in these runs; None if unknown or not the same for all."""
    sizes = {known_rows(study, run) for run in runs if requests_per_point(run) is not None}
    rows = sizes.pop() if len(sizes) == 1 else None
    return None if rows is None else float(WALKS * levels_of(rows))


@dataclass(frozen=True, slots=True)
class Visits:
    """Visits of the segments in one table at one level, over all its repeats, the most visited
    first. Also the gain over all its columns, and the gain that is most certain to be large."""

    table: Mapping[str, Level]
    level: Level
    shares: tuple[tuple[str, Figure], ...]
    gain: Finding | None
    best: Finding | None

    @property
    def hottest(self) -> Figure:
        return self.shares[0][1]

    @property
    def ceiling(self) -> Figure:
        """The possible gain from the segments alone, as a share."""
        return self.hottest.mapped(lambda share: 1 / share - 1)


def visits_of(evidence: Evidence) -> list[Visits]:
    """By table and level, as far as there are segments."""
    roles, first, found = evidence.study.roles, evidence.first, []
    for row, table in enumerate(roles.table_contexts()):
        for level in roles.levels:
            split: dict[int, list[Mapping[str, float]]] = defaultdict(list)
            for run in evidence.runs(table, level):
                if shares := shares_of_run(run):
                    split[run.repeat].append(shares)
            if level is None or not split:
                continue
            own, gain = (
                [one for one in of if one.level == level and one.change.place.first_row == row]
                for of in (first.comparisons, first.rows)
            )
            parts = _parts(evidence, table, level, split)
            found.append(Visits(table, level, parts, next(iter(gain), None), surest(own)))
    return found


def _parts(
    evidence: Evidence,
    table: Mapping[str, Level],
    level: Level,
    split: Mapping[int, Sequence[Mapping[str, float]]],
) -> tuple[tuple[str, Figure], ...]:
    """The mean share of each segment, over the repeats of the runs that have segments."""
    names = dict.fromkeys(name for runs in split.values() for shares in runs for name in shares)
    study, found = evidence.study, []
    cell = study.roles.cell(table, None, level)
    for name in names:
        means = [sum(one.get(name, 0.0) for one in runs) / len(runs) for runs in split.values()]
        metric = Metric(f"visits_of_{name}", f"Visits of {name}", "", lambda _: None)
        mean = estimate(means, study.experiment.compare.confidence)
        found.append((name, evidence.as_figure(metric, cell, level, mean)))
    return tuple(sorted(found, key=lambda one: -one[1].mean))


def shares_of_run(run: Run) -> dict[str, float]:
    """Each segment's share of the read requests of one run; empty if there are no segments.

    A row without a segment number is a cache that is not split.
    """
    visits = {
        _segment_name(row.get("cache"), segment): row.get("read_requests") or 0
        for row in run.probes.get("key_caches") or ()
        if (segment := row.get("segment")) is not None
    }
    total = sum(visits.values())
    if len(visits) < 2 or total <= 0:
        return {}
    return {segment: count / total for segment, count in visits.items()}


@cache
def _segment_name(key_cache: str | None, segment: int) -> str:
    return f"{segment}" if key_cache in (None, "", "default") else f"{key_cache} {segment}"


def _look(evidence: Evidence) -> Explanation | None:
    if evidence.study.metrics[0].name != THROUGHPUT or not evidence.compares(_COMPARED):
        return None
    visits = visits_of(evidence)
    if not visits:
        return None
    paragraphs = (
        evidence.say(FOLLOWS),
        requests(evidence),
        _ceiling(evidence, visits),
        _waits(evidence, visits[0]),
        _warmth(evidence),
        _switches(evidence),
    )
    lowest = min((one.ceiling for one in visits), key=lambda one: one.mean)
    return Explanation(
        _lead(evidence, visits[0]),
        paragraphs,
        (_table(evidence, visits), *_requests_table(evidence)),
        refuted_by=evidence.say(CANDIDATE.refuted_by, lowest=lowest),
        certain=evidence.is_certain,
        charts=[Shares(one.table, one.shares) for one in visits if one.level == visits[0].level],
    )


def _lead(evidence: Evidence, first: Visits) -> ReportText:
    columns = len(evidence.study.roles.column_levels)
    over = " over {columns} columns" if columns > 1 else ""
    measured = f"{{gain:change}}{over}" if first.gain else "not known yet"
    where = " ({hottest:table})" if first.table else ""
    return evidence.say(
        "Among {segments} segments, the most visited one gets {hottest:share} of all visits to the "
        f"key cache{where}, n = {{hottest:n}}; an even share would be {{even:.1f}} %. With any "
        "number of segments, their gain alone is at most 1/share - 1 = {ceiling:gain} %. The "
        f"measured gain is {measured}.",
        segments=Constant(len(first.shares)),
        even=Constant(100 / len(first.shares)),
        hottest=first.hottest,
        ceiling=first.ceiling,
        columns=Constant(columns),
        gain=first.gain or "",
    )


def requests(evidence: Evidence) -> ReportText | None:
    """The key cache requests per point, over all runs, and whether they match the depth of the
    index. None if the runs did not look up points."""
    by_rows: dict[int | None, list[RunRecord]] = defaultdict(list)
    study, metric = evidence.study, metric_of(KEY_REQUESTS)
    for run in study.measured:
        if requests_per_point(run) is not None:
            by_rows[known_rows(study, run)].append(run)
    sentences = []
    for rows, runs in by_rows.items():
        counted = over_repeats(study, runs, requests_per_point)
        if counted is not None:
            figure = evidence.as_figure(metric, {}, None, counted)
            sentences.append(_as_expected(evidence, rows, figure))
    return ReportText.joined(" ", sentences) if sentences else None


def _as_expected(evidence: Evidence, rows: int | None, counted: Figure) -> ReportText:
    made = "A point makes {counted} requests to the key cache (n = {counted:n})"
    if rows is None:
        return evidence.say(
            f"{made}. The expected number is only known for the study's own table, with fewer than "
            "{below} points per query.",
            counted=counted,
            below=Constant(POINTS_BELOW),
        )
    levels = levels_of(rows)
    why = (
        "the key of {rows} rows has {levels} "
        f"level{'' if levels == 1 else 's'}, and the server walks down it {{walks}} times "
        "per point, twice to estimate its number of rows and once to read them"
    )
    if abs(counted.mean / (WALKS * levels) - 1) <= AGREES_WITHIN:
        text = (
            f"{made}. For the study's table {{expected}} are expected, or a few hundredths more "
            f"for entries that end a page: {why}."
        )
    else:
        text = (
            f"{made}, but for the study's table {{expected}} are expected: {why}. So the table or "
            "the server's plan is different, and conclusions from the study's depth do not hold "
            "here."
        )
    return evidence.say(
        text,
        counted=counted,
        rows=format_count(rows),
        expected=Constant(WALKS * levels),
        levels=Constant(levels),
        walks=Constant(WALKS),
    )


def _ceiling(evidence: Evidence, visits: Sequence[Visits]) -> ReportText:
    listed = (evidence.say("{it:percent}", it=one) for _, one in visits[0].shares[:_LISTED])
    text = "The most visited segments get {listed} % of the visits."
    # The ceiling is measured too: only a gain beyond its interval is above it.
    above = next(
        (
            one.best
            for one in visits
            if one.best is not None and one.best.change.low - 1 > one.ceiling.estimate.high
        ),
        "",
    )
    if above:
        text = (
            f"{text} In the table {{best:table}} the gain of {{best:change}} at {{best:column}} "
            "is above the ceiling: here the root page alone does not explain the curve."
        )
    else:
        text = f"{text} No gain is certainly above its ceiling."
    return evidence.say(text, listed=ReportText.joined(", ", listed), best=above)


def _waits(evidence: Evidence, first: Visits) -> ReportText | None:
    """A model server's counts of its locks, at the gain that is most certain to be large."""
    if first.best is None:
        return None
    roles = evidence.study.roles
    column = roles.column_levels[first.best.change.place.first_column]
    counted = {
        f"{name}_{when}": evidence.figure(metric, first.table, level, column)
        for when, level in (("before", roles.baseline), ("after", first.level))
        for name, metric in (("waits", "lock_wait_share"), ("held", "lock_held_ns"))
    }
    known = {name: one for name, one in counted.items() if one is not None}
    if len(known) < len(counted):
        return None
    return evidence.say(
        "The server counted the visits to its locks that had to wait, at {best:column}: "
        "{waits_before:share} with {waits_before:level} and {waits_after:share} with "
        "{waits_after:level}. A visit holds a lock for {held_before} ns and {held_after} ns.",
        best=first.best,
        **known,
    )


def _warmth(evidence: Evidence) -> ReportText:
    found = evidence.figures("key_misses_per_query")
    if not found:
        return evidence.say(
            "Key cache misses were not recorded, so it is unknown whether the cache was warm."
        )
    worst = max(found, key=lambda one: one.mean)
    if worst.mean == 0:
        return evidence.say("The key cache was warm: no run counted a key cache miss.")
    where = "{worst:table}, {worst:level}" if evidence.study.roles.tables else "{worst:level}"
    text = f"at most {{worst}} key cache misses per query (n = {{worst:count}}, {where})"
    if worst.mean < WARM_BELOW:
        return evidence.say(f"The key cache was warm in every cell: {text}.", worst=worst)
    return evidence.say(
        f"The key cache was not warm everywhere: {text}. There, the disk or the page cache counts.",
        worst=worst,
    )


def _switches(evidence: Evidence) -> ReportText | None:
    """The explanation predicts fewer context switches at every level, over all cells. A certain
    increase at any level refutes it."""
    study = evidence.study
    if study.roles.baseline is None:
        return None
    metric = metric_of("switches_per_query")
    (analysis,) = analyses_of(study, [metric], study.family("causes"), only_wholes=True)
    if analysis is None:
        return None
    found = analysis.compared.wholes
    changes = [one.change for one in found]
    if not found or any(change.verdict is None for change in changes):
        verdict = "which is inconclusive"
    elif any(change.low > 1 for change in changes):
        verdict = "which is certainly wrong and refutes it"
    elif all(change.high <= 1 for change in changes):
        verdict = "which holds"
    else:
        verdict = "which is inconclusive"
    each = (
        evidence.say(
            "{verdict} by {it:size} with {it:level}"
            if one.is_certain
            else "{verdict} with {it:level}",
            verdict=one.word or ("changed" if one.is_certain else "open"),
            it=one,
        )
        for one in found
    )
    return evidence.say(
        "It predicts that {subject} decrease, {verdict}: {found}.",
        subject=metric.subject,
        verdict=verdict,
        found=ReportText.joined("; ", each),
    )


def _table(evidence: Evidence, visits: Sequence[Visits]) -> EvidenceTable:
    return EvidenceTable(
        "The ceiling from the most visited segment, the gain over all columns, and the changes "
        "where the gain is most certain (intervals after ±)",
        (
            *("table", "segments", "most visited", "ceiling, %", "gain, %", "at"),
            *("switches per query, off → split", "CPUs busy, off → split"),
        ),
        tuple(
            (
                evidence.written(one.hottest, "table"),
                evidence.written(one.hottest, "level"),
                evidence.written(one.hottest, "share"),
                evidence.written(one.ceiling, "gain"),
                evidence.written(one.gain, "gain", "not measured"),
                evidence.written(one.best, "column", ""),
                _before_after(evidence, one, "switches_per_query"),
                _before_after(evidence, one, "cpus_busy"),
            )
            for one in visits
        ),
    )


def _before_after(evidence: Evidence, one: Visits, metric: str) -> str:
    if one.best is None:
        return "not recorded"
    roles = evidence.study.roles
    column = roles.column_levels[one.best.change.place.first_column]
    before = evidence.figure(metric, one.table, roles.baseline, column)
    after = evidence.figure(metric, one.table, one.level, column)
    if before is None or after is None:
        return "not recorded"
    return evidence.say("{before} → {after}", before=before, after=after)


def _requests_table(evidence: Evidence) -> Iterator[EvidenceTable]:
    """The measured count at each level next to the expected one, one row per table."""
    study = evidence.study
    if not any(requests_per_point(run) is not None for run in study.measured):
        return
    rows = []
    for table in study.roles.table_contexts():
        runs = [run for level in study.roles.levels for run in evidence.runs(table, level)]
        counted = [evidence.figure(KEY_REQUESTS, table, level) for level in study.roles.levels]
        known = next((one for one in counted if one is not None), None)
        expected = expected_of(study, runs)
        rows.append(
            (
                evidence.written(known, "table", "all"),
                *(evidence.written(one, no="not known") for one in counted),
                "not known" if expected is None else f"{expected:.0f}",
            )
        )
    levels = ("all" if one is None else evidence.writer.level(one) for one in study.roles.levels)
    yield EvidenceTable(
        "Key cache requests per point, measured and expected from the depth of the table's key "
        "(intervals after ±)",
        ("table", *levels, "expected"),
        tuple(rows),
    )


_COMPARED = "server.options.key_cache_segments"

FOLLOWS = (
    "MyISAM finds a row by walking down the B-tree of its index. It requests each page on the way "
    "from the key cache, under a lock. The segments divide that lock, but a page always belongs to "
    "the same segment, chosen by its file and position. Every walk begins at the root page, so "
    "every lookup visits its segment. The pages just below the root draw most other visits to a "
    "few more segments. The rest are nearly idle, and more of them do not divide the visits to the "
    "root."
)

CANDIDATE = Candidate(
    "segmented-key-cache",
    title="Why: every lookup visits the root page, which is in one segment",
    look=_look,
    refuted_by="A gain certainly above {lowest:plain} % would refute this. So would a gain that "
    "remains when the same queries are spread over many tables, each with its own root page, or "
    "one without fewer context switches per query.",
)
