"""Claims about a statement whose cost is known: 10 % dearer, while a second one gets 50 % cheaper.

`python bench/equal_load.py [--runs 10] [--for 25s] [--dear 1.1]`. A mariadbd evaluates an
expression a number of times that a table holds; a step of `setup` changes it. Three ways to
time the dear statement are compared in one run each: in the closed loop of both, at the same rate,
and by itself. A claim is false if it contradicts the numbers of the table.
"""

from __future__ import annotations

import argparse
import math
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from contend.stats import estimate
from contend.stats.change import read_verdict
from contend.store import RunFolder, RunRecord

CHANGE = "setup.change"
DEAR, CHEAP = 400, 8000
MARGIN = 0.02

EXPERIMENT = """
setup = [
  {{ do = "CREATE TABLE cost (dear INT, cheap INT) ENGINE=InnoDB", undo = "DROP TABLE cost" }},
  {{ do = "INSERT INTO cost VALUES ({dear}, {cheap})", undo = "DELETE FROM cost" }},
  {{ name = "change", do = "UPDATE cost SET dear = {dearer}, cheap = {cheaper}",
     undo = "UPDATE cost SET dear = {dear}, cheap = {cheap}" }},
]
[experiment]
name = "equal-load"
question = "Is a statement dearer if the other one gets cheaper?"
[server]
kind = "mariadb"
[data]
rows = 100
[workload]
kind = "sql"
text = '''
@dear weight 3
SELECT BENCHMARK(dear, MD5('x')) FROM cost;
@cheap
SELECT BENCHMARK(cheap, MD5('x')) FROM cost;
'''
[load]
connections = 8
seed = {seed}
[factors]
"setup.change" = [false, true]
[compare]
baseline = {{ "setup.change" = false }}
at_most = "{time}"
"""

Read = Callable[[RunRecord], float]


def _of(parts: Any, key: str, end: str) -> float:
    one: Mapping[str, Any] = next(part for part in parts if part["name"] == "dear")
    return float(one[key][end])


def _closed(run: RunRecord) -> float:
    assert run.done is not None
    return _of(run.done["classes"], "latency_us", "mean")


def _at_rate(run: RunRecord) -> float:
    return _of(run.probes["equal_load"]["done"]["kinds"], "latency_us", "mean")


def _alone(run: RunRecord) -> float:
    return _of(run.probes["alone"]["dear"]["done"]["classes"], "latency_us", "p50")


WAYS: Mapping[str, Read] = {
    "in the closed loop": _closed,
    "at the same rate": _at_rate,
    "by itself": _alone,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--for", dest="time", default="25s")
    parser.add_argument("--dear", type=float, default=1.1)
    args = parser.parse_args()
    for number in range(args.runs):
        with tempfile.TemporaryDirectory() as folder:
            print(f"run {number + 1}:", *_one(Path(folder), args.time, args.dear), sep="\n  ")
            sys.stdout.flush()


def _one(folder: Path, time: str, dear: float) -> list[str]:
    numbers = {"dear": DEAR, "cheap": CHEAP, "dearer": round(DEAR * dear), "cheaper": CHEAP // 2}
    file = folder / "equal-load.toml"
    # TOML has no line breaks inside of its inline tables.
    text = EXPERIMENT.format(**numbers, seed=random.randrange(1 << 30), time=time)
    file.write_text(text.replace(",\n     undo", ", undo"))
    command = [sys.executable, "-m", "contend", "run", str(file), "--out", str(folder / "run")]
    subprocess.run(command, check=True, capture_output=True)
    with RunFolder.open(folder / "run") as run:
        records = [one for one in run.records(intervals=False) if one.status == "ok"]
    return [f"{name}: {_claim(records, read)}" for name, read in WAYS.items()]


def _claim(records: list[RunRecord], read: Read) -> str:
    by_repeat: dict[int, dict[bool, list[float]]] = {}
    for one in records:
        sides = by_repeat.setdefault(one.repeat, {})
        sides.setdefault(bool(one.cell[CHANGE]), []).append(math.log(read(one)))
    logs = [
        math.fsum(sides[True]) / len(sides[True]) - math.fsum(sides[False]) / len(sides[False])
        for sides in by_repeat.values()
        if len(sides) == 2
    ]
    found = estimate(logs)
    low, high = math.exp(found.low), math.exp(found.high)
    verdict = read_verdict(low, high, MARGIN)
    size = (
        f"{100 * math.expm1(found.mean):+.0f} % ({100 * (low - 1):+.0f} to {100 * (high - 1):+.0f})"
    )
    return f"{size}, n = {len(logs)}: {verdict}"


if __name__ == "__main__":
    main()
