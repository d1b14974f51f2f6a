"""What a look at the time of a query costs, and how much of the time it explains.

    python bench/sampler.py [--server NAME] [--times 5] [--connections 1,8,64,512] [--engine MyISAM]

A private server is asked for rows by key. Each time, every number of connections is looked at in a
block of its own, half of whose rounds are without the look, in alternation on the same server and
connections. Printed of each number of connections: the look's CPU time in one CPU, queries a second
with it over without it, and what no part has of the response time (the remainder). Intervals are
over the blocks, which are also the n.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from contend.sections.budget import BUDGET, budget_of
from contend.sections.budget_parts import REMAINDER, Budget
from contend.sections.words import estimate_text, significant
from contend.stats import Estimate, estimate
from contend.store import RunFolder

EXPERIMENT = """
[experiment]
name = "sampler"
question = "What does a look at the time of a query cost?"

[server]
kind = "mariadb"
options = {{ key_buffer_size = "64M", query_cache_type = 0, max_connections = 1200 }}

[data]
schema = "sbtest"
engine = "{engine}"
rows = 100_000

[workload]
kind = "random_points"
points = 10

[load]
warmup = "500ms"
measure = "1s"

[factors]
"load.connections" = [{connections}]

[compare]
repeats = 2
"""


LOOK = """
import sys
from contend.cli import run
from contend.sections import budget
from contend.cli.main import main
run._looks = lambda _arguments: (budget.SECTION.look,)
sys.exit(main())
"""
"""`contend` with one look in place of all."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--connections", default="1,8,64,512")
    parser.add_argument("--engine", default="MyISAM")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sampler.toml"
        text = EXPERIMENT.format(connections=given.connections, engine=given.engine)
        file.write_text(text, encoding="utf-8")
        run = Path(folder) / "run"
        server = [] if given.server is None else [f"--server={given.server}"]
        look([str(file), "--out", str(run), *server])
        for _ in range(given.times - 1):
            look(["--resume", str(run), *server])
        print_table(run)
    return 0


def look(arguments: list[str]) -> None:
    command = [sys.executable, "-c", LOOK, "run", "--budget", "--yes", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def print_table(run: Path) -> None:
    """One line for each number of connections, over all looks."""
    found: dict[int, list[Budget]] = defaultdict(list)
    with RunFolder.open(run) as folder:
        for record in folder.looks():
            if record.look == BUDGET and record.error is None:
                found[int(record.cell["load.connections"])].append(budget_of(record))
    print("connections  response us  look, % of a CPU  q/s with over without, %  remainder, %")
    for connections, budgets in sorted(found.items()):
        figures = [
            estimate([one.response_us.mean for one in budgets]),
            estimate([one.look_cpu_share * 100 for one in budgets]),
            _percent(estimate([one.speed.mean for one in budgets], log_scale=True)),
            estimate([share for one in budgets if (share := _remainder(one)) is not None]),
        ]
        texts = [str(estimate_text(one)) if one.n > 1 else _alone(one) for one in figures]
        print(f"{connections:11d}  " + "  ".join(text.rjust(16) for text in texts))


def _percent(ratio: Estimate) -> Estimate:
    low, mean, high = ((bound - 1) * 100 for bound in (ratio.low, ratio.mean, ratio.high))
    return Estimate(mean, low, high, ratio.n, ratio.confidence)


def _alone(one: Estimate) -> str:
    return "not known" if math.isnan(one.mean) else significant(one.mean, 3)


def _remainder(one: Budget) -> float | None:
    part = one.parts.get(REMAINDER)
    return None if part is None else part.mean / one.response_us.mean * 100


if __name__ == "__main__":
    sys.exit(main())
