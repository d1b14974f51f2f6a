"""How often does `contend why` name the cause that was put into one of two servers?

    python bench/attribution.py [--count 240] [--minutes 60] [--only NAME] [--table]

Each case starts two private servers that run alike but for what is injected into the second, which
contend knows as two servers that run already, and runs the recipe `new-server-slower` on them. Or
it has two model servers, one of them slower by something that is no candidate of contend's. What
is injected, with which size, and which answers count as right stands in `INJECTIONS`; the order is
drawn by a seed. Kept case by case in `bench/results/attribution/cases.jsonl.gz` with the hash of
all that decides what is named (`attribution_rules.py`): begun anew, the command goes on with what
is missing under that hash.
`--table` prints the confusion matrix of what is there.

Named is what was confirmed, or found to be a part of it. A case is *right* if that is one of the
accepted answers and nothing else, *wrong* if anything else was named, else *unknown*: nothing was
named, or no difference was certain. Where nothing was injected, or where contend does not have the
true candidate, right is that nothing was named. Every cause is lifted by the variable that made it:
that shows that signs and bookkeeping are right, and not more.
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol, get_args

import numpy as np
from attribution_rules import hash_of, rules
from lab import private_server
from rounds import RESULTS, machine, markdown_table
from scipy.stats import beta

from contend.experiment.settings.treatments import UNTREATED
from contend.findings import study_of
from contend.findings.study import sides_under
from contend.servers import Dsn, PrivateServer
from contend.store import RunFolder
from contend.store.folder import WITHIN
from contend.store.model import NotARunFolder
from contend.why.tried import TriedVerdict

CASES = RESULTS / "attribution" / "cases.jsonl.gz"
SEED = 20_261_125
TIMEOUT_S = 600.0
RUN_S, WHY_MINUTES = 20, 1.2
"""What a case measures first, and what it tries then at most: with two servers and their rows 30 s
if nothing differs, else 60 to 100 s."""
FIRST_ONLY_MEASURED = (f"compare.at_most={RUN_S}s", "experiment.why=false")
TABLES = "sbtest"
"""The database that contend makes for its tables."""

Value = str | int
Case = dict[str, Any]


@dataclass(frozen=True)
class Injection:
    """What is other in the second server.

    options: it is started with; `both`: both servers are, if `options` has nothing else.
    sizes: settings of the experiment, for both; a size each. Where a treatment builds an index,
        there are fewer rows, so that it takes no longer than measuring.
    accepted: candidates that are right; none if nothing may be named.
    after_load: a statement for the second server, once the tables are there.
    on_model: what is injected is a knob of the model server, which stands in `sizes`.
    """

    name: str
    options: Mapping[str, Value]
    sizes: Sequence[Sequence[str]]
    accepted: Sequence[str]
    both: Mapping[str, Value]
    after_load: str = ""
    on_model: bool = False


KEPT: Mapping[str, Value] = {"thread_cache_size": 64}
"""Of both servers in nearly all cases, so that connections alone are no difference."""


def connections(*counts: int, **sets: Any) -> list[list[str]]:
    """A size for each number of connections, with further settings that all have."""
    more = [f"{path.replace('__', '.')}={json.dumps(value)}" for path, value in sets.items()]
    return [[f"load.connections={count}", *more] for count in counts]


CHANGES = "UPDATE sbtest SET k = k + 1 WHERE id = {id:uniform(1, 100000)};"
SORTS = "SELECT id, c FROM sbtest WHERE id BETWEEN {a:uniform(1, 90000)} AND {a} + 3000 ORDER BY c;"
POINTS = ", ".join(f"{{p{n}:uniform(1, 100000)}}" for n in range(40))
MANY_POINTS = f"SELECT id, k FROM sbtest WHERE k IN ({POINTS});"
EITHER = "SELECT id, c FROM sbtest WHERE id = {a:uniform(1, 100000)} OR k = {b:uniform(1, 100000)};"

POINT = "SELECT c FROM sbtest WHERE id = {id:uniform(1, 100000)};"


def joined(tables: int) -> str:
    """A row each of so many tables, which are one: a query has it open so many times."""
    names = [f"t{n}" for n in range(tables)]
    of = ", ".join(f"sbtest {name}" for name in names)
    each = " AND ".join(f"{name}.id = {{{name}:uniform(1, 100000)}}" for name in names)
    return f"SELECT t0.c FROM {of} WHERE {each};"


ALONE: tuple[Injection, ...] = (
    Injection(
        "missing_index",
        {},
        connections(1, 4, 8, data__rows=20_000),
        ["missing-index"],
        both=KEPT,
        after_load="ALTER TABLE sbtest DROP INDEX k",
    ),
    Injection(
        "thread_cache",
        {"thread_cache_size": 0},
        [[f"load.reconnect_every={n}", "load.connections=8"] for n in (2, 3, 4)],
        ["thread-cache"],
        both=KEPT,
    ),
    Injection(
        "table_cache",
        {"table_open_cache": 10},
        [size for n in (6, 10, 14) for size in connections(4, workload__text=joined(n))],
        ["table-cache"],
        both=KEPT,
    ),
    Injection(
        "query_cache",
        {"query_cache_type": 1, "query_cache_size": 64 << 20},
        connections(4, 8, 32),
        ["query-cache-lock"],
        both=KEPT,
    ),
    Injection(
        "statement_log",
        {"general_log": 1, "slow_query_log": 1, "long_query_time": 0},
        connections(8, 16, 32, workload__text=POINT),
        ["statement-log"],
        both=KEPT,
    ),
    Injection(
        "buffer_pool",
        {"innodb_buffer_pool_size": 6 << 20},
        connections(2, 4, 8),
        ["buffer-pool-reads"],
        both={**KEPT, "innodb_flush_method": "O_DIRECT"},
    ),
    Injection(
        "temporary_tables",
        {"tmp_table_size": 1024, "max_heap_table_size": 16384},
        connections(2, 4, 8),
        ["temporary-tables-on-disk"],
        both=KEPT,
    ),
    Injection(
        "sort_buffer",
        {"sort_buffer_size": 16 << 10},
        connections(1, 4, 8, workload__text=SORTS),
        ["sort-passes"],
        both=KEPT,
    ),
    Injection(
        "log_flush",
        {"innodb_flush_log_at_trx_commit": 1},
        connections(2, 4, 8, workload__text=CHANGES),
        ["log-flush"],
        both={**KEPT, "innodb_flush_log_at_trx_commit": 2},
    ),
    Injection(
        "binary_log_flush",
        {"sync_binlog": 1},
        connections(2, 4, 8, workload__text=CHANGES),
        ["binary-log-flush"],
        both={
            **KEPT,
            **{"innodb_flush_log_at_trx_commit": 2, "log_bin": "binlog", "sync_binlog": 0},
        },
    ),
    Injection(
        "key_cache",
        {"key_buffer_size": 16 << 10},
        connections(2, 4, 8, data__engine="MyISAM", workload__text=MANY_POINTS),
        ["key-cache-reads"],
        both={**KEPT, "key_buffer_size": 32 << 20},
    ),
    Injection(
        "optimizer_switch",
        {"optimizer_switch": "index_merge=off"},
        [
            [f"data.rows={rows}", *sets]
            for rows, (sets,) in (
                (rows, connections(4, workload__text=EITHER)) for rows in (500, 2000, 8000)
            )
        ],
        ["plan-changed"],
        both=KEPT,
    ),
)

TOGETHER = (
    ("missing_index", "statement_log"),
    ("query_cache", "temporary_tables"),
    ("table_cache", "query_cache"),
    ("statement_log", "temporary_tables"),
    ("buffer_pool", "statement_log"),
    ("temporary_tables", "buffer_pool"),
    ("thread_cache", "statement_log"),
    ("thread_cache", "query_cache"),
    ("sort_buffer", "statement_log"),
    ("log_flush", "statement_log"),
    ("key_cache", "query_cache"),
    ("optimizer_switch", "query_cache"),
    ("binary_log_flush", "statement_log"),
)
"""Two causes in one server. The settings of the experiment are those of the first."""


def both_of(first: Injection, second: Injection) -> Injection:
    """Two injections in one server; either cause may be named, and both."""
    return Injection(
        f"{first.name} and {second.name}",
        {**first.options, **second.options},
        first.sizes[-1:],
        [*first.accepted, *second.accepted],
        both={**second.both, **first.both},
        after_load=first.after_load,
    )


def knob(name: str, *sizes: int) -> Injection:
    """A knob of the model server, with 8 connections."""
    path = f"server.knobs.{name}"
    sets = [
        [f"{path}=[0, {size}]", f'compare.baseline={{ "{path}" = 0 }}', "load.connections=8"]
        for size in sizes
    ]
    return Injection(f"model: {name}", {}, sets, [], both={}, on_model=True)


MODEL = """
[experiment]
name = "model-knob"
question = "What does a knob of the model server do?"
[server]
kind = "model"
[data]
engine = "MyISAM"
rows = 100_000
[workload]
kind = "random_points"
[load]
warmup = "150ms"
measure = "700ms"
"""

KNOBS = (knob("under_lock_ns", 100, 300, 1000), knob("outside_lock_ns", 500, 1500, 4500))
"""What they do is nothing that a treatment of contend's takes away from a model server, so that
nothing may be named."""

NONE = Injection("none", {}, connections(1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100), [], KEPT)

_BY_NAME = {one.name: one for one in ALONE}
PAIRS = tuple(both_of(_BY_NAME[first], _BY_NAME[second]) for first, second in TOGETHER)
INJECTIONS: tuple[Injection, ...] = (*ALONE, *PAIRS, *KNOBS, NONE)


def drawn() -> Iterator[tuple[str, Injection, Sequence[str], str]]:
    """All cases in the order in which they are made, without end: a key each, the injection, the
    settings of its size, and the candidate that contend does not have this time, if any: of each
    cause alone the true one is taken out in one case of four."""
    chance = random.Random(SEED)
    repeat = 0
    while True:
        every = [(one, size, "") for one in INJECTIONS for size in range(len(one.sizes))]
        every += [(one, repeat % len(one.sizes), one.accepted[0]) for one in ALONE]
        chance.shuffle(every)
        for one, size, without in every:
            key = f"{one.name}/{size}/{repeat}" + "/without" * bool(without)
            yield key, one, one.sizes[size], without
        repeat += 1


def read_cases(path: Path) -> list[Case]:
    if not path.exists():
        return []
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def keep(path: Path, case: Case) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "at") as file:
        file.write(json.dumps(case, separators=(",", ":")) + "\n")


_WITHOUT = (
    "import sys; from contend.why.candidates import CANDIDATES; "
    "CANDIDATES.pop(sys.argv.pop(1)); from contend.cli.main import main; sys.exit(main())"
)


def contend(*arguments: str, folder: Path, without: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command; `without` a candidate, as if its file were not there."""
    program = ("-m", "contend") if not without else ("-c", _WITHOUT, without)
    return subprocess.run(
        [sys.executable, *program, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def attribute(one: Injection, sets: Sequence[str], without: str) -> Case:
    """Make a case: two servers, the recipe, and what was named."""
    begun = time.monotonic()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="contend-attr-")))
        given = [*FIRST_ONLY_MEASURED, *sets]
        if one.on_model:
            file = folder / "model.toml"
            file.write_text(MODEL)
            command = ["run", str(file), "--yes", *flags_of(given)]
        else:
            servers = [
                stack.enter_context(private_server({**one.both, **options}))
                for options in ({}, one.options)
            ]
            command = command_between(servers, given)
        if one.after_load:
            load(command, folder)
            with servers[1].connect(TABLES) as connection, connection.cursor() as cursor:
                cursor.execute(one.after_load)
        return told_of(command, folder, begun, one.accepted, without=without)


