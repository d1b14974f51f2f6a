"""A run folder for other programs: tables as CSV or Parquet, all as JSON.

Tables: `runs` (one row per run that ended), `cells`, `comparisons`, `statements` (one row per
statement and cell), `intervals` (one row per interval of a run).
The columns are stable: first those that identify a row, then one column per factor named by
its path, then the figures.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, get_args

from contend.errors import RequestError, clean
from contend.experiment import RATE
from contend.metrics import ALWAYS_SHOWN, PERCENTILES, Metric
from contend.report.build import build
from contend.report.model import Report
from contend.store import RunFolder, RunRecord

EXPORT_FORMAT = 1
"""Version of the JSON document. A field that goes or changes its meaning raises it."""

_INTERVAL_FIGURES = ("index", "start_s", "duration_s", "queries", "errors", "qps")
_RunCount = Literal["measured_s", "queries", "rows", "bytes_sent", "bytes_received"]
_RUN_COUNTS: tuple[_RunCount, ...] = get_args(_RunCount)

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rows:
    """A table: its columns in order, and its rows."""

    columns: tuple[str, ...]
    rows: list[Row]


def rows_of(folder: RunFolder, table: str, metrics: Sequence[str] = ()) -> Rows:
    """One of TABLES of a run folder, comparing `metrics`; see `build`."""
    report = build(folder, metrics)
    experiment = folder.meta().experiment
    factors = tuple(factor["path"] for factor in experiment["factors"])
    if experiment.get("goal"):
        factors = (*factors, RATE)
    return TABLES[table](folder, report, factors)


def csv_of(table: Rows) -> str:
    """With a header; unknown values are empty."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, table.columns, lineterminator="\n")
    writer.writeheader()
    for row in table.rows:
        writer.writerow(
            {name: clean(one) if isinstance(one, str) else one for name, one in row.items()}
        )
    return stream.getvalue()


def parquet_of(table: Rows) -> bytes:
    """Columns keep their types; one whose values have several types is text."""
    pa = _arrow()
    columns = {name: _column(pa, [row.get(name) for row in table.rows]) for name in table.columns}
    written = pa.BufferOutputStream()
    pa.parquet.write_table(pa.table(columns), written)
    return bytes(written.getvalue().to_pybytes())


class Format(NamedTuple):
    """A format of an export: its content, and whether a terminal can show it."""

    content: Callable[[RunFolder, str, Sequence[str]], str | bytes]
    is_text: bool = True


FORMATS = {
    "csv": Format(lambda folder, *about: csv_of(rows_of(folder, *about))),
    "json": Format(lambda folder, *_: json.dumps(whole(folder), indent=1) + "\n"),
    "parquet": Format(lambda folder, *about: parquet_of(rows_of(folder, *about)), is_text=False),
}


def whole(folder: RunFolder) -> dict[str, Any]:
    """Everything that the folder holds, as one JSON document."""
    meta = folder.meta()
    return {
        "format": EXPORT_FORMAT,
        "contend_version": meta.contend_version,
        "created_at": meta.created_at,
        "experiment": meta.experiment,
        "sessions": [asdict(session) for session in meta.sessions],
        "planned": [asdict(one) for one in meta.planned],
        "runs": [asdict(record) for record in folder.records()],
        **({"looks": [asdict(one) for one in looks]} if (looks := folder.looks()) else {}),
    }


def _runs(folder: RunFolder, report: Report, factors: tuple[str, ...]) -> Rows:
    metrics = _metrics(report)
    keys = ("run", "block", "repeat", "status", "started_at", "ended_at")
    figures = tuple(metric.name for metric in metrics)
    rows = []
    for record in folder.records():
        rows.append(
            {
                **{key: getattr(record, key) for key in keys},
                **_levels(record, factors),
                **{metric.name: metric.value(record) for metric in metrics},
                **_counts(record),
                "arrival": _arrival(record),
                "warnings": " ".join(str(w.get("code", "")) for w in record.warnings),
                "error": (record.error or {}).get("message"),
            }
        )
    columns = (*keys, *factors, *figures, *_RUN_COUNTS, "arrival", "warnings", "error")
    return Rows(columns, rows)


def _counts(record: RunRecord) -> dict[str, float | None]:
    done = record.done
    return {key: done.get(key) if done else None for key in _RUN_COUNTS}


def _arrival(record: RunRecord) -> str | None:
    return record.done.get("arrival") if record.done else None


