"""Passwords are removed from the process list, and no message repeats them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from child_python import import_path

SECRET = "hunter2secret"
LIMIT_S = 30

SLAP = ["password", "pass", "passwo", "loose-password", "loose_password", "loose_pass"]
SLAP += ["loose-pas", "enable-password", "enable_pass", "maximum-password"]
BENCH = ["mysql-password", "mysql_password"]
LINES = [
    *(["mysqlslap", f"--{name}={SECRET}"] for name in SLAP),
    *(["mysqlslap", f"-{letters}p{SECRET}"] for letters in ("", "v", "sv")),
    *(["sysbench", f"--{name}={SECRET}"] for name in BENCH),
]
REFUSED = [
    *(
        ["mysqlslap", f"--{name}={SECRET}"]
        for name in ("p", "PASSWORD", "loo-pass", "pasword", "disable-password", "skip-password")
    ),
    ["mysqlslap", f"--p{SECRET}"],
    ["mysqlslap", "--print-defaults", f"--password={SECRET}"],
    ["sysbench", f"--MYSQL-PASSWORD={SECRET}", "oltp_read_only", "run"],
    ["sysbench", f"--mysql-pasword={SECRET}", "oltp_read_only", "run"],
    ["sysbench", f"--mysql-pass_word={SECRET}", "oltp_read_only", "run"],
    ["sysbench", f"-p{SECRET}", "run"],
    ["sysbench", "--mysql-password", SECRET, "run"],
    ["sysbench", "oltp_read_only", "run", "--mysql-password", SECRET],
    ["run", f"u:{SECRET}@h"],
    ["run", f"mysql://u:{SECRET}@h"],
    ["fill", f"--password={SECRET}"],
    ["fill", "sbtest", f"-p{SECRET}"],
]


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The socket of a server that lets everybody in and says nothing."""
    path = tmp_path_factory.mktemp("silent") / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(64)
        yield path


def whole(line: list[str], path: Path) -> list[str]:
    """A line that connects and waits."""
    if line[0] == "mysqlslap":
        return [line[0], "--no-defaults", "-uu", "-S", str(path), "-q", "select 1", *line[1:]]
    return [*line, f"--mysql-socket={path}", "oltp_read_only", "prepare"]


@pytest.mark.parametrize("through", ["contend-load", "contend"])
@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_no_password_stays_in_the_process_list(
    line: list[str], through: str, load_program: Path, silent: Path
) -> None:
    code = "import sys; from contend.cli.main import main; sys.exit(main())"
    program = [str(load_program)] if through == "contend-load" else [sys.executable, "-c", code]
    environment = os.environ | import_path() | {"CONTEND_LOAD": str(load_program)}
    with subprocess.Popen(
        [*program, *whole(line, silent)],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            end = time.monotonic() + LIMIT_S
            shown = Path(f"/proc/{process.pid}/cmdline")
            # In the middle of an exec there is nothing.
            while SECRET.encode() in (command_line := shown.read_bytes()) or not command_line:
                # It is seen at work, not at its end.
                assert process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.01)
            assert line[0].encode() in command_line
            assert str(silent).encode() in command_line
        finally:
            process.kill()


@pytest.mark.parametrize("line", REFUSED, ids=" ".join)
def test_passwords_of_a_refused_line_are_hidden(
    line: list[str], load_program: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [str(load_program), *line],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.stdout + done.stderr
    assert SECRET not in done.stdout + done.stderr


def test_passwords_of_an_option_file_are_hidden(load_program: Path, tmp_path: Path) -> None:
    for place, text in enumerate(
        (f"pasword={SECRET}", f"password {SECRET}", f"pass word: {SECRET}", f"-p{SECRET}")
    ):
        file = tmp_path / f"{place}.cnf"
        file.write_text(f"[client]\n{text}\n")
        slap = [str(load_program), "mysqlslap", f"--defaults-file={file}", "-q", "select 1"]
        file = tmp_path / f"{place}.cfg"
        file.write_text(f"{text}\n")
        bench = [str(load_program), "sysbench", f"--config-file={file}", "oltp_read_only", "run"]
        for arguments in (slap, bench):
            done = subprocess.run(
                arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
            )
            assert done.returncode != 0
            assert SECRET not in done.stdout + done.stderr, text
