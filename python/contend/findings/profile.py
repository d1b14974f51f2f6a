"""In which functions two levels spend their CPU time, and what looking at it did.

A function's time a query is its share of the samples, times what the server's CPU time a query was
by the kernel's own count. Functions are many, so they are a list to look through, of which 5 % may
be false, as with counters: see `findings.counters`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from contend.findings.counters import FALSE_SHARE
from contend.findings.families import Family
from contend.findings.model import Contrast, Finding
from contend.findings.study import Study, pairs_under, ratios_of, sides_under
from contend.metrics import Metric, metric_of
from contend.settings.treatments import TREATMENT, UNTREATED
from contend.spec import Level
from contend.stats import Estimate, discover, estimate, pair_counts, picked_change
from contend.store import RunRecord

PROFILED = "profiled"
"""The treatment with a profiler."""

CPU = "server_cpu_us_per_query"

CONFIDENCE = 0.95
"""Of each figure of what the profiler did, for itself."""


@dataclass(frozen=True, slots=True)
class FunctionTime:
    """One function.

    baseline_us, level_us: CPU time a query, means over the repeats; 0 if no sample was in it.
    finding: the change, if the list has it; None if it may be chance.
    """

    function: str
    baseline_us: float
    level_us: float
    finding: Finding | None

    @property
    def more_us(self) -> float:
        return self.level_us - self.baseline_us


@dataclass(frozen=True, slots=True)
class StackTime:
    """Functions from the outermost to the innermost; CPU time a query that was spent in the last of
    them, of each level."""

    functions: tuple[str, ...]
    baseline_us: float
    level_us: float


@dataclass(frozen=True, slots=True)
class LookCost:
    """What the profiler did, as ratios with an interval each.

    baseline, level: the metric with a profiler over that without, of each level.
    effect, effect_profiled: level over baseline without it and with it. of_effect: the second over
        the first.
    """

    baseline: Estimate
    level: Estimate
    effect: Estimate
    effect_profiled: Estimate
    of_effect: Estimate


@dataclass(frozen=True, slots=True)
class CpuProfile:
    """functions: those of either level, the largest change in CPU time first, what is certain
        before what is not; their times add up to the CPU time of a query.
    samples: of the baseline and of the level. cpu_us: CPU time a query, of each.
    tested: functions that could be compared. units: repeats.
    cost: None if it was not measured without a profiler too.
    why_not: why some runs have no samples.
    """

    baseline: Level
    level: Level
    metric: Metric
    hz: int
    functions: tuple[FunctionTime, ...]
    stacks: tuple[StackTime, ...]
    samples: tuple[int, int]
    cpu_us: tuple[float, float]
    tested: int
    units: int
    cost: LookCost | None
    why_not: tuple[str, ...]


def profile_of(study: Study) -> CpuProfile | None:
    """What a run of `contend profile` says; None if no sample was kept on both sides."""
    roles = study.roles
    if roles.compared is None or roles.baseline is None:
        return None
    runs = pairs_under(study, PROFILED)
    both = [
        [(a, b) for a, b in pairs if _stacks(a) and _stacks(b) and _cpu_us(a) and _cpu_us(b)]
        for pairs in runs
    ]
    repeats = [pairs for pairs in both if pairs]
    if not repeats:
        return None
    sides = [[[pair[side] for pair in pairs] for pairs in repeats] for side in (0, 1)]
    names = sorted({name for side in sides for runs in side for r in runs for name in _leaves(r)})
    counts = [np.array([_counted(runs, names) for runs in side]) for side in sides]
    samples = [np.array([sum(map(_samples, runs)) for runs in side], float) for side in sides]
    cpu = [np.array([_mean_cpu(runs) for runs in side]) for side in sides]
    # So many queries would have had these samples, if a sample is a microsecond.
    asked = [
        np.repeat((n / us)[:, None], len(names), axis=1) for n, us in zip(samples, cpu, strict=True)
    ]
    compared = pair_counts(
        (counts[0], counts[1]), (asked[0], asked[1]), (np.full_like(asked[0], np.nan),) * 2
    )
    seen = discover(compared.p, FALSE_SHARE)
    family = Family("profile", 1 - FALSE_SHARE, seen.confidence)
    level = roles.others[0]
    margin = study.experiment.compare.margin
    means = [np.mean(count / of, axis=0) for count, of in zip(counts, asked, strict=True)]
    functions = []
    for at, name in enumerate(names):
        finding = None
        if seen.picked[at]:
            change = picked_change(
                float(compared.mean[at]),
                float(compared.se[at]),
                int(compared.n[at]),
                int(compared.only[at]),
                seen.confidence,
                margin,
            )
            cell = {roles.compared.path: level}
            contrast = Contrast("level", _metric(name), cell, level, roles.baseline, family)
            finding = Finding(contrast, change, margin)
        functions.append(FunctionTime(name, float(means[0][at]), float(means[1][at]), finding))
    functions.sort(key=lambda one: (one.finding is None, -abs(one.more_us), one.function))
    every = [run for pairs in runs for pair in pairs for run in pair]
    profiles = [run.probes["profile"] for run in every if "profile" in run.probes]
    return CpuProfile(
        baseline=roles.baseline,
        level=level,
        metric=study.metrics[0],
        hz=profiles[0]["hz"],
        functions=tuple(functions),
        stacks=_stack_times(sides, cpu),
        samples=(int(samples[0].sum()), int(samples[1].sum())),
        cpu_us=(float(cpu[0].mean()), float(cpu[1].mean())),
        tested=seen.tested,
        units=len(repeats),
        cost=_cost(study),
        why_not=tuple(dict.fromkeys(one["why_not"] for one in profiles if one["why_not"])),
    )


def _stacks(run: RunRecord) -> Mapping[str, int]:
    profile = run.probes.get("profile")
    return profile["stacks"] if profile is not None else {}


def _samples(run: RunRecord) -> int:
    return sum(_stacks(run).values())


def _cpu_us(run: RunRecord) -> float:
    return metric_of(CPU).value(run) or 0.0


def _mean_cpu(runs: Sequence[RunRecord]) -> float:
    return math.fsum(map(_cpu_us, runs)) / len(runs)


def _leaves(run: RunRecord) -> Counter[str]:
    """Samples by the innermost function."""
    found: Counter[str] = Counter()
    for stack, samples in _stacks(run).items():
        found[stack.rpartition(";")[2]] += samples
    return found


def _counted(runs: Sequence[RunRecord], names: Sequence[str]) -> list[float]:
    total: Counter[str] = Counter()
    for run in runs:
        total += _leaves(run)
    return [float(total[name]) for name in names]


def _metric(function: str) -> Metric:
    def value(run: object) -> float | None:
        assert isinstance(run, RunRecord)
        samples = _samples(run)
        return _leaves(run)[function] / samples * _cpu_us(run) if samples else None

    return Metric(f"profile.{function}", function, "µs of CPU a query", value)


def _stack_times(
    sides: Sequence[Sequence[Sequence[RunRecord]]], cpu: Sequence[np.ndarray]
) -> tuple[StackTime, ...]:
    """All runs of a side together."""
    totals: list[Counter[str]] = []
    for side in sides:
        total: Counter[str] = Counter()
        for runs in side:
            for run in runs:
                total.update(_stacks(run))
        totals.append(total)
    each = [float(us.mean()) / sum(total.values()) for us, total in zip(cpu, totals, strict=True)]
    every = sorted(totals[0].keys() | totals[1].keys())
    return tuple(
        StackTime(tuple(one.split(";")), totals[0][one] * each[0], totals[1][one] * each[1])
        for one in every
    )


def _cost(study: Study) -> LookCost | None:
    """What the profiler did to both levels and to what they differ by, repeat by repeat."""
    metric = study.metrics[0]
    compared = study.roles.compared
    assert compared is not None and study.roles.baseline is not None

    def profiled_over_not(level: Level) -> np.ndarray:
        cells = [
            {TREATMENT.path: treatment, compared.path: level} for treatment in (UNTREATED, PROFILED)
        ]
        sides = [study.repeats_of(cell) for cell in cells]
        both = [(sides[0].get(n, ()), sides[1].get(n, ())) for n in study.repeats]
        return np.array([_mean_log(metric, b) - _mean_log(metric, a) for a, b in both])

    effects = [ratios_of(sides_under(study, name)) for name in (UNTREATED, PROFILED)]
    ones = [profiled_over_not(level) for level in (study.roles.baseline, study.roles.others[0])]
    rows = [*ones, *effects, effects[1] - effects[0]]
    found = [values[np.isfinite(values)] for values in rows]
    if any(len(values) < 2 for values in found):
        return None
    return LookCost(*(estimate(np.exp(values), CONFIDENCE, log_scale=True) for values in found))


def _mean_log(metric: Metric, runs: Sequence[RunRecord]) -> float:
    values = [metric.value(run) for run in runs]
    logs = [math.log(value) for value in values if value is not None and value > 0]
    return math.fsum(logs) / len(logs) if logs and len(logs) == len(values) else math.nan
