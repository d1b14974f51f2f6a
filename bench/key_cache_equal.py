"""Does the model server's key cache count what MariaDB's counts, segment by segment?

    python bench/key_cache_equal.py [--rows 100000 1000000] [--queries 10000]

A private MariaDB has the study's table. The same queries (10 points each, drawn as the study draws
them) are asked of it over one connection, beginning with an empty key cache; of
`contend-load model-server`; and of the model's core without a server, which is told the file
descriptor that MariaDB has of the index file. Compared are the READ_REQUESTS and READS of all
segments, with key caches of an eighth, a quarter and half of the index. Beside it, all pages of
MariaDB's index file and all rows of its data file are compared with what the model computes.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection
from rounds import markdown_table, publish

from contend.experiment import DataSpec
from contend.load import Address, FillProcess, find_program
from contend.servers import PrivateServer, debian

ROOT = Path(__file__).parents[1]
TABLE, SEED = "sbtest", 303
POINTS = 10
MEMORY_UNIT = 4096
"""`key_buffer_size` is a multiple of it."""
SEGMENT_BYTES = 16384
"""Less memory for a segment than this is refused by the model, and given to fewer by MariaDB."""
COLUMNS = "READ_REQUESTS, `READS`, USED_BLOCKS, UNUSED_BLOCKS"


@dataclass(frozen=True)
class Sizes:
    """The variables of a server that make its key cache, as it spells them."""

    key_buffer_size: int
    key_cache_segments: int
    key_cache_division_limit: int
    key_cache_age_threshold: int


@dataclass(frozen=True)
class Counted:
    """What one segment counted."""

    read_requests: int
    reads: int
    used_blocks: int
    unused_blocks: int


@dataclass(frozen=True)
class Answer:
    """What all segments counted, and how many rows came."""

    segments: list[Counted]
    rows: int


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--segments", type=int, default=32)
    asked = parser.parse_args()
    core, binary = example(), debian.get("mariadb")
    rows, files = [], []
    for count in asked.rows:
        with tempfile.TemporaryDirectory() as work:
            server = PrivateServer(binary, Path(work) / "server")
            with server, model_server(Path(work) / "model", count) as model:
                server.initialise()
                server.start({"query_cache_type": 0, "query_cache_size": 0})
                data = DataSpec(rows=count, engine="MyISAM", seed=SEED)
                address = Address(socket=str(server.socket), database=data.database)
                FillProcess(find_program()).run(data, address, on_progress=lambda *_: None)
                queries = drawn(count, asked.queries)
                files.append(same_files(server, data.database, core, count))
                index_bytes = index_file(server, data.database).stat().st_size
                for part, limit in itertools.product((8, 4, 2), (100, 30)):
                    size = index_bytes // part
                    segments = min(asked.segments, size // SEGMENT_BYTES)
                    sizes = Sizes(size, segments, limit, 300)
                    with server.connect(data.database) as connection:
                        theirs = asked_of_server(connection, sizes, queries)
                        descriptor = descriptor_of(server.pid, index_file(server, data.database))
                    with connect(model) as connection:
                        models = asked_of_server(connection, sizes, queries)
                    cores = asked_of_core(core, count, descriptor, sizes, queries)
                    about = [f"{count:,}", f"1/{part}", str(limit), str(segments)]
                    rows.append([*about, *compared(theirs, models, cores)])
                    print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    head = [
        *("rows", "cache to index", "division limit", "segments", "blocks of each"),
        *("requests, MariaDB", "model server", "core", "segments alike"),
        *("reads, MariaDB", "model server", "core", "segments alike", "rows"),
    ]
    facts = [
        binary.name,
        f"MyISAM, `k` the row's number, seed {SEED}, filled by contend-load",
        f"{asked.queries:,} queries of {POINTS} points over one connection, 75 % of the points in "
        "the middle 1 % of the rows; key_cache_age_threshold 300",
        "alike: of how many segments the counts of all three are the same to the last one; the "
        "model server's are turned by as many segments as its file descriptor differs, the core is "
        "told MariaDB's and its counts are not turned",
        "where one figure stands for blocks or rows, all three have it",
        *files,
    ]
    title = "The model's key cache beside MariaDB's"
    publish("key-cache-equal", title, facts, markdown_table(head, rows))
    return 0


def example() -> Path:
    """The program that prints what the model's key cache counts, built."""
    command = ["cargo", "build", "--quiet", "--locked", "--example", "key_cache"]
    subprocess.run(command, check=True, cwd=ROOT)
    return ROOT / "target" / "debug" / "examples" / "key_cache"


