"""Where the CPU time went, as far as that was looked at: the run folder in the run folder."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from contend.findings import Study, study_of
from contend.findings.profile import CpuProfile, LookCost, profile_of
from contend.metrics import THROUGHPUT
from contend.report.flame_graph import flame_graph
from contend.report.model import Section, TextTable
from contend.report.provenance import naming_in
from contend.report.words import gain_text, significant
from contend.stats import Estimate
from contend.store import RunFolder
from contend.store.folder import WITHIN_PROFILE
from contend.store.model import NotARunFolder

TITLE = "Where the CPU time goes"
LISTED = 15
"""Functions that the page has; the rest is in the JSON."""


def _profiled(folder: RunFolder) -> tuple[Study, CpuProfile | None] | None:
    """None if nothing was profiled of this run."""
    try:
        with RunFolder.open(folder.path / WITHIN_PROFILE) as inner:
            study = study_of(inner, percentiles=False)
    except NotARunFolder:
        return None
    return study, profile_of(study)


def profile_section(folder: RunFolder) -> Section | None:
    """What the profiler saw and what it did, a table of functions, and a flame graph."""
    found = _profiled(folder)
    if found is None:
        return None
    study, profile = found
    if profile is None:
        return Section(TITLE, _nothing(study), ())
    naming = naming_in(study)
    names = (str(naming.level(profile.baseline)), str(naming.level(profile.level)))
    return Section(
        TITLE,
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
    said = [
        f"By {profile.samples[0]:,} and {profile.samples[1]:,} samples of the server, "
        f"{profile.hz} a second of CPU time, in {profile.units} repeats: a query took "
        f"{significant(less, 3)} µs of its CPU time with {names[0]}, {significant(more, 3)} µs "
        f"with {names[1]}."
    ]
    certain = [one for one in profile.functions if one.finding is not None]
    if certain:
        said.append(
            f"{len(certain)} of {profile.tested} functions certainly differ (5 % of those may be "
            "chance), most of all "
            + " and ".join(
                f"{one.function} ({_signed(one.more_us)} µs a query)" for one in certain[:2]
            )
            + "."
        )
    else:
        said.append(f"Of {profile.tested} functions none certainly differs.")
    said.append(_cost_words(profile.cost))
    if profile.why_not:
        said.append(f"Some runs have no samples: {'; '.join(profile.why_not)}.")
    return " ".join(said)


def _cost_words(cost: LookCost | None) -> str:
    if cost is None:
        return "What the profiler did to the server is not known."
    if _holds_none(cost.baseline) and _holds_none(cost.level) and _holds_none(cost.of_effect):
        return (
            "The profiler certainly changed neither level nor what they differ by: see the table."
        )
    return "The profiler changed what it looked at: see the table."


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
    caption = "CPU time in each function itself, µs a query (?: may be chance)"
    if more > 0:
        caption += f"; {more} more in `contend profile RUN --json`"
    return TextTable(caption, ("function", *names, "more, µs", "change"), rows)


def _change(ratio: float, change: Any) -> str:
    if ratio == float("inf"):
        return "only here"
    return "no more" if ratio == 0 else f"{gain_text(change)} %"


def _signed(value: float) -> str:
    text = significant(abs(value), 2)
    return f"{'-' if value < 0 else '+'}{text}"


def _cost_table(profile: CpuProfile, names: tuple[str, str]) -> tuple[TextTable, ...]:
    cost = profile.cost
    if cost is None:
        return ()
    what = profile.metric.title if profile.metric.name != THROUGHPUT else "Throughput"
    rows = (
        (f"{what}, {names[0]}: with a profiler over without", _percent(cost.baseline)),
        (f"{what}, {names[1]}: with a profiler over without", _percent(cost.level)),
        (f"{names[1]} over {names[0]}, without a profiler", _percent(cost.effect)),
        (f"{names[1]} over {names[0]}, with a profiler", _percent(cost.effect_profiled)),
        ("what they differ by: with a profiler over without", _percent(cost.of_effect)),
    )
    caption = "What looking did, percent (intervals of 95 %, each for itself)"
    return (
        TextTable(caption, ("", "change", "n"), tuple((*row, str(cost.level.n)) for row in rows)),
    )


def _percent(one: Estimate) -> str:
    mean, low, high = ((end - 1) * 100 for end in (one.mean, one.low, one.high))
    return f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]"


def profile_as_json(folder: RunFolder) -> dict[str, Any] | None:
    """Every function, and what the profiler did; None if nothing was profiled."""
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
