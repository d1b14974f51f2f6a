"""`contend sysbench` and `contend mysqlslap` become contend-load: words pass through unread.

So do exit code and signals.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from child_python import import_path

from contend.cli.main import main


def contend(program: Path, *arguments: str | bytes) -> subprocess.CompletedProcess[bytes]:
    code = "import sys; from contend.cli.main import main; sys.exit(main())"
    environment = os.environ | import_path() | {"CONTEND_LOAD": str(program)}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment, capture_output=True, check=False
    )


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A contend-load that says what it was given and which signals are ignored."""
    path = tmp_path / "contend-load"
    path.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\ngrep SigIgn /proc/self/status\nexit 7\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("name", ["sysbench", "mysqlslap"])
def test_arguments_and_exit_code_pass_through(program: Path, name: str) -> None:
    arguments: list[str | bytes] = ["oltp_read_only", "--help", "--", "-h", "a b", b"\xff", "run"]
    done = contend(program, name, *arguments)
    printed = b"oltp_read_only\n--help\n--\n-h\na b\n\xff\nrun\n"
    assert done.stdout.startswith(name.encode() + b"\n" + printed)
    assert (done.returncode, done.stderr) == (7, b"")


def test_signals_that_python_ignores_are_restored(program: Path) -> None:
    done = contend(program, "sysbench")
    ignored = int(done.stdout.split()[-1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1))


def test_the_help_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "sysbench" in capsys.readouterr().out


def test_a_missing_program_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CONTEND_LOAD", str(tmp_path / "nosuch"))
    assert main(["sysbench", "--version"]) == 2
    assert "CONTEND_LOAD=" in capsys.readouterr().err
