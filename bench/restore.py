"""How long does the restore of a kept dataset take, beside a plain copy of the same files?

A restore makes the data folder of a stopped server anew and computes the checksum of every byte on
the way. The copies are `cp`, once left in the page cache to be written some day, and once with
`sync` after it, since a restore too ends when its files are on the disk. All ways copy the same
files into the same place, one after the other in random order. Before each the target is gone,
nothing waits to be written, and the source is in the page cache as a whole, or not at all: how
much of it is, is looked at and not believed.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rounds import alternate, markdown_table, publish, ratio

from contend import host
from contend.datasets import Dataset, DatasetSource, provide, restore
from contend.get import find_server
from contend.load import find_program
from contend.servers import ServerBinary
from contend.spec import DataSpec

ENGINES = ("MyISAM", "InnoDB")
WHERE = {"warm": "the source is in the page cache", "cold": "the source is on the disk alone"}


@dataclass(frozen=True)
class Cost:
    """What one copy took, and how much of its source was in the page cache when it began."""

    wall_s: float
    cpu_s: float
    cached: float

    def __str__(self) -> str:
        return f"{self.wall_s:.3f} s, {self.cpu_s:.3f} CPU s, {self.cached:.0%} cached"


@dataclass(frozen=True)
class Bench:
    """One dataset, and every way to copy it to the same place."""

    dataset: Dataset
    target: Path

    def contend(self) -> None:
        restore(self.dataset, self.target)

    def copy(self) -> None:
        """What most would type; where the filesystem can share blocks, `cp` does that too."""
        source, target = str(self.dataset.data), str(self.target)
        subprocess.run(["cp", "-R", "--reflink=auto", source, target], check=True)

    def copy_and_sync(self) -> None:
        """The same, and the files are on the disk after it."""
        self.copy()
        files = [str(path) for path in self.target.rglob("*") if path.is_file()]
        subprocess.run(["sync", "--data", *files], check=True)

    def run(self, way: Callable[[], None], *, warm: bool) -> Cost:
        shutil.rmtree(self.target, ignore_errors=True)
        os.sync()
        cached = self._fetch() if warm else self._forget()
        cpu_before, began = _cpu_s(), time.monotonic()
        way()
        cost = Cost(time.monotonic() - began, _cpu_s() - cpu_before, cached)
        copied = sum(path.stat().st_size for path in self.target.rglob("*") if path.is_file())
        assert copied == self.dataset.bytes, f"{copied} bytes of {self.dataset.bytes}"
        return cost

    @property
    def _files(self) -> list[Path]:
        return [self.dataset.data / entry.path for entry in self.dataset.files]

    def _fetch(self) -> float:
        return sum(host.page_cache.warm(path) for path in self._files) / self.dataset.bytes

    def _forget(self) -> float:
        for path in self._files:
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)
        resident = sum(host.page_cache.resident_bytes(path) for path in self._files)
        return resident / self.dataset.bytes


class Silent:
    """Nobody who wants to know how far a fill is."""

    def notice(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def progress(self, what: str, done: int, total: int, unit: str) -> None:
        pass


def _cpu_s() -> float:
    """CPU that this program and what it called have used, the kernel's part with it."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, whose))


def made(engine: str, rows: int, binary: ServerBinary, cache: Path) -> Bench:
    """A dataset as `contend run` keeps it."""
    data, target = DataSpec(engine=engine, rows=rows), cache / "target"
    source = DatasetSource(data, binary, {})
    dataset = provide(source, target, cache=cache, program=find_program(), tell=Silent())
    return Bench(dataset, target)


def rows_of(costs: Mapping[str, Sequence[Cost]], size: int) -> list[list[str]]:
    """One row a way: medians, then ratios of neighbours."""
    walls = {name: [cost.wall_s for cost in runs] for name, runs in costs.items()}

    def against(name: str, other: str) -> str:
        return "" if name == other else ratio(walls[name], walls[other])

    return [
        [
            name,
            f"{statistics.median(walls[name]):.3f}",
            f"{size / 1e6 / statistics.median(walls[name]):,.0f}",
            f"{statistics.median(cost.cpu_s for cost in runs):.3f}",
            f"{min(c.cached for c in runs):.0%} to {max(c.cached for c in runs):.0%}",
            against(name, "cp"),
            against(name, "cp, then sync"),
        ]
        for name, runs in costs.items()
    ]


HEAD = ["way", "wall s", "MB/s", "CPU s", "source cached", "wall / cp", "wall / cp, then sync"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--engines", nargs="+", default=list(ENGINES))
    parser.add_argument("--folder", help="on the disk to ask; default: that of temporary files")
    options = parser.parse_args()
    binary = find_server("mariadb")
    parts: list[str] = []
    with tempfile.TemporaryDirectory(prefix="contend-bench-", dir=options.folder) as folder:
        cache = Path(folder)
        disk = host.facts(folder=cache)["disk"]
        assert isinstance(disk, dict)
        for engine in options.engines:
            bench = made(engine, options.rows, binary, cache)
            size, files = bench.dataset.bytes, len(bench.dataset.files)
            ways = {
                "contend restore": bench.contend,
                "cp": bench.copy,
                "cp, then sync": bench.copy_and_sync,
            }
            for state, words in WHERE.items():
                costs = alternate(
                    ways,
                    lambda way, bench=bench, warm=state == "warm": bench.run(way, warm=warm),
                    rounds=options.rounds,
                    seed=307,
                )
                parts += [
                    f"## {engine}, {size / 1e6:,.0f} MB in {files} files; {words}",
                    "",
                    markdown_table(HEAD, rows_of(costs, size)),
                    "",
                ]
    publish(
        "restore",
        f"Restoring a dataset of {options.rows:,} rows",
        [
            f"{binary.name}; filesystem {disk['filesystem']}, device {disk['device']}",
            "every byte of a restore is checked (CRC-32), and its files are on the disk when it "
            "ends; `cp` leaves them in the page cache",
            "medians of the rounds; ratios are means over the rounds' pairs with 95 % intervals",
        ],
        "\n".join(parts),
    )


if __name__ == "__main__":
    main()
