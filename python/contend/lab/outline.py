"""What a run would measure, known before anything is started: the cells, how they are compared, the
time, and the width to expect."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contend.errors import ContendError
from contend.experiment import Cell, Experiment, cell_specs, cells, planned_load_s, to_dict
from contend.experiment.settings.load import ends_with_its_work
from contend.findings import analysis_of, study_of
from contend.lab.design import Design, choose_design
from contend.lab.effort import Effort, usual_slice_s
from contend.lab.equal_load import why_not_equal_load
from contend.lab.timing import is_timed, times_of
from contend.lab.twins import refuse_design
from contend.store import RunFolder


@dataclass(frozen=True, slots=True)
class EarlierWidth:
    """Half of the widest interval of a level in an earlier run of the same experiment, as a ratio,
    after `repeats` repeats, and the time that run was given. `slowest_s` is the median time of its
    slowest kind of event; 0 if events are contend's own."""

    run: str
    half: float
    repeats: int
    at_most_s: float | None
    slowest_s: float = 0.0

    def after(self, repeats: int) -> float:
        """The same after more or fewer repeats: the error falls with their root."""
        return math.expm1(math.log1p(self.half) * math.sqrt(self.repeats / repeats))

    def repeats_in(self, at_most_s: float) -> int:
        """Repeats that fit into a time."""
        share = 1.0 if self.at_most_s is None else at_most_s / self.at_most_s
        return max(1, round(self.repeats * share))

    def repeats_for(self, half: float) -> int:
        """Repeats until the interval is as narrow as this."""
        return math.ceil(self.repeats * (math.log1p(self.half) / math.log1p(half)) ** 2)


@dataclass(frozen=True, slots=True)
class Outline:
    """
    Args:
        repeat_s: the least duration of a repeat, by slices; None if levels are compared by runs.
        load_s: of all runs, if levels are compared by runs.
        width: None if this experiment has not been finished here.
        equal: times of statements are measured at the same load on all levels too.
        slice_s: the expected length of a slice; None if levels are compared by runs, or the work
            of a slice has an end.
        is_timed: slices become longer if a statement does not fit into them.
    """

    cells: tuple[Cell, ...]
    design: Design
    repeat_s: float | None
    load_s: float
    width: EarlierWidth | None
    equal: bool
    slice_s: float | None = None
    is_timed: bool = False


def outline(experiment: Experiment, *, own: bool, disk: Path, runs: Path) -> Outline:
    """
    Args:
        own: the servers are contend's to start.
        disk: a folder on the disk that would hold the servers' data.
        runs: the folder of earlier run folders.

    Raises:
        RequestError: the experiment cannot be measured in the way that it insists on.
    """
    design = choose_design(experiment, own=own, disk=disk)
    refuse_design(experiment, design)
    width = next(_earlier(experiment, runs), None)
    repeat_s, slice_s = None, None
    if design.in_slices:
        effort = Effort(experiment, design, lambda: 0.0)
        repeat_s = effort.least_of_a_repeat_s
        specs = list(cell_specs(experiment))
        if not any(ends_with_its_work(cell.values) for cell in specs):
            slice_s = usual_slice_s(specs[0], 0.0 if width is None else width.slowest_s)
    return Outline(
        cells(experiment),
        design,
        repeat_s,
        planned_load_s(experiment),
        width,
        why_not_equal_load(experiment, design) is None,
        slice_s,
        any(map(is_timed, cell_specs(experiment))),
    )


def _earlier(experiment: Experiment, runs: Path) -> Iterator[EarlierWidth]:
    """Finished runs of the same experiment, the newest first."""
    wanted = _measured(to_dict(experiment))
    folders = runs.glob(f"{experiment.name}-*")
    for path in sorted(folders, key=lambda one: one.name, reverse=True):
        try:
            with RunFolder.open(path) as folder:
                if _measured(folder.meta().experiment) != wanted:
                    continue
                study = study_of(folder, percentiles=False)
        except ContendError:
            continue
        analysis = analysis_of(study, study.metrics[0]) if study.finished else None
        changes = [one.change for one in analysis.compared.wholes] if analysis else []
        widths = [(math.sqrt(one.high / one.low) - 1, one.n) for one in changes if one.df > 0]
        if widths:
            half, repeats = max(widths)
            dones = [one.done for one in study.records if one.done is not None]
            times = [took for done in dones for took in times_of(done).values()]
            slowest_s = (
                max(times, default=0.0) if any(map(is_timed, cell_specs(experiment))) else 0.0
            )
            at_most_s = study.experiment.compare.at_most_s
            yield EarlierWidth(path.name, half, repeats, at_most_s, slowest_s)


def _measured(experiment: dict[str, Any]) -> dict[str, Any]:
    """What two runs must share so that one tells the width of the other."""
    compare = experiment.get("compare", {})
    return {
        **{name: experiment.get(name) for name in ("base", "factors")},
        **{name: compare.get(name) for name in ("baseline", "metric", "confidence", "by")},
    }
