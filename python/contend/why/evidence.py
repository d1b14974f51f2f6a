"""Causes as data: what one looks at, what it expects, what it says, and what would refute it.

A cause is one `Cause` in a file of its own (`why/studies/`). It is told only if what it would
explain is certain; what was looked at is shown either way. Its figures are means over repeats; its
claims are findings of the family `causes`, which its expectations, its ratios and what its own
rules decide share evenly.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar, cast

from contend.errors import RequestError, did_you_mean
from contend.findings.changes import analyses_of, growth_of
from contend.findings.families import Family
from contend.findings.figures import over_repeats
from contend.findings.model import Compared, Contrast, Figure, Finding
from contend.findings.sentence import AtLevel, Sentence, say
from contend.findings.study import Study
from contend.metrics import Metric, Run, UnknownMetric, metric_of
from contend.spec import Level, Roles
from contend.stats.estimate import reciprocal
from contend.store import RunRecord

Axis = Literal["table", "level", "column"]
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Called:
    """What the tables, the levels or the columns of the layout are called."""

    axis: Axis


Head = str | AtLevel | Called


@dataclass(frozen=True, slots=True)
class EvidenceTable:
    """Figures that a cause goes by."""

    caption: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[str | Sentence, ...], ...]
    place: str | Sentence = ""


@dataclass(frozen=True, slots=True)
class Shares:
    """A chart of the parts of a whole, in one table of the layout."""

    noun: str
    of: Mapping[str, Level]
    parts: tuple[tuple[str, Figure], ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """Charts of runs second by second, in one place of the layout: each level's first run."""

    cell: Mapping[str, Level]
    runs: Mapping[Level, RunRecord]


@dataclass(frozen=True, slots=True)
class Step:
    """What one level gains over the one before it; `level` is None of all steps together."""

    level: Level | None
    gain: Figure


@dataclass(frozen=True, slots=True)
class StepBars:
    """A chart of what each step gains, at one place of the layout."""

    cell: Mapping[str, Level]
    steps: tuple[Step, ...]


Drawn = Shares | Curves | StepBars


@dataclass(frozen=True, slots=True)
class Pick:
    """One figure out of those of a look.

    which: the largest or smallest of all cells; or, of the first table at its first level, the
        figure of the first or last column, or the first column at which a share of the host's CPUs
        is reached.
    """

    look: str
    which: Literal["most", "least", "first", "last", "full"]
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Ratio:
    """What a look is at the last column over the first: a finding."""

    look: str


@dataclass(frozen=True, slots=True)
class Above:
    """Whether a figure that was picked reaches a number."""

    pick: str
    least: float


@dataclass(frozen=True, slots=True)
class Certainly:
    """Whether a ratio that was picked is certainly higher or lower, and by enough to matter."""

    pick: str
    direction: Literal["higher", "lower"]
    times: float


@dataclass(frozen=True, slots=True)
class Rule:
    """A sentence: the words of the first case that holds, with what was picked in their places.

    cases: a condition, None for always, and words.
    unknown: the words if something that is picked was not recorded; empty for none.
    """

    picks: Mapping[str, Pick | Ratio]
    cases: tuple[tuple[Above | Certainly | None, str], ...]
    unknown: str = ""

    def __call__(self, evidence: Evidence) -> Sentence | None:
        found = {name: evidence.pick(pick) for name, pick in self.picks.items()}
        known = {name: one for name, one in found.items() if one is not None}
        if len(known) < len(found):
            return say(self.unknown) if self.unknown else None
        for condition, words in self.cases:
            if condition is None or _holds(condition, known[condition.pick]):
                return Sentence(words, known)
        return None


def _holds(condition: Above | Certainly, one: Figure | Finding) -> bool:
    if isinstance(condition, Above):
        return isinstance(one, Figure) and one.mean >= condition.least
    if not isinstance(one, Finding) or one.change.verdict != condition.direction:
        return False
    ratio = one.change.ratio
    return (ratio if condition.direction == "higher" else 1 / ratio) >= condition.times


