"""From a run to predictions: its costs are fitted where it was measured, then placed on other
machines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from contend import host
from contend.errors import RequestError
from contend.experiment import PredictSpec
from contend.findings import Study, study_of
from contend.load import cpu_calls, cpu_state
from contend.predict.band import BAND, MODEL, Prediction, predict
from contend.predict.fit import Fitted, MeasuredGain, fit
from contend.predict.machine import COSTS, Machine, find_machine, with_cpus
from contend.predict.measured import MeasuredStudy, measured_study, this_machine
from contend.predict.stored import StoredGain, StoredPrediction, keep
from contend.predict.virtual import WORK, with_pages
from contend.store import RunFolder

TRIED, DRAWS = 256, 200
"""Draws that are fitted, and those of a band."""

_FITTED_MOST = 6
"""Gains of a run that are fitted: more of them take longer and say hardly more."""

_USUAL_CONNECTIONS = (1, 4, 8, 16, 32, 64, 128)

OnStep = Callable[[str, int, int], None]
"""Called with the present step, the runs that ended, and all of them."""


def predict_run(
    folder: RunFolder,
    program: Path,
    wanted: PredictSpec,
    connections: Sequence[int],
    on_step: OnStep,
) -> list[StoredPrediction]:
    """Predict the gains of a run on other machines, and keep them in its folder.

    Args:
        connections: those that are predicted; none: those of the study, and of the run.

    Raises:
        RequestError: the model does not describe the run, or a machine is impossible.
        LoadFailed: contend-load gave no result.
        WorkError: the results cannot be kept.
    """
    study = study_of(folder)
    here = _machine_of(study, program)
    measured = measured_study(study)
    machines = [find_machine(name) for name in wanted.machines]
    machines += [replace(with_cpus(here, count), given=frozenset()) for count in wanted.cpus]
    measured = replace(measured, study=with_pages(program, measured.study))
    _require_alike(measured)
    cells, gains = _cells(study, measured, connections), _some(measured.gains)
    fitted = fit(
        program,
        measured.study,
        here,
        measured.work,
        gains,
        tried=TRIED,
        draws=DRAWS,
        on_progress=_progress(on_step, f"fitting {len(gains)} measured gains"),
    )
    found = []
    for machine in machines:
        on_progress = _progress(on_step, f"predicting {machine.name}")
        one = predict(program, measured.study, fitted, machine, cells, on_progress)
        found.append(_stored(one, fitted))
    keep(folder.path, found)
    return found


def _progress(on_step: OnStep, words: str) -> Callable[[int, int], None]:
    return lambda done, of: on_step(words, done, of)


def _machine_of(study: Study, program: Path) -> Machine:
    """The machine of a run. Its costs are measured if that is this one; otherwise they are the
    usual ones."""
    facts = study.meta.facts
    cpus = facts.get("cpu", {}).get("count")
    if not cpus:
        raise RequestError(
            "the run does not know how many CPUs its machine had",
            hint="Measure it again; `contend show --full` lists the missing facts.",
        )
    if facts.get("machine", {}).get("id") != host.facts()["machine"].get("id"):
        return this_machine("this run's machine", cpus, None, None)
    return this_machine("this machine", cpus, cpu_state(program), cpu_calls(program))


_ALIKE = 0.25


def _require_alike(measured: MeasuredStudy) -> None:
    """Refuse a run whose server reads other pages than the model: its visits are not known."""
    pages = measured.study.pages
    if abs(measured.requests / pages - 1) > _ALIKE:
        raise RequestError(
            f"the server had {measured.requests:.1f} requests to its key cache per point, and the "
            f"model has {pages:.1f}: it does not describe this run",
            hint="Measure it with the table of the study (k = row_number) and without other load.",
        )


def _some(gains: Sequence[MeasuredGain]) -> Sequence[MeasuredGain]:
    """Gains over the whole range of connections, with the most points and segments."""
    points = max(one.points for one in gains)
    segments = max(one.segments for one in gains)
    of_it = [one for one in gains if (one.points, one.segments) == (points, segments)]
    of_it.sort(key=lambda one: one.connections)
    if len(of_it) <= _FITTED_MOST:
        return of_it
    last = len(of_it) - 1
    places = [round(place * last / (_FITTED_MOST - 1)) for place in range(_FITTED_MOST)]
    return [of_it[place] for place in places]


def _cells(
    study: Study, measured: MeasuredStudy, connections: Sequence[int]
) -> list[tuple[int, int, int]]:
    gains = measured.gains
    if not connections:
        counts = {*_USUAL_CONNECTIONS, *(one.connections for one in gains)}
        connections = sorted(counts)
    most = int(study.experiment.base["server.options"].get("max_connections", 10_000))
    if too_many := [count for count in connections if not 1 <= count <= most]:
        raise RequestError(
            f"{too_many[0]} connections: the server of the run allows {most}",
            hint=f"Use 1 to {most}.",
        )
    # The others differ little from those with most points and segments, and each takes as long.
    points, segments = max((one.points, one.segments) for one in gains)
    return [(points, segments, count) for count in connections]


def _in_words(name: str) -> str:
    """What a cost is called in sentences."""
    if name == MODEL:
        return "the model's own error"
    return WORK.get(name) or COSTS[name].words


def _stored(one: Prediction, fitted: Fitted) -> StoredPrediction:
    """A prediction in the form that is kept and shown."""
    machine = one.machine
    own = {name: cost for name, cost in machine.costs.items() if name in machine.given}
    assumed = {**fitted.unknown, **{name: own[name] for name in own if not own[name].is_known}}
    return StoredPrediction(
        name=machine.name,
        about=machine.about,
        cpus=machine.cpus,
        draws=one.draws,
        band=BAND,
        off=fitted.off,
        fitted=len(fitted.computed),
        gains=tuple(
            StoredGain(
                *(gain.points, gain.segments, gain.connections),
                *(math.expm1(each) * 100 for each in (gain.ln_gain, gain.low, gain.high)),
            )
            for gain in one.gains
        ),
        parts=tuple((_in_words(name), share) for name, share in one.parts),
        assumed=tuple(
            (_in_words(name), cost.value, cost.low, cost.high, cost.source)
            for name, cost in assumed.items()
        ),
    )