def load(command: Sequence[str], folder: Path) -> None:
    """Have the tables made by a short run."""
    contend(*command, "--out", str(folder / "load"), "--set", "compare.at_most=3s", folder=folder)


def told_of(
    command: Sequence[str],
    folder: Path,
    begun: float,
    causes: Sequence[str],
    *,
    without: str = "",
    minutes: float = WHY_MINUTES,
) -> Case:
    """What contend says of a run that this command makes, and why it did not try these causes, if
    so. `begun` is when its servers were, by the monotonic clock."""
    out, laps = folder / "run", [begun, time.monotonic()]
    done = contend(*command, "--out", str(out), folder=folder)
    laps.append(time.monotonic())
    told = contend(
        *("why", str(out), "--json", "--yes", "--minutes", str(minutes)),
        folder=folder,
        without=without,
    )
    laps.append(time.monotonic())
    found: dict[str, Any] = {}
    with contextlib.suppress(ValueError):
        found = json.loads(told.stdout)
    tried = found.get("tried") or {}
    by_verdict: dict[str, list[str]] = {verdict: [] for verdict in get_args(TriedVerdict)}
    for each in tried.get("candidates", ()):
        by_verdict[each["verdict"]].append(each["record"]["candidate"])
    return {
        "named": by_verdict["confirmed"] + by_verdict["a part"],
        "part": by_verdict["a part"],
        "refuted": by_verdict["refuted"],
        "open": by_verdict["not certain"],
        "untested": {name: found.get("untested", {}).get(name) for name in causes},
        "log_difference": (tried.get("log_difference") or {}).get("mean"),
        "said": found.get("sentence") or (told.stderr or done.stderr).strip()[-400:],
        "code": done.returncode,
        "repeats": tried.get("repeats"),
        "sides": sides_in(out / WITHIN),
        "seconds": round(laps[-1] - laps[0], 1),
        "seconds_of": {
            name: round(after - before, 1)
            for name, (before, after) in zip(
                ("servers", "run", "why"), itertools.pairwise(laps), strict=True
            )
        },
    }


