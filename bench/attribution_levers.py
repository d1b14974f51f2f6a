"""How often does `contend why` name a cause that is not made by what takes it away?

    python bench/attribution_levers.py [--minutes 60] [--rounds 1] [--only NAME] [--table]

In `attribution.py` a variable is set and the treatment sets it back. Here the second server has a
slow disk, a slow way in, rows that somebody else holds, a longer way to it or a neighbour, and what
may take that away is another thing: a log that is not flushed, connections that last, rows asked
for alike, fewer round trips, a higher priority. Two more are set by variables that take a start;
for these, and for the neighbour, contend starts the servers itself.

What is injected and what counts as right stands in `LEVERS`; the order is drawn by a seed, with
each cause once more for a contend that does not have it. Kept case by case in
`bench/results/attribution/levers.jsonl.gz`; begun anew, the command goes on. Right, wrong and
unknown are those of `attribution.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pymysql
from attribution import (
    CHANGES,
    FIRST_ONLY_MEASURED,
    INJECTIONS,
    KEPT,
    TABLES,
    Case,
    Value,
    compared,
    counting,
    exact,
    flags_of,
    load,
    make_missing,
    told_of,
    verdict,
)
from attribution_rules import hash_of, rules
from lab import private_server
from rounds import RESULTS, markdown_table

from contend.load import Address, Lines, find_program
from contend.servers import Dsn, PrivateServer

CASES = RESULTS / "attribution" / "levers.jsonl.gz"
SEED = 20_261_127
HERE = Path(__file__).parent
STARTS_MINUTES = 4.0
"""What is tried of servers that contend starts: every treatment may take a start of both."""

POINTS = "kind = \"sql\"\ntext = '''\nSELECT c FROM sbtest WHERE id = {id:uniform(1, 100000)};\n'''"
CHANGED_ROWS = f"kind = \"sql\"\ntext = '''\n{CHANGES}\n'''"
MANY_ROWS = 'kind = "batch_select"\nbatch_rows = 10\nselect_by = "select"'
HOT_ROWS = """kind = "update_non_index"
distribution = { kind = "special", pct = 1, res = 75, iter = 12 }"""

EXPERIMENT = """
[experiment]
name = "one-is-slower"
question = "Why is one of two servers slower?"
[data]
engine = "InnoDB"
rows = 100_000
[load]
connections = {connections}
warmup = "150ms"
measure = "700ms"
{load}
[workload]
{workload}
"""

Beside = Callable[[PrivateServer, int], contextlib.AbstractContextManager[None]]


@dataclass(frozen=True)
class Lever:
    """What is other in the second server.

    sizes: of what is injected.
    accepted: candidates that are right.
    both: options of both servers.
    connections: of both.
    slow: the call that takes so many microseconds longer (`slow_calls.c`).
    round_trip: the second server is so many microseconds farther away.
    beside: what goes on beside the load, once the tables are there.
    start: how the second server is started otherwise (`injected_start.py`), with the size in it;
        and how the first one is.
    by_runs: only one of two servers is there at a time.
    """

    name: str
    sizes: Sequence[int]
    accepted: Sequence[str]
    both: Mapping[str, Value]
    workload: str = POINTS
    connections: int = 4
    load: str = ""
    slow: str | None = None
    round_trip: bool = False
    beside: Beside | None = None
    start: tuple[str, str] | None = None
    by_runs: bool = False


@contextlib.contextmanager
def held_rows(server: PrivateServer, held_ms: int) -> Iterator[None]:
    """Somebody locks the rows that most want, for so long of each 40 ms."""
    is_over = threading.Event()

    def hold() -> None:
        with server.connect(TABLES) as connection, connection.cursor() as cursor:
            while not is_over.is_set():
                cursor.execute("BEGIN")
                # Tables that were written to much are made anew between two runs.
                with contextlib.suppress(pymysql.err.MySQLError):
                    cursor.execute(
                        "SELECT COUNT(*) FROM sbtest WHERE id BETWEEN 49500 AND 50500 FOR UPDATE"
                    )
                time.sleep(held_ms / 1000)
                cursor.execute("COMMIT")
                time.sleep((40 - held_ms) / 1000)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        yield
    finally:
        is_over.set()
        holder.join()


_COMMITS = {**KEPT, "innodb_flush_log_at_trx_commit": 1}
_LAZY = {**KEPT, "innodb_flush_log_at_trx_commit": 2}
_SMALL_POOL: Mapping[str, Value] = {
    "innodb_buffer_pool_size": 6 << 20,
    "innodb_flush_method": "O_DIRECT",
}

_BINARY_LOG = {**_LAZY, "log_bin": "binlog", "sync_binlog": 1}

LEVERS: tuple[Lever, ...] = (
    Lever(
        "slow disk, commits", (500, 1000, 3000), ["log-flush"], _COMMITS, CHANGED_ROWS, slow="FLUSH"
    ),
    Lever(
        "slow disk, binary log",
        (500, 1000, 3000),
        ["binary-log-flush"],
        _BINARY_LOG,
        CHANGED_ROWS,
        slow="FLUSH",
    ),
    Lever(
        "slow disk, reads",
        (100, 300, 1000),
        ["buffer-pool-reads"],
        {**KEPT, **_SMALL_POOL},
        slow="READ",
    ),
    Lever(
        "slow way in",
        (300, 1000, 3000),
        ["connection-setup"],
        KEPT,
        connections=8,
        load="reconnect_every = 4",
        slow="ACCEPT",
    ),
    Lever("long way", (100, 300, 1000), ["round-trips"], KEPT, MANY_ROWS, round_trip=True),
    Lever("held rows", (5, 10, 20), ["row-lock"], _LAZY, HOT_ROWS, connections=8, beside=held_rows),
    Lever("neighbour", (1, 2, 4), ["neighbour"], KEPT, start=("", "--burn {}"), by_runs=True),
    Lever(
        "watched by itself",
        (4, 8, 32),
        ["instrumentation"],
        KEPT,
        start=(
            "",
            "--option performance_schema=ON --option performance_schema_instrument=%=ON "
            "--option performance_schema_consumer_events_waits_current=ON "
            "--option performance_schema_consumer_events_waits_history_long=ON",
        ),
    ),
    Lever(
        "pages written twice",
        (2, 4, 8),
        ["doublewrite"],
        {**_LAZY, **_SMALL_POOL},
        CHANGED_ROWS,
        start=("--option innodb_doublewrite=0", "--option innodb_doublewrite=1"),
    ),
)
"""Sizes of the last two are numbers of connections."""


def drawn(rounds: int) -> Iterator[tuple[str, Lever, int, str]]:
    """All cases in the order in which they are made: a key each, the lever, its size, and the
    candidate that contend does not have this time, if any."""
    chance = random.Random(SEED)
    for repeat in range(rounds):
        every = [(one, size, "") for one in LEVERS for size in one.sizes]
        every += [(one, one.sizes[repeat % len(one.sizes)], one.accepted[0]) for one in LEVERS]
        chance.shuffle(every)
        for one, size, without in every:
            yield f"{one.name}/{size}/{repeat}" + "/without" * bool(without), one, size, without


def connections_of(one: Lever, size: int) -> int:
    """A size that is nothing of the start is a number of connections."""
    return size if one.start is not None and "{}" not in one.start[1] else one.connections


def experiment_of(one: Lever, size: int, folder: Path) -> Path:
    """Its file, without the servers."""
    file = folder / "one-is-slower.toml"
    text = EXPERIMENT.format(
        connections=connections_of(one, size), load=one.load, workload=one.workload
    )
    if one.start is not None:
        options = ", ".join(f"{name} = {json.dumps(value)}" for name, value in one.both.items())
        text += f"[server]\noptions = {{ {options} }}\n"
    file.write_text(text)
    return file


def far_off(lines: Lines, socket: str, round_trip_us: int) -> str:
    """The socket of a delay line before another one."""
    found = lines.before(Address(socket=socket), round_trip_us / 1e6).address.socket
    assert found is not None
    return found


def started_by_contend(one: Lever, size: int, folder: Path) -> list[str]:
    """Settings by which contend starts two servers, the second one with what is injected."""
    assert one.start is not None
    wraps = []
    for name, how in zip(("first", "second"), one.start, strict=True):
        file = folder / name
        program = f"{sys.executable} {HERE / 'injected_start.py'}"
        file.write_text(f'#!/bin/sh\nexec {program} {how.format(size)} -- "$@"\n')
        file.chmod(0o755)
        wraps.append(str(file))
    return [*compared("server.wrap", wraps), *(['compare.by="runs"'] if one.by_runs else ())]


def slow_calls(folder: Path) -> Path:
    """The library, built."""
    made = folder / "slow_calls.so"
    command = ["cc", "-O1", "-shared", "-fPIC", "-o", str(made), str(HERE / "slow_calls.c"), "-ldl"]
    subprocess.run(command, check=True)
    return made


def attribute(one: Lever, size: int, without: str) -> Case:
    begun = time.monotonic()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="contend-attr-")))
        command = ["run", str(experiment_of(one, size, folder)), "--yes"]
        if one.start is not None:
            command += flags_of([*FIRST_ONLY_MEASURED, *started_by_contend(one, size, folder)])
            return told_of(
                command, folder, begun, one.accepted, without=without, minutes=STARTS_MINUTES
            )
        slow = {"LD_PRELOAD": str(slow_calls(folder)), f"SLOW_{one.slow}_US": str(size)}
        servers = [
            stack.enter_context(private_server(one.both, environment=environment))
            for environment in ({}, slow if one.slow else {})
        ]
        ways = [str(server.socket) for server in servers]
        if one.round_trip:
            lines = stack.enter_context(contextlib.closing(Lines(find_program())))
            ways = [far_off(lines, *each) for each in zip(ways, (0, size), strict=True)]
        names = [str(Dsn(user="root", socket=Path(way))) for way in ways]
        command += flags_of([*FIRST_ONLY_MEASURED, *compared("server.use", names)])
        if one.beside is not None:
            load(command, folder)
            stack.enter_context(one.beside(servers[1], size))
        return told_of(command, folder, begun, one.accepted, without=without)


def make(rounds: int, minutes: float, only: str | None) -> None:
    make_missing(
        CASES,
        minutes,
        (
            (key, one, without, {}, partial(attribute, one, size, without))
            for key, one, size, without in drawn(rounds)
            if only in (None, one.name)
        ),
    )


def table() -> str:
    """Of each lever how many cases were right, unknown and wrong, and what was named."""
    now = hash_of(rules(INJECTIONS))
    cases = counting(CASES, now)
    rows = []
    for without in (False, True):
        of = [case for case in cases if bool(case["without"]) is without]
        for one in LEVERS:
            theirs = [case for case in of if case["injected"] == one.name]
            found = [verdict(case) for case in theirs]
            named = sorted({name for case in theirs for name in case["named"]})
            rows.append(
                [
                    one.name + (", without its candidate" if without else ""),
                    str(len(theirs)),
                    *(str(found.count(which)) for which in ("right", "unknown", "wrong")),
                    ", ".join(f"`{name}`" for name in named),
                ]
            )
    right = sum(verdict(case) == "right" for case in cases)
    low, high = exact(right, len(cases))
    head = ["injected", "cases", "right", "unknown", "wrong", "named"]
    return (
        markdown_table(head, rows)
        + f"\n{right} of {len(cases)} right ({low:.1%} to {high:.1%}), signatures {now}.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--only", choices=[one.name for one in LEVERS])
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if not args.table:
        make(args.rounds, args.minutes, args.only)
    print(table())


if __name__ == "__main__":
    main()
