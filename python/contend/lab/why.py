"""Why two levels differ: which candidates are tried, and the experiment that tries them.

The pair that differs is measured again, without a treatment, under the doses of each candidate and
under its placebo, all within one repeat after the other: an experiment of its own, whose run folder
stands in that of the run.
"""

from __future__ import annotations

import itertools
import math
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from contend import host
from contend.errors import ContendError, RequestError
from contend.findings import compared_of, study_of
from contend.findings.candidate import Candidate, HostPowers, Pair, Proposal, Seen, pair_of
from contend.findings.candidates import CANDIDATES
from contend.findings.candidates._common import IDLE_SHARE, NEIGHBOURS_SHARE, STEAL_SHARE
from contend.findings.candidates.quota import HAS_QUOTA
from contend.findings.model import Finding
from contend.findings.study import Study
from contend.findings.tried import logs_of, more_repeats
from contend.lab.effort import BLOCK_S, SETTLE_S, SLICE_S, START_S
from contend.lab.session import refuse_settings
from contend.probed import TriedRecord, WhyFacts
from contend.settings.treatments import TREATMENT, TREATMENTS, UNTREATED
from contend.spec import CellSpec, Experiment, Factor, cell_specs, written
from contend.spec.keys import resolve
from contend.store import RunFolder

REPEATS = 8
"""So many have to fit into the time. Twice as many are made if they fit too: the first look whether
all is decided then comes after a quarter of it."""

ROUNDS_MIN = 5
MINUTES = 2.5

_WHAT_FITS_NOT = "its signature does not hold"
_NOBODY_LOOKED = "nobody looked at it (`contend run … --budget` does, as root)"
_NO_COUNTERS = (
    "no counters of the server were recorded, which levels that share a server have together "
    '(compare.by = "runs" has them apart)'
)
_OF_OTHERS = frozenset(
    {one.name for one in (HAS_QUOTA, IDLE_SHARE, NEIGHBOURS_SHARE, STEAL_SHARE)}
    | {"client_ceiling_share"}
)
"""What is not read from the server's counters."""


class NotTried(RequestError):
    """Nothing is tried of this run."""


@dataclass(frozen=True, slots=True)
class WhyPlan:
    """What will be tried, for how long, and what will not.

    untested: by candidate, with the reason.
    """

    experiment: Experiment
    facts: WhyFacts
    tried: tuple[tuple[Candidate, Proposal], ...]
    untested: Mapping[str, str]
    seconds: float


def plan_of_why(path: Path, *, minutes: float = MINUTES) -> WhyPlan:
    """What can be tried of a finished run.

    Raises:
        NotTried: it is of another host, not finished, compares nothing, or nothing in it
            certainly differs.
    """
    with RunFolder.open(path) as folder:
        study = study_of(folder, percentiles=False)
        require_here(study, path, "contend why")
        pair = pair_of(study, _difference(study, path), host_powers(), folder.looks())
        took_s = _block_s(study)
    untested: dict[str, str] = {}
    proposals = _fitting(pair, untested)
    chosen, least_s = _in_time(pair, proposals, minutes, took_s, untested)
    if not chosen:
        raise NotTried(
            f"no candidate can be tried on {path}",
            hint="The cause stays unknown to contend.",
            detail="\n".join(f"{name}: {why}" for name, why in untested.items()),
        )
    repeats = REPEATS * (2 if 2 * least_s <= minutes * 60 else 1)
    return _plan(study, pair, chosen, untested, minutes * 60, repeats)


