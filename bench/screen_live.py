"""Live screens: on servers whose truth is known, and of twelve lines of a real my.cnf.

    python bench/screen_live.py truth [--screens 10] [--for 3m] [--name NAME]
    python bench/screen_live.py mariadb [--runs 3] [--for 7m] [--server NAME] [--name NAME]

`truth`: twelve options of the model server, all of which it ignores. The bench gives four of them
an effect by the knob `outside_lock_ns`, work for each request of a page: so much that the CPU time
of a query in the server is divided by the speed of the lines that are new. The effect of that on
the throughput follows from the CPU time of server and client per query. It is measured in the
screen itself: what the host does to the rest of a query changes from minute to minute.

`mariadb`: twelve lines of MariaDB by `write_only` and by `read_write`, each screened several times.
Printed: what each run says of each line, the proof sentence, and whether two runs contradict each
other: the same line is certainly faster in one and certainly slower, or certainly no different, in
another.

Every pair that was measured is kept in `bench/results/screen-live/`, one line of JSON each:
`bench/screen_truth.py --pool` draws its noise from there.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rounds import RESULTS, markdown_table, publish

from contend.cli.main import main as contend
from contend.experiment import LINES as LINES_SETTING
from contend.experiment import OF_LINES, Experiment, from_dict
from contend.findings import ScreenFound, pairs_in, screen_found
from contend.findings.screen import log_ratios, residuals_of
from contend.metrics import metric_of
from contend.servers.kinds.model import ModelKind
from contend.store import RunFolder, RunRecord

LINES_PATH = LINES_SETTING.path
KEPT = RESULTS / "screen-live"

FASTER: dict[str, float] = {
    "innodb_buffer_pool_size": 1.10,
    "table_open_cache": 1.05,
    "query_cache_size": 1 / 1.05,
    "thread_cache_size": 1.02,
}
"""Speed of the server with the new value over that with the old one."""

NEW = "2"

FILE = """
[experiment]
name = "screen-{name}"
question = "Which of these 12 lines matter?"

{server}

[screen.old]
{old}

[screen.new]
{new}

{tables}

[load]
connections = 8
seed = {seed}

[compare]
at_most = "{time}"
"""

MODEL_SERVER = """[server]
kind = "model"

[server.options]
key_cache_segments = 64"""

MODEL_TABLES = """[data]
engine = "MyISAM"
rows = 100_000
k = "row_number"

[workload]
kind = "random_points"
points = 100"""

MARIADB_SERVER = """[server]
kind = "mariadb"
"""

MARIADB_TABLES = """[data]
rows = 100_000

[workload]
kind = "{workload}"
"""

IGNORED = (
    *("innodb_buffer_pool_size", "open_files_limit", "performance_schema", "query_cache_limit"),
    *("query_cache_size", "query_cache_type", "skip_grant_tables", "skip_log_bin"),
    *("skip_name_resolve", "table_definition_cache", "table_open_cache", "thread_cache_size"),
)

LINES: dict[str, tuple[str, str]] = {
    "innodb_flush_log_at_trx_commit": ("1", "2"),
    "innodb_buffer_pool_size": ('"256M"', '"64M"'),
    "innodb_doublewrite": ('"ON"', '"OFF"'),
    "innodb_adaptive_hash_index": ('"OFF"', '"ON"'),
    "thread_cache_size": ("151", "8"),
    "table_open_cache": ("2000", "400"),
    "query_cache_type": ("0", "1"),
    "innodb_log_file_size": ('"96M"', '"48M"'),
    "innodb_io_capacity": ("200", "2000"),
    "innodb_flush_neighbors": ("1", "0"),
    "sort_buffer_size": ('"2M"', '"256K"'),
    "innodb_stats_persistent": ('"ON"', '"OFF"'),
}


def screened(
    text: str, folder: Path, server: str | None
) -> tuple[ScreenFound, list[RunRecord], float]:
    """Run an experiment file like a user; its answer, its records and the seconds it took."""
    file, run = folder / "screen.toml", folder / "run"
    file.write_text(text)
    named = ["--server", server] if server is not None else []
    begun = time.monotonic()
    code = contend(["run", str(file), *named, "--out", str(run)])
    took_s = time.monotonic() - begun
    assert code == 0, code
    with RunFolder.open(run) as kept:
        experiment, records = from_dict(kept.meta().experiment), kept.records()
    found = screen_found(experiment, records)
    assert found is not None
    _keep(experiment, records)
    return found, records, took_s


def _keep(experiment: Experiment, records: list[RunRecord]) -> None:
    """One line of JSON for each pair of the design: its signs, its log-ratio and its noise. The
    noise is the residual, enlarged by the part of it that the fitted effects took."""
    metric = metric_of(experiment.compare.metric[0])
    pairs = pairs_in(records, OF_LINES)
    logs, (rests, df) = log_ratios(pairs, metric), residuals_of(pairs, metric)
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / f"{experiment.name}.jsonl").open("a") as file:
        for pair, log, rest in zip(pairs, logs, rests, strict=True):
            line = {
                "at": pair.runs[0].started_at,
                "first": pair.first,
                "log_ratio": round(float(log), 6),
                "noise": round(float(rest) * math.sqrt(len(pairs) / df), 6),
            }
            file.write(json.dumps(line) + "\n")


def percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f}"


# --- known truth ---

CALIBRATION = f"""
[experiment]
name = "screen-calibration"

