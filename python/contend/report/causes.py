"""The cause of an experiment, written out."""

from __future__ import annotations

from collections.abc import Sequence

from contend.findings import (
    Compared,
    Curves,
    EvidenceTable,
    Shares,
    Study,
    Told,
    told_by,
)
from contend.findings.evidence import Judged
from contend.report.charts import shares_chart
from contend.report.model import CauseText, Chart, Section, TextTable
from contend.report.naming import Naming
from contend.report.provenance import cpu_count
from contend.report.said import Writer
from contend.report.warmth_charts import curves
from contend.report.words import factor_label, size_text, slug


def cause_of(
    study: Study, naming: Naming, compared: Compared
) -> tuple[CauseText | None, Section | None]:
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
        return None, Section(_LOOKED_AT, _why_not(study), tables)
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


def _charts(writer: Writer, one: Shares | Curves) -> list[Chart]:
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
