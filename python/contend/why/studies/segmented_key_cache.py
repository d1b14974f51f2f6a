"""Why 32 locks behave like a few: a page lives in one segment, and every lookup visits the root.

From information_schema.KEY_CACHES before and after each run come the visits of each segment. The
share of the most visited one sets a ceiling on what the segments can gain: if only its lock
queued, throughput could rise to 1/share of that behind a single lock. A model server counts the
locks themselves too: how many visits waited, and how long they were held.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from contend.findings.claims import surest
from contend.findings.figures import over_repeats
from contend.findings.key_depth import (
    POINTS_BELOW,
    WALKS,
    Depth,
    depth_of,
    expected_of,
    requests_per_point,
)
from contend.findings.model import Contrast, Figure, Finding
from contend.findings.sentence import AtLevel, Given, Sentence, joined, say
from contend.metrics import KEY_REQUESTS, THROUGHPUT, Metric, Run, metric_of
from contend.spec import Level
from contend.stats import estimate
from contend.store import RunRecord
from contend.units import format_count
from contend.why.evidence import (
    Cause,
    Evidence,
    EvidenceTable,
    Expects,
    Shares,
    written,
)

WARM_BELOW = 0.001
"""Key cache misses per query below which the cache counts as warm."""

AGREES_WITHIN = 0.05
"""A level more or less changes the requests by a fifth at least; the entries that are the last of
their page, and the server's own requests, by about a hundredth."""

_LISTED = 6

WAITS, HELD = "waits", "held"
"""What only a model server counts."""


@dataclass(frozen=True, slots=True)
class Visits:
    """Visits of the segments in one table at one level, over all its repeats, the most visited
    first; the gain over all its columns, and that which is surest to be large."""

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
        """What the segments alone can gain, as a share."""
        return self.hottest.mapped(lambda share: 1 / share - 1)


def visits_of(evidence: Evidence) -> list[Visits]:
    """By table and level, as far as there are segments."""
    return evidence.once(_visits)


def _visits(evidence: Evidence) -> list[Visits]:
    roles, first, found = evidence.study.roles, evidence.first, []
    for row, table in enumerate(roles.table_contexts()):
        for level in roles.levels:
            split: dict[int, list[Mapping[str, float]]] = defaultdict(list)
            for run in evidence.runs(table, level):
                if shares := shares_of_run(run):
                    split[run.repeat].append(shares)
            if level is None or not split:
                continue
            own = [one for one in first.comparisons if one.level == level]
            own = [one for one in own if one.change.place.first_row == row]
            gains = (one for one in first.rows if one.level == level)
            gain = next((one for one in gains if one.change.place.first_row == row), None)
            parts = _parts(evidence, table, level, split)
            found.append(Visits(table, level, parts, gain, surest(own)))
    return found


def _parts(
    evidence: Evidence,
    table: Mapping[str, Level],
    level: Level,
    split: Mapping[int, Sequence[Mapping[str, float]]],
) -> tuple[tuple[str, Figure], ...]:
    """The mean share of each segment, of the runs in which there are some, by their repeat."""
    names = dict.fromkeys(name for runs in split.values() for shares in runs for name in shares)
    study, found = evidence.study, []
    cell = study.roles.cell(table, None, level)
    for name in names:
        means = [sum(one.get(name, 0.0) for one in runs) / len(runs) for runs in split.values()]
        metric = Metric(f"visits_of_{name}", f"Visits of {name}", "", lambda _: None)
        contrast = Contrast("figure", metric, cell, level, None, study.described)
        mean = estimate(means, study.experiment.compare.confidence)
        found.append((name, Figure(contrast, mean)))
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


def _lead(evidence: Evidence) -> Sentence | None:
    visits = visits_of(evidence)
    if not visits:
        return None
    first = visits[0]
    columns = len(evidence.study.roles.column_levels)
    over = " over {columns} columns" if columns > 1 else ""
    measured = f"{{gain:gain}} %{over}" if first.gain else "not known yet"
    where = " ({hottest:table})" if first.table else ""
    return say(
        "Of {segments} segments, the most visited one takes {hottest:share} of all visits to the "
        f"key cache{where}, n = {{hottest:n}}; an even share would be {{even:.1f}} %. However many "
        "segments there are, the gain that they alone can bring ends at 1/share - 1 = "
        f"{{ceiling:gain}} %; what was measured there is {measured}.",
        segments=Given(len(first.shares)),
        even=Given(100 / len(first.shares)),
        hottest=first.hottest,
        ceiling=first.ceiling,
        columns=Given(columns),
        **({"gain": first.gain} if first.gain else {}),
    )


