"""What of the system a program asks for: the tag of its wheel follows from that, and from nothing
else. Read with binutils' readelf, which every C compiler brings."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ALLOWED = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1")
"""Libraries that every system of the manylinux kind has (PEP 600); beside them the loader."""

_MACHINES = {"Advanced Micro Devices X86-64": "x86_64", "AArch64": "aarch64"}


class Unpackable(Exception):
    """A program that no wheel can carry, and why."""


@dataclass(frozen=True, slots=True)
class Needs:
    """`machine` as `uname -m` names it; `glibc` is the oldest version that has all names."""

    machine: str
    libraries: tuple[str, ...]
    glibc: tuple[int, int]

    def tag(self) -> str:
        """The platform tag of a wheel with it. Raises Unpackable."""
        others = [
            name for name in self.libraries if name not in ALLOWED and not name.startswith("ld-")
        ]
        if others:
            raise Unpackable(f"it needs {', '.join(others)}, which not every system has")
        return f"manylinux_{self.glibc[0]}_{self.glibc[1]}_{self.machine}"


def read_needs(program: Path) -> Needs:
    """What a program needs. Raises Unpackable if it is none for which wheels are made."""

    def readelf(option: str) -> str:
        done = subprocess.run(
            ["readelf", "--wide", option, program], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise Unpackable(f"{program} is no program: {done.stderr.strip()}")
        return done.stdout

    machine = re.search(r"^\s*Machine:\s*(.+?)\s*$", readelf("--file-header"), re.M)
    if machine is None or machine[1] not in _MACHINES:
        raise Unpackable(f"{program}: no wheel is made for {machine[1] if machine else 'it'}")
    versions = re.findall(r"\bGLIBC_(\d+)\.(\d+)", readelf("--version-info"))
    return Needs(
        machine=_MACHINES[machine[1]],
        libraries=tuple(re.findall(r"\(NEEDED\).*\[(.+?)\]", readelf("--dynamic"))),
        glibc=max(((int(major), int(minor)) for major, minor in versions), default=(2, 17)),
    )
