"""The little of the ELF format that is needed to say whether and how a program can run here.

Only the header and the program headers are read: the machine it was built for, and the dynamic
loader it asks for.
"""

from __future__ import annotations

import platform
import struct
from dataclasses import dataclass
from pathlib import Path

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
    """What the file says of itself, or None where it is no (whole) ELF file."""
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
