"""Do slices find a difference that is known? Two null servers, hopped between in one run.

    python bench/slices_null.py [--repeats 100] [--side-by-side 3]

Each repeat is one run of contend-load with two arms: 100 rounds, in each a slice of 100 ms of both,
in random order. Of each round the log-ratio of q/s is taken, and their mean has a 95 % interval
(`contend.stats.estimate` of the ratios). Seeds are drawn anew for each repeat. An interval that
is true holds the known ratio in about 95 of 100 repeats; how far the mean of all repeats is from
it tells smaller faults.

The ratio is known exactly. Both servers serve as many queries at a time as there are connections,
so each connection is served all the time but for the way to the client and back, and for that they
grant a turnaround (`--turnaround-us`): a query that comes within 20 ms after the last answer on its
connection was due counts as come then. So q/s are connections over service time, whatever the way
takes, and a hop away and back, which takes longer, is not granted. The table says which share of
the queries came too late for it, beyond the first ones of each slice.

Service times are exponential. Were they constant, all connections would stay in step from the
moment of the hop on, and a slice of 100 ms would hold 95 or 96 answers of each, never 95.24: the
same error in every slice. Answers of exponential services come as a Poisson process, at the whole
rate from the first moment.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from null_servers import NullServer, station
from peers import spent
from rounds import markdown_table, publish

from contend.load import find_program
from contend.stats import Estimate, estimate

CONNECTIONS = 8
SERVICE_US = 1000.0
TURNAROUND_US = 20_000
SLOWER = (1.05, 1.0)
"""How much longer the second server takes."""
HEAD = [
    *("service, µs", "q/s of the second over the first", "repeats", "intervals that hold it"),
    *("mean of the repeats [95 % interval]", "half of an interval, mean", "granted too late"),
]


@dataclass(frozen=True)
class Repeat:
    """What one run found, and the share of the queries that came after the turnaround."""

    found: Estimate
    too_late: float


def plan(sockets: list[str], rounds: int, slice_s: float, seed: int) -> str:
    """A closed loop that hops between the servers at these sockets."""
    servers = [{"socket": socket} for socket in sockets]
    arms = [{"name": name, "server": server} for name, server in zip("ab", servers, strict=True)]
    load = {
        "connections": CONNECTIONS,
        "threads": 1,
        "slices": {"slice_s": slice_s, "settle_s": 0.02, "rounds": rounds},
    }
    workload = {"kind": "sql", "text": "SELECT {event:serial(0)};"}
    whole = {"version": 1, "seed": seed, "server": servers[0], "arms": arms}
    return json.dumps(whole | {"workload": workload, "load": load})


def rates(lines: Iterable[dict[str, Any]]) -> tuple[list[float], list[float]]:
    """q/s of the first and of the second arm, of every round that has both."""
    found: dict[int, dict[int, float]] = {}
    for line in lines:
        if line["type"] == "slice":
            found.setdefault(line["round"], {})[line["arm_index"]] = line["qps"]
    whole = [found[number] for number in sorted(found) if len(found[number]) == 2]
    return [rate[0] for rate in whole], [rate[1] for rate in whole]


def repeat(slower: float, rounds: int, slice_s: float, seed: int) -> Repeat:
    """One run on two servers of its own."""
    chance = random.Random(seed)
    seeds = [chance.randrange(2**32) for _ in range(3)]
    times = (SERVICE_US, SERVICE_US * slower)
    granting = f"--turnaround-us={TURNAROUND_US}"
    first, second = (
        NullServer(*station(CONNECTIONS, time, "exponential", own), granting)
        for time, own in zip(times, seeds[:2], strict=True)
    )
    with first, second:
        sockets = [str(first.socket), str(second.socket)]
        told = plan(sockets, rounds, slice_s, seeds[2])
        output, _, _ = spent([str(find_program()), "run", "-"], stdin=told)
    a, b = rates(json.loads(line) for line in output.splitlines())
    if len(a) != rounds:
        raise SystemExit(f"the run had {len(a)} whole rounds, not {rounds}:\n{output[-2000:]}")
    queries = sum(server.served["queries"] for server in (first, second))
    granted = sum(server.served["turnarounds"]["queries"] for server in (first, second))
    # The first query of each connection in a slice comes from afar.
    too_late = queries - granted - 2 * rounds * CONNECTIONS
    ratios = [other / one for one, other in zip(a, b, strict=True)]
    return Repeat(estimate(ratios, log_scale=True), too_late / queries)


def row(slower: float, repeats: list[Repeat]) -> list[str]:
    """One line of the table."""
    truth = 1 / slower
    holds = sum(one.found.low <= truth <= one.found.high for one in repeats)
    mean = estimate([one.found.mean for one in repeats], log_scale=True)
    half = statistics.mean((one.found.high - one.found.low) / 2 for one in repeats)
    too_late = statistics.mean(one.too_late for one in repeats)
    return [
        f"{SERVICE_US:g} and {SERVICE_US * slower:g}",
        f"{truth:.4f}",
        str(len(repeats)),
        f"{holds} of {len(repeats)}",
        f"{mean.mean:.4f} [{mean.low:.4f}, {mean.high:.4f}]",
        f"{half:.4f}",
        f"{too_late:.2%}".replace("%", " %"),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--slice-s", type=float, default=0.1)
    parser.add_argument("--side-by-side", type=int, default=3, help="runs at the same time")
    parser.add_argument("--seed", type=int, help="of the repeats; otherwise drawn")
    arguments = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if arguments.seed is None else arguments.seed
    rows = []
    for slower in SLOWER:

        def once(number: int, slower: float = slower) -> Repeat:
            own = random.Random(f"{seed} {slower} {number}").randrange(2**32)
            made = repeat(slower, arguments.rounds, arguments.slice_s, own)
            said = f"{made.found.mean:.4f} [{made.found.low:.4f}, {made.found.high:.4f}]"
            print(f"{slower:g} repeat {number + 1}: {said}", file=sys.stderr, flush=True)
            return made

        with ThreadPoolExecutor(arguments.side_by_side) as pool:
            rows.append(row(slower, list(pool.map(once, range(arguments.repeats)))))
    publish(
        "slices-null",
        "Slices on two null servers of known speed",
        [
            f"each repeat: {arguments.rounds} rounds, in each one slice of "
            f"{arguments.slice_s * 1000:g} ms of both servers in random order, 20 ms to settle, "
            f"{CONNECTIONS} connections, closed loop; {arguments.side_by_side} repeats at a time",
            f"servers: {CONNECTIONS} at a time, exponential service; a turnaround of "
            f"{TURNAROUND_US / 1000:g} ms is granted, so q/s are connections over service time",
            f"seed {seed}, from which each repeat draws those of its load and its servers",
            "a repeat's interval: Student's t over the rounds' log-ratios, 95 %; a true one holds "
            "the ratio in 90 to 99 of 100 repeats",
        ],
        markdown_table(HEAD, rows),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
