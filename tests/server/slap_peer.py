"""Runs a command line under contend-load and under mariadb-slap, and makes both comparable.

What two runs cannot share is masked: measured seconds, the lines that only one of them prints, the
name of the program, and what may be a password, which ours hides. mariadb-slap writes its CSV past
the buffer of its other output, so it is run without that buffer.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from needs import missing

TIMEOUT_S = 60


# Reported by contend-load alone.
OURS = r"^\t(?:Queries answered|Response time|Connecting|Statement)\b.*\n"


@dataclass(frozen=True)
class Done:
    """How a command line ended, and what it said where."""

    out: str
    err: str
    code: int

    def masked(self) -> Done:
        """Without what two runs cannot share; any exit code of a failure is 1."""
        seconds = re.sub(r"\d+\.\d{3}(?= seconds$|,)", "S.mmm", self.out, flags=re.MULTILINE)
        out = re.sub(r"(?<=--password=).+?(?= --)", "***", seconds)
        out = re.sub(OURS, "", out, flags=re.MULTILINE)
        hidden = re.sub(
            r"((?:unknown variable|ambiguous option) '[^=']+=)[^']*", r"\1***", self.err
        )
        name = r"^(Warning: )?(?:\S*/)?(?:mysqlslap|mariadb-slap): "
        err = re.sub(name, r"\1slap: ", hidden, flags=re.MULTILINE)
        return Done(out, err, min(self.code, 1))


def find_peer() -> list[str]:
    """mariadb-slap of 10.11, its output in the order it is made."""
    path = shutil.which("mariadb-slap")
    if path is None:
        missing("mariadb-slap is missing: install mariadb-client")
    return ["stdbuf", "-oL", path]


def ours(program: Path) -> list[str]:
    return [str(program), "mysqlslap"]


def auto(rows: int, statements: int, program: Sequence[str]) -> str:
    """Options for the same generated load: mariadb-slap makes a row less and a statement more."""
    is_ours = "mysqlslap" in program[1:]
    by = 0 if is_ours else 1
    return (
        f"-a --auto-generate-sql-write-number={rows + by}"
        f" --auto-generate-sql-unique-query-number={statements - by}"
    )


def run(program: Sequence[str], words: Sequence[str], folder: Path) -> Done:
    """`--no-defaults` stands in front of the words, unless they name option files."""
    first = [] if any("defaults" in word for word in words[:1]) else ["--no-defaults"]
    done = subprocess.run(
        [*program, *first, *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return Done(done.stdout, done.stderr, done.returncode)