def sides_in(folder: Path) -> dict[str, list[list[float] | None]]:
    """The logarithms of the events a second of both servers under each treatment, by repeat: what
    the verdicts rest on."""
    try:
        with RunFolder.open(folder) as inner:
            study = study_of(inner, percentiles=False)
    except NotARunFolder:
        return {}
    about = study.meta.facts["why"]
    names = [UNTREATED, *(n for one in about["tried"] for n in (*one["doses"], one["placebo"]))]

    def known(one: np.ndarray) -> list[float] | None:
        return [round(float(log), 4) for log in one] if np.all(np.isfinite(one)) else None

    return {name: [known(one) for one in sides_under(study, name)] for name in names}


def command_between(servers: Sequence[PrivateServer], sets: Sequence[str]) -> list[str]:
    """The recipe, to compare servers that run; the first is the baseline."""
    names = [str(Dsn(user="root", socket=server.socket)) for server in servers]
    sets = [*compared("server.use", names), *sets]
    return ["run", "new-server-slower", "--quick", "--yes", *flags_of(sets)]


def compared(path: str, levels: Sequence[str]) -> list[str]:
    """The settings by which levels are compared with the first of them."""
    return [
        f"{path}={json.dumps(levels)}",
        f'compare.baseline={{ "{path}" = {json.dumps(levels[0])} }}',
    ]


