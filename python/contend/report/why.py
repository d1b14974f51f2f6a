"""Why the levels differ, in words: the cause that the experiment names, and the difference that
remained under treatments (the run folder in the run folder)."""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from contend.experiment import Level, Roles
from contend.findings import Compared, Constant, Figure, Finding, ReportText, Study, study_of
from contend.metrics.probed import WhyFacts
from contend.report.charts import shares_chart
from contend.report.model import CauseText
from contend.sections.model import Chart, Shown, TextTable
from contend.sections.naming import Naming
from contend.sections.provenance import cpu_count
from contend.sections.steps_chart import Bar, steps_chart
from contend.sections.warmth_charts import curves
from contend.sections.words import (
    UNKNOWN,
    cell_phrase,
    error_text,
    estimate_text,
    factor_label,
    gain_text,
    half_of,
    level_label,
    level_phrase,
    share_text,
    size_text,
    slug,
    times_text,
)
from contend.stats import Estimate
from contend.store import RunFolder
from contend.store.folder import WITHIN
from contend.store.model import NotARunFolder
from contend.why.explain import Axis, Curves, Drawn, Evidence, Place, StepBars
from contend.why.studies import STUDIES
from contend.why.tried import (
    NO_ADVICE,
    CandidateTried,
    DifferenceTried,
    by_reason,
    more_repeats,
    tried_of,
    untested_of,
    why_decided,
)


def cause_of(
    study: Study, naming: Naming, compared: Compared
) -> tuple[CauseText | None, Shown | None]:
    """Why, if a difference is certain; else the evidence that a cause would use. An unknown cause,
    from a newer contend, does not cause a failure."""
    candidate = STUDIES.get(study.experiment.explain or "")
    if candidate is None or candidate.look is None:
        return None, None
    writer = Writer(study.roles, naming.level)
    found = candidate.look(Evidence(study, compared, cpu_count(study.meta.facts), writer))
    if found is None:
        return None, None
    tables = tuple(TextTable(one.caption, one.heads, one.rows) for one in found.tables)
    if not found.certain:
        return None, Shown("What was looked at for a cause", _why_not(study), tables)
    text = CauseText(
        title=candidate.title,
        lead=found.lead,
        paragraphs=tuple(one for one in found.paragraphs if one is not None),
        tables=tables,
        charts=tuple(chart for one in found.charts for chart in _charts(writer, one)),
        refutation=found.refuted_by,
        is_answer=found.is_answer,
    )
    return text, None


def _why_not(study: Study) -> str:
    because = (
        "Nothing is decided before the run is finished"
        if not study.finished
        else "No difference is certain"
        if study.decides
        else "The metric was not named before the run"
    )
    return f"{because}, so no cause is told. These are the figures that one would go by."


