"""The plan of `contend why`: which candidates it tries, and the experiment that tries them.

The pair that differs is measured again: untreated, under the doses of each candidate and under its
placebo, all of them in every repeat. This is a separate experiment, with a run folder inside that
of the run.
"""

from __future__ import annotations

import itertools
import math
import os
import shutil
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from contend import host
from contend.errors import ContendError, RequestError
from contend.experiment import (
    CellSpec,
    Experiment,
    Factor,
    cell_specs,
    is_of_treatments,
    refuse_settings,
    written,
)
from contend.experiment.keys import resolve
from contend.experiment.settings.load import (
    BLOCK_S,
    ROUNDS_OF_TREATMENTS,
    SETTLE_S,
    SLICE_S,
    START_S,
)
from contend.experiment.settings.treatments import TREATMENT, TREATMENTS, UNTREATED
from contend.findings import compared_of, study_of
from contend.findings.model import Finding
from contend.findings.study import Study, ratios_of, sides_of
from contend.host.tree import cpu_list
from contend.metrics.probed import TriedRecord, WhyFacts
from contend.store import RunFolder
from contend.why.candidate import (
    Candidate,
    Derived,
    HostPowers,
    Pair,
    Proposal,
    Treatment,
    pair_of,
)
from contend.why.candidates import CANDIDATES
from contend.why.tried import (
    FIRST_LOOK,
    NO_ADVICE,
    SECOND_LOOK,
    logs_of,
    more_repeats,
    repeats_to_decide,
)

REPEATS = 6
"""The fewest repeats that must fit in the time; more if the run scattered much."""

REPEATS_WANTED = 10
"""Beyond this number, do not drop candidates to make room for repeats. With such scatter one
candidate alone stays undecided too, and may be the wrong one."""

REPEATS_MOST = 16
"""Upper limit of the plan. The lab makes more repeats if the time has room for them."""

MINUTES = 2.8

_NO_SIGNATURE = "the run does not show all signs"
_NO_PASS = "it needs a diagnostic pass (`contend run … --budget`, as root)"
_NO_COUNTERS = (
    "no server counters were recorded; levels that share a server share them "
    '(compare.by = "runs" separates them)'
)
_NOT_COUNTERS = {
    *("host_disk_stall_share", "host_idle_share", "host_neighbours_share", "host_steal_share"),
    *("server_has_quota", "cpu_distance_ns", "client_ceiling_share"),
}
"""Figures that do not come from the server's counters."""


_LOGS_BYTES = 1 << 30
"""Four times the size of two redo logs by default."""


class NotTried(RequestError):
    """`contend why` or `contend profile` cannot measure this run's pair again."""


@dataclass(frozen=True, slots=True)
class WhyPlan:
    """The candidates to try, their experiment, and how long it takes.

    is_certain: whether the difference is certain in the run.
    facts: for the run folder, with the reasons why other candidates are not tried.
    """

    is_certain: bool
    experiment: Experiment
    facts: WhyFacts
    tried: Sequence[tuple[Candidate, Proposal]]
    seconds: float


def plan_of_why(path: Path, *, minutes: float = MINUTES) -> WhyPlan:
    """The plan for a finished run.

    Raises:
        NotTried: the run comes from a different host, is not finished, compares nothing, or shows
            no certain difference.
    """
    with RunFolder.open(path) as folder:
        study = study_of(folder, percentiles=False)
        require_here(study, path, "contend why")
        pair = pair_of(study, _difference(study, path), host_powers(), folder.looks())
        took_s = _block_s(study)
        levels = (pair.finding.baseline, pair.finding.level)
        cells = ({**pair.place, pair.compared: level} for level in levels)
        ratios = ratios_of(sides_of(study, study.blocks_in_common(*cells).values()))
    untested: dict[str, str] = {}
    proposals = fitting(pair, untested)
    chosen, repeats = _in_time(pair, proposals, minutes * 60, took_s, ratios, untested)
    if not chosen:
        raise NotTried(
            f"no candidate can be tried on {path}",
            hint="contend cannot name the cause of this difference.",
            detail="\n".join(f"{name}: {why}" for name, why in untested.items()),
        )
    return _plan(study, pair, chosen, untested, minutes * 60, repeats)


