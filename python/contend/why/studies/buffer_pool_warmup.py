"""The buffer pool after each way of warming, the remaining disk reads, the time until the server is
at full speed, and whether warming pays. It also answers the two questions that the study of warming
left open."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from contend.experiment import Level
from contend.findings import Constant, Figure, ReportText, means_of_repeats
from contend.metrics import Metric, Run, metric_of
from contend.stats import Estimate, estimate
from contend.store import RunRecord
from contend.why.candidate import Candidate
from contend.why.explain import Curves, Evidence, EvidenceTable, Explanation, SentenceWriter

COLD, REPEATED, TOOL, BOTH = "cold", "repeated", "queries", "queries-repeated"
"""A cold server; the steps 2, 5 and 6 of the study."""

WARM = 0.95
"""Share of the warm throughput from which on a server counts as warm."""

PAGE = 16_384
"""Bytes of a page of InnoDB by default."""

_STEADY = 3
"""Intervals that must be that fast on average; a single fast one is not enough."""

_UNSURE_SHOWN = 4
"""Number of inconclusive ways in a sentence; a table has all of them."""

_PAIRS = ((REPEATED, TOOL), (BOTH, TOOL), (REPEATED, BOTH))
"""The pairs that the open questions compare: the faster in the study, the slower."""

_ROWS = {
    "random": "rows drawn at random",
    "first_rows": "the first rows of the table, as they were inserted",
    "index": "the first rows of the index, in its order",
}


def _with_warming_s(run: Run) -> float | None:
    """The time of the warming and the queries."""
    warming, queries = _WARMING.value(run), _SECONDS.value(run)
    return None if warming is None or queries is None else warming + queries


_SECONDS, _WARMING = metric_of("seconds"), metric_of("warming_s")
_READS = metric_of("status.Innodb_buffer_pool_reads_per_query")
_DISK, _RESIDENT = metric_of("read_bytes_per_query"), metric_of("resident_share")
_IN_ALL = Metric("in_all_s", "Warming and queries", "s", _with_warming_s, "time")
_UNTIL = Metric("until_warm_s", "Time until it is warm", "s", lambda _: None, "time")


@dataclass(frozen=True, slots=True)
class Way:
    """The measurements of one way to warm, in one place; None if unknown.

    Args:
        seconds: of the run.
        reads: pages per query that were not in the buffer pool.
        disk: bytes per query from the disk; other bytes came from the system's page cache.
        resident: share of the tables that was in the pool when the run began.
        warming_s: duration of the warming.
        until_warm_s: warming and run until `WARM` of the warm throughput. None if a run ended
            before; `not_warm` is the number of these runs.
        gained_s: time gained over a cold server until all queries were answered, warming
            included: a claim, whose interval holds together with all others.
    """

    level: Level
    seconds: Figure | None
    reads: Figure | None
    disk: Figure | None
    resident: Figure | None = None
    warming_s: Figure | None = None
    until_warm_s: Figure | None = None
    not_warm: int = 0
    gained_s: Figure | None = None


@dataclass(frozen=True, slots=True)
class WaysInPlace:
    """All ways in one place. `apart` has the difference in time of the ways of each of `_PAIRS`:
    claims too. `at` is any figure of the place."""

    at: Figure
    ways: Mapping[Level, Way]
    apart: Mapping[tuple[str, str], Figure]

    @property
    def where(self) -> str:
        """After a sentence's subject: ` (innodb_flush_method = fsync)`."""
        return " ({at:cell})" if self.at.contrast.cell else ""

    @property
    def comma(self) -> str:
        return ", " if self.at.contrast.cell else ""


def places_of(evidence: Evidence) -> list[WaysInPlace]:
    """Those in which something was warmed."""
    roles, found = evidence.study.roles, []
    levels = [level for level in roles.levels if level is not None]
    contexts = [(table, one) for table in roles.table_contexts() for one in roles.column_levels]
    claims = len(contexts) * (len(levels) - 1 + len(_PAIRS))
    alpha = (1 - evidence.study.family("causes").confidence) / max(1, claims)
    for table, column in contexts:
        runs = {level: evidence.runs(table, level, column) for level in levels}
        place = roles.cell(table, column, None)
        found.append(_place(evidence, place, runs, 1 - alpha))
    return [one for one in found if one is not None]


