"""A pair of a run once more, with a profiler and without: where the CPU time went, and what looking
at it did. An experiment of its own, whose run folder stands in that of the run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from contend.errors import ContendError
from contend.findings import compared_of, study_of
from contend.findings.model import Finding
from contend.findings.profile import PROFILED
from contend.findings.study import Study
from contend.host.profiler import why_no_profiler
from contend.settings.profiler import PROFILER_HZ
from contend.spec import Experiment, cell_specs, refuse_settings
from contend.store import RunFolder
from contend.why.candidate import Pair, pair_of
from contend.why.plan import NotTried, host_powers, pair_again, require_here

HZ = 199
"""Few, so that whoever holds a lock is seldom hit. What it does is measured each time, and told."""

MINUTES = 1.5
REPEATS = 6


@dataclass(frozen=True, slots=True)
class ProfilePlan:
    """What will be measured, and of which two levels."""

    experiment: Experiment
    pair: Pair
    hz: int
    seconds: float


def plan_of_profile(path: Path, *, hz: int = HZ, minutes: float = MINUTES) -> ProfilePlan:
    """How the pair of a finished run that differs most is profiled.

    Raises:
        NotTried: it is of another host, not finished or compares nothing; its server is elsewhere;
            nothing can be profiled here.
    """
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
        question="In which functions is the server, and what does looking at it do?",
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
    (analysis, *_) = compared_of(study)
    found = analysis.compared.comparisons if analysis else ()
    if not found:
        raise NotTried(f"{path} has no level to set against its baseline")
    return max(found, key=lambda one: (one.is_certain, abs(math.log(one.change.ratio))))
