"""The functions in which two levels spend their CPU time, and the effect of profiling. It measures
a pair of a run again, with a profiler and without, in a run folder within that of the run.

A function's time per query is its share of the samples times the server's CPU time per query by the
kernel's own count. Functions are many, so they are a list to look through. As with counters, 5 % of
it may be false.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contend.errors import ContendError
from contend.experiment import Experiment, Level, cell_specs, refuse_settings
from contend.experiment.settings.server import PROFILER_HZ
from contend.experiment.settings.treatments import TREATMENT, UNTREATED
from contend.findings import Study, compared_of, study_of
from contend.findings.families import Family
from contend.findings.model import Contrast, Finding
from contend.findings.study import pairs_under, ratios_of, sides_under
from contend.metrics import THROUGHPUT, Metric, metric_of
from contend.sections.counters import FALSE_SHARE
from contend.sections.flame_graph import StackTime, flame_graph
from contend.sections.model import Section, Shown, TextTable
from contend.sections.provenance import naming_in
from contend.sections.words import gain_text, repeats_text, significant
from contend.stats import Estimate, discover, estimate, pair_counts, picked_change
from contend.store import RunFolder, RunRecord
from contend.store.folder import WITHIN_PROFILE
from contend.store.model import NotARunFolder

if TYPE_CHECKING:
    from contend.why.candidate import Pair

PROFILED = "profiled"
"""The treatment with a profiler."""

HZ = 199
"""Low, to seldom hit a thread that holds a lock. Its effect is measured each time, and reported."""

MINUTES = 1.5
REPEATS = 6


@dataclass(frozen=True, slots=True)
class ProfilePlan:
    """The planned measurement, and its two levels."""

    experiment: Experiment
    pair: Pair
    hz: int
    seconds: float


def plan_of_profile(path: Path, *, hz: int = HZ, minutes: float = MINUTES) -> ProfilePlan:
    """How to profile the pair of a finished run that differs most.

    Raises:
        NotTried: it is of another host, not finished or compares nothing; its server is elsewhere;
            nothing can be profiled here.
    """
    from contend.host.profiler import why_no_profiler
    from contend.why.candidate import pair_of
    from contend.why.plan import NotTried, host_powers, pair_again, require_here

    with RunFolder.open(path) as folder:
        study = study_of(folder, percentiles=False)
        require_here(study, path, "contend profile")
        pair = pair_of(study, _largest(study, path), host_powers())
    if not pair.here:
        raise NotTried(
            f"the server of {path} does not run on this host, so it cannot be profiled here",
            hint="Use `contend profile` on the server's own host, over its socket.",
        )
    if (why := why_no_profiler()) is not None:
        raise NotTried(f"no server can be profiled here: {why}")
    seconds = minutes * 60
    experiment = pair_again(
        study.experiment,
        pair,
        {PROFILED: {PROFILER_HZ.path: hz}},
        seconds,
        name=f"profile-{study.experiment.name}",
        question="In which functions does the server spend its CPU time?",
        repeats=REPEATS,
    )
    try:
        refuse_settings(experiment, own=pair.own)
        list(cell_specs(experiment))
    except ContendError as error:
        raise NotTried(f"it cannot be profiled: {error.message}", hint=error.hint) from error
    return ProfilePlan(experiment, pair, hz, seconds)


def _largest(study: Study, path: Path) -> Finding:
    """The comparison that certainly differs and differs most; without one, that with the most."""
    from contend.why.plan import NotTried

    (analysis, *_) = compared_of(study)
    found = analysis.compared.comparisons if analysis else ()
    if not found:
        raise NotTried(f"{path} has no level to compare with its baseline")
    return max(found, key=lambda one: (one.is_certain, abs(math.log(one.change.ratio))))


CPU = "server_cpu_us_per_query"

CONFIDENCE = 0.95
"""Confidence of each figure of the profiler's effect, by itself."""


@dataclass(frozen=True, slots=True)
class FunctionTime:
    """One function.

    baseline_us, level_us: CPU time per query, means over the repeats; 0 if no sample was in it.
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
class LookCost:
    """The effect of the profiler, as ratios with an interval each.

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
    """functions: those of either level, the largest change in CPU time first, certain ones before
        uncertain ones. Their times add up to the CPU time of a query.
    samples: of the baseline and of the level. cpu_us: CPU time per query, of each.
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
    """The result of a run of `contend profile`; None if no sample was kept on both sides."""
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
    # The number of queries that would have had these samples, if a sample is a microsecond.
    queries = [
        np.repeat((n / us)[:, None], len(names), axis=1) for n, us in zip(samples, cpu, strict=True)
    ]
    compared = pair_counts(
        (counts[0], counts[1]), (queries[0], queries[1]), (np.full_like(queries[0], np.nan),) * 2
    )
    seen = discover(compared.p, FALSE_SHARE)
    family = Family("profile", 1 - FALSE_SHARE, seen.confidence)
    level = roles.others[0]
    margin = study.experiment.compare.margin
    means = [np.mean(count / of, axis=0) for count, of in zip(counts, queries, strict=True)]
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

    return Metric(f"profile.{function}", function, "µs of CPU per query", value)


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
    """The effect of the profiler on both levels and on their difference, repeat by repeat."""
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


_TITLE = "Where the CPU time goes"
LISTED = 15
"""Functions that the page has; the rest is in the JSON."""


def _profiled(folder: RunFolder) -> tuple[Study, CpuProfile | None] | None:
    """None if this run was not profiled."""
    try:
        with RunFolder.open(folder.path / WITHIN_PROFILE) as inner:
            study = study_of(inner, percentiles=False)
    except NotARunFolder:
        return None
    return study, profile_of(study)


def profile_section(folder: RunFolder) -> Shown | None:
    """The profiler's results and its effect, a table of functions, and a flame graph."""
    found = _profiled(folder)
    if found is None:
        return None
    study, profile = found
    if profile is None:
        return Shown(_TITLE, _nothing(study), ())
    naming = naming_in(study)
    names = (str(naming.level(profile.baseline)), str(naming.level(profile.level)))
    return Shown(
        _TITLE,
        _lead(profile, names),
        (_table(profile, names), *_cost_table(profile, names)),
        (flame_graph(profile.stacks, names),),
    )


