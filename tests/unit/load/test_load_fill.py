"""The words that start a fill, and what becomes of its lines; a script plays the program."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from contend.experiment.model import DataSpec
from contend.load import Address, FillProcess, LoadFailed
from contend.load.ask import FillResult, fill_arguments

DATA = DataSpec(engine="MyISAM", rows=30, seed=7, k="random", table_options="MAX_ROWS=9")
SOCKET = Address(socket="/run/db.sock", database="sbtest")


def program(folder: Path, lines: list[dict[str, object]], code: int = 0) -> Path:
    """A program that leaves its arguments in a file, prints the lines and exits."""
    path = folder / "contend-load"
    path.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, sys\n"
        f"pathlib.Path({str(folder / 'argv')!r}).write_text('\\n'.join(sys.argv[1:]))\n"
        f"print({os.linesep.join(json.dumps(line) for line in lines)!r})\n"
        f"sys.exit({code})\n"
    )
    path.chmod(0o700)
    return path


def test_a_fill_over_a_socket_is_told_all_it_needs() -> None:
    words = fill_arguments(DATA, SOCKET, "ours", Path("/run/pipes"))
    assert words == [
        "--create-database",
        "--socket=/run/db.sock",
        "--user=root",
        "--database=sbtest",
        "--schema=sbtest",
        "--engine=MyISAM",
        "--rows=30",
        "--seed=7",
        "--k=random",
        "--table-options=MAX_ROWS=9",
        "--mark=ours",
        "--pipe-dir=/run/pipes",
        "--progress=json",
    ]


def test_a_schema_of_its_own_tables_is_told_its_own_keys() -> None:
    data = DataSpec(schema="tpcc", own={"warehouses": 10, "partition_by": "hash"})
    words = fill_arguments(data, SOCKET, "", None)
    own = [word for word in words if word.startswith("--with=")]
    assert own == [
        "--with=warehouses=10",
        '--with=partition_by="hash"',
        "--with=partitions=4",
        "--with=foreign_keys=false",
        "--with=history_key=false",
        "--with=shrink=1",
    ]
    assert not [word for word in words if word.startswith(("--rows", "--tables", "--k="))]
    employees = fill_arguments(DataSpec(schema="employees", rows=500), SOCKET, "", None)
    assert {"--rows=500", "--with=emp_no_keys=false"} <= set(employees)


def test_a_host_has_a_port_and_the_password_stays_in_the_environment() -> None:
    address = Address(host="db1", port=3307, user="me", password_env="SECRET", database="d")
    words = fill_arguments(DataSpec(rows=1), address, "", None)
    assert {"--host=db1", "--port=3307", "--user=me", "--password-env=SECRET"} <= set(words)
    assert not [word for word in words if "socket" in word or "pipe" in word or "COMMENT" in word]


def test_progress_is_passed_on_and_the_rows_come_back(tmp_path: Path) -> None:
    progress = {"type": "fill_progress", "phase": "load", "rows": 10, "rows_total": 30}
    path = program(
        tmp_path,
        [
            progress,
            {**progress, "phase": "keys", "rows": 30},
            {"type": "fill_done", "rows": 30, "checksum": "0f", "warnings": ["slow keys"]},
        ],
    )
    told: list[tuple[str, int, int]] = []
    filled = FillProcess(path).run(
        DATA, SOCKET, on_progress=lambda phase, rows, total: told.append((phase, rows, total))
    )
    assert filled == FillResult(30, ("slow keys",))
    assert told == [("load", 10, 30), ("keys", 30, 30)]
    argv = (tmp_path / "argv").read_text().splitlines()
    assert argv[1:] == ["fill", *fill_arguments(DATA, SOCKET, "", None)]


def test_a_refusal_keeps_the_server_s_words(tmp_path: Path) -> None:
    error = {"type": "error", "message": "table sbtest exists already", "code": 1050}
    path = program(tmp_path, [error], code=2)
    with pytest.raises(LoadFailed, match="exists already") as raised:
        FillProcess(path).run(DATA, SOCKET, on_progress=lambda phase, rows, total: None)
    assert raised.value.code == 1050


def test_a_fill_without_an_end_is_no_success(tmp_path: Path) -> None:
    progress = {"type": "fill_progress", "phase": "load", "rows": 10, "rows_total": 30}
    path = program(tmp_path, [progress], code=1)
    with pytest.raises(LoadFailed, match="exit code 1"):
        FillProcess(path).run(DATA, SOCKET, on_progress=lambda phase, rows, total: None)