def _charts(writer: Writer, one: Drawn) -> list[Chart]:
    if isinstance(one, StepBars):
        bars: dict[bool, list[Bar]] = {True: [], False: []}
        for level, gain in one.steps:
            name = "all together" if level is None else writer.level(level)
            bars[level is None].append((name, gain.estimate, _gain(gain.estimate)))
        title = one.steps[0][1].contrast.metric.title
        place = writer.place(one.cell, "cell")
        return [steps_chart(title, place, bars[False], next(iter(bars[True]), None))]
    if isinstance(one, Curves):
        return curves(writer.place(one.cell, "cell"), writer.level, one.runs)
    title = "" if not one.of else writer.place(one.of, "table")
    return [
        shares_chart(
            f"segments-{slug(title)}",
            f"Visits to each of {len(one.parts)} segments",
            title,
            [(name, figure.mean) for name, figure in one.parts],
            noun="segment",
            caption="Share of all key cache read requests, over all repeats; dashed: an even "
            "share.",
        )
    ]


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes sentences about one experiment; `level_name` has the names of its levels."""

    roles: Roles
    level_name: Callable[[Level], str]

    def say(self, words: str, /, **places: Place) -> ReportText:
        """See `contend.why.explain.SentenceWriter`."""
        for name, one in places.items():
            if not isinstance(one, Figure | Finding | Constant | str):
                raise TypeError(
                    f"{name} in {words!r} is {one!r}, and not a finding: a sentence needs its "
                    "interval and its n"
                )
        return ReportText.written(_Formatter(self).vformat(words, (), places))

    def level(self, level: Level) -> ReportText:
        return ReportText.written(self.level_name(level))

    def axis(self, axis: Axis) -> ReportText:
        factors = {"table": None, "level": self.roles.compared, "column": self.roles.columns}
        factor, usual = factors[axis], {"table": "table", "level": "", "column": "cell"}
        return ReportText(usual[axis]) if factor is None else factor_label(factor.path)

    def place(self, cell: Mapping[str, Level], how: str) -> str:
        """A place, or a part of it: `at` is all of it, `cell` all but the level."""
        roles = self.roles
        compared = roles.compared.path if roles.compared else None
        columns = roles.columns.path if roles.columns else None
        rest = {path: one for path, one in cell.items() if path != compared}
        tables = {path: one for path, one in rest.items() if path != columns}
        table = ", ".join(level_phrase(path, one) for path, one in tables.items())
        level = self.level_name(cell[compared]) if compared is not None and compared in cell else ""
        column, head = "", ""
        if columns is not None and columns in cell:
            column, head = level_phrase(columns, cell[columns]), level_label(cell[columns])
        parts = {
            "table": table or "all",
            "level": level or "all",
            "column": column,
            "head": head or "all",
            "cell": cell_phrase(rest),
            "at": ", ".join(filter(None, (table, level, column))),
        }
        return parts[how]


_PLACES = ("at", "table", "level", "column", "head", "cell")


class _Formatter(string.Formatter):
    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def format_field(self, value: Any, format_spec: str) -> str:
        if not isinstance(value, Figure | Finding):
            return format(value, format_spec)
        if format_spec in _PLACES:
            return self._writer.place(value.contrast.cell, format_spec)
        if isinstance(value, Finding):
            return _CHANGES[format_spec](value)
        return _FIGURES[format_spec](value.estimate)


_CHANGES: dict[str, Callable[[Finding], str]] = {
    "gain": lambda one: gain_text(one.change),
    "size": lambda one: size_text(one.change),
    "times": lambda one: times_text(one.change),
}


def _n(one: Estimate) -> str:
    return f"{one.n} repeat{'' if one.n == 1 else 's'}"


def _ms(one: Estimate) -> str:
    scaled = replace(one, mean=one.mean / 1000, low=one.low / 1000, high=one.high / 1000)
    return estimate_text(scaled)


def _gain(one: Estimate) -> str:
    """A share more, in percent."""
    half = half_of(one) * 100
    if not math.isfinite(half):
        return f"{one.mean * 100:+.0f} {UNKNOWN}"
    places = 0 if half >= 0.95 else 1
    return f"{one.mean * 100:+.{places}f} {error_text(half, places)}"


_FIGURES: dict[str, Callable[[Estimate], str]] = {
    "": estimate_text,
    "share": share_text,
    "percent": lambda one: f"{one.mean * 100:.0f}",
    "plain": lambda one: f"{one.mean * 100:+.0f}",
    "gain": _gain,
    "size": lambda one: estimate_text(one).removeprefix("-"),
    "ms": _ms,
    "n": _n,
    "count": lambda one: f"{one.n}",
}
"""How a figure is written."""


def why_of(folder: RunFolder) -> tuple[WhyFacts, DifferenceTried | None] | None:
    """The planned treatments and their results; None if nothing was tried for this run."""
    try:
        with RunFolder.open(folder.path / WITHIN) as inner:
            study = study_of(inner, percentiles=False)
    except NotARunFolder:
        return None
    about = study.meta.facts.get("why")
    return None if about is None else (about, tried_of(study))


def why_section(folder: RunFolder) -> Shown | None:
    """The sentence, and a table of the tried and untried candidates."""
    found = why_of(folder)
    if found is None:
        return None
    about, tried = found
    rows = [_row(one) for one in (tried.candidates if tried else ())]
    tables = []
    if rows:
        tables.append(
            TextTable(
                "What is left of the difference, in percent (intervals that hold together in 99 of "
                "100 comparisons)",
                (
                    *("cause", "verdict", "left at each dose", "left, whole dose", "left, placebo"),
                    *("both sides' pace, whole dose over placebo", "n"),
                ),
                tuple(rows),
            )
        )
    untested = by_reason(untested_of(about, tried))
    if untested:
        tables.append(TextTable("Not tried", ("cause", "because"), untested))
    return Shown("Why: what takes the difference away", sentence_of(tried), tuple(tables))


def sentence_of(tried: DifferenceTried | None) -> str:
    """The result, in a sentence with its evidence."""
    if tried is None:
        return "The cause is unknown: nothing was measured yet."
    if not tried.candidates and (over := why_decided(tried)) is not None:
        return f"The cause is unknown: {over}."
    if not tried.certain:
        more = more_repeats([(tried.log_difference, 1.0)])
        would = "" if more is None or more > NO_ADVICE else f"; {_repeats(more)} would show one"
        return f"The cause is unknown: in these minutes no difference was certain{would}."
    found = sorted(
        (one for one in tried.candidates if one.verdict in _FOUND), key=lambda x: x.left.mean
    )
    if any(one.verdict == "confirmed" for one in found):
        return " ".join(map(_found, found))
    open_ = [one for one in tried.candidates if one.verdict == "not certain"]
    refuted = [one.record["candidate"] for one in tried.candidates if one.verdict == "refuted"]
    as_a_whole = " as a whole" if found else ""
    said = [f"The cause{as_a_whole} is unknown.", *map(_found, found)]
    if refuted:
        said.append(f"Refuted: {', '.join(refuted)}.")
    said += [_open(one, one.record["candidate"] in tried.aside) for one in open_]
    return ReportText.written(" ".join(said))


_FOUND = {"confirmed": "Confirmed", "a part": "A part of it"}


def _found(one: CandidateTried) -> str:
    record = one.record
    return (
        f"{_FOUND[one.verdict]}: {record['title']} ({record['candidate']}). Of the difference "
        f"{_interval(one)} % is left with {record['words'][record['doses'][-1]]}, and "
        f"{one.left_with_placebo * 100:.0f} % with the placebo (n = {one.left.n})."
    )


def _open(one: CandidateTried, is_aside: bool) -> str:
    name = one.record["candidate"]
    if is_aside:
        return f"Set aside after {one.left.n} repeats: {name}, which took less than others."
    if one.more is None:
        return f"Not certain: {name}, and how many more repeats it takes is not known."
    return f"Not certain: {name}, which takes {_repeats(one.more)}."


def _repeats(more: int) -> str:
    if more > NO_ADVICE:
        return f"more than {NO_ADVICE} more repeats"
    return f"about {more} more repeat{'s' if more > 1 else ''}"


def _interval(one: CandidateTried) -> str:
    left = one.left
    if not (math.isfinite(left.low) and math.isfinite(left.high)):
        return f"{left.mean * 100:.0f}"
    return f"{left.mean * 100:.0f} [{left.low * 100:.0f}, {left.high * 100:.0f}]"


def _row(one: CandidateTried) -> tuple[str, ...]:
    return (
        one.record["candidate"],
        one.verdict,
        ", ".join(f"{left * 100:.0f}" for left in one.left_at_doses.values()),
        _interval(one),
        f"{one.left_with_placebo * 100:.0f}",
        f"{math.expm1(one.both_faster) * 100:+.0f}",
        str(one.left.n),
    )


def why_as_json(folder: RunFolder) -> dict[str, Any] | None:
    """The same for programs."""
    found = why_of(folder)
    if found is None:
        return None
    about, tried = found
    return {
        "sentence": sentence_of(tried),
        "untested": untested_of(about, tried),
        "tried": None if tried is None else _finite(asdict(tried)),
    }


def _finite(value: Any) -> Any:
    """JSON has no infinity."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
