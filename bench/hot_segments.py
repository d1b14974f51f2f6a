"""Which share of the visits to a divided key cache has its hottest segment, if several tables are
asked whose roots lie in different segments? Why 64 segments are no better than 32.

    python bench/hot_segments.py --foretell
    python bench/hot_segments.py [--rows 1000000] [--queries 2000]

The rule: a page is in segment (page number + descriptor of its index file) mod n. With `--foretell`
it is applied to keys drawn as the study draws them, to each case of `CASES`; without a server.
Otherwise a private MariaDB has as many tables, opened in between others so that their descriptors
are those of the case; it is asked the same queries, and `information_schema.KEY_CACHES` counts.
Counts, no times: a busy host does not touch them.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import DATABASE, STUDY_OPTIONS, private_server
from rounds import machine, markdown_table

SEGMENTS = (32, 64)
POINTS = 10
LEAF, UPPER = 127, 92
"""Keys from one leaf to the next, the one that went above among them; pages below a page above."""


@dataclass(frozen=True)
class Case:
    """Tables by the descriptors of their index files, each less that of the first."""

    name: str
    apart: tuple[int, ...]


CASES = (
    Case("one table", (0,)),
    Case("two, roots apart at 32 and at 64", (0, 16)),
    Case("two, roots together at 32, apart at 64", (0, 32)),
    Case("two, roots together at both", (0, 64)),
    Case("four, apart", (0, 8, 16, 24)),
    Case("eight, apart", tuple(range(0, 32, 4))),
    Case("eight, in pairs at 32, apart at 64", (0, 8, 16, 24, 32, 40, 48, 56)),
    Case("sixteen, apart", tuple(range(0, 32, 2))),
    Case("thirty-two, in pairs at 32, apart at 64", tuple(range(0, 64, 2))),
)


def pages_of_key(rows: int) -> int:
    """Of a key that MyISAM builds by sorting, of three levels; the root is the file's last page."""
    leaves = -(-rows // LEAF)
    return leaves + -(-(leaves - 1) // UPPER) + 1


class Key:
    """The pages of a sorted key with three levels, in the order in which they were written.

    Attributes:
        numbers: of pages in the file, by level (0: leaves) and place in it.
        span: from the key behind a page of each level to that behind the next.
        last: the place of the last page of each level.
    """

    def __init__(self, rows: int, first: int) -> None:
        self.span = (LEAF, LEAF * UPPER)
        leaves = -(-rows // LEAF)
        self.root = first + pages_of_key(rows) - 1
        self.numbers: dict[tuple[int, int], int] = {}
        number, upper = first, 0
        for leaf in range(leaves):
            # A page above is written when the key behind its last page below comes.
            if leaf > 1 and (leaf - 1) % UPPER == 0:
                self.numbers[1, upper] = number
                number, upper = number + 1, upper + 1
            self.numbers[0, leaf] = number
            number += 1
        self.numbers[1, upper] = number
        self.last = (leaves - 1, upper)
        assert number + 1 == self.root, (number, self.root)


def drawn(queries: int, tables: int, rows: int) -> list[tuple[int, list[int]]]:
    """Tables and keys: three quarters of the keys in the middle hundredth of the rows, the others
    in a bell over all."""
    chance = random.Random(303)
    middle, width = rows // 2, max(1, rows // 200)

    def key() -> int:
        if chance.random() < 0.75:
            return middle + chance.randrange(-width, width)
        return 1 + int(rows * sum(chance.random() for _ in range(12)) / 12)

    return [
        (chance.randrange(tables), sorted({key() for _ in range(POINTS)})) for _ in range(queries)
    ]


def by_rule(
    asked: Sequence[tuple[int, list[int]]], key: Key, descriptors: Sequence[int], segments: int
) -> list[float]:
    """The share of each segment. Each key is walked to three times."""
    visits: Counter[int] = Counter()
    for table, keys in asked:
        for one in keys:
            pages = (
                key.root,
                key.numbers[1, min((one - 1) // key.span[1], key.last[1])],
                key.numbers[0, min((one - 1) // key.span[0], key.last[0])],
            )
            for page in pages:
                visits[(page + descriptors[table]) % segments] += 3
    return [visits[segment] / visits.total() for segment in range(segments)]


def foretold(rows: int, queries: int) -> str:
    key = Key(rows, 1)
    lines = []
    for case in CASES:
        asked = drawn(queries, len(case.apart), rows)
        shares = [by_rule(asked, key, case.apart, segments) for segments in SEGMENTS]
        few, many = (max(one) for one in shares)
        lines.append([case.name, f"{few:.1%}", f"{many:.1%}", f"{few / many:.2f}"])
    return markdown_table(["tables", "hottest of 32", "hottest of 64", "32 over 64"], lines)


def index_files(pid: int) -> dict[str, int]:
    """The descriptor of each table's index file that a server has open."""
    found = {}
    folder = Path(f"/proc/{pid}/fd")
    for one in folder.iterdir():
        try:
            target = str(one.readlink())
        except OSError:
            continue
        if target.endswith(".MYI"):
            found[Path(target).stem] = int(one.name)
    return found


def taken_by(pid: int) -> set[int]:
    return {int(one.name) for one in Path(f"/proc/{pid}/fd").iterdir()}


def next_descriptor(pid: int) -> int:
    """That of the index file that is opened next: the server reads the table's definition first,
    which has the lowest that is free."""
    taken = taken_by(pid)
    free = (number for number in itertools.count() if number not in taken)
    next(free)
    return next(free)


class Tables:
    """Tables with the same rows, of which each case opens some, and small ones to open between."""

    def __init__(self, server: Any, rows: int, count: int, others: int) -> None:
        self.server, self.rows, self.others = server, rows, others
        columns = "(id INT UNSIGNED NOT NULL, k INT UNSIGNED NOT NULL, KEY k (k))"
        with server.connect(DATABASE) as connection, connection.cursor() as cursor:
            for number in range(count):
                cursor.execute(f"CREATE TABLE t{number} {columns} ENGINE=MyISAM MAX_ROWS=50000000")
            for number in range(others):
                cursor.execute(f"CREATE TABLE o{number} {columns} ENGINE=MyISAM")
            cursor.execute(f"INSERT INTO t0 SELECT seq, seq FROM seq_1_to_{rows}")
            cursor.execute("FLUSH TABLES")
            cursor.execute("SELECT @@datadir")
            folder = Path(cursor.fetchone()[0]) / DATABASE
        for number in range(1, count):
            for ending in ("MYD", "MYI"):
                shutil.copyfile(folder / f"t0.{ending}", folder / f"t{number}.{ending}")
        pages = (folder / "t0.MYI").stat().st_size // 1024
        self.key = Key(rows, pages - pages_of_key(rows))

    def open(
        self, cursor: Any, apart: Sequence[int], connections: contextlib.ExitStack
    ) -> list[int]:
        """Opens a table for each, so that their descriptors are as far apart as wanted, and says
        what they are. A small table takes two descriptors, a connection one; those of statistics
        are not opened (`use_stat_tables`)."""
        cursor.execute("FLUSH TABLES")
        # None is left free among those that are taken.
        while next_descriptor(self.server.pid) < max(taken_by(self.server.pid)):
            connections.enter_context(self.server.connect(DATABASE))
        others = iter(range(self.others))
        first = None
        for number, by in enumerate(apart):
            while (
                first is not None and (short := first + by - next_descriptor(self.server.pid)) > 0
            ):
                if short == 1:
                    connections.enter_context(self.server.connect(DATABASE))
                    continue
                cursor.execute(f"SELECT COUNT(*) FROM o{next(others)}")
                cursor.fetchall()
            cursor.execute(f"SELECT id FROM t{number} LIMIT 1")
            cursor.fetchall()
            first = index_files(self.server.pid)[f"t{number}"] if first is None else first
        return tables_open(self.server.pid, len(apart))


def requests(cursor: Any) -> list[int]:
    cursor.execute(
        "SELECT READ_REQUESTS FROM information_schema.KEY_CACHES WHERE SEGMENT_NUMBER IS NOT NULL "
        "ORDER BY SEGMENT_NUMBER"
    )
    return [int(row[0]) for row in cursor.fetchall()]


def counted(args: argparse.Namespace) -> str:
    lines = []
    options = {**STUDY_OPTIONS, "open_files_limit": 8192, "use_stat_tables": "NEVER"}
    most = max(len(case.apart) for case in CASES)
    with private_server(options) as server:
        tables = Tables(server, args.rows, most, others=40)
        with (
            server.connect(DATABASE, read_timeout=600) as connection,
            connection.cursor() as cursor,
        ):
            for case in CASES:
                asked = drawn(args.queries, len(case.apart), args.rows)
                with contextlib.ExitStack() as connections:
                    descriptors = tables.open(cursor, case.apart, connections)
                line = [
                    case.name,
                    " ".join(str(b - a) for a, b in itertools.pairwise(descriptors)) or "-",
                ]
                for segments in SEGMENTS:
                    cursor.execute(f"SET GLOBAL key_cache_segments = {segments}")
                    names = ", ".join(f"t{number}" for number in range(len(case.apart)))
                    cursor.execute(f"LOAD INDEX INTO CACHE {names}")
                    cursor.fetchall()
                    before = requests(cursor)
                    for table, keys in asked:
                        words = ", ".join(map(str, keys))
                        cursor.execute(f"SELECT id FROM t{table} WHERE k IN ({words})")
                        cursor.fetchall()
                    counts = [b - a for a, b in zip(before, requests(cursor), strict=True)]
                    seen = [one / sum(counts) for one in counts]
                    said = by_rule(asked, tables.key, descriptors, segments)
                    off = max(abs(a - b) for a, b in zip(seen, said, strict=True))
                    same = seen.index(max(seen)) == said.index(max(said))
                    line += [f"{max(seen):.1%}", f"{max(said):.1%}{'' if same else ' elsewhere'}"]
                    line.append(f"{off:.2%}")
                still = tables_open(server.pid, len(case.apart))
                assert still == descriptors, f"tables were closed: {still}, {descriptors}"
                lines.append(line)
                print(line, flush=True)
    head = ["tables", "descriptors, each less the one before"]
    for segments in SEGMENTS:
        head += [f"hottest of {segments}", "by the rule", "any segment off by at most"]
    return markdown_table(head, lines)


def tables_open(pid: int, count: int) -> list[int]:
    found = index_files(pid)
    return [found[f"t{number}"] for number in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--foretell", action="store_true", help="the rule alone, without a server")
    args = parser.parse_args()
    if args.foretell:
        print(foretold(args.rows, args.queries))
        return
    print(f"{machine()}; {args.rows:,} rows a table, {args.queries:,} queries of {POINTS} points\n")
    print(counted(args))


if __name__ == "__main__":
    main()
