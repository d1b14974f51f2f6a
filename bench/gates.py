"""How often does a gate fail falsely, and how often does it find what is slower?

    python bench/gates.py [--gates 200] [--live 40] [--for 20s] [--keep FOLDER]

From the record of `bench/trust_record.py`: processes that were alike in everything are called
baseline and level by lot (`bench/trust_tables.py`), and a gate of 3 % over all six cells of such a
table is asked. At most 10 of 200 may fail. Then the level's speeds are multiplied by 0.95.

Between folders: of the 24 sessions in `bench/results/sessions/2026-11-23.jsonl` some are drawn for
each side, each a value; one side is made slower by what the comparison says that it finds.

`--live N` makes N gates of `contend try` of an option that does nothing, one after the other, each
of the time that `--for` gives, and counts exit codes; alone on the machine.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rounds import markdown_table
from trust_record import FOLDER, HOSTS, read_lines
from trust_tables import CONFIDENCE, MARGIN, Record, record_of, relabelled

from contend.findings import Contrast, Family, Finding, Side, judged, run_over_run
from contend.findings.gate import gate_over, smallest_slowdown
from contend.metrics import FIXED
from contend.stats import TableShape, answer_table

LIMIT = 0.03
SLOWER = 0.05
UNITS = (8, 28)
SIDES = (2, 3, 5, 8)
SESSIONS = Path(__file__).parent / "results" / "sessions" / "2026-11-23.jsonl"
QPS = FIXED["qps"]
FAMILY = Family("first", CONFIDENCE, CONFIDENCE)
ALIKE = (
    *("max_error_count=64,65", "--workload", "point_select", "--connections", "8"),
    *("--data", "10000", "--fail-if-slower", "3%", "--yes"),
)


def outcome_of(d: np.ndarray, shape: TableShape) -> str:
    """Of a gate over all cells; d is units x contexts x one level."""
    answer = answer_table(d, shape, margin=MARGIN, confidence=CONFIDENCE)
    cells = [
        answer.cell(0, row, column) for row in range(shape.rows) for column in range(shape.columns)
    ]
    found = [Finding(Contrast("level", QPS, {}, 1, 0, FAMILY), one, MARGIN) for one in cells]
    return gate_over(QPS, LIMIT, (({}, 1, one, "") for one in found)).outcome


def gates(record: Record, units: int, gates_wanted: int, slower: float, seed: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for number in range(gates_wanted):
        draw = np.random.default_rng([*seed.encode(), units, number])
        d = relabelled(record, draw, units=units)[:, :, :1]
        counts[outcome_of(d + math.log1p(-slower), record.shape)] += 1
    return counts


def of_record(wanted: int) -> list[list[str]]:
    rows = []
    for host in HOSTS:
        record = record_of(read_lines(FOLDER, host))
        for units in UNITS:
            for slower in (0.0, SLOWER):
                counts = gates(record, units, wanted, slower, host)
                rows.append(
                    [host, str(units), f"{100 * slower:g} %"]
                    + [str(counts[one]) for one in ("passed", "slower", "uncertain")]
                )
    return rows


def session_means() -> list[float]:
    lines = [json.loads(line) for line in SESSIONS.read_text().splitlines()]
    return [statistics.fmean(one for one in line["logs"] if one is not None) for line in lines]


def between(
    means: Sequence[float], n: int, slower: float | None, draw: np.random.Generator
) -> tuple[str, float]:
    """The outcome of a gate between n sessions a side, and what it says that it finds."""
    chosen = draw.permutation(len(means))[: 2 * n]
    ours, theirs = ([means[at] for at in part] for part in (chosen[:n], chosen[n:]))
    family = Family("runs", 0.95, 0.95)

    def found(loss: float) -> Finding:
        moved = Side("new", [one + math.log1p(-loss) for one in ours], of_sessions=True)
        return run_over_run(QPS, {}, moved, Side("old", theirs, of_sessions=True), family)

    size = smallest_slowdown(found(0.0), LIMIT)
    return judged(found(size if slower is None else slower), LIMIT), size


def of_sessions(wanted: int) -> list[list[str]]:
    means, rows = session_means(), []
    for n in SIDES:
        draw = np.random.default_rng(n)
        alike = Counter(between(means, n, 0.0, draw)[0] for _ in range(wanted))
        said = [between(means, n, None, draw) for _ in range(wanted)]
        found = sum(outcome == "slower" for outcome, _ in said)
        size = statistics.median(size for _, size in said)
        rows.append([str(n), str(alike["slower"]), f"{100 * size:.1f} %", str(found)])
    return rows


def live(count: int, length: str, keep: Path) -> str:
    codes: Counter[int] = Counter()
    for number in range(count):
        begun_s = time.monotonic()
        out = keep / f"gate-{number}"
        command = [
            sys.executable,
            "-m",
            "contend",
            "try",
            *ALIKE,
            f"--for={length}",
            f"--out={out}",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        codes[done.returncode] += 1
        last = (done.stdout or done.stderr).rstrip().rpartition("\n")[2]
        took_s = time.monotonic() - begun_s
        print(f"{number + 1}/{count}, {took_s:.0f} s: exit {done.returncode}, {last}", flush=True)
    return f"{count} live gates of {length}, of a level that does nothing, ended with {dict(codes)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gates", type=int, default=200)
    parser.add_argument("--live", type=int, default=0)
    parser.add_argument("--for", default="20s", dest="length", help="how long a live gate measures")
    parser.add_argument("--keep", type=Path, help="where run folders of live gates stay")
    asked = parser.parse_args()
    heads = ["host", "repeats", "slower by", "passed", "slower", "not certain"]
    print(markdown_table(heads, of_record(asked.gates)))
    print()
    heads = [
        "sessions a side",
        "alike, called slower",
        "what it says that it finds, median",
        "found",
    ]
    print(markdown_table(heads, of_sessions(asked.gates)))
    if asked.live:
        with tempfile.TemporaryDirectory(prefix="contend-bench-") as place:
            print(live(asked.live, asked.length, asked.keep or Path(place)))


if __name__ == "__main__":
    main()