def require_here(study: Study, path: Path, command: str) -> None:
    """Raise NotTried unless the run comes from this host, compares something and is finished.

    Args:
        command: the one that would measure the pair again.
    """
    then = (study.meta.facts.get("machine") or {}).get("id")
    now = (host.facts().get("machine") or {}).get("id")
    if then is not None and then != now:
        raise NotTried(
            f"{path} was measured on a different host and cannot be measured again here",
            hint=f"Run `{command}` on the host that made the run.",
        )
    if study.experiment.lines:
        raise NotTried(
            f"{path} is a screen, and a cause belongs to one difference",
            hint="Compare a line that matters by itself (`contend try NAME=OLD,NEW --why`).",
        )
    if study.roles.baseline is None:
        raise NotTried(
            f"{path} compares nothing, so there is no difference to explain",
            hint="Give the experiment a baseline ([compare] baseline).",
        )
    if is_of_treatments(study.experiment):
        raise NotTried(f"{path} is itself an experiment with treatments")
    if not study.finished:
        raise NotTried(
            f"{path} is not finished, so none of its differences is decided yet",
            hint=f"`contend run --resume {path}` finishes it.",
        )


def _difference(study: Study, path: Path) -> Finding:
    """The most certain difference. If none is certain, the one that lacks the fewest repeats, at
    most twice those of the run: it is measured again, and explained only if certain then."""
    (analysis, *_) = compared_of(study)
    found = analysis.compared.comparisons if analysis else ()
    certain = [one for one in found if one.is_certain]
    if certain:
        return max(certain, key=_least_size)
    missing = [
        (more, at) for at, one in enumerate(found) if (more := _repeats_missing(one)) is not None
    ]
    if not missing:
        hint = "More repeats may show a difference: `contend run … --for TIME`."
    else:
        more, at = min(missing)
        if more <= 2 * found[at].change.n:
            return found[at]
        hint = (
            f"About {more} more repeats would show one if the mean and the scatter stay the same: "
            f"`contend run … --set compare.repeats={found[at].change.n + more}`, and --for TIME "
            "if its time is limited."
        )
    raise NotTried(f"{path} shows no certain difference, so there is nothing to explain", hint=hint)


def _repeats_missing(one: Finding) -> int | None:
    """The additional repeats that would make a difference certain; None if unknown."""
    log = logs_of(one.change)
    more = more_repeats([(log, math.copysign(1.0, log.mean))])
    hopeless = more is None or more > NO_ADVICE or one.change.verdict == "equivalent"
    return None if hopeless else more


def _least_size(found: Finding) -> float:
    """The smallest size within a difference's interval, as a logarithm. It prefers a server that is
    four times slower at many connections to its gain at one."""
    low, high = found.change.low, found.change.high
    return math.log(low) if low > 1 else -math.log(high)


def host_powers() -> HostPowers:
    """The changes that contend may make to this host."""
    facts = host.facts()
    is_root = os.geteuid() == 0
    usable = os.sched_getaffinity(0)
    groups = (usable & {*cpu_list(of)} for of in (facts.get("cpu") or {}).get("cache_groups") or ())
    return HostPowers(
        cpus=len(usable),
        root=is_root,
        groups=is_root,
        nodes=(facts.get("numa") or {}).get("node_count") or 1,
        frequency=is_root and (facts.get("cpu") or {}).get("governor") is not None,
        files_in_memory=_has_room(Path("/dev/shm")),
        caches=tuple(tuple(sorted(group)) for group in groups if group),
    )


def _has_room(folder: Path) -> bool:
    writable = folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
    return writable and shutil.disk_usage(folder).free >= _LOGS_BYTES


def fitting(pair: Pair, untested: dict[str, str]) -> list[tuple[Candidate, Proposal]]:
    """The candidates whose signature holds and that contend can try here: quick ones first, then
    those whose signs differ most between the sides, then in the order of the registry. The others
    go into `untested`, each with its reason."""
    found: list[tuple[Candidate, Proposal]] = []
    for one in CANDIDATES.values():
        fits = one.fits(pair)
        if not fits:
            untested[one.name] = _NO_SIGNATURE if fits is False else _not_recorded(one, pair)
            continue
        proposal = one.propose(pair)
        if isinstance(proposal, str):
            untested[one.name] = proposal
        elif (touched := _touched(pair, proposal)) is not None:
            untested[one.name] = f"its treatment would affect the compared setting {touched}"
        elif (same := _same(proposal, found)) is not None:
            untested[one.name] = f"indistinguishable from {same}: it needs the same treatment"
        else:
            found.append((one, proposal))
    return sorted(found, key=lambda each: (each[1].dose_s, -each[0].times_over(pair)))


