"""Counters that differ, among all counters of all runs: level against baseline, at every place.

It is a list to look through and makes no claims: 5 % of its entries may be false. They do not use
the 5 % by which the report's claims may err. The list does not show whether a counter is a cause or
a consequence.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from contend.experiment import Level
from contend.findings import UNITS_MIN, Constant, ReportText, Study, pairs_of
from contend.findings.families import Family
from contend.findings.model import Contrast, Finding
from contend.metrics.counters import SOURCES, CounterSource, is_guise, is_name
from contend.sections.looks import context_of
from contend.sections.model import Inputs, Section, Shown, TextTable
from contend.sections.words import cell_phrase, gain_text, significant
from contend.stats import discover, finite, pair_counts, picked_change
from contend.store import RunRecord

FALSE_SHARE = 0.05
"""Share of the list that may be in it by chance, on average."""


@dataclass(frozen=True, slots=True)
class CounterDifference:
    """A counter that differs at one place.

    finding: with the ratio, inf or 0 if only one side counted anything at all.
    baseline, level: means over the repeats, per query or of a gauge; descriptions.
    by_rate: its rate per second did not change: it moved like the time of a query.
    """

    finding: Finding
    source: CounterSource
    counter: str
    baseline: float
    level: float
    by_rate: bool

    @property
    def certain(self) -> float:
        """The least size of the difference: |ln| of the interval's end that is nearest to none."""
        nearest = self.finding.nearest
        return abs(math.log(nearest)) if 0 < nearest < math.inf else 0.0


@dataclass(frozen=True, slots=True)
class CounterList:
    """All counters, compared.

    found: counters that differ by more than the margin, the largest certain difference first.
    counters, tested, picked: counters that were kept, comparisons that could be made, and the
        number that differ, however little. units: the most that a comparison had.
    per_level, per_block: titles of the sources that have values per level, and of those left out
        because here they describe a whole block only.
    """

    found: tuple[CounterDifference, ...]
    counters: int
    tested: int
    picked: int
    units: int
    per_level: tuple[str, ...]
    per_block: tuple[str, ...]

    def of(self, level: Level) -> list[CounterDifference]:
        """Those of one level."""
        return [one for one in self.found if one.finding.level == level]


Key = tuple[int, str]
"""The number of a source, and the name of a counter in it."""


def counters_of(study: Study) -> CounterList | None:
    """Compare them; None if nothing is compared, is not finished, or no counter was kept."""
    roles = study.roles
    if roles.compared is None or roles.baseline is None or not study.finished:
        return None
    left_out = {one for one in SOURCES if one.of_block and study.in_slices}
    kept = KeptCounters(study.measured, left_out)
    if not kept.keys:
        return None
    places = list(pairs_of(roles))
    pairs = [kept.pairs(study, baseline, cell) for _, baseline, cell in places]
    units = [len(pair.counts[0]) for pair in pairs]
    compared = [pair_counts(pair.counts, pair.queries, pair.seconds) for pair in pairs]
    seen = discover(np.concatenate([one.p for one in compared]), FALSE_SHARE)
    family = Family("counters", 1 - FALSE_SHARE, seen.confidence)
    margin = study.experiment.compare.margin
    found = []
    for number in np.flatnonzero(seen.picked):
        place, key = divmod(int(number), len(kept.keys))
        one, pair = compared[place], pairs[place]
        change = picked_change(
            float(one.mean[key]),
            float(one.se[key]),
            int(one.n[key]),
            int(one.only[key]),
            seen.confidence,
            margin,
        )
        source, counter = SOURCES[kept.keys[key][0]], kept.keys[key][1]
        cell = places[place][2]
        level = cell[roles.compared.path]
        contrast = Contrast("level", source.metric(counter), cell, level, roles.baseline, family)
        means = [float(side[key]) for side in pair.means]
        found.append(
            CounterDifference(
                Finding(contrast, change, margin),
                source,
                counter,
                means[0],
                means[1],
                bool(one.by_rate[key]),
            )
        )
    certain = [one for one in found if one.finding.is_certain]
    certain.sort(key=lambda one: (one.by_rate, -one.certain, one.finding.metric.name))
    read = {SOURCES[number].title for number, _ in kept.keys}
    names = dict.fromkeys(one.title for one in SOURCES)
    per_block = {one.title for one in left_out}
    if study.in_slices and study.way.get("servers") == 1:
        per_block |= {one.title for one in SOURCES if one.name in ("status", "innodb", "key_cache")}
    return CounterList(
        found=tuple(certain),
        counters=len(kept.keys),
        tested=seen.tested,
        picked=len(found),
        units=max(units, default=0),
        per_level=tuple(name for name in names if name in read),
        per_block=tuple(name for name in names if name in per_block and name not in read),
    )


