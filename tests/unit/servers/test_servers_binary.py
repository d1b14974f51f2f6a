"""Telling whether a program is a server that can run here."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.servers.binary import check_runs_here, host_machine, parse_elf, read_elf
from contend.servers.errors import UnusableServer
from contend.servers.kinds import parse_version

OTHER_MACHINE = 22 if host_machine() != "s390x" else 62


MARIADB = "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)"
MYSQL = "/x/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MARIADB, ("mariadb", "10.11.19")),
        (MYSQL, ("mysql", "9.7.4")),
        ("mysqld  Ver 8.0.36-0ubuntu0.22.04.1 for Linux", ("mysql", "8.0.36")),
        ("true (GNU coreutils) 9.1", None),
    ],
)
def test_reads_versions(text: str, expected: tuple[str, str] | None) -> None:
    assert parse_version(text) == expected


def test_reads_the_program_that_runs_this_test() -> None:
    elf = read_elf(Path(sys.executable).resolve())
    assert elf is not None
    assert elf.machine == host_machine()


@given(st.binary(max_size=200), st.sampled_from([b"", b"\x7fELF\x01\x01", b"\x7fELF\x02\x02"]))
def test_any_bytes_are_read_without_a_fault(data: bytes, start: bytes) -> None:
    parse_elf(start + data)


def test_a_program_for_another_machine_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "mariadbd"
    header = bytearray(64)
    header[:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<H", header, 18, OTHER_MACHINE)
    program.write_bytes(header)
    program.chmod(0o755)
    with pytest.raises(UnusableServer, match=rf"was built for .*machine is {host_machine()}"):
        check_runs_here(program)
