"""What does a warm-up do to the latency of a load that goes on, with and without `--max-latency`?

    python bench/warm_latency.py            # 4 million rows, half of the measured capacity
    python bench/warm_latency.py --rows 1000000 --pool 512M --rounds 3 --seconds 10

The load: single rows by their key out of the first twentieth of the table, which is warm before it
begins, as an open loop at half of what a closed loop reached. Beside it the rest of the table is
warmed: not at all, as fast as it goes, and with a bound on the latency: so many times the p99 that
the load has by itself, because no warm-up could keep a lower one. The percentiles are those of the
load's own clock, from the time that a query was due, over the whole and second by second. The
ratios are against no warm-up in the same round.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from cold_server import DATABASE, TABLE, ColdServer, cold_server
from rounds import alternate, markdown_table, publish, ratio

from contend.load import LoadProcess
from contend.load.process import OnEvent
from contend.outcome import Done, Outcome
from contend.plan import Plan
from contend.program import find_program

HOT_SHARE = 20
NONE = "no warm-up"


@dataclass(frozen=True)
class Cost:
    p50_us: float
    p99_us: float
    p999_us: float
    pages: int
    p99_us_of_seconds: tuple[float, ...]

    def __str__(self) -> str:
        seconds = " ".join(f"{one / 1000:.1f}" for one in self.p99_us_of_seconds)
        return (
            f"p50 {self.p50_us:.0f} µs, p99 {self.p99_us:.0f} µs, {self.pages} pages warmed; "
            f"p99 of each second in ms: {seconds}"
        )

    def seconds_above(self, bound_us: float) -> float:
        """Share of the seconds whose p99 was above a bound."""
        above = sum(one > bound_us for one in self.p99_us_of_seconds)
        return above / len(self.p99_us_of_seconds)


@dataclass(frozen=True)
class Bench:
    """A server, and the load that goes on."""

    cold: ColdServer
    hot: int
    seconds: float
    rate: float
    connections: int

    def load(self, arrival: dict[str, Any], on_event: OnEvent = lambda _outcome: None) -> Done:
        row = f"{{id:uniform(1, {self.hot})}}"
        text = f"SELECT random_str2 FROM {DATABASE}.{TABLE} WHERE id = {row};"
        plan = {
            "version": 1,
            "server": {"socket": str(self.cold.server.socket), "user": "root"},
            "workload": {"kind": "sql", "text": text},
            "load": {
                "connections": self.connections,
                "warmup_s": 1.0,
                "measure_s": self.seconds,
                "interval_s": 1.0,
                "arrival": arrival,
            },
            "seed": 7,
        }
        return LoadProcess(find_program()).run(cast(Plan, plan), env={}, on_event=on_event)

    def run(self, words: Sequence[str] | None) -> Cost:
        self.cold.cold()
        self.cold.ask(
            f"SELECT SUM(LENGTH(random_str2)) FROM {DATABASE}.{TABLE} WHERE id <= {self.hot}"
        )
        before = self.cold.pages()
        warming = None if words is None else self._warming(words)
        seconds: list[float] = []

        def heard(outcome: Outcome) -> None:
            if outcome["type"] == "interval":
                seconds.append(outcome["latency_us"]["p99"])

        done = self.load({"kind": "open", "stages": [{"rate": self.rate}]}, heard)
        pages = self.cold.pages() - before
        if warming is not None:
            warming.terminate()
            warming.wait()
        found = done["latency_us"]
        return Cost(found["p50"], found["p99"], found["p999"], pages, tuple(seconds))

    def _warming(self, words: Sequence[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "contend", "warm", self.cold.dsn, *words,
             "--journal", str(self.cold.server.folder.root / "journal")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument(
        "--bound-times", type=float, default=2.0, help="--max-latency over the load's own p99"
    )
    parser.add_argument("--pool", default="2G", help="innodb_buffer_pool_size")
    parser.add_argument("--server", default="mariadb", help="a MariaDB, as contend names it")
    parser.add_argument("--folder", help="on the disk to ask; default: that of temporary files")
    asked = parser.parse_args()
    with cold_server(asked.server, asked.pool, "O_DIRECT", asked.folder) as cold:
        cold.fill(asked.rows)
        bench = Bench(cold, max(1, asked.rows // HOT_SHARE), asked.seconds, 1.0, asked.connections)
        capacity = bench.load({"kind": "closed"})["qps"]
        bench = Bench(cold, bench.hot, asked.seconds, capacity / 2, asked.connections)
        alone = [bench.run(None) for _ in range(3)]
        bound_us = round(asked.bound_times * statistics.median(one.p99_us for one in alone))
        bounded = f"--max-latency {bound_us}us"
        ways: dict[str, Sequence[str] | None] = {
            NONE: None,
            "contend warm": (),
            f"contend warm {bounded}": bounded.split(),
        }
        costs = alternate(ways, bench.run, rounds=asked.rounds, seed=17)
        server = cold.server.binary.name
    median = statistics.median
    publish(
        "warm-latency",
        "A load at half of its capacity beside a warm-up",
        [
            f"{server}; {asked.rows:,} rows; innodb_buffer_pool_size = {asked.pool}; "
            f"{bench.rate:,.0f} queries a second due, half of {capacity:,.0f}",
            f"{asked.seconds:g} s each; medians of {asked.rounds} rounds; p99 over that of no "
            "warm-up in the same round, mean with 95 % interval",
            f"the bound, {bound_us:,} µs, is {asked.bound_times:g} times the p99 of the load by "
            "itself (median of three runs before the rounds)",
        ],
        markdown_table(
            [
                "beside it",
                "p50 µs",
                "p99 µs",
                "p99 / no warm-up",
                "seconds with p99 above it",
                "worst second's p99 µs",
                "p99.9 µs",
                "pages warmed",
            ],
            [
                [
                    name,
                    f"{median(one.p50_us for one in runs):,.0f}",
                    f"{median(one.p99_us for one in runs):,.0f}",
                    ""
                    if name == NONE or asked.rounds < 2
                    else ratio([one.p99_us for one in runs], [one.p99_us for one in costs[NONE]]),
                    f"{statistics.mean(one.seconds_above(bound_us) for one in runs):.0%}",
                    f"{max(max(one.p99_us_of_seconds) for one in runs):,.0f}",
                    f"{median(one.p999_us for one in runs):,.0f}",
                    f"{median(one.pages for one in runs):,.0f}",
                ]
                for name, runs in costs.items()
            ],
        ),
    )


if __name__ == "__main__":
    main()