def flags_of(sets: Sequence[str]) -> list[str]:
    return [part for text in sets for part in ("--set", text)]


def verdict(case: Case) -> str:
    """right, wrong or unknown."""
    named = set(case["named"])
    if not named:
        return "right" if not case["accepted"] else "unknown"
    return "right" if named <= set(case["accepted"]) else "wrong"


def make(count: int, minutes: float, only: str | None) -> None:
    wanted = (each for each in drawn() if only is None or each[1].name == only)
    make_missing(
        CASES,
        minutes,
        (
            (key, one, without, {"sets": list(sets)}, partial(attribute, one, sets, without))
            for _, (key, one, sets, without) in zip(range(count), wanted, strict=False)
        ),
    )


class Injected(Protocol):
    """What a case says of what is put into its second server."""

    @property
    def name(self) -> str: ...
    @property
    def accepted(self) -> Sequence[str]: ...


Wanted = tuple[str, Injected, str, Case, Callable[[], Case]]
"""A case: its key, what is injected, the candidate that is taken out, what else its record says of
it, and what makes it."""


def make_missing(path: Path, minutes: float, wanted: Iterable[Wanted]) -> None:
    """Make and keep those that are not there yet under the rules of now, until the time is up."""
    until, now = time.monotonic() + 60 * minutes, hash_of(rules(INJECTIONS))
    made = {case["key"] for case in counting(path, now)}
    for key, one, without, more, attributed in wanted:
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
            **more,
            "accepted": [] if without else list(one.accepted),
            "without": without,
        }
        try:
            case |= attributed()
        except subprocess.TimeoutExpired:
            case |= {"named": [], "refuted": [], "open": [], "said": "took too long", "code": -1}
        keep(path, case)
        print(
            f"{key}: {verdict(case)}: {case['named']} {case['said']}", file=sys.stderr, flush=True
        )


