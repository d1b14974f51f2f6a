"""A gate in words: one line for a CI log, JUnit XML for test counters, Markdown for a comment.

All three are made from the same rows, so that they agree.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from contend.errors import clean, one_line
from contend.findings import Analysis, Gated, ReleaseGate, Study, slowdown_of
from contend.report.basis import repeat_s
from contend.report.model import GateRow, GateText
from contend.sections.words import cell_phrase, gain_text, significant, size_text
from contend.stats import units_to_reach
from contend.units import format_duration

MARK = "<!-- contend gate: {} -->"
"""First line of a comment, by which the next one of the same gate finds it."""

_OUTCOMES = {"passed": "passed", "slower": "slower", "uncertain": "not certain"}
_NAMED = 3


def gate_text(gate: ReleaseGate, title: str, *, more: Sequence[str] = ()) -> GateText:
    """A gate as rows and a line.

    Args:
        title: the subject of the measurement.
        more: cell by cell, the further measurement that would make it certain.
    """
    rows = tuple(
        GateRow(
            place=cell_phrase(one.cell),
            outcome=one.outcome,
            change="" if one.finding is None else gain_text(one.finding.change),
            finding=one.finding,
            says=_says(gate, one, needed),
        )
        for one, needed in zip(gate.cells, more or [""] * len(gate.cells), strict=True)
    )
    return GateText(
        title=title,
        metric=gate.metric,
        limit=gate.limit,
        outcome=gate.outcome,
        line=f"gate {_OUTCOMES[gate.outcome]}: {_line(gate, rows)}",
        rows=rows,
    )


def gate_of_study(
    study: Study, analysis: Analysis | None, gate: ReleaseGate | None
) -> GateText | None:
    """The gate of an experiment; None if there is none."""
    if gate is None:
        return None
    more = [
        _would_take(study, analysis, gate.limit, one)
        if one.outcome == "uncertain" and analysis is not None
        else ""
        for one in gate.cells
    ]
    return gate_text(gate, study.experiment.name, more=more)


def percent_text(share: float) -> str:
    """`3 %`, `0.5 %`: a limit, unchanged."""
    return f"{share * 100:.10g} %"


def _says(gate: ReleaseGate, one: Gated, more: str) -> str:
    limit, found = percent_text(gate.limit), one.slowdown
    if found is None or not math.isfinite(found.high):
        return f"not certain: {one.why or 'fewer than two repeats give no interval'}"
    if one.outcome == "slower":
        assert one.finding is not None
        return f"certainly slower, by {size_text(one.finding.change)}; the limit is {limit}"
    at_most = f"{significant(found.high * 100, 2)} %"
    if one.outcome == "passed":
        most = "certainly faster" if found.high <= 0 else f"slower by {at_most} at most"
        return f"{most}; the limit is {limit}"
    if one.why:
        return f"not certain: {one.why}"
    certain = "certainly slower, but how much is not certain" if found.low > 0 else "not certain"
    return f"{certain}: slower by up to {at_most}, and the limit is {limit}{more}"


def _line(gate: ReleaseGate, rows: tuple[GateRow, ...]) -> str:
    """The cells that decide it, the worst first."""
    at = {id(one): row for one, row in zip(gate.cells, rows, strict=True)}
    deciding = [at[id(one)] for one in gate.deciding]
    if not deciding:
        return "nothing was measured"
    if gate.outcome == "passed":
        worst = f"{deciding[0].place}: {deciding[0].says}"
        if len(rows) == 1:
            return worst
        return f"all {len(rows)} cells; the worst case is at {worst}"
    named = "; ".join(f"{row.place}: {row.says}" for row in deciding[:_NAMED])
    left = len(deciding) - _NAMED
    return f"{named}; and {left} more" if left > 0 else named


def _would_take(study: Study, analysis: Analysis, limit: float, one: Gated) -> str:
    """The further time needed if the estimate stays: until the interval ends before the limit, or
    before no change."""
    found = one.slowdown
    if found is None or one.finding is None or one.why or not math.isfinite(found.high):
        return ""
    depth = one.finding.change.place.depth
    p_each = next(each.p_each for each in analysis.answer.depths if each.depth == depth)
    change = one.finding.change
    distance = found.estimate if found.estimate >= limit else limit - max(found.estimate, 0.0)
    needed = units_to_reach(distance, change, p_each) if distance > 0 else None
    if needed is None or needed <= change.n:
        return ""
    time = format_duration(repeat_s(study) * (needed - change.n))
    return f"; about {time} more would decide it, if the estimate stays"


def junit_of(text: GateText, *, uncertain: str) -> str:
    """JUnit XML: one test case per cell.

    Args:
        uncertain: the result for an inconclusive cell: skipped, failed or passed.
    """
    suite = ET.Element("testsuite", name=text.title)
    counts = {"failures": 0, "skipped": 0}
    for row in text.rows:
        case = ET.SubElement(suite, "testcase", classname=text.title, name=row.place)
        detail = f"{text.metric.title}: {row.change} %" if row.change else text.metric.title
        kind = {"passed": "passed", "slower": "failed"}.get(row.outcome, uncertain)
        if kind == "failed":
            counts["failures"] += 1
            ET.SubElement(case, "failure", message=row.says, type=row.outcome).text = detail
        elif kind == "skipped":
            counts["skipped"] += 1
            ET.SubElement(case, "skipped", message=row.says)
        ET.SubElement(case, "system-out").text = f"{detail}\n{row.says}"
    numbers = {"tests": str(len(text.rows)), "errors": "0"}
    numbers |= {name: str(count) for name, count in counts.items()}
    suite.attrib.update(numbers)
    top = ET.Element("testsuites", numbers, name="contend")
    top.append(suite)
    ET.indent(top)
    document = clean(ET.tostring(top, encoding="unicode"))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{document}\n'


def markdown_of(text: GateText, notes: tuple[str, ...] = ()) -> str:
    """A comment: the gate's result, a table of its cells, and its basis."""
    rows = [
        ("cell", f"{text.metric.title}, change in %", "n", ""),
        *(
            (
                row.place,
                row.change or "not measured",
                "0" if row.finding is None else str(row.finding.change.n),
                row.says,
            )
            for row in text.rows
        ),
    ]
    table = [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    lines = [
        MARK.format(one_line(text.title).replace("--", "- -")),
        f"**contend, {_cell(text.title)}: gate {_OUTCOMES[text.outcome]}** "
        f"(limit: {percent_text(text.limit)} slower)",
        "",
        table[0],
        "|---|---|---|---|",
        *table[1:],
        "",
        "±: half of the interval. All intervals of the gate hold together and decide its outcome.",
        *(f"\n{_cell(note)}" for note in notes),
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Nothing that ends a cell of a table, or begins a tag."""
    return one_line(text).replace("|", "\\|").replace("<", "&lt;")


def gate_json(text: GateText) -> dict[str, object]:
    """Plain values; slowdowns are shares of the baseline's figure, null if not known."""
    return {
        "limit": text.limit,
        "outcome": _OUTCOMES[text.outcome],
        "line": text.line,
        "cells": [
            {
                "place": row.place,
                "outcome": _OUTCOMES[row.outcome],
                "says": row.says,
                "slowdown": None if row.finding is None else _slowdown_json(row),
            }
            for row in text.rows
        ],
    }


def _slowdown_json(row: GateRow) -> dict[str, float | None]:
    assert row.finding is not None
    found = slowdown_of(row.finding)
    ends = {"estimate": found.estimate, "low": found.low, "high": found.high}
    return {name: value if math.isfinite(value) else None for name, value in ends.items()}