@dataclass(frozen=True, slots=True)
class Expects:
    """What a metric does from the baseline to the levels, as a whole, if the cause is right.

    least: how many times, at least, in that direction.
    dose: more of the level does more of it; levels are numbers then.
    """

    metric: str
    direction: Literal["higher", "lower"]
    least: float = 1.0
    dose: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """An expectation beside what was found: of each level, and whether that is as expected (True),
    certainly the contrary (False), or neither (None)."""

    expects: Expects
    findings: tuple[Finding, ...]
    holds: bool | None


Says = Callable[["Evidence"], Sentence | None]


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause, or a section that shows why, as data.

    name: as `experiment.explain` gives it.
    looks: metrics that it looks at, by a name of its own, or the names of metrics.
    lead, says: sentences; `Rule`s, or functions of the evidence if a rule cannot say it.
    tables, charts: of figures.
    refuted_by: what would refute it.
    follows: the mechanism that its expectations follow from.
    expects: what the metrics do if it is right.
    is_answer: its tables are the answer itself, and stand in the short form too.
    of_growth: what it explains is growth along the columns, not what levels differ by.
    only_for: metrics that decide, by name; empty for any.
    only_with: the compared factor; empty for any.
    claims: groups of claims that its own functions make.
    by_seconds: it looks at runs interval by interval.
    levels, change: names of the levels, and what is done to get to one, for experiments of before
        recipes had these words themselves.

    Raises:
        RequestError: it names a metric that does not exist.
    """

    name: str
    title: str
    lead: Says
    refuted_by: str | Says
    looks: Mapping[str, str | Metric] = field(default_factory=dict)
    says: tuple[Says, ...] = ()
    follows: str = ""
    expects: tuple[Expects, ...] = ()
    tables: tuple[Callable[[Evidence], Iterable[EvidenceTable]], ...] = ()
    charts: Callable[[Evidence], Iterable[Drawn]] | None = None
    is_answer: bool = False
    of_growth: bool = False
    only_for: tuple[str, ...] = ()
    only_with: str = ""
    claims: int = 0
    by_seconds: bool = False
    levels: Mapping[str, str] = field(default_factory=dict)
    change: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key, metric in self.looks.items():
            if isinstance(metric, str):
                self._known(f"looks.{key}", metric)
        for number, one in enumerate(self.expects):
            self._known(f"expects[{number}].metric", one.metric)

    def _known(self, key: str, metric: str) -> None:
        try:
            metric_of(metric)
        except UnknownMetric as error:
            file = f"why/studies/{self.name.replace('-', '_')}.py"
            raise RequestError(
                f'{file}: {key} of the cause {self.name} names "{metric}", which is no metric.',
                hint=did_you_mean(metric, error.known),
            ) from None

    def is_about(self, roles: Roles) -> bool:
        """Whether what is compared is something that it explains."""
        compared = roles.compared.path if roles.compared else ""
        return self.only_with in ("", compared)

    @property
    def groups(self) -> int:
        """Of claims, which share the family."""
        ratios = any(
            isinstance(pick, Ratio)
            for rule in (self.lead, *self.says)
            if isinstance(rule, Rule)
            for pick in rule.picks.values()
        )
        return max(1, bool(self.expects) + ratios + self.claims)


@dataclass(frozen=True, slots=True)
class Told:
    """What a cause has to say. Without `certain` there is nothing certain that it would explain,
    and only the tables count."""

    cause: Cause
    lead: Sentence
    paragraphs: tuple[Sentence, ...]
    judged: tuple[Judged, ...]
    tables: tuple[EvidenceTable, ...]
    charts: tuple[Drawn, ...]
    refuted_by: Sentence
    certain: bool


class Evidence:
    """What a cause looks at, in one study.

    Args:
        first: all changes by the metric that decides.
        cpus: of the host; None if that is not known.
    """

    def __init__(self, study: Study, cause: Cause, first: Compared, cpus: float | None) -> None:
        self.study, self.cause, self.first, self.cpus = study, cause, first, cpus
        self._growth: dict[str, Finding | None] = {}
        self._once: dict[Callable[[Evidence], object], object] = {}

    def once(self, make: Callable[[Evidence], Made]) -> Made:
        """What a function makes of this evidence, made once for all that ask for it."""
        if make not in self._once:
            self._once[make] = make(self)
        return cast(Made, self._once[make])

    @property
    def family(self) -> Family:
        """That of one group of the cause's claims."""
        whole = self.study.family("causes")
        promises, computed = (
            1 - (1 - one) / self.cause.groups for one in (whole.promises, whole.confidence)
        )
        return replace(whole, promises=promises, confidence=computed)

    def metric(self, look: str | Metric) -> Metric:
        found = self.cause.looks.get(look, look) if isinstance(look, str) else look
        return metric_of(found) if isinstance(found, str) else found

    @property
    def places(self) -> Iterator[tuple[dict[str, Level], Level | None, Level | None]]:
        """Table, level and column of each cell, in the order of the layout."""
        roles = self.study.roles
        return itertools.product(roles.table_contexts(), roles.levels, roles.column_levels)

    def runs(
        self, table: Mapping[str, Level] | None, level: Level | None, column: Level | None = None
    ) -> list[RunRecord]:
        """Measured runs of a level; of all tables and columns if they are None."""
        roles = self.study.roles
        return [
            run
            for one in ([table] if table is not None else roles.table_contexts())
            for each in ([column] if column is not None else roles.column_levels)
            for run in self.study.runs_of(roles.cell(one, each, level))
        ]

    def figure(
        self,
        look: str | Metric,
        table: Mapping[str, Level] | None,
        level: Level | None,
        column: Level | None = None,
    ) -> Figure | None:
        """The mean over repeats; None if it was not recorded. What is None is taken together."""
        metric, roles = self.metric(look), self.study.roles
        found = over_repeats(self.study, self.runs(table, level, column), metric.value)
        if found is None:
            return None
        cell = roles.cell(table or {}, column, level)
        return Figure(Contrast("figure", metric, cell, level, None, self.study.described), found)

    def figures(self, look: str) -> list[Figure]:
        """Of each cell that has it."""
        found = (self.figure(look, *place) for place in self.places)
        return [one for one in found if one is not None]

    def along(self, look: str) -> list[Figure]:
        """Column by column, in the first table at its first level."""
        roles = self.study.roles
        table, level = roles.table_contexts()[0], roles.levels[0]
        found = (self.figure(look, table, level, column) for column in roles.column_levels)
        return [one for one in found if one is not None]

    def pick(self, pick: Pick | Ratio) -> Figure | Finding | None:
        if isinstance(pick, Ratio):
            return self._last_over_first(pick.look)
        if pick.which in ("most", "least"):
            choose = max if pick.which == "most" else min
            return choose(self.figures(pick.look), key=lambda one: one.mean, default=None)
        found = self.along(pick.look)
        if pick.which == "full":
            enough = pick.share * (self.cpus or float("inf"))
            found = [one for one in found if one.mean >= enough]
        if not found:
            return None
        return found[-1] if pick.which == "last" else found[0]

    def _last_over_first(self, look: str) -> Finding | None:
        if look not in self._growth:
            ratios = growth_of(self.study, [self.metric(look)], self.family)
            self._growth[look] = ratios[0].findings[0][-1] if ratios else None
        return self._growth[look]

    def judged(self) -> tuple[Judged, ...]:
        """Each expectation beside what was found; those without a figure are left out."""
        expects = self.cause.expects
        if not expects or self.study.roles.baseline is None:
            return ()
        metrics = [metric_of(one.metric) for one in expects]
        found = analyses_of(self.study, metrics, self.family, only_wholes=True)
        return tuple(
            Judged(one, analysis.compared.wholes, _as_expected(one, analysis.compared.wholes))
            for one, analysis in zip(expects, found, strict=True)
            if analysis is not None
        )


