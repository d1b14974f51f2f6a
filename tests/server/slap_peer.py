"""Runs a command line under contend-load and under mariadb-slap, and makes both comparable.

What two runs cannot share is masked: measured seconds, the name of the program, and what may be a
password, which ours hides. mariadb-slap
writes its CSV past the buffer of its other output, so it is run without that buffer.
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


@dataclass(frozen=True)
class Done:
    """How a command line ended, and what it said where."""

    out: str
    err: str
    code: int

    def masked(self) -> Done:
        """Without what two runs cannot share."""
        seconds = re.sub(r"\d+\.\d{3}(?= seconds$|,)", "S.mmm", self.out, flags=re.MULTILINE)
        out = re.sub(r"(?<=--password=).+?(?= --)", "***", seconds)
        hidden = re.sub(
            r"((?:unknown variable|ambiguous option) '[^=']+=)[^']*", r"\1***", self.err
        )
        name = r"^(Warning: )?(?:\S*/)?(?:mysqlslap|mariadb-slap): "
        return Done(out, re.sub(name, r"\1slap: ", hidden, flags=re.MULTILINE), self.code)


def find_peer() -> list[str]:
    """mariadb-slap of 10.11, its output in the order it is made."""
    path = shutil.which("mariadb-slap")
    if path is None:
        missing("mariadb-slap is missing: install mariadb-client")
    return ["stdbuf", "-oL", path]


def ours(program: Path) -> list[str]:
    """The twin of mariadb-slap, with its faults."""
    return [str(program), "mysqlslap", "--strict-compat"]


def run(program: Sequence[str], words: Sequence[str], folder: Path) -> Done:
    """`--no-defaults` stands in front of the words, unless they name option files."""
    first = [] if any("defaults" in word for word in words[:1]) else ["--no-defaults"]
    lead = [word for word in program[1:] if word != "--strict-compat"]
    strict = [word for word in program[1:] if word == "--strict-compat"]
    done = subprocess.run(
        [program[0], *lead, *first, *words, *strict],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return Done(done.stdout, done.stderr, done.returncode)
