"""What doctor found on the host before the runs, beside the verdicts that it touches."""

from __future__ import annotations

from contend.findings import Study
from contend.metrics import Metric
from contend.report.model import HostNote
from contend.settings.server import is_dsn
from contend.settings.workload import may_write
from contend.spec import cell_specs

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
    """`warning damon-pageout: the kernel pages out …`, with the metrics if they are not all of so
    many."""
    of = "" if len(note.metrics) == compared else f" (bears on {', '.join(note.metrics)})"
    aside = f" (ignored: {note.ignored})" if note.ignored else ""
    return f"{note.severity} {note.check}: {note.evidence}{of}{aside}"


def _is_latency(metric: Metric) -> bool:
    """Of the times in µs those that a client waits for, and not CPU time."""
    return "_us" in metric.name and "cpu_us" not in metric.name


def _is_over_tcp(study: Study) -> bool:
    sources = [
        str(server.get("source", ""))
        for session in study.meta.sessions
        for server in session.facts.get("servers", {}).values()
    ]
    return any(is_dsn(one) and "socket" not in one for one in sources)
