"""Speed and memory of `contend-load recording import` on a slow log of any size.

    python bench/log_import.py [--gb 1] [--stamps exact|seconds]

A log with the statements of a small shop is written to a temporary folder: point reads, lists,
joins and inserts with literals, of 64 sessions. It is imported from the file system's cache and by
one process, and the output is MB of log per second of elapsed and of CPU time, and the process's
largest resident memory.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from contend.load import find_program

BEGIN_S = 1_773_136_800
SESSIONS = 64
PER_SECOND = 4_000
BLOCK = 20_000
BANNER = b"mysqld, Version: 8.4.6. started with:\nTcp port: 3306\nTime  Id Command Argument\n"


def statements(drawn: random.Random) -> str:
    """A statement of the shop with its literals."""
    key = drawn.randrange(1_000_000)
    kind = drawn.random()
    if kind < 0.5:
        return f"SELECT id, name, price FROM item WHERE id = {key}"
    if kind < 0.7:
        keys = ",".join(str(drawn.randrange(1_000_000)) for _ in range(10))
        return f"SELECT id, name FROM item WHERE id IN ({keys}) AND name <> 'it''s {key}'"
    if kind < 0.85:
        return (
            "SELECT c.name, SUM(s.amount) FROM customer c JOIN sale s ON s.customer_id = c.id\n"
            f"WHERE c.city = 'City {key % 500}' AND s.day BETWEEN '2026-01-01' AND '2026-02-01'\n"
            "GROUP BY c.name ORDER BY 2 DESC LIMIT 20"
        )
    return f"INSERT INTO sale (item_id, amount, note) VALUES ({key}, 3, 'note {key} \\' x; y')"


def entries(exact: bool) -> Iterator[bytes]:
    """Blocks of a log: as MySQL writes it with exact stamps, else as MariaDB does."""
    drawn = random.Random(1)
    number, last = 0, 0
    yield BANNER
    while True:
        block = []
        for _ in range(BLOCK):
            us = BEGIN_S * 1_000_000 + number * (1_000_000 // PER_SECOND)
            number += 1
            second, thread = us // 1_000_000, drawn.randrange(SESSIONS) + 10
            took = drawn.randrange(100, 9_000)
            if exact:
                told = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
                use = "use shop;\n" if number == 1 else ""
                head = (
                    f"# Time: {told}.{us % 1_000_000:06d}Z\n"
                    f"# User@Host: shop[shop] @ app1 [10.0.0.11]  Id: {thread:5d}\n"
                    f"# Query_time: 0.{took:06d}  Lock_time: 0.000002"
                    f" Rows_sent: 1  Rows_examined: 1\n{use}"
                )
            else:
                told = time.strftime("# Time: %y%m%d %H:%M:%S\n", time.gmtime(second))
                head = (
                    f"{told if second != last else ''}# User@Host: shop[shop] @ app1 [10.0.0.11]\n"
                    f"# Thread_id: {thread}  Schema: shop  QC_hit: No\n"
                    f"# Query_time: 0.{took:06d}  Lock_time: 0.000051"
                    "  Rows_sent: 1  Rows_examined: 1\n"
                    "# Rows_affected: 0  Bytes_sent: 120\n"
                )
            last = second
            block.append(f"{head}SET timestamp={second};\n{statements(drawn)};\n")
        yield "".join(block).encode()


def write(path: Path, size: int, exact: bool) -> int:
    written = 0
    with path.open("wb") as log:
        for block in entries(exact):
            written += log.write(block)
            if written >= size:
                return written
    return written


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gb", type=float, default=1.0, help="size of the log in 10^9 bytes")
    parser.add_argument("--stamps", choices=("exact", "seconds"), default="seconds")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log, recording = Path(folder, "slow.log"), Path(folder, "recording")
        size = write(log, int(arguments.gb * 1e9), arguments.stamps == "exact")
        command = [str(find_program()), "recording", "import", str(log), "--to", str(recording)]
        measured = subprocess.run(
            ["/usr/bin/time", "-f", "%e %U %S %M", *command],
            capture_output=True,
            text=True,
            check=True,
        )
        elapsed, user, system, memory = map(float, measured.stderr.split()[-4:])
        outcome = json.loads(measured.stdout)
    print(f"log: {size / 1e6:.0f} MB, {outcome['statements']} statements")
    print(f"recording: {outcome['bytes'] / 1e6:.0f} MB")
    print(f"elapsed: {elapsed:.1f} s, {size / 1e6 / elapsed:.0f} MB/s")
    print(f"CPU: {user + system:.1f} s, {size / 1e6 / (user + system):.0f} MB/s")
    print(f"largest resident memory: {memory / 1024:.0f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
