"""How often does `contend why` name the cause that was put into one of two servers?

    python bench/attribution.py [--count 24] [--minutes 60] [--only NAME] [--table]

Each case starts two private servers that run alike but for what is injected into the second, which
contend knows as two servers that run already, and runs the recipe `new-server-slower` on them. What
is injected, with which size, and which answers count as right stands in `INJECTIONS`; the order is
drawn by a seed. Kept case by case in `bench/results/attribution/cases.jsonl.gz` with the hash of
all that decides what is named (`attribution_rules.py`): begun anew, the command goes on with what
is missing under that hash.
`--table` prints the confusion matrix of what is there.

Named is what was confirmed. A case is *right* if that is one of the accepted answers and nothing
else, *wrong* if anything else was confirmed, else *unknown*: nothing was confirmed, or no
difference was certain. Where the candidate's treatment is the injector's own lever (`own_lever`),
the case counts apart: to lift a cause by what made it shows that the bookkeeping is right, and
little more.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attribution_rules import hash_of, rules
from lab import private_server
from rounds import RESULTS, machine, markdown_table
from scipy.stats import beta

from contend.servers import Dsn

CASES = RESULTS / "attribution" / "cases.jsonl.gz"
SEED = 20_261_125
TIMEOUT_S = 600.0
RUN_S, WHY_MINUTES = 20, 0.7
"""What a case measures first, and what it tries then: with the start and the filling of two servers
a case takes a minute and a half."""
TABLES = "sbtest"
"""The database that contend makes for its tables."""

Value = str | int
Case = dict[str, Any]


@dataclass(frozen=True)
class Injection:
    """What is other in the second server.

    options: it is started with; `both`: both servers are.
    sizes: settings of the experiment, for both; a size each. Where a treatment builds an index,
        there are fewer rows, so that it takes no longer than measuring.
    accepted: candidates that are right; none if nothing may be named.
    own_lever: the candidate's treatment sets the variable that was injected.
    after_load: a statement for the second server, once the tables are there.
    """

    name: str
    options: Mapping[str, Value]
    sizes: Sequence[Sequence[str]]
    accepted: Sequence[str]
    both: Mapping[str, Value] = field(default_factory=dict)
    own_lever: bool = True
    after_load: str = ""


INJECTIONS: tuple[Injection, ...] = (
    Injection(
        "missing_index",
        {},
        [[f"load.connections={n}", "data.rows=20000"] for n in (1, 4, 8)],
        ["missing-index"],
        both={"thread_cache_size": 64},
        after_load="ALTER TABLE sbtest DROP INDEX k",
    ),
    Injection(
        "thread_cache",
        {"thread_cache_size": 0},
        [[f"load.reconnect_every={n}", "load.connections=8"] for n in (2, 4, 10)],
        ["thread-cache"],
        both={"thread_cache_size": 64},
    ),
    Injection(
        "table_cache",
        {"table_open_cache": 10},
        [[f"load.connections={n}"] for n in (16, 32, 64)],
        ["table-cache"],
        both={"thread_cache_size": 64},
    ),
    Injection(
        "query_cache",
        {"query_cache_type": 1, "query_cache_size": 64 << 20},
        [[f"load.connections={n}"] for n in (4, 8, 32)],
        ["query-cache-lock"],
        both={"thread_cache_size": 64},
    ),
    Injection(
        "statement_log",
        {"general_log": 1},
        [[f"load.connections={n}"] for n in (4, 8, 32)],
        ["statement-log"],
        both={"thread_cache_size": 64},
    ),
    Injection(
        "buffer_pool",
        {"innodb_buffer_pool_size": 6 << 20},
        [[f"load.connections={n}"] for n in (2, 4, 8)],
        ["buffer-pool-reads"],
        both={"thread_cache_size": 64, "innodb_flush_method": "O_DIRECT"},
    ),
    Injection(
        "temporary_tables",
        {"tmp_table_size": 1024, "max_heap_table_size": 16384},
        [[f"load.connections={n}"] for n in (2, 4, 8)],
        ["temporary-tables-on-disk"],
        both={"thread_cache_size": 64},
    ),
    Injection(
        "none",
        {},
        [[f"load.connections={n}"] for n in (2, 8, 32)],
        [],
        both={"thread_cache_size": 64},
    ),
)


def drawn() -> Iterator[tuple[str, Injection, Sequence[str]]]:
    """All cases in the order in which they are made, each with a key, without end."""
    chance = random.Random(SEED)
    repeat = 0
    while True:
        every = [(one, size) for one in INJECTIONS for size in range(len(one.sizes))]
        chance.shuffle(every)
        for one, size in every:
            yield f"{one.name}/{size}/{repeat}", one, one.sizes[size]
        repeat += 1


def read_cases() -> list[Case]:
    if not CASES.exists():
        return []
    with gzip.open(CASES, "rt") as file:
        return [json.loads(line) for line in file]


def keep(case: Case) -> None:
    CASES.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(CASES, "at") as file:
        file.write(json.dumps(case, separators=(",", ":")) + "\n")


def contend(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("contend")
    return subprocess.run(
        [str(program), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def attribute(one: Injection, sets: Sequence[str]) -> Case:
    """Make a case: two servers, the recipe, and what was named."""
    laps = [time.monotonic()]
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="contend-attr-")))
        servers = [
            stack.enter_context(private_server({**one.both, **options}))
            for options in ({}, one.options)
        ]
        names = [str(Dsn(user="root", socket=server.socket)) for server in servers]
        given = [
            f"server.use={json.dumps(names)}",
            f'compare.baseline={{ "server.use" = {json.dumps(names[0])} }}',
            f"compare.at_most={RUN_S}s",
            "experiment.why=false",
            *sets,
        ]
        flags = [part for text in given for part in ("--set", text)]
        out = folder / "run"
        if one.after_load:
            contend(
                *("run", "new-server-slower", "--quick", "--yes", "--out", str(folder / "load")),
                *(*flags, "--set", "compare.at_most=3s"),
                folder=folder,
            )
            with servers[1].connect(TABLES) as connection, connection.cursor() as cursor:
                cursor.execute(one.after_load)
        laps.append(time.monotonic())
        done = contend(
            *("run", "new-server-slower", "--quick", "--yes", "--out", str(out), *flags),
            folder=folder,
        )
        laps.append(time.monotonic())
        minutes = ("--minutes", str(WHY_MINUTES))
        told = contend("why", str(out), "--json", "--yes", *minutes, folder=folder)
        laps.append(time.monotonic())
        found: dict[str, Any] = {}
        with contextlib.suppress(ValueError):
            found = json.loads(told.stdout)
    tried = found.get("tried") or {}
    by_verdict: dict[str, list[str]] = {"confirmed": [], "refuted": [], "not certain": []}
    for each in tried.get("candidates", ()):
        by_verdict[each["verdict"]].append(each["record"]["candidate"])
    return {
        "named": by_verdict["confirmed"],
        "refuted": by_verdict["refuted"],
        "open": by_verdict["not certain"],
        "log_difference": (tried.get("log_difference") or {}).get("mean"),
        "said": found.get("sentence") or (told.stderr or done.stderr).strip()[-400:],
        "code": done.returncode,
        "repeats": tried.get("repeats"),
        "seconds": round(laps[-1] - laps[0], 1),
        "seconds_of": {
            name: round(after - before, 1)
            for name, (before, after) in zip(
                ("servers", "run", "why"), itertools.pairwise(laps), strict=True
            )
        },
    }


def verdict(case: Case) -> str:
    """right, wrong or unknown."""
    named = set(case["named"])
    if not named:
        return "right" if not case["accepted"] else "unknown"
    return "right" if named <= set(case["accepted"]) else "wrong"


def make(count: int, minutes: float, only: str | None) -> None:
    until, now = time.monotonic() + 60 * minutes, hash_of(rules(INJECTIONS))
    made = {case["key"] for case in read_cases() if case["signatures"] == now}
    wanted = (each for each in drawn() if only is None or each[1].name == only)
    for _, (key, one, sets) in zip(range(count), wanted, strict=False):
        if key in made:
            continue
        if time.monotonic() > until:
            return
        case: Case = {
            "key": key,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": machine(),
            "load": Path("/proc/loadavg").read_text().split()[0],
            "signatures": now,
            "injected": one.name,
            "sets": list(sets),
            "accepted": list(one.accepted),
            "own_lever": one.own_lever,
        }
        try:
            case |= attribute(one, sets)
        except subprocess.TimeoutExpired:
            case |= {"named": [], "refuted": [], "open": [], "said": "took too long", "code": -1}
        keep(case)
        print(
            f"{key}: {verdict(case)}: {case['named']} {case['said']}", file=sys.stderr, flush=True
        )


def table() -> str:
    """The confusion matrix: what was injected, and what was named."""
    now = hash_of(rules(INJECTIONS))
    cases = [case for case in read_cases() if case["signatures"] == now]
    named = sorted({name for case in cases for name in case["named"]})
    rows = []
    for one in sorted({case["injected"] for case in cases}):
        of = [case for case in cases if case["injected"] == one]
        counts = Counter(name for case in of for name in case["named"])
        nothing = sum(not case["named"] for case in of)
        right = sum(verdict(case) == "right" for case in of)
        by_name = (str(counts[name] or "") for name in named)
        rows.append([one, str(len(of)), *by_name, str(nothing), f"{right} of {len(of)}"])
    wrong = sum(verdict(case) == "wrong" for case in cases)
    low, high = exact(wrong, len(cases))
    head = ["injected", "cases", *(f"`{name}`" for name in named), "nothing named", "right"]
    return (
        f"{markdown_table(head, rows)}\n\nWrong: {wrong} of {len(cases)} "
        f"(95 %: {low:.1%} to {high:.1%}, Clopper-Pearson). Signatures {now}.\n"
    )


def exact(count: int, of: int) -> tuple[float, float]:
    """The interval of a share, by Clopper and Pearson."""
    low = 0.0 if count == 0 else float(beta.ppf(0.025, count, of - count + 1))
    high = 1.0 if count == of else float(beta.ppf(0.975, count + 1, of - count))
    return low, high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=8 * 3)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--only", choices=[one.name for one in INJECTIONS])
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if not args.table:
        make(args.count, args.minutes, args.only)
    print(table())


if __name__ == "__main__":
    main()