def _cells(folder: RunFolder, report: Report, factors: tuple[str, ...]) -> Rows:
    del folder
    figures = [f"{m.name}{end}" for m in _metrics(report) for end in ("", "_low", "_high")]
    rows = []
    for cell in report.cells:
        row: Row = {**cell.cell, "n": cell.repeats, "warnings": " ".join(cell.warnings)}
        for key, estimate in cell.figures.items():
            row |= {key: estimate.mean, f"{key}_low": estimate.low, f"{key}_high": estimate.high}
        rows.append(row)
    return Rows((*factors, "n", *figures, "warnings"), rows)


_CHANGE = ("ratio", "low", "high", "n", "df", "sd_log", "detectable", "p_sign_flip")


def _comparisons(folder: RunFolder, report: Report, factors: tuple[str, ...]) -> Rows:
    """Every change, the level as a whole first. A factor is empty if a change is over all of its
    levels, or over the columns from `first_column` to `last_column`."""
    del folder
    columns, statements = report.layout.column_values, report.found("statements")
    rows = [
        {
            **one.cell,
            "metric": one.metric.name,
            "of": one.change.place.depth,
            "level": one.level,
            "baseline": one.baseline,
            "first_column": columns[one.change.place.first_column],
            "last_column": columns[one.change.place.last_column],
            **{key: getattr(one.change, key) for key in _CHANGE},
            "robust": one.change.robust.mean,
            "robust_low": one.change.robust.low,
            "robust_high": one.change.robust.high,
            "verdict": one.word,
            "lost": one.lost,
        }
        for compared in (
            *report.compared,
            *(statements.compared if statements else ()),
        )
        for one in compared.findings
    ]
    place = ("metric", "of", "level", "baseline", "first_column", "last_column")
    robust = ("robust", "robust_low", "robust_high")
    return Rows((*factors, *place, *_CHANGE, *robust, "verdict", "lost"), rows)


def _statements(folder: RunFolder, report: Report, factors: tuple[str, ...]) -> Rows:
    """One row per statement and cell; none if the workload has no statements of the user."""
    del folder
    statements = report.found("statements")
    found = statements.figures if statements else ()
    ends = tuple(dict.fromkeys(end for one in found for end in one.figures))
    figures = tuple(f"{end}{bound}" for end in ends for bound in ("", "_low", "_high"))
    rows = []
    for one in found:
        row: Row = {**one.cell, "statement": one.name, "n": one.repeats}
        for key, estimate in one.figures.items():
            row |= {key: estimate.mean, f"{key}_low": estimate.low, f"{key}_high": estimate.high}
        rows.append(row)
    return Rows((*factors, "statement", "n", *figures), rows)


def _intervals(folder: RunFolder, report: Report, factors: tuple[str, ...]) -> Rows:
    del report
    times = tuple(f"response_us_{percentile}" for percentile in PERCENTILES)
    rows = []
    for record in folder.records():
        for interval in record.intervals:
            response = interval.get("latency_us") or {}
            rows.append(
                {
                    "run": record.run,
                    **_levels(record, factors),
                    **{key: interval.get(key) for key in _INTERVAL_FIGURES},
                    **{f"response_us_{p}": response.get(p) for p in PERCENTILES},
                }
            )
    return Rows(("run", *factors, *_INTERVAL_FIGURES, *times), rows)


def _metrics(report: Report) -> tuple[Metric, ...]:
    """Those that every report shows, and any other that is compared."""
    return tuple(dict.fromkeys((*ALWAYS_SHOWN, *(one.metric for one in report.compared))))


def _levels(record: RunRecord, factors: tuple[str, ...]) -> Row:
    return {path: record.cell.get(path) for path in factors}


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise RequestError(
            "Parquet needs the package pyarrow, which is not installed.",
            hint="pip install 'contend[export]', or write --format csv.",
        ) from None
    return pyarrow


def _column(pa: Any, values: list[Any]) -> Any:
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1 and kinds != {int, float}:
        values = [None if value is None else str(value) for value in values]
    elif kinds == {int, float}:
        values = [None if value is None else float(value) for value in values]
    return pa.array(values)


TABLES: dict[str, Callable[[RunFolder, Report, tuple[str, ...]], Rows]] = {
    "runs": _runs,
    "cells": _cells,
    "comparisons": _comparisons,
    "statements": _statements,
    "intervals": _intervals,
}
