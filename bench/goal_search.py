"""Does the search for a goal find the rate that is known exactly?

    python bench/goal_search.py [--servers 1 8 64] [--searches 10] [--repeats 8]

The null server serves some queries at a time, each for an exponential time, and takes them in the
order in which they come: with Poisson arrivals that is M/M/c, whose response time has a known
distribution (Erlang C). So the rate at which a given p99 is reached is known. Each search begins
knowing nothing: it makes the same runs that `contend run --goal` makes of one level, in the same
order (`contend.stats.RateSearch`), with a new null server and new random times in each repeat.

A host that stalls for 50 ms once in a run makes more than 1 % of its events late, and then the
server does not hold what the formula says. So `--computed` makes the same searches without a host:
the arrivals and service times of each run are those of contend-load, and the path of every event
through the servers is computed (`fifo.py`).
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import random
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime

import fifo
from null_servers import NullServer, service_times, station
from peers import spent
from rounds import markdown_table, publish

from contend.experiment import RATE, GoalSpec
from contend.findings import rate_run
from contend.findings.goal import BURSTS, GROWS_SD
from contend.load import find_program
from contend.stats import GoalAnswer, RateRun, RateSearch
from contend.store import RunRecord
from contend.units import format_duration

WARMUP_S, MEASURE_S = 0.5, 4.0
CLOSE = 0.05
QUANTILE = 0.99
HEAD = [
    *("servers at a time", "service, mean", "goal", "exact rate per second", "busy"),
    *("searches", "within 5 %", "errors of the rate, %", "interval holds it", "± (median)"),
    *("server late, p99, µs", "longest search"),
]


@dataclass(frozen=True)
class Station:
    """Servers at a time, their mean service time, and the limit of the p99."""

    servers: int
    service_us: float
    limit_us: float

    def late_share(self, rate: float) -> float:
        """The share of events over the limit (response time of M/M/c)."""
        each = 1 / self.service_us
        spare = self.servers * each - rate / 1e6
        waits = fifo.erlang_c(self.servers, rate / 1e6 / (self.servers * each))
        served, cleared = (math.exp(-one * self.limit_us) for one in (each, spare))
        if abs(spare - each) < 1e-9 * each:
            return served * (1 + waits * each * self.limit_us)
        return (1 - waits) * served + waits * (spare * served - each * cleared) / (spare - each)

    @property
    def most(self) -> float:
        return self.servers / self.service_us * 1e6

    @property
    def exact(self) -> float:
        low, high = 1e-6 * self.most, (1 - 1e-9) * self.most
        for _ in range(100):
            middle = (low + high) / 2
            is_early = self.late_share(middle) < 1 - QUANTILE
            low, high = (middle, high) if is_early else (low, middle)
        return low


STATIONS = {
    1: Station(1, 1_000.0, 20_000.0),
    8: Station(8, 4_000.0, 25_000.0),
    64: Station(64, 20_000.0, 120_000.0),
}


@dataclass(frozen=True)
class Searched:
    answer: GoalAnswer
    runs: int
    took_s: float
    late_us: float


def computed(station_: Station, repeats: int, chance: random.Random) -> Searched:
    """A search whose runs are computed."""
    found = RateSearch(10.0, 1e6, 100.0)
    began, runs = time.monotonic(), 0
    for repeat in range(1, repeats + 2):
        while rates := found.wanted(repeat):
            for rate in rates:
                plan = plan_of(station_, rate, "unused", chance.getrandbits(31))
                found.add(computed_run(station_, repeat, rate, plan, chance.getrandbits(31)))
                runs += 1
    took_s = runs * (WARMUP_S + MEASURE_S)
    print(f"computed in {time.monotonic() - began:.0f} s", file=sys.stderr)
    return Searched(found.answer(0.95), runs, took_s, 0.0)


def computed_run(station_: Station, repeat: int, rate: float, plan: str, seed: int) -> RateRun:
    command = [str(find_program()), "arrivals", "-"]
    command += service_times(station_.service_us, "exponential", seed)
    printed = subprocess.run(command, input=plan, capture_output=True, text=True, check=True)
    rows = list(csv.DictReader(printed.stdout.splitlines()))
    arrivals = (int(row["offset_ns"]) / 1000 for row in rows)
    services = (int(row["service_ns"]) / 1000 for row in rows)
    path = fifo.sample_path(arrivals, services, station_.servers)
    opens, closes = WARMUP_S * 1e6, (WARMUP_S + MEASURE_S) * 1e6
    seen = path.between(opens, closes)
    begins, ends = path.arrival + path.wait, path.arrival + path.response

    def waiting(at: float) -> int:
        return int(((path.arrival <= at) & (begins > at)).sum())

    allowed = 1 - QUANTILE
    return RateRun(
        repeat,
        rate,
        float((seen.response > station_.limit_us).mean()) / allowed,
        math.sqrt(BURSTS * QUANTILE / (allowed * max(1, len(seen.arrival)))),
        grows=waiting(closes) - waiting(opens) > GROWS_SD * math.sqrt(2 * rate * MEASURE_S),
        answered=int(((ends > opens) & (ends <= closes)).sum()) / MEASURE_S,
    )


def search(station_: Station, repeats: int, chance: random.Random) -> Searched:
    goal = GoalSpec("response_us_p99", station_.limit_us, "")
    found = RateSearch(goal.lowest, goal.highest, 100.0)
    began, runs, late_us = time.monotonic(), 0, []
    for repeat in range(1, repeats + 2):
        # New times of service in each repeat, like a new server.
        options = station(
            station_.servers, station_.service_us, "exponential", chance.getrandbits(31)
        )
        with NullServer(*options) as server:
            while rates := found.wanted(repeat):
                for rate in rates:
                    plan = plan_of(station_, rate, str(server.socket), chance.getrandbits(31))
                    found.add(rate_run(goal, record_of(repeat, rate, plan)))
                    runs += 1
        late_us.append(server.served["late_us"]["p99"])
    took_s = time.monotonic() - began
    return Searched(found.answer(0.95), runs, took_s, statistics.median(late_us))


def plan_of(station_: Station, rate: float, socket: str, seed: int) -> str:
    load = {
        # More than are served at a time: the next query is there when one is answered.
        "connections": 4 * station_.servers + 32,
        "warmup_s": WARMUP_S,
        "measure_s": MEASURE_S,
        "interval_s": 0.5,
        "arrival": {"kind": "open", "process": "poisson", "stages": [{"rate": rate}]},
    }
    workload = {"kind": "sql", "text": "SELECT {event:serial(0)};"}
    plan = {"version": 1, "seed": seed, "server": {"socket": socket}}
    return json.dumps(plan | {"workload": workload, "load": load})


def record_of(repeat: int, rate: float, plan: str) -> RunRecord:
    output, _, _ = spent([str(find_program()), "run", "-"], stdin=plan)
    done = json.loads(output.strip().splitlines()[-1])
    at = datetime.now(UTC).isoformat()
    return RunRecord(1, 1, repeat, {RATE: rate}, "ok", at, at, done=done)


def line(station_: Station, found: list[Searched]) -> list[str]:
    exact = station_.exact
    errors = [one.answer.rate.mean / exact - 1 for one in found]
    held = sum(one.answer.rate.low <= exact <= one.answer.rate.high for one in found)
    half = statistics.median(
        (one.answer.rate.high - one.answer.rate.low) / 2 / one.answer.rate.mean for one in found
    )
    return [
        *(str(station_.servers), format_duration(station_.service_us / 1e6)),
        *(f"p99 < {format_duration(station_.limit_us / 1e6)}", f"{exact:,.0f}"),
        *(f"{exact / station_.most:.0%}".replace("%", " %"), str(len(found))),
        f"{sum(abs(one) <= CLOSE for one in errors)} of {len(found)}",
        ", ".join(f"{one * 100:+.1f}" for one in errors),
        f"{held} of {len(found)}",
        f"{half * 100:.1f} %",
        f"{statistics.median(one.late_us for one in found):.0f}",
        f"{max(one.took_s for one in found):.0f} s, {max(one.runs for one in found)} runs",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--servers", type=int, nargs="+", choices=STATIONS, default=list(STATIONS))
    parser.add_argument("--searches", type=int, default=10, help="of each number of servers")
    parser.add_argument("--repeats", type=int, default=8, help="after the first one")
    parser.add_argument("--computed", action="store_true", help="without a host")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    found: dict[int, list[Searched]] = {servers: [] for servers in arguments.servers}
    # In turn, so that a busy hour of the host is in all of them.
    for _ in range(arguments.searches):
        for servers in arguments.servers:
            one = (computed if arguments.computed else search)(
                STATIONS[servers], arguments.repeats, chance
            )
            found[servers].append(one)
            print(line(STATIONS[servers], [one]), file=sys.stderr, flush=True)
    publish(
        "goal-search-computed" if arguments.computed else "goal-search",
        "The highest rate that holds a goal, and the exact one",
        [
            "server: contend-load's null server, exponential service, served in the order of "
            "receipt; Poisson arrivals, so M/M/c",
            f"a search: {WARMUP_S:g} s of warm-up and {MEASURE_S:g} s measured per run, from "
            f"100 per second; {arguments.repeats} repeats after the first, each on a new server",
            "exact: the rate at which 1 % of the response times of M/M/c exceed the limit",
        ],
        markdown_table(HEAD, [line(STATIONS[servers], each) for servers, each in found.items()]),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