def _as_expected(expects: Expects, found: Sequence[Finding]) -> bool | None:
    """By every level; a contrary is one that is certain of any."""

    def ends(one: Finding) -> tuple[float, float]:
        """Of the interval, in the expected direction."""
        change = one.change
        if expects.direction == "higher":
            return change.low, change.high
        return reciprocal(change.high), reciprocal(change.low)

    if not found or any(one.change.verdict is None for one in found):
        return None
    if any(ends(one)[1] < 1 for one in found):
        return False
    if expects.dose:
        by_dose = sorted(found, key=lambda one: float(one.level))
        if any(ends(more)[1] < ends(less)[0] for less, more in itertools.pairwise(by_dose)):
            return False
    return True if all(ends(one)[0] >= expects.least for one in found) else None


def told_by(study: Study, cause: Cause, first: Compared, cpus: float | None) -> Told | None:
    """What a cause says of a study; None if it is not about such a one, or has nothing to go by."""
    if not cause.is_about(study.roles):
        return None
    if cause.only_for and study.metrics[0].name not in cause.only_for:
        return None
    evidence = Evidence(study, cause, first, cpus)
    lead = cause.lead(evidence)
    if lead is None:
        return None
    refuted_by = cause.refuted_by
    refutation = say(refuted_by) if isinstance(refuted_by, str) else refuted_by(evidence)
    follows = [say(cause.follows)] if cause.follows else []
    said = (rule(evidence) for rule in cause.says)
    return Told(
        cause=cause,
        lead=lead,
        paragraphs=(*follows, *(one for one in said if one is not None)),
        judged=evidence.judged(),
        tables=tuple(table for made in cause.tables for table in made(evidence)),
        charts=tuple(cause.charts(evidence)) if cause.charts else (),
        refuted_by=refutation or say(""),
        certain=_is_certain(study, cause, first),
    )


