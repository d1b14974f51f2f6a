"""Make wheels, into dist: `tools/wheels WHICH…`, all of `make wheels` if none is named.

x86_64, aarch64   with a contend-load that is built for it, from glibc 2.28 on (in build/wheels)
here              with the contend-load that `make setup` built, for systems as new as this one
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from glibc import Unpackable, read_needs
from portable import GLIBC, TARGETS, NoRust, build
from wheel_of import ROOT, pack

from contend.files import find_program

WORK = ROOT / "build" / "wheels"
DIST = ROOT / "dist"
HERE = "here"


def main() -> int:
    wanted = sys.argv[1:] or list(TARGETS)
    if unknown := [name for name in wanted if name not in (*TARGETS, HERE)]:
        known = ", ".join((*TARGETS, HERE))
        print(f"contend: no wheel is made for {unknown[0]}, but for {known}", file=sys.stderr)
        return 2
    code = 0
    for which in wanted:
        began = time.monotonic()
        try:
            wheel = pack(find_program(), DIST) if which == HERE else portable(which)
        except (NoRust, Unpackable, RuntimeError) as error:
            print(f"contend: no wheel for {which}: {error}", file=sys.stderr)
            code = 1
            continue
        size_mib, took_s = wheel.stat().st_size / 2**20, time.monotonic() - began
        print(f"{wheel.relative_to(ROOT)}, {size_mib:.1f} MiB, {took_s:.0f} s")
    return code


def portable(machine: str) -> Path:
    """Build contend-load for a machine and pack it."""
    program = build(machine, WORK)
    needs = read_needs(program)
    if needs.machine != machine or needs.glibc > GLIBC:
        raise Unpackable(f"what was built needs glibc {needs.glibc} on {needs.machine}")
    return pack(program, DIST)


if __name__ == "__main__":
    sys.exit(main())
