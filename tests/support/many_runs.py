"""Run folders of one small experiment over time, with made-up figures and steps of a known size."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from synthetic_run import CONNECTIONS, FACTS, SEGMENTS, study, write_run

from contend.experiment import Experiment
from contend.store import RunRecord

DAY = timedelta(days=1)

Speed = Callable[[int, int], float]
"""Of the run's number from 0 and of the segments: q/s over the usual."""


def small(**changes: Any) -> Experiment:
    """Two levels at two loads, in two repeats."""
    return replace(
        study(
            "quick",
            (
                f"{SEGMENTS}=[0,32]",
                f"{CONNECTIONS}=[1,8]",
                "workload.points=[10]",
                "compare.repeats=2",
            ),
        ),
        **changes,
    )


def write_runs(
    root: Path,
    count: int,
    *,
    speed: Speed = lambda _run, _segments: 1.0,
    sd: float = 0.01,
    facts: Callable[[int], dict[str, Any]] = lambda _run: FACTS,
    probes: Callable[[int, dict[str, Any]], None] = lambda _run, _probes: None,
    experiment: Experiment | None = None,
    seed: int = 5,
) -> list[Path]:
    """`count` run folders, a day apart; each run is off by `sd` as a logarithm."""
    chance = random.Random(seed)
    experiment = experiment or small()
    paths = []
    for number in range(count):
        off = {segments: chance.gauss(0, sd) for segments in (0, 32)}

        def changed(
            record: RunRecord, number: int = number, off: dict[int, float] = off
        ) -> RunRecord:
            segments = int(record.cell[SEGMENTS])
            times = speed(number, segments) * math.exp(off[segments])
            seen = copy.deepcopy(dict(record.probes))
            probes(number, seen)
            assert record.done is not None
            done = {**record.done, "qps": record.done["qps"] * times}
            return replace(
                record,
                done=done,  # type: ignore[arg-type]
                probes=seen,  # type: ignore[arg-type]
                started_at=_later(record.started_at, number),
                ended_at=_later(record.ended_at, number),
            )

        paths.append(
            write_run(
                root / f"run-{number + 1:02}",
                experiment,
                change=changed,
                facts=facts(number),
                seed=seed + number,
            )
        )
    return paths


def _later(at: str, days: int) -> str:
    return (datetime.fromisoformat(at) + days * DAY).isoformat(timespec="milliseconds")
