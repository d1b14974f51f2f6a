"""The cause of an experiment, written out: how its figures, changes and places look in words."""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from contend.findings import (
    AtLevel,
    Called,
    Compared,
    Curves,
    Drawn,
    EvidenceTable,
    Figure,
    Finding,
    Given,
    Said,
    Sentence,
    StepBars,
    Study,
    Told,
    told_by,
)
from contend.findings.evidence import Judged
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
from contend.spec import Level, Roles
from contend.stats import Estimate


def cause_of(
    study: Study, naming: Naming, compared: Compared
) -> tuple[CauseText | None, Shown | None]:
    """Why, if there is a difference that is certain; else what a cause would go by."""
    cause = naming.cause
    if cause is None:
        return None, None
    told = told_by(study, cause, compared, cpu_count(study.meta.facts))
    if told is None:
        return None, None
    writer = Writer(study.roles, naming.level)
    tables = tuple(_table(writer, one) for one in told.tables)
    if not told.certain:
        return None, Shown(_LOOKED_AT, _why_not(study), tables)
    return _cause(study, writer, told, tables), None


_LOOKED_AT = "What was looked at for a cause"


def _why_not(study: Study) -> str:
    because = (
        "Nothing is decided before the run is finished"
        if not study.finished
        else "No difference is certain"
        if study.decides
        else "The metric was not named before the run"
    )
    return f"{because}, so no cause is told. These are the figures that one would go by."


def _cause(study: Study, writer: Writer, told: Told, tables: Sequence[TextTable]) -> CauseText:
    charts: list[Chart] = []
    for one in told.charts:
        charts += _charts(writer, one)
    judged = (_judged(study, writer, one) for one in told.judged)
    return CauseText(
        title=told.cause.title,
        lead=writer.text(told.lead),
        paragraphs=(*map(writer.text, told.paragraphs), *judged),
        tables=tuple(tables),
        charts=tuple(charts),
        refutation=writer.text(told.refuted_by),
        is_answer=told.cause.is_answer,
    )


def _judged(study: Study, writer: Writer, one: Judged) -> str:
    """`It expects the context switches … to be lower, and that is so: 50 % (±2) with 32.`"""
    metric, expects = one.findings[0].metric, one.expects
    least = f" by at least {(expects.least - 1) * 100:g} %" if expects.least > 1 else ""
    dose = f", the more so the more {factor_label(_compared(study))}" if expects.dose else ""
    found = "; ".join(
        f"{each.word or 'changed'} by {size_text(each.change)} with {writer.level(each.level)}"
        if each.is_certain
        else f"{each.word or 'open'} with {writer.level(each.level)}"
        for each in one.findings
    )
    verdicts = {
        True: "and that is so",
        False: "and that is certainly not so, which refutes it",
        None: "which is not certain",
    }
    return (
        f"It expects {metric.subject} to be {expects.direction}{least}{dose}, "
        f"{verdicts[one.holds]}: {found}."
    )


def _compared(study: Study) -> str:
    assert study.roles.compared is not None
    return study.roles.compared.path


def _table(writer: Writer, table: EvidenceTable) -> TextTable:
    place = writer.text(table.place)
    return TextTable(
        caption=f"{table.caption}, {place}" if place else table.caption,
        columns=tuple(map(writer.text, table.heads)),
        rows=tuple(tuple(map(writer.text, row)) for row in table.rows),
    )


def _charts(writer: Writer, one: Drawn) -> list[Chart]:
    if isinstance(one, StepBars):
        return [_steps(writer, one)]
    if isinstance(one, Curves):
        return curves(writer.place(one.cell, "cell"), writer.level, one.runs)
    title = "" if not one.of else writer.place(one.of, "table")
    return [
        shares_chart(
            f"segments-{slug(title)}",
            f"Visits to each of {len(one.parts)} segments",
            title,
            [(name, figure.mean) for name, figure in one.parts],
            noun=one.noun,
            caption="Share of all key cache read requests, over all repeats; dashed: an even "
            "share.",
        )
    ]


def _steps(writer: Writer, one: StepBars) -> Chart:
    bars: dict[bool, list[Bar]] = {True: [], False: []}
    for step in one.steps:
        name = "all together" if step.level is None else writer.level(step.level)
        bars[step.level is None].append((name, step.gain.estimate, _gain(step.gain.estimate)))
    metric = one.steps[0].gain.contrast.metric
    place = str(writer.place(one.cell, "cell"))
    return steps_chart(metric.title, place, bars[False], next(iter(bars[True]), None))


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes sentences about one experiment; `level` has the names of its levels."""

    roles: Roles
    level: Callable[[Level], str]

    def text(self, sentence: Sentence | AtLevel | Called | str) -> Said:
        if isinstance(sentence, AtLevel):
            return Said.written(self.level(sentence.level))
        if isinstance(sentence, Called):
            return self._called(sentence)
        if isinstance(sentence, str):
            return Said.written(sentence)
        return Said.written(_Formatter(self).vformat(sentence.words, (), sentence.places))

    def _called(self, one: Called) -> Said:
        factors = {"table": None, "level": self.roles.compared, "column": self.roles.columns}
        factor, usual = factors[one.axis], {"table": "table", "level": "", "column": "cell"}
        return Said(usual[one.axis]) if factor is None else factor_label(factor.path)

    def place(self, cell: Mapping[str, Level], how: str) -> str:
        """A place, or a part of it: `at` is all of it, `cell` all but the level."""
        roles = self.roles
        compared = roles.compared.path if roles.compared else None
        columns = roles.columns.path if roles.columns else None
        rest = {path: one for path, one in cell.items() if path != compared}
        tables = {path: one for path, one in rest.items() if path != columns}
        table = ", ".join(level_phrase(path, one) for path, one in tables.items())
        level = self.level(cell[compared]) if compared is not None and compared in cell else ""
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
        if isinstance(value, Given):
            return format(value, format_spec)
        if not isinstance(value, Figure | Finding):
            return self._writer.text(value)
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