def require_here(study: Study, path: Path, command: str) -> None:
    """Raise NotTried unless the run is of this host, compares something and is finished.

    Args:
        command: that wants to measure its pair again.
    """
    then = (study.meta.facts.get("machine") or {}).get("id")
    now = (host.facts().get("machine") or {}).get("id")
    if then is not None and then != now:
        raise NotTried(
            f"{path} was measured on another host, and what would be tried cannot be had here",
            hint=f"Use `{command}` on the host that made the run.",
        )
    if study.roles.baseline is None:
        raise NotTried(
            f"{path} compares nothing, so there is no difference to explain",
            hint="Give the experiment a baseline ([compare] baseline).",
        )
    if any(factor.path == TREATMENT.path for factor in study.experiment.factors):
        raise NotTried(f"{path} is an experiment of treatments itself")
    if not study.finished:
        raise NotTried(
            f"{path} is not finished, so nothing in it is decided yet",
            hint=f"`contend run --resume {path}` finishes it.",
        )


def _difference(study: Study, path: Path) -> Finding:
    (analysis, *_) = compared_of(study)
    certain = [one for one in (analysis.compared.comparisons if analysis else ()) if one.is_certain]
    if not certain:
        raise NotTried(
            f"nothing in {path} certainly differs, so there is nothing to explain",
            hint=_repeats_missing(analysis.compared.comparisons if analysis else ()),
        )
    return max(certain, key=_surely)


MANY = 100
"""So many repeats more are no advice."""


def _repeats_missing(comparisons: Sequence[Finding]) -> str:
    """How many more would make the first difference certain."""
    found: list[tuple[int, int]] = []
    for one in comparisons:
        log = logs_of(one.change)
        more = more_repeats([(log, math.copysign(1.0, log.mean))])
        if more is not None and more <= MANY and one.change.verdict != "equivalent":
            found.append((more, one.change.n))
    if not found:
        return "More repeats may show a difference: `contend run … --for TIME`."
    more, made = min(found)
    return (
        f"About {more} more repeats would show one, if all stays as it is: "
        f"`contend run … --set compare.repeats={made + more}`, and --for TIME if its time is "
        "limited."
    )


def _surely(found: Finding) -> float:
    """How large a difference is at least, as a logarithm, by the near end of its interval. A server
    that is four times slower at many connections is asked about, and not what it gains at one."""
    low, high = found.change.low, found.change.high
    return math.log(low) if low > 1 else -math.log(high)


def host_powers() -> HostPowers:
    """What can be done to this host."""
    facts = host.facts()
    is_root = os.geteuid() == 0
    return HostPowers(
        cpus=len(os.sched_getaffinity(0)),
        root=is_root,
        groups=is_root,
        nodes=(facts.get("numa") or {}).get("node_count") or 1,
        frequency=is_root and (facts.get("cpu") or {}).get("governor") is not None,
    )


def _fitting(pair: Pair, untested: dict[str, str]) -> list[tuple[Candidate, Proposal]]:
    """The candidates whose signature holds and that can be tried here, in their order."""
    found: list[tuple[Candidate, Proposal]] = []
    for one in CANDIDATES.values():
        fits = one.fits(pair)
        if not fits:
            untested[one.name] = _WHAT_FITS_NOT if fits is False else _not_recorded(one, pair)
            continue
        proposal = one.propose(pair)
        if isinstance(proposal, str):
            untested[one.name] = proposal
        elif (touched := _touched(pair, proposal)) is not None:
            untested[one.name] = f"what would be changed is what is compared ({touched})"
        elif (same := _same(proposal, found)) is not None:
            untested[one.name] = f"it needs the same as {same}, from which it cannot be told"
        else:
            found.append((one, proposal))
    return found


def _not_recorded(one: Candidate, pair: Pair) -> str:
    absent = dict.fromkeys(sign.name for sign in one.signature if sign.holds(pair) is None)
    if all(isinstance(sign.metric, Seen) for sign in one.signature if sign.name in absent):
        return _NOBODY_LOOKED
    runs = [run for side in pair.runs.values() for run in side]
    if not any(run.probes.get("status") for run in runs) and not absent.keys() <= _OF_OTHERS:
        return _NO_COUNTERS
    return f"{', '.join(absent)} was not recorded"


