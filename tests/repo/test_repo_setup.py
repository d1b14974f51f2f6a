"""`make setup` stops with one line that says what is missing and how to have it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "prerequisites"
BASH = shutil.which("bash") or "/bin/bash"

OLD_PYTHON = '[ "$1" = --version ] && echo "Python 3.9.2"; exit 1'
NO_VENV = f'case "$*" in *venv*) exit 1;; *) exec {sys.executable} "$@";; esac'


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder of programs that has all that is needed, and nothing else is on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sed", "bash"):
        (folder / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    for name in ("cc", "make"):
        put(folder, name, "exit 0")
    put(folder, "python3", f'exec {sys.executable} "$@"')
    put(folder, "cargo", 'echo "cargo 1.88.0 (873a06493 2025-05-10)"')
    return folder


def put(folder: Path, name: str, script: str) -> None:
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def look(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(folder), "PYTHON": "python3"}
    return subprocess.run(
        [BASH, SCRIPT], env=environment, capture_output=True, text=True, check=False
    )


def test_nothing_is_said_where_nothing_is_missing(machine: Path) -> None:
    done = look(machine)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("name", "script", "words"),
    [
        ("python3", None, "Python 3.11 or newer is missing: install"),
        ("python3", OLD_PYTHON, "3.11 or newer is needed, Python 3.9.2"),
        ("python3", NO_VENV, "Python's venv module is missing: install it"),
        ("cargo", None, "Rust 1.88 or newer is missing: install"),
        ("cargo", 'echo "cargo 1.63.0"', "1.88 or newer is needed, cargo 1.63.0"),
        ("cc", None, "a C compiler is missing: install one"),
        ("make", None, "make is missing: install it"),
    ],
)
def test_what_is_missing_is_one_line_with_what_to_do(
    machine: Path, name: str, script: str | None, words: str
) -> None:
    (machine / name).unlink()
    if script is not None:
        put(machine, name, script)
    done = look(machine)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("contend: ")
    assert words in line