def _not_recorded(one: Candidate, pair: Pair) -> str:
    absent = dict.fromkeys(sign.name for sign in one.signature if sign.holds(pair) is None)
    if all(isinstance(sign.metric, Derived) for sign in one.signature if sign.name in absent):
        return _NO_PASS
    runs = [run for side in pair.runs.values() for run in side]
    if not any(run.probes.get("status") for run in runs) and not absent.keys() <= _NOT_COUNTERS:
        return _NO_COUNTERS
    return f"not recorded: {', '.join(absent)}"


def _touched(pair: Pair, proposal: Proposal) -> str | None:
    """The compared setting that a treatment would change or make void."""
    compared = sorted(pair.compared_names)
    found = (each.touches(compared) for each in proposal.treatments)
    return next(filter(None, found), None)


def _same(proposal: Proposal, others: Sequence[tuple[Candidate, Proposal]]) -> str | None:
    return next((one.name for one, p in others if p.whole.sets == proposal.whole.sets), None)


def _in_time(
    pair: Pair,
    proposals: Sequence[tuple[Candidate, Proposal]],
    most_s: float,
    took_s: float,
    ratios: np.ndarray,
    untested: dict[str, str],
) -> tuple[list[tuple[Candidate, Proposal]], int]:
    """The candidates that the time can decide, at least one, and the number of repeats that fit,
    if the pair scatters like the run (`ratios`).

    Until the first look, whole doses and placebos of all candidates are measured. Afterwards the
    time of the longest candidate alone counts, until the second look with its smaller doses.
    """
    chosen: list[tuple[Candidate, Proposal]] = []
    untreated_s = 2 * START_S + _treatment_s(pair, {}, took_s)
    laps_s = (untreated_s, untreated_s, untreated_s)
    for one, proposal in proposals:
        planned = [each.sets for _, other in chosen for each in other.treatments]
        doses_s = [
            _treatment_s(pair, each.sets, took_s) + proposal.dose_s for each in proposal.doses
        ]
        placebo_s = _treatment_s(pair, proposal.placebo.sets, took_s)
        shared_s = placebo_s if proposal.placebo.sets in planned else 0.0
        first_s, second_s, then_s = laps_s
        later_s = (
            first_s + doses_s[-1] + placebo_s - shared_s,
            max(second_s, untreated_s + sum(doses_s) + placebo_s),
            max(then_s, untreated_s + doses_s[-1] + placebo_s),
        )
        # A true cause takes away more than the predicted minimum, and rarely all.
        taken = min((1 + each.least) / 2 for _, each in (*chosen, (one, proposal)))
        needed = repeats_to_decide(ratios, taken, len(chosen) + 1)
        least = SECOND_LOOK if chosen else REPEATS
        seconds = _seconds(max(least, min(needed, REPEATS_WANTED)), later_s)
        if chosen and seconds > most_s:
            untested[one.name] = f"no time left; --minutes {math.ceil(seconds / 60)} includes it"
            continue
        laps_s = later_s
        chosen.append((one, proposal))
    fit = (n for n in range(REPEATS_MOST, REPEATS, -1) if _seconds(n, laps_s) <= most_s)
    return chosen, next(fit, REPEATS)


def _seconds(repeats: int, laps_s: tuple[float, float, float]) -> float:
    """The time for a number of repeats; `laps_s` has the time of one repeat until the first look,
    until the second one, and later."""
    first_s, second_s, then_s = laps_s
    until_first, until_second = min(repeats, FIRST_LOOK), min(repeats, SECOND_LOOK)
    return (
        until_first * first_s
        + (until_second - until_first) * second_s
        + (repeats - until_second) * then_s
    )