def requests(evidence: Evidence) -> Sentence | None:
    """What a point asks of the key cache, over all runs, and whether that is what the depth of the
    index lets expect; None if the runs did not ask for points."""
    of_depth: dict[Depth | None, list[RunRecord]] = defaultdict(list)
    study, metric = evidence.study, metric_of(KEY_REQUESTS)
    for run in study.measured:
        if requests_per_point(run) is not None:
            of_depth[depth_of(study, run)].append(run)
    said = []
    for depth, runs in of_depth.items():
        counted = over_repeats(study, runs, requests_per_point)
        if counted is not None:
            contrast = Contrast("figure", metric, {}, None, None, study.described)
            said.append(_as_expected(depth, Figure(contrast, counted)))
    return joined(said) if said else None


def _as_expected(depth: Depth | None, counted: Figure) -> Sentence:
    made = "A point makes {counted} requests to the key cache (n = {counted:n})"
    if depth is None:
        return say(
            f"{made}. How many to expect is only known of the study's own table, asked for fewer "
            "than {below} points a query.",
            counted=counted,
            below=Given(POINTS_BELOW),
        )
    why = (
        f"the key of {format_count(depth.rows)} rows has {{levels}} "
        f"level{'' if depth.levels == 1 else 's'}, and the server walks down it {{walks}} times "
        "for each point, twice to estimate how many rows it has and once to read them"
    )
    if abs(counted.mean / depth.requests - 1) <= AGREES_WITHIN:
        words = (
            f"{made}, and {{expected}} are expected of the study's table, or a few hundredths more "
            f"for entries that end a page: {why}."
        )
    else:
        words = (
            f"{made}, but {{expected}} are expected of the study's table: {why}. So this is "
            "another table, or another plan of the server, and what follows from the depth of the "
            "study's does not hold here."
        )
    given = {"expected": depth.requests, "levels": depth.levels, "walks": WALKS}
    return say(words, counted=counted, **{name: Given(one) for name, one in given.items()})


def _ceiling(evidence: Evidence) -> Sentence | None:
    visits = visits_of(evidence)
    if not visits:
        return None
    listed = [say("{it:percent}", it=one) for _, one in visits[0].shares[:_LISTED]]
    text = "The most visited segments have {listed} % of the visits."
    above = (
        f"{text} In the table {{best:table}} the gain of {{best:gain}} % at {{best:column}} lies "
        "above the ceiling: here the root page alone does not explain the curve."
    )
    for one in visits:
        best = one.best
        # The ceiling is measured too: only a gain beyond its interval is above it.
        if best is not None and best.change.low - 1 > one.ceiling.estimate.high:
            return say(above, listed=joined(listed, ", "), best=best)
    return say(f"{text} No gain lies certainly above its ceiling.", listed=joined(listed, ", "))


def _warmth(evidence: Evidence) -> Sentence:
    found = evidence.figures("misses")
    if not found:
        return say(
            "Key cache misses were not recorded, so it is not known whether the cache was warm."
        )
    worst = max(found, key=lambda one: one.mean)
    if worst.mean == 0:
        return say("The key cache was warm: not one key cache miss was counted in any run.")
    where = "{worst:table}, {worst:level}" if evidence.study.roles.tables else "{worst:level}"
    text = f"at most {{worst}} key cache misses per query (n = {{worst:count}}, {where})"
    if worst.mean < WARM_BELOW:
        return say(f"The key cache was warm in every cell: {text}.", worst=worst)
    return say(
        f"The key cache was not warm everywhere: {text}. There the disk or the page cache counts.",
        worst=worst,
    )


def _table(evidence: Evidence) -> Iterable[EvidenceTable]:
    rows = []
    for one in visits_of(evidence):
        rows.append(
            (
                say("{it:table}", it=one.hottest),
                say("{it:level}", it=one.hottest),
                written(one.hottest, "share"),
                written(one.ceiling, "gain"),
                written(one.gain, "gain") if one.gain else "not measured",
                say("{it:column}", it=one.best) if one.best else "",
                _before_after(evidence, one, "switches"),
                _before_after(evidence, one, "busy"),
            )
        )
    yield EvidenceTable(
        "The ceiling that the most visited segment sets, beside the gain over all columns, and "
        "what changed where it is most certain (intervals after ±)",
        (
            *("table", "segments", "most visited", "ceiling, %", "gain, %", "at"),
            *("switches per query, off → split", "CPUs busy, off → split"),
        ),
        tuple(rows),
    )


