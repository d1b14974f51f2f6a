"""Is contend-load dearer than an earlier build of it? Both drive the null server, in turn.

    python bench/before_after.py --before PROGRAM [--rounds 8] [--seconds 1.5]

Native kinds by both protocols at 1, 8 and 64 connections, a script, and an open loop at half of
the rate that one connection reaches; the null server is this build's for both. A ratio is of the
two runs of a round: q/s, and client CPU a query.
"""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from instructions import POINT_SELECT, RANDOM_POINTS, SCRIPT, null_server
from rounds import alternate, markdown_table, publish, ratio

from contend.load import find_program

OPEN = {"kind": "open", "stages": [{"rate": 10_000}]}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    **{
        f"point select, {protocol}, {connections} connections": (
            POINT_SELECT,
            {"protocol": protocol, "connections": connections},
        )
        for protocol in ("prepared", "text")
        for connections in (1, 8, 64)
    },
    "10 random points, prepared, 8 connections": (
        RANDOM_POINTS,
        {"protocol": "prepared", "connections": 8},
    ),
    "oltp_point_select.lua, 8 connections": (SCRIPT, {"protocol": "prepared", "connections": 8}),
    "point select, open loop of 10,000 a second, 8 connections": (
        POINT_SELECT,
        {"protocol": "prepared", "connections": 8, "arrival": OPEN},
    ),
}


@dataclass(frozen=True)
class Ran:
    """What one run came to."""

    qps: float
    cpu_us: float
    p99_us: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, required=True, help="the earlier contend-load")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=1.5, help="of a run")
    asked = parser.parse_args()
    programs = {"before": asked.before, "now": find_program()}
    rows = []
    with null_server(programs["now"]) as folder:
        for seed, (case, (workload, load)) in enumerate(CASES.items()):
            plan = {
                "version": 1,
                "seed": 303,
                "server": {"socket": str(folder / "null.sock")},
                "workload": workload,
                "load": {"threads": 1, "warmup_s": 0.2, "measure_s": asked.seconds, **load},
            }
            ran = alternate(programs, functools.partial(run, plan), rounds=asked.rounds, seed=seed)
            before, now = ran["before"], ran["now"]
            rows.append(
                [
                    case,
                    f"{sum(one.qps for one in now) / len(now):,.0f}",
                    ratio([one.qps for one in now], [one.qps for one in before]),
                    ratio([one.cpu_us for one in now], [one.cpu_us for one in before]),
                    ratio([one.p99_us for one in now], [one.p99_us for one in before]),
                ]
            )
            print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    head = ["case", "q/s now", "q/s", "client CPU a query", "p99"]
    facts = [f"now over before, {asked.rounds} rounds of {asked.seconds:g} s, null server"]
    publish("before-after", "This build beside an earlier one", facts, markdown_table(head, rows))
    return 0


def run(plan: dict[str, Any], program: Path) -> Ran:
    """One run. Raises CalledProcessError if it failed."""
    said = subprocess.run(
        [str(program), "run", "-"], input=json.dumps(plan), capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    done = json.loads(said.splitlines()[-1])
    cpu_us = done["client"]["cpu_us"] / max(done["queries"], 1)
    return Ran(done["qps"], cpu_us, done["latency_us"]["p99"])


if __name__ == "__main__":
    sys.exit(main())