def _treatment_s(pair: Pair, sets: Mapping[str, Any], took_s: float) -> float:
    """The time of a treatment in a repeat, for both levels: that of a block of the run (`took_s`)
    if that is longer than on a quiet host."""
    starts = any(path.startswith(("server.options.", "place.server.")) for path in sets)
    cell = pair.cells["slower"]
    in_slices = any((run.plan.get("load") or {}).get("slices") for run in pair.runs["slower"])
    measured = (
        BLOCK_S + ROUNDS_OF_TREATMENTS * (SLICE_S + SETTLE_S)
        if in_slices
        else float(cell["load.warmup"] + cell["load.measure"])
    )
    usual = 2 * (measured + (START_S if starts else 0.0))
    # In slices both levels are measured in one run of the load generator.
    return max(usual, took_s * (1 if in_slices else 2))


def _block_s(study: Study) -> float:
    """The time from one block of the run to the next; 0 if there was only one block."""
    starts = sorted({run.block: run.started_at for run in study.measured}.values())
    times = [datetime.fromisoformat(one) for one in starts]
    gaps = [(after - before).total_seconds() for before, after in itertools.pairwise(times)]
    return statistics.median(gaps) if gaps else 0.0


def _plan(
    study: Study,
    pair: Pair,
    chosen: Sequence[tuple[Candidate, Proposal]],
    untested: Mapping[str, str],
    seconds: float,
    repeats: int,
) -> WhyPlan:
    tables: dict[str, dict[str, Any]] = {}
    records: list[TriedRecord] = []
    for one, proposal in chosen:
        doses = {
            _treatment_name(tables, dose, f"{one.name}.{number}"): dose.words
            for number, dose in enumerate(proposal.doses, start=1)
        }
        placebo = _treatment_name(tables, proposal.placebo, f"{one.name}.placebo")
        records.append(
            {
                "candidate": one.name,
                "title": one.title,
                "refuted_by": one.refuted_by,
                "least": proposal.least,
                "doses": list(doses),
                "placebo": placebo,
                "words": {**doses, placebo: proposal.placebo.words},
            }
        )
    wholes = {record["candidate"]: record["doses"][-1] for record in records}
    for record, (one, _) in zip(records, chosen, strict=True):
        record["contains"] = [wholes[name] for name in one.contains if name in wholes]
    experiment = pair_again(
        study.experiment,
        pair,
        tables,
        seconds,
        name=f"why-{study.experiment.name}",
        question="What remains of the difference when both levels get the same treatment?",
        repeats=repeats,
    )
    try:
        refuse_settings(experiment, own=pair.own)
        list(cell_specs(experiment))
    except ContendError as error:
        raise NotTried(f"the treatments are not possible: {error.message}", hint=error.hint) from (
            error
        )
    facts: WhyFacts = {"tried": records, "untested": dict(untested)}
    return WhyPlan(pair.finding.is_certain, experiment, facts, chosen, seconds)


def _treatment_name(tables: dict[str, dict[str, Any]], treatment: Treatment, name: str) -> str:
    """The name of the table that already has these settings, or `name` for a new one."""
    found = next((known for known, table in tables.items() if table == treatment.sets), name)
    tables[found] = dict(treatment.sets)
    return found


def pair_again(
    original: Experiment,
    pair: Pair,
    tables: Mapping[str, Mapping[str, Any]],
    seconds: float,
    *,
    name: str,
    question: str,
    repeats: int,
) -> Experiment:
    """An experiment with one pair of `original`, untreated and under each treatment of `tables`."""
    values = dict(original.base.values)
    for path, level in pair.place.items():
        target = resolve(path)
        assert target.setting is not None
        values[target.setting.path] = target.put(values, level)
    values[TREATMENTS.path] = {name: dict(table) for name, table in tables.items()}
    levels = (pair.finding.baseline, pair.finding.level)
    return replace(
        original,
        name=name,
        question=question,
        base=CellSpec(values),
        factors=(
            Factor(TREATMENT.path, (UNTREATED, *tables)),
            Factor(pair.compared, levels),
        ),
        compare=replace(
            original.compare,
            baseline={pair.compared: pair.finding.baseline},
            metric=original.compare.metric[:1],
            repeats=repeats,
            until=None,
            at_most_s=seconds,
            wait_for_calm_s=None,
            fail_if_slower=None,
            adjust=(),
        ),
        published=(),
        explain=None,
        why=False,
        # A name with dots is a key of TOML in quotes.
        source=written({f'treatments."{name}"': table for name, table in tables.items()}),
        overrides=(),
    )
