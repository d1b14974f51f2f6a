"""What a query costs more by a divided key cache if nobody else is there: instructions, lines of
cache, locks. What no noise of a machine can touch.

    python bench/segments_alone.py [--rows 20000] [--points 100] [--queries 40]

A private MariaDB runs under callgrind with its simulation of caches. One connection asks the same
queries of the segmented-key-cache study (`k IN (…)`, drawn like its own) with each number of
segments, after the whole index was loaded and after one round that nobody counts. What is counted
belongs to the server as a whole; its other threads sleep. A simulated cache is no CPU: of misses
the comparison between levels counts, not the number.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab import DATABASE, fill
from rounds import machine, markdown_table

from contend.get import find_server
from contend.servers import PrivateServer

SEGMENTS = (0, 1, 2, 4, 8, 16, 32, 64)
OPTIONS: Mapping[str, str | int] = {
    "key_buffer_size": "32M",
    "query_cache_type": 0,
    "query_cache_size": 0,
    "performance_schema": "OFF",
    "innodb_use_native_aio": "OFF",  # valgrind knows no io_uring, and maps no 8 TiB
    "innodb_buffer_pool_size_max": "8M",
    "aria_pagecache_buffer_size": "8M",
    "innodb_buffer_pool_size": "8M",
}
EVENTS = ("Ir", "Dr", "Dw", "I1mr", "D1mr", "D1mw", "ILmr", "DLmr", "DLmw")
LOCKS = ("pthread_mutex_lock", "pthread_mutex_unlock")


def queries(count: int, points: int, rows: int) -> list[str]:
    """Three quarters of the points in the middle hundredth of the rows."""
    chance = random.Random(303)
    middle, width = rows // 2, max(points, rows // 200)

    def point() -> int:
        if chance.random() < 0.75:
            return middle + chance.randrange(-width, width)
        return 1 + chance.randrange(rows)

    lists = (", ".join(str(point()) for _ in range(points)) for _ in range(count))
    return [f"SELECT id, k, c, pad FROM sbtest WHERE k IN ({one})" for one in lists]


def control(*arguments: str) -> None:
    subprocess.run(["callgrind_control", *arguments], check=True, stdout=subprocess.DEVNULL)


def totals(dump: Path) -> dict[str, int]:
    """What a dump counted in all, by event."""
    names = values = None
    for line in dump.read_text(errors="replace").splitlines():
        if line.startswith("events:"):
            names = line.split()[1:]
        if line.startswith(("totals:", "summary:")):
            values = [int(value) for value in line.split()[1:]]
    assert names is not None and values is not None, f"{dump} has no totals"
    return dict(zip(names, values, strict=False))


def dearest(dump: Path, count: int) -> list[tuple[str, int]]:
    """The functions that took most instructions of their own."""
    done = subprocess.run(
        ["callgrind_annotate", "--auto=no", "--show=Ir", str(dump)],
        check=True,
        capture_output=True,
        text=True,
    )
    found = re.findall(r"^ *([\d,]+) (?:\([^)]*\) +)?\S*?:?(\S+) \[", done.stdout, re.MULTILINE)
    return [(name.split("'")[0], int(ir.replace(",", ""))) for ir, name in found[:count]]


def measure(args: argparse.Namespace) -> dict[int, tuple[dict[str, int], list[tuple[str, int]]]]:
    found = {}
    with tempfile.TemporaryDirectory(prefix="contend-alone-") as folder:
        at = Path(folder)
        with PrivateServer(find_server("mariadb", wanted=None), at / "server") as server:
            server.initialise()
            server.start(OPTIONS)
            with server.connect() as connection, connection.cursor() as cursor:
                cursor.execute(f"CREATE DATABASE {DATABASE}")
            fill(server, engine="MyISAM", rows=args.rows, table="sbtest")
            server.stop()
            out = at / "callgrind.out"
            valgrind = shutil.which("valgrind")
            if valgrind is None:
                raise SystemExit("there is no valgrind on this machine")
            server.wrap = (
                *(valgrind, "--tool=callgrind", "--cache-sim=yes", "--instr-atstart=no"),
                *("--fair-sched=yes", f"--callgrind-out-file={out}"),
            )
            server.start(OPTIONS, timeout_s=600)
            asked = queries(args.queries, args.points, args.rows)
            with (
                server.connect(DATABASE, read_timeout=600) as connection,
                connection.cursor() as cursor,
            ):
                for number, segments in enumerate(args.segments, start=1):
                    cursor.execute(f"SET GLOBAL key_cache_segments = {segments}")
                    cursor.execute("LOAD INDEX INTO CACHE sbtest")
                    cursor.fetchall()
                    for count in (0, 1):
                        if count:
                            control("-i", "on", str(server.pid))
                            control("-z", str(server.pid))
                        for one in asked:
                            cursor.execute(one)
                            cursor.fetchall()
                    control(f"--dump={segments}", str(server.pid))
                    control("-i", "off", str(server.pid))
                    dump = at / f"callgrind.out.{number}"
                    found[segments] = (totals(dump), dearest(dump, 400))
                    print(segments, found[segments][0], file=sys.stderr, flush=True)
            server.kill()
    return found


def row(segments: int, counted: dict[str, int], none: dict[str, int], of: int) -> list[str]:
    cells = [str(segments)]
    for name in ("Ir", "Dr", "D1mr", "D1mw", "I1mr"):
        change = counted[name] / none[name] - 1
        cells.append(f"{counted[name] / of:,.0f} ({change:+.2%})")
    return cells


def function_rows(
    found: dict[int, tuple[dict[str, int], list[tuple[str, int]]]], queries_: int
) -> list[list[str]]:
    """Functions whose instructions a query differ most between no and 32 segments."""
    tables = {segments: dict(functions) for segments, (_, functions) in found.items()}
    none, many = tables[0], tables.get(32, tables[max(tables)])
    names = sorted(none.keys() | many.keys(), key=lambda n: -abs(many.get(n, 0) - none.get(n, 0)))
    return [
        [f"`{name}`", *(f"{of.get(name, 0) / queries_:,.0f}" for of in tables.values())]
        for name in names[:12]
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--segments", type=int, nargs="+", default=list(SEGMENTS))
    args = parser.parse_args(arguments)
    found = measure(args)
    none = found[0][0]
    head = ["segments", "instructions a query", "loads", "D1 read misses", "D1 write misses"]
    rows = [row(segments, one, none, args.queries) for segments, (one, _) in found.items()]
    print(f"{machine()}; {args.rows:,} rows, {args.points} points, {args.queries} queries\n")
    print(markdown_table([*head, "I1 misses"], rows), "\n")
    print(
        markdown_table(["own instructions", *map(str, found)], function_rows(found, args.queries))
    )


if __name__ == "__main__":
    main()
