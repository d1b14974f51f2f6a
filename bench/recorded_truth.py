"""Claims about many statements: how often are they false, and what do they find?

    python bench/recorded_truth.py [--name NAME] [--each 30] [--rounds 6] [--repeats 40]

Records repeats of equal servers as `contend-load recording ask` measures them. Each repeat has two
freshly started private servers over copies of one shop, and a recording of the shop's application.
Which copy is the first arm, and which server starts first, is drawn. What is recorded is kept after
each repeat, in `bench/results/recorded-truth/`, one line of JSON per repeat; the command resumes
with what is missing.

Then made-up studies: some of the repeats are drawn, and the sign of each is drawn, since neither
arm is faster. They count how often equal servers are claimed to differ, and how often a statement
that is made slower is found, alone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from rounds import RESULTS, machine, markdown_table
from scipy.stats import beta, ttest_1samp

from contend.load import find_program
from contend.servers import PrivateServer
from contend.servers.find import find_server
from contend.stats import discover, estimate, statement_changes

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from shop import DATABASE, drive, fill

FOLDER = RESULTS / "recorded-truth"
REPEATS = 40
ORDERS = 20_000
STATEMENTS = 20_000
STUDIES = 1_000
DRAWN = (4, 6, 8)
SLOWER = math.log(1.1)
OPTIONS: dict[str, str | int] = {"innodb_buffer_pool_size": "256M", "max_connections": 50}

Line = dict[str, Any]


@dataclass(frozen=True)
class Shop:
    """Two stopped copies of the shop's data, and the recording of its application."""

    copies: tuple[Path, Path]
    recording: Path


