"""Run folders as `contend profile` makes them, with made-up samples."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from synthetic_run import SEGMENTS, study, write_run

from contend.experiment import CellSpec, Experiment, Factor
from contend.experiment.settings.server import PROFILER_HZ
from contend.experiment.settings.treatments import TREATMENT, TREATMENTS, UNTREATED
from contend.sections.profile import PROFILED
from contend.store import RunRecord

HZ = 199
BY_LEVEL = {
    0: {"main;do_query;search": 400, "main;do_query;lock": 300, "main;send": 200, "main;rare": 1},
    32: {"main;do_query;search": 400, "main;do_query;lock": 100, "main;send": 200},
}
"""Segments -> samples of a run, on average."""


def experiment(repeats: int = 6) -> Experiment:
    original = study("quick")
    values = dict(original.base.values)
    values[TREATMENTS.path] = {PROFILED: {PROFILER_HZ.path: HZ}}
    return replace(
        original,
        base=CellSpec(values),
        factors=(Factor(TREATMENT.path, (UNTREATED, PROFILED)), Factor(SEGMENTS, (0, 32))),
        compare=replace(
            original.compare, baseline={SEGMENTS: 0}, metric=("qps",), repeats=repeats, until=None
        ),
        published=(),
        explain=None,
    )


def write_profile(
    path: Path, *, slower: float = 1.0, repeats: int = 6, why_not: str | None = None
) -> Path:
    """A profiler that makes the server `slower`; with `why_not` it saw nothing."""
    chance = random.Random(11)

    def change(run: RunRecord) -> RunRecord:
        if run.cell[TREATMENT.path] != PROFILED:
            return run
        means = {} if why_not else BY_LEVEL[int(run.cell[SEGMENTS])]
        stacks = {one: max(1, round(chance.gauss(n, n**0.5))) for one, n in means.items()}
        done: Any = {**(run.done or {})}
        done["qps"] /= slower
        done["queries"] = round(done["queries"] / slower)
        profile: Any = {"hz": HZ, "stacks": stacks, "why_not": why_not}
        return replace(run, done=done, probes={**run.probes, "profile": profile})

    return write_run(path, experiment(repeats), change=change)