def _before_after(evidence: Evidence, one: Visits, look: str) -> str | Sentence:
    if one.best is None:
        return "not recorded"
    roles = evidence.study.roles
    column = roles.column_levels[one.best.change.place.first_column]
    before = evidence.figure(look, one.table, roles.baseline, column)
    after = evidence.figure(look, one.table, one.level, column)
    if before is None or after is None:
        return "not recorded"
    return say("{before} → {after}", before=before, after=after)


def _requests_table(evidence: Evidence) -> Iterable[EvidenceTable]:
    """What was counted at each level beside what was expected: a row a table."""
    study = evidence.study
    if not any(requests_per_point(run) is not None for run in study.measured):
        return
    rows = []
    for table in study.roles.table_contexts():
        runs = [run for level in study.roles.levels for run in evidence.runs(table, level)]
        counted = [evidence.figure("requests", table, level) for level in study.roles.levels]
        known = next((one for one in counted if one is not None), None)
        expected = expected_of(study, runs)
        rows.append(
            (
                say("{it:table}", it=known) if known else "all",
                *("not known" if one is None else written(one) for one in counted),
                "not known" if expected is None else say("{it:.0f}", it=Given(expected)),
            )
        )
    levels = ("all" if level is None else AtLevel(level) for level in study.roles.levels)
    yield EvidenceTable(
        "Requests to the key cache for each point, beside what the depth of the table's key lets "
        "expect (intervals after ±)",
        ("table", *levels, "expected"),
        tuple(rows),
    )


def _charts(evidence: Evidence) -> Iterable[Shares]:
    visits = visits_of(evidence)
    for one in visits:
        if one.level == visits[0].level:
            yield Shares("segment", one.table, one.shares)


def _waits(evidence: Evidence) -> Sentence | None:
    """What a model server counted of its locks, at the gain that is surest to be large."""
    roles = evidence.study.roles
    found = [one for one in visits_of(evidence) if one.best is not None]
    if not found or found[0].best is None:
        return None
    first, best = found[0], found[0].best
    column = roles.column_levels[best.change.place.first_column]
    before, after = ((first.table, level, column) for level in (roles.baseline, first.level))
    looks = {
        name: evidence.figure(look, *place)
        for place, when in ((before, "before"), (after, "after"))
        for look, name in ((WAITS, f"waits_{when}"), (HELD, f"held_{when}"))
    }
    given = {name: one for name, one in looks.items() if one is not None}
    if len(given) < len(looks):
        return None
    return say(
        "The server counted the visits to its locks that had to wait: {waits_before:share} of them "
        "with {waits_before:level} and {waits_after:share} with {waits_after:level}, at "
        "{best:column}. A visit holds a lock for {held_before} ns and {held_after} ns.",
        best=best,
        **given,
    )


def _refutation(evidence: Evidence) -> Sentence | None:
    ceilings = [one.ceiling for one in visits_of(evidence)]
    if not ceilings:
        return None
    return say(
        "A gain certainly above {lowest:plain} % would refute this, and so would a gain that stays "
        "when the same queries are spread over many tables, each with a root page of its own, or "
        "one that comes without fewer context switches per query.",
        lowest=min(ceilings, key=lambda one: one.mean),
    )


KEY_CACHE = Cause(
    name="segmented-key-cache",
    title="Why: every lookup visits the root page, and that lives in one segment",
    looks={
        "misses": "key_misses_per_query",
        "requests": KEY_REQUESTS,
        "switches": "switches_per_query",
        "busy": "cpus_busy",
        WAITS: "lock_wait_share",
        HELD: "lock_held_ns",
    },
    only_for=(THROUGHPUT,),
    only_with="server.options.key_cache_segments",
    lead=_lead,
    follows="MyISAM finds a row by walking down the B-tree of its index, and asks the key cache "
    "for each page on the way, under a lock. The segments divide that lock, but a page always "
    "belongs to the same segment, chosen by its file and position. Every walk begins at the root "
    "page, so the segment that holds it is visited by every lookup, and the pages just below it "
    "draw most of the rest to a few more. Other segments stand nearly idle, and adding more of "
    "them does not divide the visits to the root.",
    says=(requests, _ceiling, _waits, _warmth),
    expects=(Expects("switches_per_query", "lower"),),
    tables=(_table, _requests_table),
    charts=_charts,
    refuted_by=_refutation,
    levels={"0": "off"},
    change={
        "0": "splitting the key cache into {level} segments",
        "1": "splitting the key cache into {level} segments",
        "": "splitting the key cache into {level} segments instead of {baseline}",
    },
)