{MODEL_SERVER}

{MODEL_TABLES}

[load]
connections = 8

[factors]
"server.knobs.outside_lock_ns" = [0, 200]

[compare]
baseline = {{ "server.knobs.outside_lock_ns" = 0 }}
at_most = "30s"
"""

SLOWER = 1.3
"""CPU time of a query in the server with all lines old, over that without added work: room for
lines that make it faster."""


@dataclass(frozen=True)
class Work:
    """CPU time of a query: in the server without added work, what a nanosecond of it adds, and in
    the client; microseconds."""

    server_us: float
    each_us: float
    client_us: float

    def added_ns(self, speed: float) -> int:
        """The work for each request of a page that gives this speed."""
        return round(self.server_us * (SLOWER / speed - 1) / self.each_us)

    def seen(self, records: Iterable[RunRecord]) -> Work:
        """The same with the CPU times of a screen, in which the added work is known."""
        server, client = (metric_of(f"{one}_cpu_us_per_query") for one in ("server", "client"))
        servers, clients = [], []
        for one in records:
            used, asked = server.value(one), client.value(one)
            if used is not None and asked is not None:
                digits = str(one.cell[LINES_PATH])
                new = [name for name, digit in zip(IGNORED, digits, strict=True) if digit == "1"]
                servers.append(used - self.each_us * self.added_ns(speed_of(new)))
                clients.append(asked)
        return replace(self, server_us=float(np.mean(servers)), client_us=float(np.mean(clients)))


def calibrated(folder: Path) -> Work:
    file, run = folder / "calibration.toml", folder / "calibration"
    file.write_text(CALIBRATION)
    assert contend(["run", str(file), "--out", str(run)]) == 0
    with RunFolder.open(run) as kept:
        records = [one for one in kept.records() if one.done]
    path = "server.knobs.outside_lock_ns"

    def mean(name: str, added: int) -> float:
        metric = metric_of(name)
        values = [metric.value(one) for one in records if one.cell[path] == added]
        return float(np.mean([value for value in values if value is not None]))

    without, with_ = (mean("server_cpu_us_per_query", added) for added in (0, 200))
    return Work(without, (with_ - without) / 200, mean("client_cpu_us_per_query", 200))


def speed_of(new: Iterable[str]) -> float:
    return math.prod(FASTER.get(name, 1.0) for name in new)


def with_work(work: Work) -> None:
    """Have the model server's options of `FASTER` change its speed."""
    usual = ModelKind.option_arguments

    def option_arguments(self: ModelKind, options: Mapping[str, Any], binary: Any) -> list[str]:
        new = (name for name, value in options.items() if str(value) == NEW)
        return [
            *usual(self, options, binary),
            f"--knob=outside_lock_ns={work.added_ns(speed_of(new))}",
        ]

    ModelKind.option_arguments = option_arguments  # type: ignore[method-assign]


def truth_of(work: Work, seen: Work) -> dict[str, float]:
    """ln(throughput new / old) of each line, over the old and new values of the others. The CPUs
    are always busy, so the CPU time of a query decides the throughput.

    Args:
        work: decides the added work. seen: the CPU times besides that.
    """

    def query_us(new: Iterable[str]) -> float:
        return seen.server_us + work.each_us * work.added_ns(speed_of(new)) + seen.client_us

    effects = dict.fromkeys(IGNORED, 0.0)
    for name in FASTER:
        others = [one for one in FASTER if one != name]
        logs = []
        for new in itertools.product((False, True), repeat=len(others)):
            rest = list(itertools.compress(others, new))
            logs.append(math.log(query_us(rest) / query_us([*rest, name])))
        effects[name] = sum(logs) / len(logs)
    return effects


