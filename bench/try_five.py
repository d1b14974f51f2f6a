"""How long `contend try` takes to answer, how sure it is, and whether it says the same again.

python bench/try_five.py [--times 5] [-- ARGUMENTS OF contend try]

The first use loads the data and calibrates the load generator; it is made before, and not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

from contend import host

THIRD = "key_cache_segments=0,32 --engine MyISAM --workload random_points --connections 8"
"""An effect of a few percent to some tens of percent on two CPUs."""


@dataclass(frozen=True)
class Answer:
    """What one use said: seconds it took, ratio with its interval, repeats, verdict."""

    seconds: float
    change: dict[str, Any]

    def row(self) -> str:
        ratio, low, high = (100 * (self.change[n] - 1) for n in ("ratio", "low", "high"))
        said = f"{ratio:+.1f} % | {low:+.1f} % to {high:+.1f} %"
        return f"| {self.seconds:.1f} s | {said} | {self.change['n']} | {self.change['verdict']} |"


def use(arguments: list[str], folder: Path) -> Answer:
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "contend", "try", *arguments, "--json", "--yes"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seconds = time.monotonic() - begun
    return Answer(seconds, json.loads(done.stdout)["levels"][0])


def apart(answers: list[Answer]) -> int:
    """Pairs of intervals that have no value in common."""
    pairs = combinations([answer.change for answer in answers], 2)
    return sum(one["high"] < other["low"] or other["high"] < one["low"] for one, other in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("arguments", nargs="*", default=shlex.split(THIRD))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        # What other sessions found out must not shape this one.
        os.environ["XDG_STATE_HOME"] = str(folder / "state")
        use([*args.arguments, "--for", "2s"], folder)
        answers = [use(args.arguments, folder) for _ in range(args.times)]
    facts = host.facts(folder=Path.cwd())
    certain = sum(answer.change["verdict"] != "inconclusive" for answer in answers)
    print(f"`contend try {shlex.join(args.arguments)}`, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, on")
    print(f"{facts['cpu']['count']} x {facts['cpu']['model']}, Linux {facts['kernel']['release']}.")
    print(f"Certain in {certain} of {len(answers)}; pairs of intervals apart: {apart(answers)}.\n")
    print("| took | change | 95 % interval | repeats | verdict |\n|---|---|---|---|---|")
    print("\n".join(answer.row() for answer in answers))


if __name__ == "__main__":
    main()
