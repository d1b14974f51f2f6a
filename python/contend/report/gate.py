"""A gate in words: one line for a CI log, JUnit XML for test counters, Markdown for a comment.

All three are made from the same rows, so that they agree.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence

from contend.errors import clean, one_line
from contend.findings import Analysis, Gated, ReleaseGate, Study, gate_of, slowdown_of
from contend.report.basis import repeat_s
from contend.report.model import OF_POLICY, OUTCOMES, GateRow, GateText
from contend.sections.words import cell_phrase, gain_text, significant, size_text
from contend.stats import units_to_reach
from contend.units import format_duration

MARK = "<!-- contend gate: {} -->"
"""First line of a comment, by which the next one of the same gate finds it."""

_NAMED = 3


def gate_text(gate: ReleaseGate, title: str, *, more: Sequence[str] = ()) -> GateText:
    """A gate as rows and a line.

    Args:
        title: the subject of the measurement.
        more: cell by cell, the further measurement that would make it certain.
    """
    rows = tuple(
        GateRow(
            metric=one.metric,
            limit=one.limit,
            place=cell_phrase(one.cell),
            outcome=one.outcome,
            change="" if one.finding is None else gain_text(one.finding.change),
            finding=one.finding,
            says=_says(one, needed),
        )
        for one, needed in zip(gate.cells, more or [""] * len(gate.cells), strict=True)
    )
    return GateText(title, gate.outcome, _details(gate, rows), rows)


def gate_of_study(study: Study, deciding: Mapping[str, Analysis | None]) -> GateText | None:
    """The gate of an experiment; None if there is none.

    Args:
        deciding: the changes by the metrics that decide, by their names.
    """
    gate = gate_of(study, deciding)
    if gate is None:
        return None
    more = [
        _would_take(study, analysis, one)
        if (analysis := deciding[one.metric.name]) is not None and one.outcome == "uncertain"
        else ""
        for one in gate.cells
    ]
    return gate_text(gate, study.experiment.name, more=more)


def percent_text(share: float) -> str:
    """`3 %`, `0.5 %`: a limit, unchanged."""
    return f"{share * 100:.10g} %"


def _says(one: Gated, more: str) -> str:
    limit, found, metric = percent_text(one.limit), one.slowdown, one.metric
    if found is None or not math.isfinite(found.high):
        return f"not certain: {one.why or 'fewer than two repeats give no interval'}"
    worse, better = metric.verdict(metric.worse), metric.verdict(metric.better)
    if one.outcome == "slower":
        assert one.finding is not None
        return f"certainly {worse}, by {size_text(one.finding.change)}; the limit is {limit}"
    at_most = f"{significant(found.high * 100, 2)} %"
    if one.outcome == "passed":
        most = f"certainly {better}" if found.high <= 0 else f"{worse} by {at_most} at most"
        return f"{most}; the limit is {limit}"
    if one.why:
        return f"not certain: {one.why}"
    certain = f"certainly {worse}, but how much is not certain" if found.low > 0 else "not certain"
    return f"{certain}: {worse} by up to {at_most}, and the limit is {limit}{more}"


def _details(gate: ReleaseGate, rows: tuple[GateRow, ...]) -> str:
    """The cells that decide it, the worst first."""
    at = {id(one): row for one, row in zip(gate.cells, rows, strict=True)}
    deciding = [at[id(one)] for one in gate.deciding]
    metrics = len(gate.limits)
    if not deciding:
        return "nothing was measured"

    def said(row: GateRow) -> str:
        by = f"{row.metric.title} at " if metrics > 1 else ""
        return f"{by}{row.place}: {row.says}"

    if gate.outcome == "passed":
        if len(rows) == 1:
            return said(deciding[0])
        if metrics > 1:
            count = len(rows) // metrics
            cells = f"{count} cell{'' if count == 1 else 's'}"
            return f"{cells} by {metrics} metrics; the worst case is {said(deciding[0])}"
        return f"all {len(rows)} cells; the worst case is at {said(deciding[0])}"
    named = "; ".join(map(said, deciding[:_NAMED]))
    left = len(deciding) - _NAMED
    return f"{named}; and {left} more" if left > 0 else named


def _would_take(study: Study, analysis: Analysis, one: Gated) -> str:
    """The further time needed if the estimate stays: until the interval ends before the limit, or
    before no change."""
    found = one.slowdown
    if found is None or one.finding is None or one.why or not math.isfinite(found.high):
        return ""
    depth = one.finding.change.place.depth
    p_each = next(each.p_each for each in analysis.answer.depths if each.depth == depth)
    change = one.finding.change
    estimate, limit = found.estimate, one.limit
    distance = estimate if estimate >= limit else limit - max(estimate, 0.0)
    needed = units_to_reach(distance, change, p_each) if distance > 0 else None
    if needed is None or needed <= change.n:
        return ""
    time = format_duration(repeat_s(study) * (needed - change.n))
    return f"; about {time} more would decide it, if the estimate stays"


_IN_JUNIT = {"4": "skipped", "pass": "passed", "fail": "failed"}


def junit_of(text: GateText) -> str:
    """JUnit XML: one test case per metric and cell; one that is not certain follows the policy."""
    suite = ET.Element("testsuite", name=text.title)
    counts = {"failures": 0, "skipped": 0}
    for row in text.rows:
        name = f"{row.metric.title}: {row.place}"
        case = ET.SubElement(suite, "testcase", classname=text.title, name=name)
        detail = f"{row.metric.title}: {row.change} %" if row.change else row.metric.title
        by_policy = {"passed": "passed", "slower": "failed"}
        kind = by_policy.get(row.outcome, _IN_JUNIT[text.policy])
        lines = [detail, row.says]
        if kind == "failed":
            counts["failures"] += 1
            ET.SubElement(case, "failure", message=row.says, type=row.outcome).text = detail
        elif kind == "skipped":
            counts["skipped"] += 1
            ET.SubElement(case, "skipped", message=row.says)
        if row.outcome == "uncertain" and text.policy in OF_POLICY:
            lines.insert(0, OF_POLICY[text.policy])
        ET.SubElement(case, "system-out").text = "\n".join(lines)
    numbers = {"tests": str(len(text.rows)), "errors": "0"}
    numbers |= {name: str(count) for name, count in counts.items()}
    suite.attrib.update(numbers)
    top = ET.Element("testsuites", numbers, name="contend")
    top.append(suite)
    ET.indent(top)
    document = clean(ET.tostring(top, encoding="unicode"))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{document}\n'


def markdown_of(text: GateText, notes: tuple[str, ...] = ()) -> str:
    """A comment: the gate's result, a table of its metrics and cells, and its basis."""
    rows = [
        ("metric", "cell", "change in %", "n", ""),
        *(
            (
                row.metric.title,
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
        f"**contend, {_cell(text.title)}: {text.says}** ({_limits(text)})",
        "",
        table[0],
        "|---|---|---|---|---|",
        *table[1:],
        "",
        "±: half of the interval. All intervals of the gate hold together and decide its outcome.",
        *(f"\n{_cell(note)}" for note in notes),
    ]
    return "\n".join(lines) + "\n"


def _limits(text: GateText) -> str:
    limits = text.limits
    if len(limits) == 1:
        return f"limit: {percent_text(*limits.values())} slower"
    listed = (f"{_cell(one.name)} {percent_text(limit)}" for one, limit in limits.items())
    return f"limits: {', '.join(listed)}"


def _cell(text: str) -> str:
    """Nothing that ends a cell of a table, or begins a tag."""
    return one_line(text).replace("|", "\\|").replace("<", "&lt;")


def gate_json(text: GateText) -> dict[str, object]:
    """Plain values; slowdowns are shares of the baseline's figure, null if not known."""
    return {
        "limits": {metric.name: limit for metric, limit in text.limits.items()},
        "outcome": OUTCOMES[text.outcome],
        "line": text.line,
        "cells": [
            {
                "metric": row.metric.name,
                "place": row.place,
                "outcome": OUTCOMES[row.outcome],
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
