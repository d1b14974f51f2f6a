"""Whether the time of one kind of statement includes waiting for the others, so that it says little
about the statement itself.

In a closed loop of several kinds statements wait for one another: for a CPU, for locks, for the
log. If a change makes the selects cheap, an insert waits less, and its time falls even if the
insert itself costs more. On one connection too: after a long select the thread has used up its
turn on the CPU. So such a time is not a claim about the statement if the throughput of the mix
changed, or if the CPUs were busy. Times at the same load on both sides (`load.rate = "equal"`), of
an open loop and of a single kind keep theirs.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping

from contend.experiment import Level
from contend.findings.study import Study, log_ratio, reading_of
from contend.metrics import FIXED, Metric, Run
from contend.metrics.model import THROUGHPUT
from contend.metrics.names import PARTS_WITH_TIMES
from contend.metrics.read import alone, at_rate
from contend.store import RunRecord
from contend.units import fact

BUSY = 0.8
"""Share of the CPUs in use from which statements wait for one often enough to matter."""

WAITS = "includes waiting for the other statements"

REMEDY = "`--equal-load` measures both sides at the same load"

Sides = Iterable[tuple[Mapping[str, Level], Mapping[str, Level]]]
"""The cell of the baseline and that of the level."""


def cpu_count(facts: Mapping[str, object]) -> float | None:
    """CPUs that this machine lets us use: those online, or the quota if one is set."""
    count, quota = fact(facts, "cpu.count"), fact(facts, "machine.cpu_quota")
    known = [float(v) for v in (count, quota) if isinstance(v, int | float) and v > 0]
    return min(known, default=None)


def is_of_one_kind(metric: Metric) -> bool:
    """Whether it is the time of one kind of statement or event among possibly several."""
    return metric.kind == "time" and metric.name.partition(".")[0] in PARTS_WITH_TIMES


def waits_for_others(metric: Metric, run: Run) -> bool:
    """Whether this time of a run includes waiting for other kinds in a closed loop."""
    done = run.done
    if not is_of_one_kind(metric) or done is None:
        return False
    if ".service_us_" in metric.name and alone(run):
        return False
    if ".response_us_" in metric.name and at_rate(run) is not None:
        return False
    if "closed" not in str(done.get("arrival") or "closed-loop"):
        return False
    parts = PARTS_WITH_TIMES[metric.name.partition(".")[0]](run)
    return sum(_ended(part) > 0 for part in parts) > 1


def _ended(part: Mapping[str, object]) -> float:
    found = part.get("queries", part.get("events", 0))
    return float(found) if isinstance(found, int | float) else 0.0


def why_held(study: Study, metric: Metric, sides: Sides) -> str:
    """Why a change of this time is not a claim about its statement; empty if it is one."""
    if not is_of_one_kind(metric):
        return ""
    for baseline, level in sides:
        ones, others = study.runs_of(baseline), study.runs_of(level)
        if any(waits_for_others(metric, run) for run in (*ones, *others)):
            because = _throughput(study, baseline, level) or _cpus(study, (*ones, *others))
            if because:
                return f"it {WAITS}, and {because}"
    return ""


def _throughput(study: Study, baseline: Mapping[str, Level], level: Mapping[str, Level]) -> str:
    rate, margin = FIXED[THROUGHPUT], study.experiment.compare.margin
    logs = [
        log_ratio(rate, [(reading_of(rate, one), reading_of(rate, two)) for one, two in both])
        for both in study.blocks_in_common(baseline, level).values()
    ]
    known = [one for one in logs if math.isfinite(one)]
    if not known:
        return "the change of their throughput is not known"
    mean = statistics.fmean(known)
    return "their throughput changed" if abs(mean) > math.log1p(margin) else ""


def _cpus(study: Study, runs: Iterable[RunRecord]) -> str:
    cpus = cpu_count(study.meta.facts)
    shares = [_busy_share(run, cpus) for run in runs]
    if cpus is None or any(share is None for share in shares):
        return "whether the CPUs were busy is not known"
    mean = statistics.fmean(share for share in shares if share is not None)
    return "the CPUs were busy" if mean >= BUSY else ""


def _busy_share(run: RunRecord, cpus: float | None) -> float | None:
    """By server and client, or by all processes of the host if those used more."""
    own = FIXED["cpus_busy"].value(run)
    if own is None or cpus is None:
        return None
    host = run.probes.get("host")
    of_host = host.get("busy_share") if host is not None else None
    return max(own / cpus, of_host or 0.0)
