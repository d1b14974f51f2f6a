"""Would one CPU have foretold two?

    python bench/predict_measured.py [--server mariadb|model] [--for 3m] [--publish]

The study of the segmented key cache is measured on one CPU, which server and client share, with 1
and 2 connections, and then on two CPUs with 4 to 128. The costs are fitted to the first run alone.
From them the gains and the queries per second of the second are predicted, before it is read.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from rounds import markdown_table, publish

from contend.files import find_program
from contend.findings import Study, study_of
from contend.load import cpu_calls, cpu_state
from contend.metrics import metric_of
from contend.predict.band import predict
from contend.predict.fit import Fitted, MeasuredGain, fit
from contend.predict.machine import Machine
from contend.predict.measured import gains_of, measured_study, this_machine
from contend.predict.virtual import PlacedDraw, VirtualCell, VirtualStudy, speeds, with_pages
from contend.store import RunFolder

POINTS, SEGMENTS = (10, 100), 32
FEW, MANY = (1, 2), (4, 8, 16, 32, 64, 128)
TRIED, DRAWS = 256, 200
GOAL = 0.10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", default="mariadb", help="mariadb or model")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--for", dest="time", default="3m", help="for each of the two runs")
    parser.add_argument("--publish", action="store_true", help="write the result's page")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        one = measure(asked, Path(folder) / "one", "0", FEW)
        two = measure(asked, Path(folder) / "two", "0-1", MANY)
        facts, text = judge(one, two)
    facts = [f"{asked.server}, {asked.rows:,} rows, {asked.time} for each run", *facts]
    if asked.publish:
        title = f"Two CPUs, foretold from one: {asked.server}"
        publish(f"predict-measured-{asked.server}", title, facts, text)
    else:
        print("\n".join([*facts, "", text]))
    return 0


def measure(asked: argparse.Namespace, out: Path, cpus: str, connections: Sequence[int]) -> Study:
    """A run of the recipe with server and client on these CPUs."""
    words = {
        "place.server.cpus": f'"{cpus}"',
        "place.client.cpus": f'"{cpus}"',
        "server.options.key_cache_segments": f"[0, {SEGMENTS}]",
        "workload.points": str(list(POINTS)),
        "load.connections": str(list(connections)),
        "data.rows": str(asked.rows),
        "predict.machines": "[]",
        "compare.at_most": asked.time,
    }
    sets = [word for name, value in words.items() for word in ("--set", f"{name}={value}")]
    command = [sys.executable, "-m", "contend", "run", "segmented-key-cache", *sets]
    more = ["--server", asked.server, "--out", str(out), "--yes"]
    subprocess.run([*command, *more], check=True, stdout=subprocess.DEVNULL)
    with RunFolder.open(out) as folder:
        return study_of(folder)


def judge(one: Study, two: Study) -> tuple[list[str], str]:
    program = find_program()
    here = this_machine("one CPU", 1, cpu_state(program), cpu_calls(program))
    small = measured_study(one)
    study = with_pages(program, small.study)
    fitted = fit(program, study, here, small.work, small.gains, tried=TRIED, draws=DRAWS)
    both = replace(here, name="two CPUs", cpus=2, given=frozenset())
    known = gains_of(two)
    wanted = [(gain.points, gain.segments, gain.connections) for gain in known]
    predicted = predict(program, study, fitted, both, wanted)
    rates = rates_of(program, study, fitted, both, wanted)
    rows, off, off_rate, inside = [], [], [], 0
    for gain, mine in zip(known, predicted.gains, strict=True):
        off.append(mine.ln_gain - gain.ln_gain)
        inside += mine.low <= gain.ln_gain <= mine.high
        rate = [
            (rates[VirtualCell(gain.points, level, gain.connections)], qps(two, gain, level))
            for level in (0, gain.segments)
        ]
        off_rate += [math.log(ours / theirs) for ours, theirs in rate]
        rows.append(
            [
                *(str(gain.points), str(gain.connections)),
                f"{percent(gain.ln_gain)} ±{200 * gain.error:.0f}",
                f"{percent(mine.ln_gain)} ({percent(mine.low)} to {percent(mine.high)})",
                *(f"{theirs:,.0f} / {ours:,.0f}" for ours, theirs in rate),
            ]
        )
    repeats = len(two.repeats)
    facts = [
        f"{len(one.repeats)} repeats on one CPU, {repeats} on two",
        f"rms of ln(predicted over measured gain) {rms(off):.3f}; wanted at most {GOAL:g}",
        f"{inside} of {len(known)} gains in the 90 % band",
        f"rms of ln(predicted over measured q/s) {rms(off_rate):.3f}",
    ]
    made = ", ".join(f"{name} {share:.0%}" for name, share in predicted.parts if share > 0.02)
    head = ["points", "connections", "gain measured, %", "predicted (band)"]
    head += ["q/s off: measured / predicted", f"q/s {SEGMENTS} segments: measured / predicted"]
    return facts, f"{markdown_table(head, rows)}\n\nThe band is made of: {made}."


def rates_of(
    program: Path,
    study: VirtualStudy,
    fitted: Fitted,
    machine: Machine,
    wanted: Sequence[tuple[int, int, int]],
) -> Mapping[VirtualCell, float]:
    """Queries per second, geometric mean over some draws."""
    cells = [VirtualCell(p, level, c) for p, s, c in wanted for level in (0, s)]
    draws = range(0, len(fitted.shares), 5)
    placed = [PlacedDraw(machine, fitted.values(draw), cells) for draw in draws]
    found = speeds(program, study, placed)
    return {cell: float(np.exp(np.mean([np.log(one[cell]) for one in found]))) for cell in cells}


def qps(study: Study, gain: MeasuredGain, level: int) -> float:
    roles, metric = study.roles, metric_of("qps")
    cell = roles.cell({"workload.points": gain.points}, gain.connections, level)
    values = [value for run in study.runs_of(cell) if (value := metric.value(run))]
    return float(np.exp(np.mean(np.log(values))))


def percent(ln_gain: float) -> str:
    return f"{math.expm1(ln_gain) * 100:+.0f}"


def rms(values: Sequence[float]) -> float:
    return math.sqrt(sum(one * one for one in values) / len(values))


if __name__ == "__main__":
    raise SystemExit(main())