def _place(
    evidence: Evidence,
    place: Mapping[str, Level],
    runs: Mapping[Level, Sequence[RunRecord]],
    of_claims: float,
) -> WaysInPlace | None:
    usual = evidence.study.experiment.compare.confidence

    def figure(metric: Metric, level: Level, values: Sequence[float], at: float) -> Figure | None:
        return evidence.as_figure(metric, place, level, estimate(values, at)) if values else None

    def mean(level: Level, metric: Metric) -> Figure | None:
        return figure(metric, level, means_of_repeats(runs[level], metric.value), usual)

    def less(level: Level, other: Level, metric: Metric) -> Figure | None:
        """The reduction at a level, repeat by repeat."""
        own, theirs = (_by_repeat(runs.get(one, ()), metric) for one in (level, other))
        values = [theirs[repeat] - own[repeat] for repeat in own if repeat in theirs]
        return figure(metric, level, values, of_claims)

    warm = {run.block: run.done["qps"] for run in runs.get(REPEATED, ()) if run.done}

    def way(level: Level) -> Way:
        untils = [until_warm_s(one, warm[one.block]) for one in runs[level] if one.block in warm]
        reached = [one for one in untils if one is not None]
        missed = sum(map(math.isinf, reached))
        return Way(
            level,
            mean(level, _SECONDS),
            mean(level, _READS),
            mean(level, _DISK),
            mean(level, _RESIDENT),
            mean(level, _WARMING),
            None if missed else figure(_UNTIL, level, reached, usual),
            missed,
            None if level == COLD else less(level, COLD, _IN_ALL),
        )

    ways = {level: way(level) for level in runs}
    at = next((one.warming_s for one in ways.values() if one.warming_s is not None), None)
    if at is None:
        return None
    apart = {pair: less(*pair, _SECONDS) for pair in _PAIRS}
    return WaysInPlace(at, ways, {pair: one for pair, one in apart.items() if one is not None})


def _by_repeat(runs: Iterable[RunRecord], metric: Metric) -> dict[int, float]:
    found: dict[int, list[float]] = defaultdict(list)
    for run in runs:
        if (value := metric.value(run)) is not None:
            found[run.repeat].append(value)
    return {repeat: fmean(values) for repeat, values in found.items()}


def until_warm_s(run: RunRecord, warm_qps: float) -> float | None:
    """Seconds of warming and of the run until it stays at `WARM` of the warm throughput. Infinite
    if it never does, None if it has no intervals."""
    warming = (run.probes.get("warming") or {}).get("seconds")
    if warming is None or not run.intervals:
        return None
    intervals = [one for one in run.intervals if one["duration_s"] > 0]
    rates, enough = [one["qps"] for one in intervals], WARM * warm_qps
    for number in range(max(1, len(rates) - _STEADY + 1)):
        ahead = rates[number : number + _STEADY]
        if ahead and fmean(ahead) >= enough and ahead[0] >= enough:
            return float(warming) + float(intervals[number]["start_s"])
    return float("inf")


def _look(evidence: Evidence) -> Explanation | None:
    places, writer = places_of(evidence), evidence.writer
    if not places:
        return None
    lead = writer.say(
        "Each way begins with a restarted server and none of its files in the page cache. The cost "
        "of a query is then what it has to read. Lists of pages were saved beforehand, so only the "
        "loading counts as their warming."
    )
    answers = [
        [one for place in places if (one := answer(writer, place)) is not None]
        for answer in (why_repeated, why_between, page_cache_share)
    ]
    return Explanation(
        lead,
        (
            searched_rows(writer, evidence.study.measured),
            *(ReportText.joined(" ", texts) if texts else None for texts in answers),
            payoff(writer, places),
        ),
        _tables(writer, places),
        refuted_by=CANDIDATE.refuted_by,
        certain=evidence.is_certain,
        charts=[_curves(evidence, place) for place in places],
    )


def searched_rows(writer: SentenceWriter, runs: Iterable[RunRecord]) -> ReportText | None:
    """The rows that the study table's lookups use, which the study did not publish. None for other
    workloads."""
    found: dict[str, None] = {}
    lengths: dict[int, None] = {}
    for run in runs:
        workload = run.plan.get("workload")
        if workload is not None and workload["kind"] == "string_lookup":
            rows = _ROWS[workload["order"]]
            drawn = workload["distribution"]["kind"]
            found[rows if drawn == "uniform" else f"{rows} ({drawn})"] = None
            lengths[workload["string_length"]] = None
    if not found:
        return None
    characters = " or ".join(map(str, sorted(lengths)))
    return writer.say(
        "The lookups searched for {rows} (workload.order), by strings of {characters} characters "
        "(data.string_length). The study published neither.",
        rows="; or ".join(found),
        characters=characters,
    )