def truth(screens: int, time_text: str, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = calibrated(Path(folder))
    print(work, [work.added_ns(one) for one in (0.95, 1.0, 1.1, 1.18)], file=sys.stderr)
    with_work(work)
    rows, false, held, of = [], 0, 0, 0
    named: dict[str, int] = dict.fromkeys(FASTER, 0)
    halves: list[float] = []
    truths: list[dict[str, float]] = []
    for number in range(1, screens + 1):
        old = "\n".join(f"{one} = 1" for one in IGNORED)
        new = "\n".join(f"{one} = {NEW}" for one in IGNORED)
        text = FILE.format(
            name="truth",
            server=MODEL_SERVER,
            tables=MODEL_TABLES,
            old=old,
            new=new,
            time=time_text,
            seed=number,
        )
        with tempfile.TemporaryDirectory() as folder:
            found, records, took_s = screened(text, Path(folder), None)
        true = truth_of(work, work.seen(records))
        truths.append(true)
        wrong = []
        for one in found.lines:
            change, line = one.finding.change, one.line.name
            of += 1
            held += change.low <= math.exp(true[line]) <= change.high
            halves.append((math.sqrt(change.high / change.low) - 1) * 100)
            certain = change.verdict in ("higher", "lower")
            if line in FASTER:
                named[line] += certain and (change.ratio > 1) == (FASTER[line] > 1)
            elif certain:
                wrong.append(line)
        false += bool(wrong)
        proof = found.proof.change if found.proof is not None else None
        rows.append(
            [
                str(number),
                f"{took_s:.0f}",
                str(found.pairs["lines"]),
                ", ".join(
                    f"{line.line.name} {percent(line.finding.change.ratio)} "
                    f"({percent(math.exp(true[line.line.name]))})"
                    for line in found.lines
                    if line.number in found.matter or line.line.name in FASTER
                ),
                ", ".join(wrong) or "none",
                ""
                if proof is None
                else f"{percent(proof.ratio)} ({percent(proof.low)} to {percent(proof.high)})",
            ]
        )
        print(rows[-1], file=sys.stderr, flush=True)
    head = [
        "screen",
        "s",
        "pairs",
        "lines with an effect: measured (true), %",
        "wrong",
        "whole over these, %",
    ]
    body = [
        markdown_table(head, rows),
        "",
        f"Screens with a claim about a line that does nothing: {false} of {screens}.",
        f"Intervals that hold the truth: {held} of {of}.",
        f"Half-width of a line, median: {np.median(halves):.2f} %.",
        "Named with the right sign: "
        + "; ".join(
            f"{line} ({percent(math.exp(np.mean([one[line] for one in truths])))} %): "
            f"{count} of {screens}"
            for line, count in named.items()
        )
        + ".",
    ]
    publish(name, "Live screens of the model server, whose truth is known", [], "\n".join(body))


# --- a real my.cnf ---


def mariadb(runs: int, time_text: str, server: str, name: str) -> None:
    bodies = []
    for workload in ("write_only", "read_write"):
        answers: list[ScreenFound] = []
        notes = []
        for number in range(1, runs + 1):
            text = FILE.format(
                name=workload,
                server=MARIADB_SERVER,
                tables=MARIADB_TABLES.format(workload=workload),
                old="\n".join(f"{one} = {old}" for one, (old, _) in LINES.items()),
                new="\n".join(f"{one} = {new}" for one, (_, new) in LINES.items()),
                time=time_text,
                seed=number,
            )
            with tempfile.TemporaryDirectory() as folder:
                found, _records, took_s = screened(text, Path(folder), server)
                said = subprocess.run(
                    [sys.executable, "-m", "contend", "show", f"{folder}/run"],
                    capture_output=True,
                    text=True,
                    check=False,
                )
            answers.append(found)
            answer = " ".join(said.stdout.split("\n\n")[1].split("\n"))
            pairs = ", ".join(f"{count} {part}" for part, count in found.pairs.items())
            notes.append(f"- Run {number}, {took_s:.0f} s, pairs: {pairs}. {answer}")
            print(notes[-1], file=sys.stderr, flush=True)
        rows = []
        contradict = []
        for at, line in enumerate(LINES):
            findings = [one.lines[at].finding for one in answers]
            tones = {one.tone for one in findings} - {"inconclusive"}
            if len(tones) > 1:
                contradict.append(line)
            cells = [
                f"{percent(one.change.ratio)} ({percent(one.change.low)} to "
                f"{percent(one.change.high)}) {one.word}"
                for one in findings
            ]
            rows.append([f"{line} = {LINES[line][1]}".replace('"', ""), *cells])
        head = ["line", *(f"run {number}, %" for number in range(1, runs + 1))]
        bodies += [
            f"## {workload}",
            "",
            *notes,
            "",
            markdown_table(head, rows),
            "",
            f"Lines about which two runs contradict each other: {', '.join(contradict) or 'none'}.",
            "",
        ]
    publish(name, "Twelve lines of my.cnf, screened", [server], "\n".join(bodies))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("truth", "mariadb"))
    parser.add_argument("--screens", type=int, default=10)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--for", dest="time")
    parser.add_argument("--server", default="mariadb@bookworm")
    parser.add_argument("--name")
    args = parser.parse_args()
    if args.what == "truth":
        truth(args.screens, args.time or "3m", args.name or "screen-live-truth")
    else:
        mariadb(args.runs, args.time or "7m", args.server, args.name or "screen-live-mariadb")


if __name__ == "__main__":
    main()