@contextlib.contextmanager
def shop() -> Iterator[Shop]:
    folder = Path(tempfile.mkdtemp(prefix="contend-recorded-truth-"))
    try:
        recording = folder / "shop.recording"
        first, second = folder / "0", folder / "1"
        with PrivateServer(find_server("mariadb"), first) as server:
            server.initialise()
            server.start(OPTIONS)
            with server.connect() as connection:
                size = fill(connection, orders=ORDERS)
            logged = {"slow_query_log_file": "slow.log", "long_query_time": 0}
            server.set_global(logged | {"slow_query_log": "ON"})
            drive(server, size, STATEMENTS)
            log = server.data_folder / "slow.log"
        command = [str(find_program()), "recording", "import", str(log), "--to", str(recording)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        log.unlink()
        shutil.copytree(first, second, symlinks=True)
        yield Shop((first, second), recording)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def record(path: Path, *, repeats: int, each: int, rounds: int) -> None:
    """Record the missing repeats."""
    missing = sorted(set(range(repeats)) - {line["repeat"] for line in read_lines(path)})
    if not missing:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    # The servers and contend-load on one CPU, as contend places them.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with shop() as data:
        for repeat in missing:
            line = {"repeat": repeat} | record_repeat(data, repeat, each, rounds)
            with path.open("a") as file:
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
            told = f"repeat {repeat + 1}/{repeats}: {line['elapsed_s']} s, load {line['load']}"
            print(told, file=sys.stderr, flush=True)


def read_lines(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def record_repeat(data: Shop, repeat: int, each: int, rounds: int) -> Line:
    """Start both servers, and have every statement's template asked on both.

    Returns:
        templates: by hash, the mean log-ratio of the second arm over the first, the variance of a
            pair, the number of pairs, and the share of logged time.
    """
    draw = random.Random(f"repeat {repeat}")
    first, started = draw.randrange(2), draw.randrange(2)
    before = os.getloadavg()[0]
    with contextlib.ExitStack() as stack:
        servers = {}
        for place in (started, 1 - started):
            server = PrivateServer(find_server("mariadb"), data.copies[place])
            servers[place] = stack.enter_context(server)
            server.start(OPTIONS)
        arms = [("first", servers[first]), ("second", servers[1 - first])]
        done = ask(data.recording, arms, each=each, rounds=rounds, seed=repeat)
        version = server.variables()["version"]
    pairs = {one["hash"]: one["pairs"][0] | {"share": one["share"]} for one in done["templates"]}
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "server": version,
        "load": [round(one, 2) for one in (before, os.getloadavg()[0])],
        "first_copy": first,
        "first_started": started,
        "elapsed_s": round(done["elapsed_s"], 2),
        "templates": {
            name: [
                round(pair["mean_ln_ratio"], 5),
                round(pair["var_ln_ratio"], 6),
                pair["pairs"],
                round(pair["share"], 5),
            ]
            for name, pair in pairs.items()
            if pair["pairs"]
        },
    }


def ask(
    recording: Path, arms: list[tuple[str, PrivateServer]], *, each: int, rounds: int, seed: int
) -> Line:
    """The last line of `contend-load recording ask`."""
    plan = {
        "version": 1,
        "recording": str(recording),
        "arms": [
            {
                "name": name,
                "server": {"socket": str(server.socket), "user": "root", "database": DATABASE},
            }
            for name, server in arms
        ],
        "each": each,
        "rounds": rounds,
        "seed": seed,
    }
    done = subprocess.run(
        [str(find_program()), "recording", "ask", "-"],
        input=json.dumps(plan), capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"contend-load failed: {done.stderr}")
    last: Line = json.loads(done.stdout.splitlines()[-1])
    return last


def table(lines: list[Line]) -> tuple[np.ndarray, np.ndarray]:
    """Log-ratios, NaN if missing, and the variances that the pairs themselves would give them.
    (repeats x templates)"""
    names = sorted({name for line in lines for name in line["templates"]})
    d, within = np.full((2, len(lines), len(names)), np.nan)
    for at, line in enumerate(lines):
        for place, name in enumerate(names):
            if name in line["templates"]:
                mean, variance, pairs, _ = line["templates"][name]
                d[at, place] = mean
                within[at, place] = variance / pairs if pairs > 1 else np.nan
    return d, within


def plain_t(d: np.ndarray, _within: np.ndarray) -> np.ndarray:
    """The picked statements if each had only its own variance."""
    return discover(np.asarray(ttest_1samp(d, 0, nan_policy="omit").pvalue)).picked


def moderated_t(d: np.ndarray, _within: np.ndarray) -> np.ndarray:
    """Variances are moderated, and the pairs do not count."""
    return statement_changes(d, np.ones(d.shape)).picked


def by_pairs(d: np.ndarray, within: np.ndarray) -> np.ndarray:
    return statement_changes(d, within).picked


RULES = {"as in contend": by_pairs, "moderated": moderated_t, "plain": plain_t}


def studies(d: np.ndarray, within: np.ndarray, drawn: int, *, flips: bool) -> list[list[str]]:
    """Rows of made-up studies of so many repeats. Without flips the arms stay in their places."""
    chance = np.random.default_rng([drawn, flips])
    counts = {name: np.zeros(3, dtype=int) for name in RULES}
    for _ in range(STUDIES):
        repeats = chance.choice(len(d), drawn, replace=False)
        signs = chance.choice((-1, 1), (drawn, 1)) if flips else 1
        study = d[repeats] * signs
        at = chance.integers(d.shape[1])
        slower = study.copy()
        slower[:, at] += SLOWER
        for name, rule in RULES.items():
            picked = rule(slower, within[repeats])
            alone = picked[at] and picked.sum() == 1
            counts[name] += (rule(study, within[repeats]).any(), picked[at], alone)
    placed = "drawn" if flips else "as recorded"
    return [
        [str(drawn), placed, name, *(percent(int(count)) for count in found)]
        for name, found in counts.items()
    ]


def percent(count: int) -> str:
    """With its 95 % interval by Clopper and Pearson."""
    low = beta.ppf(0.025, count, STUDIES - count + 1) if count else 0.0
    high = beta.ppf(0.975, count + 1, STUDIES - count) if count < STUDIES else 1.0
    return f"{100 * count / STUDIES:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def parts(d: np.ndarray, within: np.ndarray) -> list[list[str]]:
    """Where the scatter of a statement comes from, as standard deviations in percent. The part that
    all statements of a repeat share is that of their mean, less what the statements add to it."""
    variance = np.nanvar(d, axis=0, ddof=1)
    shared = np.nanmean(d, axis=1)
    common = np.var(shared, ddof=1) - float(np.nanmean(variance)) / d.shape[1]
    quarters = (0.25, 0.5, 0.75)
    return [
        ["between repeats, all of it", *spread(variance, quarters)],
        ["from the pairs", *spread(np.nanmean(within, axis=0), quarters)],
        ["shared by all statements", "", f"{100 * math.sqrt(max(0.0, common)):.1f}", ""],
    ]


def spread(variance: np.ndarray, quarters: tuple[float, ...]) -> list[str]:
    return [f"{100 * math.sqrt(one):.1f}" for one in np.nanquantile(variance, quarters)]


def report(lines: list[Line]) -> None:
    d, within = table(lines)
    load = [one for line in lines for one in line["load"]]
    took = [line["elapsed_s"] for line in lines]
    print(f"{lines[0]['machine']}; MariaDB {lines[0]['server']}; {len(lines)} repeats of")
    print(f"{d.shape[1]} templates, {np.median(took):.1f} s of asking each, load average ", end="")
    print(f"{min(load):.1f} to {max(load):.1f} (median {np.median(load):.1f}).\n")
    print(markdown_table(["standard deviation, %", "25 %", "50 %", "75 %"], parts(d, within)))
    shift = estimate(np.nanmean(d, axis=1))
    print("\nThe second arm over the first: ", end="")
    print(f"{100 * shift.mean:+.2f} % [{100 * shift.low:+.2f}, {100 * shift.high:+.2f}].\n")
    head = ["repeats", "arms", "t", "any claim, %", "found, %", "found alone, %"]
    rows = [
        row
        for drawn in DRAWN
        for flips in (True, False)
        for row in studies(d, within, drawn, flips=flips)
    ]
    print(markdown_table(head, rows))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", default="one-cpu-each-30-rounds-6", help="of the record")
    parser.add_argument("--each", type=int, default=30, help="statements per template")
    parser.add_argument("--rounds", type=int, default=6, help="how often each is sent to each arm")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="number to record")
    asked = parser.parse_args()
    path = FOLDER / f"{asked.name}.jsonl"
    record(path, repeats=asked.repeats, each=asked.each, rounds=asked.rounds)
    report(read_lines(path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