def _is_certain(study: Study, cause: Cause, first: Compared) -> bool:
    """Whether there is something to explain."""
    if not study.decides:
        return False
    if not cause.of_growth:
        return first.certain
    family = study.family("first" if study.roles.baseline is None else "growth")
    grown = growth_of(study, study.metrics[:1], family)
    found = (one for growth in grown for row in growth.findings for one in row if one is not None)
    return any(one.is_certain for one in found)


def figures_table(
    caption: str, columns: Sequence[tuple[str, str, str]], *, along: bool = False
) -> Callable[[Evidence], Iterable[EvidenceTable]]:
    """A table with a row for each cell; with `along` one for each column of the layout, in its
    first table at its first level. `columns` are heads, looks, and how these are written."""

    def made(evidence: Evidence) -> Iterable[EvidenceTable]:
        axes: tuple[Axis, ...] = ("column",) if along else ("table", "level", "column")
        places, count = evidence.places, len(evidence.study.roles.column_levels)
        rows = []
        for place in itertools.islice(places, count) if along else places:
            found = [(evidence.figure(look, *place), how) for _, look, how in columns]
            known = next((one for one, _ in found if one is not None), None)
            if known is not None:
                at = [say(f"{{it:{axis.replace('column', 'head')}}}", it=known) for axis in axes]
                rows.append((*at, *(written(one, how) for one, how in found)))
        yield EvidenceTable(
            caption, (*map(Called, axes), *(head for head, _, _ in columns)), tuple(rows)
        )

    return made


def per_question(counter: str) -> Metric:
    """What a counter of SHOW GLOBAL STATUS rose by for each question, those of the control
    connection too; one that did not change is not recorded."""

    def read(run: Run) -> float | None:
        status = run.probes.get("status") or {}
        asked = status.get("Questions") or 0
        return max(0, status.get(counter, 0)) / asked if asked else None

    return Metric(f"{counter}_per_question", f"{counter} per question", "", read)


def written(one: Figure | Finding | None, how: str = "") -> str | Sentence:
    """A figure in a table."""
    return "not recorded" if one is None else say(f"{{it:{how}}}", it=one)