def _touched(pair: Pair, proposal: Proposal) -> str | None:
    """What is compared and would be changed, or made void, by a treatment."""
    compared = sorted(pair.compared_names)
    found = (each.touches(compared) for each in (*proposal.doses, proposal.placebo))
    return next(filter(None, found), None)


def _same(proposal: Proposal, others: Sequence[tuple[Candidate, Proposal]]) -> str | None:
    return next((one.name for one, p in others if p.whole.sets == proposal.whole.sets), None)


def _in_time(
    pair: Pair,
    proposals: Sequence[tuple[Candidate, Proposal]],
    minutes: float,
    took_s: float,
    untested: dict[str, str],
) -> tuple[list[tuple[Candidate, Proposal]], float]:
    """As many as there is time for, one at least; and what `REPEATS` of them take, in seconds."""
    chosen: list[tuple[Candidate, Proposal]] = []
    seconds = REPEATS * (2 * START_S + _treatment_s(pair, {}, took_s))
    for one, proposal in proposals:
        treatments = (*proposal.doses, proposal.placebo)
        more = REPEATS * sum(_treatment_s(pair, each.sets, took_s) for each in treatments)
        if chosen and seconds + more > minutes * 60:
            untested[one.name] = f"no time was left: --minutes {(seconds + more) / 60:.0f} has some"
            continue
        seconds += more
        chosen.append((one, proposal))
    return chosen, seconds


def _treatment_s(pair: Pair, sets: Mapping[str, Any], took_s: float) -> float:
    """What a treatment takes in a repeat, both levels together: as long as a block took in the run
    (`took_s`), if that is more than on a quiet host."""
    starts = any(path.startswith(("server.options.", "place.server.")) for path in sets)
    cell = pair.cells["slower"]
    in_slices = any((run.plan.get("load") or {}).get("slices") for run in pair.runs["slower"])
    measured = (
        BLOCK_S + ROUNDS_MIN * (SLICE_S + SETTLE_S)
        if in_slices
        else float(cell["load.warmup"] + cell["load.measure"])
    )
    usual = 2 * (measured + (START_S if starts else 0.0))
    # In slices both levels are measured in one run of the load generator.
    return max(usual, took_s * (1 if in_slices else 2))


def _block_s(study: Study) -> float:
    """What a block took in the run, with all that the lab did until the next one began; 0 if there
    was one only."""
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
        names = [f"{one.name}.{number}" for number in range(1, len(proposal.doses) + 1)]
        placebo = f"{one.name}.placebo"
        tables |= {n: dict(dose.sets) for n, dose in zip(names, proposal.doses, strict=True)}
        tables[placebo] = dict(proposal.placebo.sets)
        records.append(
            {
                "candidate": one.name,
                "title": one.title,
                "refuted_by": one.refuted_by,
                "least": proposal.least,
                "doses": names,
                "placebo": placebo,
                "words": {
                    **{n: dose.words for n, dose in zip(names, proposal.doses, strict=True)},
                    placebo: proposal.placebo.words,
                },
            }
        )
    facts: WhyFacts = {"tried": records, "untested": dict(untested)}
    experiment = pair_again(
        study.experiment,
        pair,
        tables,
        seconds,
        name=f"why-{study.experiment.name}",
        question="What becomes of the difference under treatments that are the same for both?",
        repeats=repeats,
    )
    try:
        refuse_settings(experiment, own=pair.own)
        list(cell_specs(experiment))
    except ContendError as error:
        raise NotTried(f"the treatments cannot be had: {error.message}", hint=error.hint) from (
            error
        )
    return WhyPlan(experiment, facts, tuple(chosen), untested, seconds)


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
    """An experiment of a pair of another one, without a treatment and under each of `tables`."""
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
        source=written({f"treatments.{json_name(name)}": table for name, table in tables.items()}),
        overrides=(),
    )


def json_name(name: str) -> str:
    """A name with dots as a key of TOML."""
    return f'"{name}"'
