"""Runs a command line under contend-load and under sysbench itself, and makes both comparable.

What two runs cannot share is masked: times and what is divided by them, and where counts depend on
time those too. Columns stay, so a space too many shows.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

ReportText = TypeVar("ReportText")

VERSION = "1.0.20"
TIMEOUT_S = 120


@dataclass(frozen=True)
class Done:
    """How a command line ended, and what it said where."""

    out: str
    err: str
    code: int

    def __str__(self) -> str:
        return f"{self.out}--- standard error\n{self.err}--- exit code {self.code}\n"


def find_peer() -> str | None:
    """sysbench, where the version that we speak like is installed."""
    path = shutil.which("sysbench")
    if path is None:
        return None
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return path if said.stdout.strip() == f"sysbench {VERSION}" else None


def run(
    program: Sequence[str], words: Sequence[str], *, folder: Path, stdin: str | None = None
) -> Done:
    done = subprocess.run(
        [*program, *words],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("LUA_")},
        input=stdin or "",
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return Done(done.stdout, done.stderr, done.returncode)


def until(wanted: ReportText, say: Callable[[], ReportText]) -> ReportText:
    """What sysbench says, who may try again to say what is wanted.

    Its threads print a word and the end of its line apart, so that the lines of two may run
    together, and it ends a report where it happens to be when the time is over.
    """
    for _ in range(20):
        said = say()
        if said == wanted:
            break
    return said


COUNTS = (
    r"read|write|other|total|transactions|queries|ignored errors|reconnects|total number of events"
)
RULES = [
    # Which program it is.
    (r"^sysbench 1\.0\.20 \(.*\)$", "sysbench 1.0.20 (…)"),
    (r"^sysbench 1\.1\.0 \(.*\)$", "sysbench 1.1.0 (…)"),
    # Numbers that stand at the right edge keep that edge.
    (r"^( +(?:min|avg|max|sum|[\d.]+th percentile): +[\d.]+)$", lambda m: right(m[1], ".NN")),
    (r"^(DEBUG: +(?:min|avg|max|total): +[\d.]+)s$", lambda m: right(m[1], ".NNNN") + "s"),
    # Rows of a histogram: as many as there were buckets.
    (r"(?:^(?=.{12} \|) *\d+\.\d{3} \|(?=.{40} )\** +\d+\n)+", "       N.NNN |*** N\n"),
    # A count before the place where its rate begins.
    (r"(\d+)( +)\((\d+\.\d\d) per", lambda m: m[1] + f"<{len(m[1] + m[2])}>(N.NN per"),
    (r"\d+\.\d{4}(?=s|/|$)", "N.NNNN"),
    (r"(?<=/)\d+\.\d\d$", "N.NN"),
    (r"(?<![\d.])\d+\.\d\d(?![\d.])", "N.NN"),
    (r"queue length: \d+(,?) concurrency: \d+", r"queue length: N\1 concurrency: N"),
    (r"0x[0-9a-f]+", "0xN"),
    # The host's words for a name that it does not find, or cannot look for.
    (r"(failed to lookup address information: ).*", r"\1…"),
    # Ours lie in the program, sysbench's in a folder, and their lines are others.
    (r"(?:/usr/share/sysbench/)?((?:oltp|select|bulk)_\w+\.lua):\d+", r"\1:N"),
    (r'\[string "[^"]*"\]:\d+', '[string "…"]:N'),
]
COUNT_RULES = [
    (rf"^( +(?:{COUNTS}): +)\d+( *)$", r"\1N\2"),
    (rf"^( +(?:{COUNTS}): +)\d+(<\d+>)", r"\1N\2"),
    (r"(?<=concurrency: )\d+", "N"),
    # A host that stood still for a moment at the end has left events behind.
    (r"^WARNING: overloaded: .*\n", ""),
    (r"(?<=thds: )\d+", "N"),
    (r'^( +"time": +)\d+', r"\1N"),
    # Intervals: as many as there was time for.
    (r"^\[ \d+s \]", "[ Ns ]"),
    (r"((?:^\[ Ns \] thds.*\n)(?:^\[ Ns \] queue.*\n)?)\1+", r"\1"),
    (r"((?:^\d+,\d+(?:,N\.NN)+\n))+", "N,N,N.NN…\n"),
    (r"(^(?:own: \d+ threads|interval ).*\n)\1+", r"\1"),
]


def right(text: str, tail: str) -> str:
    """A line with its last number masked, as long as before."""
    number = re.search(r"[\d.]+$", text)
    assert number, text
    width = len(text)
    label = text[: number.start()].rstrip()
    return f"{label}{'N' + tail:>{width - len(label)}}"


def mask(text: str, *, counts: bool) -> str:
    """`text` without what differs from run to run; with `counts`, how much was done does too."""
    for pattern, into in [*RULES, *(COUNT_RULES if counts else [])]:
        text = re.sub(pattern, into, text, flags=re.MULTILINE)
    return text