@dataclass(frozen=True)
class CountedPair:
    """Both sides of one place; each array units x counters."""

    counts: tuple[np.ndarray, np.ndarray]
    queries: tuple[np.ndarray, np.ndarray]
    seconds: tuple[np.ndarray, np.ndarray]

    @cached_property
    def means(self) -> tuple[np.ndarray, np.ndarray]:
        """Over the repeats, of each side. (counters)"""
        with np.errstate(all="ignore"):
            each = [count / of for count, of in zip(self.counts, self.queries, strict=True)]
            one, other = (np.nansum(x, axis=0) / np.isfinite(x).sum(axis=0) for x in each)
        return one, other


class KeptCounters:
    """The counters of all runs as arrays, in the order of `keys`."""

    def __init__(self, runs: Sequence[RunRecord], left_out: set[CounterSource]) -> None:
        self._sources = [n for n, one in enumerate(SOURCES) if one not in left_out]
        by_server: dict[object, set[Key]] = defaultdict(set)
        seen: dict[tuple[object, int], set[str]] = defaultdict(set)
        for run in runs:
            server = _server(run)
            for number in self._sources:
                source, known = SOURCES[number], seen[server, number]
                new = (source.counts(run) or {}).keys() - known
                known |= new
                by_server[server] |= {
                    (number, name) for name in new if is_name(name) and not is_guise(source, name)
                }
        self.keys: list[Key] = sorted(set().union(*by_server.values()))
        self._at = {key: at for at, key in enumerate(self.keys)}
        of_source = np.array([number for number, _ in self.keys])
        self._spans = {
            number: slice(*np.searchsorted(of_source, [number, number + 1]))
            for number in self._sources
        }
        self._once: dict[int, np.ndarray] = {}
        # A counter that did not rise is not in the record: it is 0, if this server has it.
        self._zeros = {
            server: np.array([0.0 if key in known else math.nan for key in self.keys])
            for server, known in by_server.items()
        }

    def pairs(
        self, study: Study, baseline: Mapping[str, Level], cell: Mapping[str, Level]
    ) -> CountedPair:
        """Repeat by repeat, the blocks of a repeat added up; only repeats that have both."""
        sides: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
        for both in study.blocks_in_common(baseline, cell).values():
            if both:
                for side, runs in zip(sides, zip(*both, strict=True), strict=True):
                    side.append(np.sum([self._read(run) for run in runs], axis=0))
        shape = (0, 3, len(self.keys))
        one, other = (np.array(side) if side else np.zeros(shape) for side in sides)
        counts, queries, seconds = ((one[:, part], other[:, part]) for part in range(3))
        return CountedPair(counts, queries, seconds)

    def _read(self, run: RunRecord) -> np.ndarray:
        """Counts, queries and seconds of one run. (3 x counters)"""
        if run.run not in self._once:
            self._once[run.run] = self._read_record(run)
        return self._once[run.run]

    def _read_record(self, run: RunRecord) -> np.ndarray:
        counts = self._zeros[_server(run)].copy()
        queries, seconds = np.ones(len(counts)), np.full(len(counts), math.nan)
        for number, span in self._spans.items():
            source = SOURCES[number]
            found = source.counts(run)
            if found is None:
                counts[span] = math.nan
                continue
            for name, value in found.items():
                if (at := self._at.get((number, name))) is not None:
                    counts[at] = value
            if source.queries is not None:
                queries[span] = source.queries(run) or math.nan
            if source.seconds is not None:
                seconds[span] = source.seconds(run) or math.nan
        return np.stack([counts, queries, seconds])


def _server(run: RunRecord) -> object:
    """Which server it is, and whether it is several: others may not have a counter at all."""
    server, several = run.probes.get("server"), bool(run.probes.get("members"))
    return several if server is None else (server.get("kind"), server.get("version"), several)


LISTED = 12
"""Counters of a level that the page has; the rest is in the JSON."""

_BY_RATE = (
    "A row marked “by the clock” kept its rate per second: per query it changed like the time of a "
    "query, which may be the whole reason."
)


