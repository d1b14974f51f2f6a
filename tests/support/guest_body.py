"""A program to be placed: `guest_body.py COUNT_FILE GO_FILE MIB` touches so much memory, waits
until there is the second file, then counts its loops in the first until it is killed. The first is
there once the memory is."""

from __future__ import annotations

import mmap
import struct
import sys
import time
from pathlib import Path


def main(arguments: list[str]) -> int:
    file, go, size_mib = Path(arguments[0]), Path(arguments[1]), int(arguments[2])
    touched = bytearray(b"x") * (size_mib << 20)
    made = file.with_suffix(".made")
    made.write_bytes(bytes(mmap.PAGESIZE))
    with made.open("r+b") as opened:
        counts = mmap.mmap(opened.fileno(), mmap.PAGESIZE)
    made.rename(file)
    while not go.exists():
        time.sleep(0.05)
    count = 0
    while touched:
        count += 1
        struct.pack_into("<q", counts, 0, count)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