def why_repeated(writer: SentenceWriter, place: WaysInPlace) -> ReportText | None:
    """The first open question of the study."""
    why = _why(writer, place, REPEATED, TOOL, "the same queries", "row counts")
    if why is None:
        return None
    return writer.say(
        "Why is repeating the same queries faster than queries after row counts"
        f"{place.where}? {{why}}",
        why=why,
        at=place.at,
    )


def why_between(writer: SentenceWriter, place: WaysInPlace) -> ReportText | None:
    """The second: whether counts and queries together lie between the two."""
    first = _why(writer, place, BOTH, TOOL, "counts and queries", "counts alone")
    second = _why(writer, place, REPEATED, BOTH, "the same queries alone", "counts and queries")
    if first is None or second is None:
        return None
    certain = all(_is_less(place.apart.get(pair)) for pair in ((REPEATED, BOTH), (BOTH, TOOL)))
    lies = "is between the two" if certain else "is not certainly between the two here"
    seconds = place.ways[BOTH].seconds
    assert seconds is not None
    return writer.say(
        f"Why is the second run after the counts between them{place.where}? It took "
        f"{{seconds}} s and {lies}. {{first}} {{second}}",
        seconds=seconds,
        first=first,
        second=second,
        at=place.at,
    )


def _is_less(apart: Figure | None) -> bool:
    return apart is not None and apart.estimate.low > 0


def _why(
    writer: SentenceWriter, place: WaysInPlace, fast: str, slow: str, fast_name: str, slow_name: str
) -> ReportText | None:
    """Which of two ways reads more, and whether that matches the time."""
    one, other = place.ways.get(fast), place.ways.get(slow)
    if one is None or other is None or one.seconds is None or other.seconds is None:
        return None
    figures = {"fast": one.seconds, "slow": other.seconds}
    times = f"After {fast_name} the run took {{fast}} s, after {slow_name} {{slow}} s."
    apart = place.apart.get((fast, slow))
    if apart is not None and apart.estimate.high < 0:
        return writer.say(f"{times} Here the order is reversed.", **figures)
    if not _is_less(apart):
        times += " No difference is certain here."
    reads = one.reads, other.reads
    if reads[0] is None or reads[1] is None:
        return writer.say(times, **figures)
    figures |= {"here": reads[0], "there": reads[1]}
    missed = (
        " A query missed {here} pages in the buffer pool after the former, {there} after the latter"
    )
    return writer.say(f"{times}{missed}{_reason(one, other, slow_name, figures)}", **figures)


def _reason(fast: Way, slow: Way, slow_name: str, figures: dict[str, Figure]) -> str:
    here, there = figures["here"], figures["there"]
    if there.mean > here.mean * 1.1 + 0.001:
        return (
            f": {slow_name} left pages in the pool that the queries do not use, and not all that "
            "they use."
        )
    if here.mean > there.mean * 1.1 + 0.001:
        return ": reads do not explain a difference in the opposite direction."
    # More of the pool's misses came from the disk; with O_DIRECT all of them do.
    if (
        fast.disk is None
        or slow.disk is None
        or slow.disk.estimate.low - fast.disk.estimate.high < PAGE / 100
        or slow.disk.mean * here.mean <= 1.1 * (fast.disk.mean + 1) * there.mean
    ):
        return ": reads do not distinguish them."
    figures |= {"fast_disk": fast.disk, "slow_disk": slow.disk}
    return (
        ". But it read {fast_disk} and {slow_disk} bytes from the disk: the rest was in the "
        f"system's page cache, which {slow_name} had not filled with the queries' pages."
    )