def _lead(found: CounterList) -> str:
    count = len({one.finding.metric.name for one in found.found})
    differ = {0: "certainly differs", 1: "differs somewhere"}.get(count, "differ somewhere")
    return (
        f"{count or 'None'} of {found.counters} counters ({', '.join(found.per_level)}) {differ} "
        f"by more than the margin ({found.tested} comparisons"
        + ("; 5 % of those listed may be chance)." if count else ").")
    )


def _notes(found: CounterList) -> str:
    notes = []
    if found.found:
        notes.append(
            "Counters are compared per query, gauges by their last value. The list is not part of "
            "the report's claims, and cannot tell a cause from a consequence."
        )
    if any(one.by_rate for one in found.found):
        notes.append(_BY_RATE)
    if found.per_block:
        notes.append(
            "Left out, because in slices they describe a whole block and not a level: "
            f"{', '.join(found.per_block)}."
        )
    return " ".join(notes)


def _table(inputs: Inputs, level: Level, of_level: list[CounterDifference]) -> TextTable:
    """One row per counter, where it differs most certainly; the first rows are the largest."""
    roles, naming, path = inputs.study.roles, inputs.naming, inputs.compared_path
    places: dict[str, list[CounterDifference]] = {}
    for one in of_level:
        places.setdefault(one.finding.metric.name, []).append(one)
    contexts = len(roles.table_contexts()) * len(roles.column_levels)
    rows = []
    for differences in list(places.values())[:LISTED]:
        first = differences[0]
        where = cell_phrase(context_of(first.finding, path)) or "all"
        row = [
            first.finding.metric.title + (" (by the clock)" if first.by_rate else ""),
            *([where, f"{len(differences)} of {contexts}"] if contexts > 1 else []),
            significant(first.baseline, 3),
            significant(first.level, 3),
            change_text(first),
        ]
        rows.append(tuple(row))
    more = len(places) - len(rows)
    at = ("at", "in cells") if contexts > 1 else ()
    heads = (str(naming.baseline), str(naming.level(level)))
    caption = f"{heads[1]} against {heads[0]}, the largest certain difference first"
    if more > 0:
        caption += f" ({more} more in `contend show --json`)"
    return TextTable(caption, ("counter", *at, *heads, "change"), tuple(rows))


def change_text(one: CounterDifference) -> ReportText:
    """`+82 ±6`; a counter that only one side has cannot have a percentage."""
    change = one.finding.change
    if change.ratio == float("inf"):
        return ReportText("new (n = {})", Constant(change.n))
    if change.ratio == 0:
        return ReportText("gone (n = {})", Constant(change.n))
    return ReportText("{} % (n = {})", gain_text(change), Constant(change.n))


_TITLE = "Counters that differ"


def _show(found: CounterList, inputs: Inputs) -> Shown | None:
    """None if the repeats are too few to separate any difference from chance."""
    if found.units < UNITS_MIN:
        return None
    tables = (
        _table(inputs, level, of_level)
        for level in inputs.study.roles.others
        if (of_level := found.of(level))
    )
    notes = _notes(found)
    return Shown(_TITLE, _lead(found), tuple(tables), more=(notes,) if notes else ())


def _json(found: CounterList, _inputs: Inputs) -> dict[str, Any]:
    """Every counter that differs, at every place; null is infinite, or that it has no bound."""
    return {
        "false_share": FALSE_SHARE,
        "counters": found.counters,
        "tested": found.tested,
        "picked": found.picked,
        "units": found.units,
        "per_level": list(found.per_level),
        "per_block": list(found.per_block),
        "found": [
            {
                "metric": one.finding.metric.name,
                "source": one.source.title,
                "cell": dict(one.finding.cell),
                "level": one.finding.level,
                "baseline": one.finding.baseline,
                "at_baseline": finite(one.baseline),
                "at_level": finite(one.level),
                "only": _ONLY.get(one.finding.change.ratio),
                "ratio": finite(one.finding.change.ratio),
                "low": finite(one.finding.change.low),
                "high": finite(one.finding.change.high),
                "confidence": one.finding.change.alone.confidence,
                "n": one.finding.change.n,
                "verdict": one.finding.word,
                "by_the_clock": one.by_rate,
            }
            for one in found.found
        ],
    }


_ONLY = {math.inf: "level", 0.0: "baseline"}

SECTION = Section(
    "counters",
    _TITLE,
    lambda inputs: counters_of(inputs.study),
    _show,
    _json,
    on_paper=False,
)