def drawn(rows: int, count: int) -> list[list[int]]:
    """Queries whose points are spread as SysBench 0.5 spreads them by default."""
    stream = random.Random(SEED)
    hot = max(1, rows // 100)
    first = (rows - hot) // 2 + 1

    def point() -> int:
        if stream.random() < 0.75:
            return first + stream.randrange(hot)
        return 1 + int(sum(stream.random() for _ in range(12)) / 12 * rows)

    return [[point() for _ in range(POINTS)] for _ in range(count)]


@contextlib.contextmanager
def model_server(folder: Path, rows: int) -> Iterator[Path]:
    """The model server on a socket in a folder of its own, until the block ends."""
    folder.mkdir()
    socket = folder / "s"
    command = [find_program(), "model-server", f"--socket={socket}", f"--rows={rows}"]
    process = subprocess.Popen([*command, f"--seed={SEED}"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.strip():
            raise SystemExit("the model server did not start")
        yield socket
    finally:
        process.terminate()
        process.wait()


def connect(socket: Path) -> Connection[Any]:
    """A connection to the model server."""
    return pymysql.connect(unix_socket=str(socket), user="root", database=TABLE)


def compared(theirs: Answer, models: Answer, cores: Answer) -> list[str]:
    """The right part of a row: blocks, then requests and reads of all three, then rows."""
    turns = range(len(models.segments))
    turned = max(
        (models.segments[turn:] + models.segments[:turn] for turn in turns),
        key=lambda segments: sum(a == b for a, b in zip(theirs.segments, segments, strict=True)),
    )

    def all_three(name: str) -> list[str]:
        both = zip(theirs.segments, turned, cores.segments, strict=True)
        counts = [tuple(getattr(one, name) for one in segments) for segments in both]
        alike = sum(len(set(one)) == 1 for one in counts)
        sums = [f"{sum(column):,}" for column in zip(*counts, strict=True)]
        return [*sums, f"{alike} of {len(counts)}"]

    def figure(values: Iterable[int]) -> str:
        return " / ".join(f"{value:,}" for value in sorted(set(values)))

    answers = [theirs, models, cores]
    segments = [one for answer in answers for one in answer.segments]
    return [
        figure(one.used_blocks + one.unused_blocks for one in segments),
        *all_three("read_requests"),
        *all_three("reads"),
        figure(answer.rows for answer in answers),
    ]


def asked_of_core(
    core: Path, rows: int, descriptor: int, sizes: Sizes, queries: Sequence[Sequence[int]]
) -> Answer:
    """What the core without a server counts."""
    head = {"rows": rows, "descriptor": descriptor, **vars(sizes)}
    answer = told(core, [json.dumps(head), *(" ".join(map(str, keys)) for keys in queries)])
    return Answer([Counted(**one) for one in answer["segments"]], answer["rows"])


def same_files(server: PrivateServer, database: str, core: Path, rows: int) -> str:
    """How much of the server's files is as the model computes it."""
    with server.connect(database) as connection, connection.cursor() as cursor:
        cursor.execute("FLUSH TABLES")
    index = index_file(server, database)
    files = {"index_file": str(index), "data_file": str(index.with_suffix(".MYD"))}
    answer = told(core, [json.dumps({"rows": rows, "seed": SEED, **files})])
    return (
        f"{rows:,} rows: of {answer['pages']:,} index pages behind the header "
        f"{answer['pages_alike']:,} are in the server's file as the model computes them, of all "
        f"rows {answer['rows_alike']:,}"
    )


def told(core: Path, lines: Sequence[str]) -> dict[str, Any]:
    """What the core says to these lines."""
    text = "\n".join(lines)
    said = subprocess.run([core], input=text, capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(said.stdout)
    return answer


def asked_of_server(
    connection: Connection[Any], sizes: Sizes, queries: Sequence[Sequence[int]]
) -> Answer:
    """What a server counts, beginning with an empty key cache."""
    rows = 0
    with connection.cursor() as cursor:

        def counted() -> list[tuple[int, ...]]:
            cursor.execute(
                f"SELECT SEGMENT_NUMBER, {COLUMNS} FROM information_schema.KEY_CACHES"
                " WHERE SEGMENT_NUMBER IS NOT NULL"
            )
            return [one[1:] for one in sorted(tuple(map(int, row)) for row in cursor.fetchall())]

        for name, value in vars(sizes).items():
            cursor.execute(f"SET GLOBAL {name} = {value:d}")
        cursor.execute(f"SELECT id FROM {TABLE} WHERE id = 1")
        # A key cache that is made anew is empty.
        for size in (sizes.key_buffer_size + MEMORY_UNIT, sizes.key_buffer_size):
            cursor.execute(f"SET GLOBAL key_buffer_size = {size:d}")
        before = counted()
        for keys in queries:
            values = ", ".join(map(str, keys))
            rows += cursor.execute(f"SELECT id, k, c, pad FROM {TABLE} WHERE k IN ({values})")
        counts = [
            Counted(after[0] - begun[0], after[1] - begun[1], after[2], after[3])
            for begun, after in zip(before, counted(), strict=True)
        ]
    return Answer(counts, rows)


def index_file(server: PrivateServer, database: str) -> Path:
    return server.data_folder / database / f"{TABLE}.MYI"


def descriptor_of(pid: int, path: Path) -> int:
    """The number by which a process has a file open."""
    wanted = os.path.realpath(path)
    for one in Path(f"/proc/{pid}/fd").iterdir():
        if os.path.realpath(one) == wanted:
            return int(one.name)
    raise SystemExit(f"process {pid} does not have {path} open")


if __name__ == "__main__":
    raise SystemExit(main())
