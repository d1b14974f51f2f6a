"""Problems and remarks, gathered over their cells. Nothing is averaged away.

Each cell's slices in order, over all its repeats, show whether an arm was at its steady state. One
block's slices are noisy; the mean of the same round over all blocks is less so. A server that still
warms up, or writes its log now and then, does so in every block at about the same time. Few slices
show no trend by themselves; the repeats together may show that the first of them differ.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from contend.experiment import cell_specs, without_metric
from contend.experiment.settings.server import is_dsn
from contend.experiment.settings.workload import may_write
from contend.findings import CellFigures, Compared, Study, means_of_repeats, pairs_of
from contend.metrics import THROUGHPUT, Metric, metric_of
from contend.report.model import HostNote, Progress
from contend.sections.host_state import paged_out
from contend.sections.model import Notice
from contend.sections.provenance import sessions_differ
from contend.sections.words import cell_phrase, significant
from contend.stats import Steadiness, estimate, look_for_trend
from contend.store import RunRecord

_COUNTED_HERE = "queries-failed"
"""Runs warn of their own failed queries; this counts them over all runs, by their error."""


def warnings_of(
    study: Study, compared: Sequence[Compared], cells: Sequence[CellFigures]
) -> tuple[Notice, ...]:
    """Warnings of the measured runs by code, then those of the report itself."""
    gathered: dict[str, list[tuple[RunRecord, str]]] = defaultdict(list)
    # A search goes beyond what the server can do, to find it.
    is_search = study.experiment.goal is not None
    for record in study.measured:
        for warning in record.warnings:
            code = str(warning.get("code") or "warning")
            if code == _COUNTED_HERE or (code == "overloaded" and is_search):
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
        *_repeats_apart(study, cells),
        *paged_out(study),
        *_hosts(study, runs),
    )


def failures_of(study: Study) -> tuple[Notice, ...]:
    """Runs that failed or were lost, by the text of their errors."""
    gathered: dict[tuple[str, str], list[RunRecord]] = defaultdict(list)
    measured = {record.run for record in study.measured}
    for record in study.records:
        if record.status == "ok":
            continue
        error = record.error or {}
        message = str(error.get("message") or "no reason was recorded")
        if error.get("code") is not None and error.get("hint"):
            # The remedy for the server's error.
            message += f"; {error['hint']}"
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
    return Progress(
        planned, len(measured), len(failed), len(lost), state, is_measured=_is_measured(study)
    )


def _is_measured(study: Study) -> bool:
    if study.roles.baseline is None:
        return bool(study.measured)
    return any(
        any(study.blocks_in_common(baseline, cell).values())
        for _, baseline, cell in pairs_of(study.roles)
    )


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
            message=f"failed queries: {sum(count for _, count in group)}, with {text}",
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
    """Reported once, by the metric that lost most: all of them read the same runs."""
    losing = [[one for one in each.comparisons if one.lost] for each in compared]
    most = max(losing, key=lambda ones: sum(one.lost for one in ones), default=[])
    if not most:
        return []
    lost = sum(one.lost for one in most)
    times = "once" if lost == 1 else f"{lost} times"
    return [
        Notice(
            code="repeats-lost",
            message=f"{times} a comparison lacks a figure in a repeat, and leaves that repeat out",
            cells=tuple(dict.fromkeys(cell_phrase(one.cell) for one in most)),
            runs=lost,
            planned_runs=runs,
        )
    ]


APART = 2.0
"""Repeats of a cell whose speeds differ by this factor did not measure the same thing."""


def _repeats_apart(study: Study, cells: Sequence[CellFigures]) -> list[Notice]:
    speed = metric_of(THROUGHPUT).value
    found = []
    for cell in cells:
        speeds = means_of_repeats(study.runs_of(cell.cell), speed)
        if len(speeds) > 1 and max(speeds) >= APART * min(speeds) > 0:
            found.append((max(speeds) / min(speeds), cell))
    if not found:
        return []
    most, cell = max(found, key=lambda one: one[0])
    at = cell_phrase(cell.cell)
    example = f" (at {at})" if at and len(found) > 1 else ""
    return [
        Notice(
            code="repeats-apart",
            message=f"one repeat was up to {significant(most, 2)} times as fast as another"
            f"{example}: something other than the levels changed between them",
            cells=tuple(filter(None, (cell_phrase(one.cell) for _, one in found))),
            runs=sum(len(study.runs_of(one.cell)) for _, one in found),
            planned_runs=len(study.measured),
        )
    ]


def _hosts(study: Study, runs: int) -> list[Notice]:
    differing = sessions_differ(study.meta.sessions)
    if not differing:
        return []
    message = (
        f"the runs were measured on hosts that differ ({', '.join(differing)}): comparisons "
        "remain valid, but absolute figures of different sessions cannot be compared"
    )
    return [Notice("host-changed", message, (), runs, runs)]


def _one_of(messages: Sequence[str]) -> str:
    """The text of the runs, or one example if it differs only in its figures."""
    return messages[0] if len(set(messages)) == 1 else f"for example, {messages[0]}"


def _cells(study: Study, records: Iterable[RunRecord]) -> tuple[str, ...]:
    """The cells of some runs; if it is all cells, they are not listed."""
    # The only cell has no name, and needs none.
    cells = tuple(dict.fromkeys(filter(None, (cell_phrase(record.cell) for record in records))))
    return ("every cell measured",) if len(cells) == len(study.by_cell) > 1 else cells


_MESSAGES = {
    "warming": "it was still getting faster during the measurement",
    "cooling": "it got slower during the measurement",
    "cyclic": "its speed changes in a cycle",
    "none": "its speed changes without settling or repeating",
}
DRIFT_MATTERS = 0.05
"""A change of speed below this share gets no mark: effects that levels have in common cancel in
their ratio."""

_EVIDENCE = {
    "key_misses_per_query": "key cache misses per query",
    "read_bytes_per_query": "B read from storage per query",
}


def unsteady(study: Study, cells: Sequence[CellFigures]) -> list[Notice]:
    """The cells that were not steady, by their state."""
    if not study.in_slices:
        return []
    half_width = max(study.experiment.compare.width or 0.0, DRIFT_MATTERS)
    gathered: dict[str, list[tuple[CellFigures, Steadiness]]] = defaultdict(list)
    for cell in cells:
        speeds = speeds_of(study.runs_of(cell.cell))
        seen = look_for_trend(speeds, half_width=half_width)
        if seen.state in ("steady", "unknown"):
            doubt = (1 - study.family("steadiness").confidence) / len(cells)
            by_repeat = list(study.repeats_of(cell.cell).values())
            seen = first_slices(by_repeat, half_width, doubt) or seen
        if seen.state in _MESSAGES:
            gathered[seen.state].append((cell, seen))
    return [_notice(study, state, found) for state, found in gathered.items()]


def first_slices(
    repeats: Sequence[Sequence[RunRecord]], half_width: float, doubt: float
) -> Steadiness | None:
    """The first third of the slices against the rest, repeat by repeat. None if the difference is
    uncertain, or too small to matter.

    Args:
        half_width: relative half-width that the experiment requests.
        doubt: chance of a false detection in a cell that is steady.
    """
    rises = [one for one in map(_rise, repeats) if one is not None]
    if len(rises) < 2:
        return None
    rise = estimate(rises, 1 - doubt)
    change = math.expm1(rise.mean)
    if rise.low <= 0 <= rise.high or abs(change) <= half_width / 2:
        return None
    apart = f"{abs(math.expm1(-rise.mean)) * 100:.0f} % {'slower' if change > 0 else 'faster'}"
    why = f"the first third of the slices was {apart} than the rest, in {rise.n} repeats"
    return Steadiness("warming" if change > 0 else "cooling", None, None, change, why)


def _rise(runs: Sequence[RunRecord]) -> float | None:
    """The rise of the logarithm of the speed, from the first third of a block to the rest, over
    the blocks of a repeat."""
    rises = []
    for logs in filter(None, map(_logs, runs)):
        head = max(1, len(logs) // 3)
        rises.append(_mean(logs[head:]) - _mean(logs[:head]))
    return _mean(rises) if rises else None


def _logs(run: RunRecord) -> list[float]:
    """Logarithms of the speeds in order; empty if there are few, or a slice had no answer."""
    speeds = [one["qps"] for one in sorted(run.intervals, key=lambda one: one["index"])]
    return [math.log(one) for one in speeds] if len(speeds) > 2 and min(speeds) > 0 else []


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def speeds_of(runs: Sequence[RunRecord]) -> list[float]:
    """The speed of each round over the mean of its block, as a mean over blocks; rounds that few
    blocks have are left out."""
    blocks = list(filter(None, map(_logs, runs)))
    rounds = max(map(len, blocks), default=0)
    found = []
    for index in range(rounds):
        own = [logs[index] - _mean(logs) for logs in blocks if index < len(logs)]
        if len(own) * 2 <= len(blocks):
            break
        found.append(math.exp(_mean(own)))
    return found


def _notice(study: Study, state: str, found: Sequence[tuple[CellFigures, Steadiness]]) -> Notice:
    cell, seen = found[0]
    example = f"for example {cell_phrase(cell.cell)}: " if len(found) > 1 else ""
    return Notice(
        code=f"not-steady-{state}" if state != "none" else "not-steady",
        message=f"{_MESSAGES[state]} ({example}{seen.why}{_evidence(cell)})",
        cells=tuple(cell_phrase(one.cell) for one, _ in found),
        runs=sum(len(study.runs_of(one.cell)) for one, _ in found),
        planned_runs=len(study.measured),
    )


def _evidence(cell: CellFigures) -> str:
    """The figures in which a cold cache would show."""
    seen = [
        f"{significant(cell.figures[name].mean, 2)} {label}"
        for name, label in _EVIDENCE.items()
        if name in cell.figures
    ]
    return f"; {', '.join(seen)}" if seen else ""


_SHOWN = ("severe", "warning")
"""Notes are among the facts of the host."""


def host_notes_of(study: Study) -> tuple[HostNote, ...]:
    """Findings of all sessions of the run, each once, the worst first."""
    writes = any(
        may_write(cell.workload.kind, cell.workload.parameters)
        for cell in cell_specs(study.experiment)
    )
    of_all = (
        {"all"} | ({"writes"} if writes else set()) | ({"tcp"} if _is_over_tcp(study) else set())
    )
    found: dict[str, HostNote] = {}
    for session in study.meta.sessions:
        for record in session.facts.get("doctor") or ():
            severity = record["severity"] or ""
            metrics = tuple(
                metric.name
                for metric in study.metrics
                if not of_all.isdisjoint(record["touches"])
                or ("latency" in record["touches"] and _is_latency(metric))
            )
            if severity in _SHOWN and metrics:
                found.setdefault(
                    record["id"],
                    HostNote(
                        record["id"],
                        severity,
                        record["evidence"],
                        metrics,
                        record["ignored"] or "",
                    ),
                )
    return tuple(
        sorted(found.values(), key=lambda note: (bool(note.ignored), _SHOWN.index(note.severity)))
    )


def note_text(note: HostNote, compared: int) -> str:
    """`warning damon-pageout: the kernel pages out …`, with the metrics if they are not all of the
    compared ones."""
    of = "" if len(note.metrics) == compared else f" (affects {', '.join(note.metrics)})"
    aside = f" (ignored: {note.ignored})" if note.ignored else ""
    return f"{note.severity} {note.check}: {note.evidence}{of}{aside}"


def _is_latency(metric: Metric) -> bool:
    """Whether a metric in µs is a time that a client waits for, and not CPU time."""
    return "_us" in metric.name and "cpu_us" not in metric.name


def _is_over_tcp(study: Study) -> bool:
    sources = [
        str(server.get("source", ""))
        for session in study.meta.sessions
        for server in session.facts.get("servers", {}).values()
    ]
    return any(is_dsn(one) and "socket" not in one for one in sources)
