"""A runnable server program: its command line, its properties, and whether this machine can run it.

Only the header and the program headers of an ELF file are read: the machine the program was built
for, and its dynamic loader.
"""

from __future__ import annotations

import os
import platform
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from contend.servers.errors import UnusableServer

_MACHINES = {
    3: "i386",
    21: "ppc64le",
    22: "s390x",
    40: "arm",
    62: "x86_64",
    183: "aarch64",
    243: "riscv64",
    258: "loongarch64",
}
_SAME = {"amd64": "x86_64", "arm64": "aarch64", "i686": "i386", "i586": "i386", "armv7l": "arm"}
_PT_INTERP = 3
_HEADER_BYTES_MAX = 64 * 1024


@dataclass(frozen=True, slots=True)
class Elf:
    """`machine` as `uname -m` names it; `interpreter` is None for a static program."""

    machine: str
    interpreter: str | None


def read_elf(path: Path) -> Elf | None:
    """Facts in the file's header, or None if it is not a (complete) ELF file."""
    with path.open("rb") as file:
        return parse_elf(file.read(_HEADER_BYTES_MAX))


def parse_elf(data: bytes) -> Elf | None:
    if len(data) < 20 or data[:4] != b"\x7fELF" or data[4] not in (1, 2) or data[5] not in (1, 2):
        return None
    wide = data[4] == 2
    order = "<" if data[5] == 1 else ">"
    (machine,) = struct.unpack_from(f"{order}H", data, 18)
    name = _MACHINES.get(machine, f"machine {machine}")
    try:
        return Elf(name, _interpreter(data, order, wide))
    except (struct.error, UnicodeDecodeError):
        return None


def _interpreter(data: bytes, order: str, wide: bool) -> str | None:
    (table,) = struct.unpack_from(f"{order}{'Q' if wide else 'I'}", data, 32 if wide else 28)
    size, count = struct.unpack_from(f"{order}HH", data, 54 if wide else 42)
    for index in range(count):
        at = table + index * size
        (kind,) = struct.unpack_from(f"{order}I", data, at)
        if kind != _PT_INTERP:
            continue
        if wide:
            (offset,) = struct.unpack_from(f"{order}Q", data, at + 8)
            (length,) = struct.unpack_from(f"{order}Q", data, at + 32)
        else:
            (offset,) = struct.unpack_from(f"{order}I", data, at + 4)
            (length,) = struct.unpack_from(f"{order}I", data, at + 16)
        return data[offset : offset + length].rstrip(b"\0").decode() or None
    return None


def host_machine() -> str:
    name = platform.machine()
    return _SAME.get(name, name)


@dataclass(frozen=True, slots=True)
class ServerBinary:
    """One server program.

    Args:
        kind: `mariadb`, `mysql` or `model`.
        version: the server's own, such as `10.11.19`.
        suite: the Debian suite it was downloaded from; None for a server found on the machine.
        argv: the command to run. It holds the loader and its library path if they are needed, the
            program, `--no-defaults`, and the fixed options; append your own.
        program: the server program itself (not the loader).
        basedir: the root the server looks under.
        share_dir: error messages, character sets and the SQL of the system tables.
        plugin_dir: loadable plugins; None if there are none.
        source: `debian`, `path` or `contend-load`.
        extras: packages requested in addition to the server, such as `rocksdb`.
        verified: whether the download was verified by signature; None if nothing was downloaded.
    """

    kind: str
    version: str
    suite: str | None
    argv: tuple[str, ...]
    program: Path
    basedir: Path
    share_dir: Path
    plugin_dir: Path | None
    source: str
    extras: tuple[str, ...] = ()
    verified: bool | None = None

    @property
    def name(self) -> str:
        """The name `contend server list` shows, such as `mariadb-bookworm-10.11.19`."""
        return server_name(self.kind, self.extras, self.suite or self.source, self.version)

    @property
    def version_number(self) -> tuple[int, ...]:
        return tuple(int(part) for part in self.version.split("."))


def server_name(kind: str, extras: tuple[str, ...], suite: str, version: str) -> str:
    return f"{'+'.join((kind, *extras))}-{suite}-{version}"


def check_runs_here(program: Path) -> None:
    """Refuse a program that this machine cannot run, with a readable reason."""
    if not program.exists():
        raise UnusableServer(f"there is no server program at {program}.")
    if program.is_dir():
        raise UnusableServer(
            f"{program} is a folder, not a server program.",
            hint="Name the program or its installation folder.",
        )
    if not os.access(program, os.X_OK):
        raise UnusableServer(f"{program} is not executable.", hint=f"Try `chmod +x {program}`.")
    elf = read_elf(program)
    if elf is not None and elf.machine != host_machine():
        raise UnusableServer(
            f"{program} was built for {elf.machine}, but this machine is {host_machine()}."
        )


def run_program(
    argv: Sequence[str], *, timeout_s: float | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout_s,
        check=False,
        stdin=subprocess.DEVNULL,
    )
