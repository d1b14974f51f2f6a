"""The report as JSON for other programs: the answer, every change, every figure."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from contend.findings import CellFigures
from contend.metrics import COSTS, PERCENTILES, THROUGHPUT
from contend.report.gate import gate_json
from contend.report.model import Report, missing_text
from contend.sections.words import DEPTHS, change_json, mean_json
from contend.stats import finite


def as_json(report: Report) -> dict[str, Any]:
    """Plain JSON values. A figure that is not known, or a bound that is infinite, is null."""
    progress, layout = report.progress, report.layout
    missing = {one.title: one.lead for one in report.missing}
    sections = {}
    for made in report.made:
        try:
            document = made.document()
        except Exception as error:  # Any error affects this section alone.
            missing[made.section.title] = missing_text(error)
            continue
        if document:
            sections[made.section.name] = document
    return {
        "experiment": report.name,
        "run": report.run,
        "runs": {
            "planned": progress.planned,
            "measured": progress.measured,
            "failed": progress.failed,
            "lost": progress.lost,
            "state": progress.state,
        },
        **({"about_server": report.about_server} if report.about_server else {}),
        "answer": report.answer.sentence,
        "others": list(report.answer.others),
        "basis": list(report.answer.basis),
        **({"gate": gate_json(report.gate)} if report.gate else {}),
        "host": [asdict(note) for note in report.host_notes],
        "metrics": [
            {
                "name": one.metric.name,
                "title": one.metric.title,
                "unit": one.metric.unit,
                "less_is_better": one.metric.less_is_better,
            }
            for one in report.compared
        ],
        **{
            name: [change_json(layout, one) for compared in report.compared for one in of(compared)]
            for name, of in DEPTHS.items()
        },
        "costs": [change_json(layout, one) for compared in report.costs for one in compared.wholes],
        **sections,
        "cells": [_cell(report, one) for one in report.cells],
        **({"missing": missing} if missing else {}),
    }


def _cell(report: Report, cell: CellFigures) -> dict[str, Any]:
    """A cell's figures as plain numbers, and the interval of each by the same name."""
    figures = cell.figures
    response = {p: mean_json(figures.get(f"response_us_{p}")) for p in PERCENTILES}
    return {
        "factors": dict(cell.cell),
        "n": cell.repeats,
        **{one.metric.name: mean_json(figures.get(one.metric.name)) for one in report.compared},
        THROUGHPUT: mean_json(figures.get(THROUGHPUT)),
        "response_us": response,
        **{key: mean_json(figures.get(key)) for key in COSTS},
        "intervals": {
            key: [finite(estimate.low), finite(estimate.high)] for key, estimate in figures.items()
        },
        "expected": dict(cell.expected),
        "warnings": list(cell.warnings),
    }