def page_cache_share(writer: SentenceWriter, place: WaysInPlace) -> ReportText | None:
    """Share of the pages not in the pool that did not come from the disk."""
    parts, most = [], 0.0
    for level, way in place.ways.items():
        if way.reads is None or way.disk is None or way.reads.mean < 0.01:
            continue
        of_pool, of_disk = way.reads.mean * PAGE, way.disk.estimate
        # From figures printed in the table of the same section, and no finer than they are.
        share = Figure(
            way.disk.contrast,
            Estimate(
                max(0.0, 1 - of_disk.mean / of_pool),
                max(0.0, 1 - of_disk.high / of_pool),
                min(1.0, 1 - of_disk.low / of_pool),
                of_disk.n,
                of_disk.confidence,
            ),
        )
        most = max(most, share.mean)
        after = "cold" if level == COLD else "after {level}"
        parts.append(
            writer.say(f"{{share:percent}} % {after}", share=share, level=writer.level(level))
        )
    # With O_DIRECT nothing goes through it.
    if most < 0.01:
        return None
    return writer.say(
        f'Was part of "warm" due to the page cache{place.where}? Share of pages missed in the '
        "buffer pool that came from the system's page cache, not from the disk: {parts}.",
        parts=ReportText.joined("; ", parts),
        at=place.at,
    )


def payoff(writer: SentenceWriter, places: Sequence[WaysInPlace]) -> ReportText | None:
    """Where the same queries finished sooner than on a cold server, warming included."""
    sooner: list[ReportText] = []
    later: list[ReportText] = []
    unsure: list[ReportText] = []
    for place in places:
        for level, way in place.ways.items():
            gained = way.gained_s
            if gained is None:
                continue
            at = "{gained:cell}, " if gained.contrast.cell else ""
            more = "more" if gained.mean < 0 else "less"
            text = f"{{level}} ({at}{{gained:size}} s {more})"
            certain = later if gained.estimate.high < 0 else unsure
            (sooner if gained.estimate.low > 0 else certain).append(
                writer.say(text, level=writer.level(level), gained=gained)
            )
    parts = [
        writer.say(
            f"The queries finished {word} with {{names}}.", names=ReportText.joined("; ", names)
        )
        for word, names in (("sooner", sooner), ("later", later))
        if names
    ]
    if unsure:
        rest = len(unsure) - _UNSURE_SHOWN
        text = f"Inconclusive: {{names}}{'; and {more} more' if rest > 0 else ''}."
        names = ReportText.joined("; ", unsure[:_UNSURE_SHOWN])
        parts.append(writer.say(text, names=names, more=Constant(rest)))
    if not parts:
        return None
    question = ReportText("Does warming pay compared with a cold server, its own time included?")
    return ReportText.joined(" ", [question, *parts])


def _tables(writer: SentenceWriter, places: Sequence[WaysInPlace]) -> list[EvidenceTable]:
    def known(figure: Figure | None) -> str:
        return "not known" if figure is None else writer.say("{it}", it=figure)

    def row(way: Way) -> tuple[str, ...]:
        return (
            writer.level(way.level),
            *map(known, (way.seconds, way.reads, way.disk)),
            writer.say("{it:percent} %", it=way.resident) if way.resident else "not recorded",
            known(way.warming_s),
            "" if way.level == COLD else known(way.gained_s),
            "not during the run" if way.not_warm else known(way.until_warm_s),
        )

    tables = [
        EvidenceTable(
            writer.say("Results of each way{comma}{at:cell}", at=place.at, comma=place.comma),
            (
                *("", "queries, s", "pages read per query", "bytes from disk per query"),
                *("resident at start", "warming, s", "gained in total, s"),
                f"until {WARM:.0%} of warm, s",
            ),
            tuple(row(way) for way in place.ways.values()),
        )
        for place in places
    ]
    if len(places) > 1:
        levels = [level for level in places[0].ways if level != COLD]
        gains = EvidenceTable(
            "Seconds gained over a cold server, warming included",
            ("", *map(writer.level, levels)),
            tuple(
                (
                    writer.say("{at:cell}", at=place.at),
                    *(known(place.ways[level].gained_s) for level in levels),
                )
                for place in places
            ),
        )
        tables.insert(0, gains)
    return tables


def _curves(evidence: Evidence, place: WaysInPlace) -> Curves:
    cell, roles = place.at.contrast.cell, evidence.study.roles
    assert roles.compared is not None
    runs = {
        level: evidence.study.runs_of({**cell, roles.compared.path: level}) for level in place.ways
    }
    return Curves(cell, {level: of[0] for level, of in runs.items() if of})


CANDIDATE = Candidate(
    "buffer-pool-warmup",
    title="Contents of the buffer pool, and remaining reads",
    look=_look,
    refuted_by="If one way is slower than another although its queries read as many pages, the "
    "cause is not in the buffer pool.",
)
