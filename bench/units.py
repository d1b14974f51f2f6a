"""The units of a run folder: what was drawn anew for each of them, and how they differ."""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from contend.experiment import Cell, Experiment, cell_key, contexts, from_dict, same_level
from contend.store import RunFolder, RunRecord

EXPERIMENTS = Path(__file__).parent / "experiments"


def run_experiment(name: str, sets: Sequence[str], *options: str) -> tuple[np.ndarray, str | None]:
    """`contend run` of a file in `bench/experiments`, or of a recipe: its log-ratios, and why it
    ended."""
    file = EXPERIMENTS / f"{name}.toml"
    with tempfile.TemporaryDirectory(prefix="contend-bench-") as place:
        out = Path(place) / "run"
        command = [sys.executable, "-m", "contend", "run", str(file) if file.exists() else name]
        command += ["--yes", f"--out={out}", *options, *(f"--set={one}" for one in sets)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"contend run failed:\n{done.stdout}\n{done.stderr}")
        with RunFolder.open(out) as folder:
            meta = folder.meta()
            return log_ratios(from_dict(meta.experiment), folder.records()), meta.finished


def log_ratios(experiment: Experiment, records: Sequence[RunRecord]) -> np.ndarray:
    """ln(q/s of the level / q/s of the baseline), units x contexts x levels; NaN if not measured.

    All blocks of a level in one unit count alike.
    """
    compared = experiment.compared
    assert compared is not None
    (baseline,) = experiment.compare.baseline.values()
    others = [level for level in compared.levels if not same_level(level, baseline)]
    units = sorted({record.repeat for record in records})
    places = [cell_key(context) for context in contexts(experiment)]
    logs: dict[tuple[object, ...], list[float]] = {}
    for record in records:
        if record.done is not None:
            place = cell_key(_without(record.cell, compared.path))
            key = (record.repeat, place, record.cell[compared.path])
            logs.setdefault(key, []).append(math.log(record.done["qps"]))

    def mean(*key: object) -> float:
        return statistics.mean(logs[key]) if key in logs else math.nan

    return np.array(
        [
            [
                [mean(unit, place, level) - mean(unit, place, baseline) for level in others]
                for place in places
            ]
            for unit in units
        ]
    ).reshape(len(units), len(places), len(others))


def _without(cell: Cell, path: str) -> Cell:
    return {name: level for name, level in cell.items() if name != path}