def _nothing(study: Study) -> str:
    records = (run.probes.get("profile") for run in study.measured)
    reasons = dict.fromkeys(one["why_not"] for one in records if one and one["why_not"])
    why = "; ".join(reasons) or "no run with a profiler was measured yet"
    return f"No sample was kept: {why}."


def _lead(profile: CpuProfile, names: tuple[str, str]) -> str:
    less, more = profile.cpu_us
    sentences = [
        f"From {profile.samples[0]:,} and {profile.samples[1]:,} samples of the server, "
        f"{profile.hz} per second of CPU time, in {repeats_text(profile.units)}: a query took "
        f"{significant(less, 3)} µs of its CPU time with {names[0]}, {significant(more, 3)} µs "
        f"with {names[1]}."
    ]
    certain = [one for one in profile.functions if one.finding is not None]
    if certain:
        sentences.append(
            f"{len(certain)} of {profile.tested} functions certainly differ (5 % of these may be "
            "chance), most of all "
            + " and ".join(
                f"{one.function} ({_signed(one.more_us)} µs per query)" for one in certain[:2]
            )
            + "."
        )
    else:
        sentences.append(f"None of {profile.tested} functions certainly differs.")
    sentences.append(_cost_sentence(profile.cost))
    if profile.why_not:
        sentences.append(f"Some runs have no samples: {'; '.join(profile.why_not)}.")
    return " ".join(sentences)


def _cost_sentence(cost: LookCost | None) -> str:
    if cost is None:
        return "The effect of the profiler is not known."
    if _holds_none(cost.baseline) and _holds_none(cost.level) and _holds_none(cost.of_effect):
        return (
            "No effect of the profiler is certain, on either level or their difference: see the "
            "table."
        )
    return "The profiler changed the measurement: see the table."


def _holds_none(one: Estimate) -> bool:
    return one.low <= 1 <= one.high


def _table(profile: CpuProfile, names: tuple[str, str]) -> TextTable:
    rows = tuple(
        (
            one.function,
            significant(one.baseline_us, 3),
            significant(one.level_us, 3),
            _signed(one.more_us),
            "?" if one.finding is None else _change(one.finding.change.ratio, one.finding.change),
        )
        for one in profile.functions[:LISTED]
    )
    more = len(profile.functions) - len(rows)
    caption = "CPU time in each function itself, µs per query (?: may be chance)"
    if more > 0:
        caption += f"; {more} more in `contend profile RUN --json`"
    return TextTable(caption, ("function", *names, "difference, µs", "change"), rows)


def _change(ratio: float, change: Any) -> str:
    if ratio == float("inf"):
        return "new"
    return "gone" if ratio == 0 else f"{gain_text(change)} %"


def _signed(value: float) -> str:
    text = significant(abs(value), 2)
    return f"{'-' if value < 0 else '+'}{text}"


def _cost_table(profile: CpuProfile, names: tuple[str, str]) -> tuple[TextTable, ...]:
    cost = profile.cost
    if cost is None:
        return ()
    title = profile.metric.title if profile.metric.name != THROUGHPUT else "Throughput"
    rows = (
        (f"{title}, {names[0]}: with a profiler over without", _percent(cost.baseline)),
        (f"{title}, {names[1]}: with a profiler over without", _percent(cost.level)),
        (f"{names[1]} over {names[0]}, without a profiler", _percent(cost.effect)),
        (f"{names[1]} over {names[0]}, with a profiler", _percent(cost.effect_profiled)),
        ("their difference: with a profiler over without", _percent(cost.of_effect)),
    )
    caption = "Effect of the profiler, percent (95 % intervals, each by itself)"
    return (
        TextTable(caption, ("", "change", "n"), tuple((*row, str(cost.level.n)) for row in rows)),
    )


def _percent(one: Estimate) -> str:
    mean, low, high = ((end - 1) * 100 for end in (one.mean, one.low, one.high))
    return f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]"


def profile_as_json(folder: RunFolder) -> dict[str, Any] | None:
    """Every function, and the effect of the profiler; None if nothing was profiled."""
    found = _profiled(folder)
    if found is None or found[1] is None:
        return None
    profile = found[1]
    return {
        "baseline": profile.baseline,
        "level": profile.level,
        "metric": profile.metric.name,
        "hz": profile.hz,
        "samples": list(profile.samples),
        "server_cpu_us_per_query": list(profile.cpu_us),
        "repeats": profile.units,
        "functions": [
            {
                "function": one.function,
                "baseline_us": one.baseline_us,
                "level_us": one.level_us,
                "certain": one.finding is not None,
            }
            for one in profile.functions
        ],
        "profiler_did": None if profile.cost is None else asdict(profile.cost),
        "why_not": list(profile.why_not),
    }


SECTION = Section(
    "profile",
    "Profile",
    lambda inputs: profile_section(inputs.folder),
    lambda shown, _inputs: replace(shown, is_short=True),
)
