"""What went wrong or needs saying, gathered over its cells. Nothing is averaged away."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from contend.findings import CellFigures, Compared, Study
from contend.metrics import Metric
from contend.report.host_state import paged_out
from contend.report.model import Notice, Progress
from contend.report.provenance import sessions_differ
from contend.report.steadiness import unsteady
from contend.report.words import cell_phrase
from contend.spec import without_metric
from contend.store import RunRecord

_COUNTED_HERE = "queries-failed"
"""Runs warn of their own failed queries; here they are counted over all runs, by their error."""


def warnings_of(
    study: Study, compared: Sequence[Compared], cells: Sequence[CellFigures]
) -> tuple[Notice, ...]:
    """Warnings of the measured runs by code, then what the report itself has to warn of."""
    gathered: dict[str, list[tuple[RunRecord, str]]] = defaultdict(list)
    for record in study.measured:
        for warning in record.warnings:
            code = str(warning.get("code") or "warning")
            if code == _COUNTED_HERE:
                continue
            gathered[code].append((record, str(warning.get("message") or code)))
    runs = len(study.measured)
    found = [
        Notice(
            code=code,
            message=_one_of([message for _, message in group]),
            cells=_cells(study, (record for record, _ in group)),
            runs=len({record.run for record, _ in group}),
            planned_runs=runs,
        )
        for code, group in sorted(gathered.items())
    ]
    return (
        *found,
        *_query_errors(study),
        *_not_recorded(study),
        *_lost_repeats(compared, runs),
        *unsteady(study, cells),
        *paged_out(study),
        *_hosts(study, runs),
    )


def failures_of(study: Study) -> tuple[Notice, ...]:
    """Runs that failed or were lost, by what their errors say."""
    gathered: dict[tuple[str, str], list[RunRecord]] = defaultdict(list)
    measured = {record.run for record in study.measured}
    for record in study.records:
        if record.status == "ok":
            continue
        error = record.error or {}
        message = str(error.get("message") or "no reason was recorded")
        if record.run in measured:
            message += " (measured at a later attempt)"
        gathered[record.status, message].append(record)
    return tuple(
        Notice(status, message, _cells(study, group), len(group), len(study.meta.planned))
        for (status, message), group in gathered.items()
    )


def progress_of(study: Study, writer_pid: int | None) -> Progress:
    """How many of the planned runs have ended, and how the folder was left."""
    measured = {record.run for record in study.measured}
    failed = {r.run for r in study.records if r.status == "failed"} - measured
    lost = {r.run for r in study.records if r.status == "lost"} - measured - failed
    planned = len(study.meta.planned)
    if study.finished:
        state = "complete"
    else:
        state = "under way" if writer_pid is not None else "unfinished"
    return Progress(planned, len(measured), len(failed), len(lost), state)


def _query_errors(study: Study) -> list[Notice]:
    """Errors that the server sent for single queries of runs that went on."""
    gathered: dict[tuple[int | None, str], list[tuple[RunRecord, int]]] = defaultdict(list)
    for record in study.measured:
        for error in (record.done.get("errors") if record.done else None) or ():
            code: int | None = error.get("code")
            sqlstate: str | None = error.get("sqlstate")
            message: str | None = error.get("message")
            text = f"error {code} ({sqlstate}): {message}"
            gathered[code, text].append((record, int(error.get("count") or 0)))
    return [
        Notice(
            code=_COUNTED_HERE,
            message=f"{sum(count for _, count in group)} queries ended in {text}",
            cells=_cells(study, (record for record, _ in group)),
            runs=len(group),
            planned_runs=len(study.measured),
        )
        for (_, text), group in gathered.items()
    ]


def _not_recorded(study: Study) -> list[Notice]:
    """Metrics that are to be compared and that some runs do not have."""
    found = []
    for metric in study.metrics:
        without = [record for record in study.measured if metric.value(record) is None]
        if without:
            found.append(_without(study, metric, without))
    return found


def _without(study: Study, metric: Metric, records: Sequence[RunRecord]) -> Notice:
    error = without_metric(metric.name, records[0])
    return Notice(
        code="metric-missing",
        message=f"{error.message} in these runs. {error.hint}",
        cells=_cells(study, records),
        runs=len(records),
        planned_runs=len(study.measured),
    )


def _lost_repeats(compared: Sequence[Compared], runs: int) -> list[Notice]:
    """Said once, by the metric that lost most: all of them read the same runs."""
    losing = [[one for one in each.comparisons if one.lost] for each in compared]
    most = max(losing, key=lambda ones: sum(one.lost for one in ones), default=[])
    if not most:
        return []
    lost = sum(one.lost for one in most)
    times = "once" if lost == 1 else f"{lost} times"
    return [
        Notice(
            code="repeats-lost",
            message=f"{times} a comparison lacks one of its figures in a repeat, and does without "
            "that repeat",
            cells=tuple(dict.fromkeys(cell_phrase(one.cell) for one in most)),
            runs=lost,
            planned_runs=runs,
        )
    ]


def _hosts(study: Study, runs: int) -> list[Notice]:
    differing = sessions_differ(study.meta.sessions)
    if not differing:
        return []
    message = (
        "the runs were made on hosts that differ ("
        + ", ".join(differing)
        + "): comparisons stay sound, absolute figures of different sessions do not compare"
    )
    return [Notice("host-changed", message, (), runs, runs)]


def _one_of(messages: Sequence[str]) -> str:
    """What the runs say, or an example of it where they say it with different figures."""
    return messages[0] if len(set(messages)) == 1 else f"for example, {messages[0]}"


def _cells(study: Study, records: Iterable[RunRecord]) -> tuple[str, ...]:
    """The cells of some runs in words; all of them are not listed one by one."""
    # A cell that is the only one has no words, and needs none.
    cells = tuple(dict.fromkeys(filter(None, (cell_phrase(record.cell) for record in records))))
    return ("every cell measured",) if len(cells) == len(study.by_cell) > 1 else cells