def counting(path: Path, now: str) -> list[Case]:
    """The cases that count under rules of this hash."""
    return [case for case in read_cases(path) if case["signatures"] == now]


def table() -> str:
    """The confusion matrix: what was injected, and what was named."""
    now = hash_of(rules(INJECTIONS))
    cases = counting(CASES, now)
    named = sorted({name for case in cases for name in case["named"]})
    by_group: dict[str, list[Case]] = {}
    for case in cases:
        by_group.setdefault(_group(case), []).append(case)
    rows = []
    for group in sorted(by_group, key=GROUPS.index):
        of_group = by_group[group]
        for one in sorted({case["injected"] for case in of_group}):
            of = [case for case in of_group if case["injected"] == one]
            counts = Counter(name for case in of for name in case["named"])
            rows.append(
                [
                    *(group, one, str(len(of)), *(str(counts[name] or "") for name in named)),
                    str(sum(not case["named"] for case in of)),
                    str(sum(verdict(case) == "right" for case in of)),
                ]
            )
    head = ["", "injected", "cases", *(f"`{name}`" for name in named), "nothing", "right"]
    told = [
        markdown_table(head, rows),
        f"\n{len(cases)} cases, signatures {now}. 95 % intervals:\n",
    ]
    told += [
        f"- {group}: right {_share(of, 'right')}, wrong {_share(of, 'wrong')}"
        for group, of in sorted(by_group.items(), key=lambda each: GROUPS.index(each[0]))
    ]
    return "\n".join([*told, f"- all: wrong {_share(cases, 'wrong')}", ""])


GROUPS = ("alone", "pair", "none", "model", "taken out")


def _group(case: Case) -> str:
    if case["without"]:
        return "taken out"
    if case["injected"].startswith("model: "):
        return "model"
    return {0: "none", 1: "alone"}.get(len(case["accepted"]), "pair")


def _share(cases: Sequence[Case], which: str) -> str:
    count = sum(verdict(case) == which for case in cases)
    low, high = exact(count, len(cases))
    return f"{count} of {len(cases)} ({low:.1%} to {high:.1%})"


def exact(count: int, of: int) -> tuple[float, float]:
    """The interval of a share, by Clopper and Pearson."""
    low = 0.0 if count == 0 else float(beta.ppf(0.025, count, of - count + 1))
    high = 1.0 if count == of else float(beta.ppf(0.975, count + 1, of - count))
    return low, high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=240)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--only", choices=[one.name for one in INJECTIONS])
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if not args.table:
        make(args.count, args.minutes, args.only)
    print(table())


if __name__ == "__main__":
    main()
