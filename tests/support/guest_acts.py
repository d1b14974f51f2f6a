"""What is done in guests: processes are placed by settings, and read back from the kernel. Each
function takes and gives plain values; it runs in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from contend.errors import ContendError
from contend.experiment.settings import SETTINGS, launch_of
from contend.host.placement import Placement, look
from contend.host.placement import become as script
from contend.host.placement.cpus import layout
from contend.host.placement.groups import grouped
from contend.load import memory_nodes
from contend.metrics.probed import NodeMatrix

BODY = "/body"
BODY_MIB = 8
LOOPS = 60_000_000
"""That two programs do together before they are compared."""

_HELD = re.compile(r"N(\d+)=(\d+)")

Asked = Mapping[str, Any]


def host() -> dict[str, Any]:
    """What contend makes of the host's CPUs and nodes."""
    of = layout()
    return {"cores": of.cores}


def nodes_of_memory(program: str) -> NodeMatrix:
    """What the contend-load at `program` says of the memory nodes."""
    return memory_nodes(Path(program))


def place(asked: Asked) -> dict[str, Any]:
    """Place a program as a private server is placed, and read it back.

    Args:
        asked: settings by path, such as `place.server.cpus`.

    Returns:
        `refused` and its `hint`, if it was; else `asked` and `seen` in words, where they `differ`;
        `status`, `policy`, `pages` (by node, of the memory that it touched), `huge_kb` (of it) as
        the kernel has them; `client`, the CPUs of contend-load.
    """
    try:
        return _read_back(asked)
    except ContendError as error:
        return {"refused": error.message, "hint": error.hint}


def _read_back(asked: Asked) -> dict[str, Any]:
    cell = {setting.path: setting.usual for setting in SETTINGS} | dict(asked)
    for setting in SETTINGS:
        if setting.section.startswith("place"):
            setting.refuse(cell, own=True)
    launch = launch_of(cell)
    with running(launch.placement, launch.environment) as (process, _):
        seen = look.seen(process.pid)
        folder = Path(f"/proc/{process.pid}")
        maps = (folder / "numa_maps").read_text().splitlines()
        rollup = (folder / "smaps_rollup").read_text()
        return {
            "asked": dict(launch.placement.properties()),
            "seen": seen,
            "differ": list(look.differences(launch.placement, seen, "it")),
            "status": _fields((folder / "status").read_text()),
            "policy": maps[0].split()[1],
            "pages": _most_pages(maps),
            "huge_kb": int(_fields(rollup)["AnonHugePages"].split()[0]),
            "group": (folder / "cgroup").read_text(),
            "client": launch.client.cpus,
        }


def shares(one: Asked, other: Asked) -> tuple[float, float]:
    """Two programs side by side that count loops: the part of all loops that each did."""
    placed = Placement(**_tupled(one)), Placement(**_tupled(other))
    with running(placed[0]) as (first, of_first), running(placed[1]) as (second, of_second):
        for process in (first, second):
            assert process.stdin is not None
            process.stdin.write(b"x")
            process.stdin.flush()
        while sum(done := (_count(of_first), _count(of_second))) < LOOPS:
            time.sleep(0.1)
        return done[0] / sum(done), done[1] / sum(done)


def write(files: Mapping[str, str]) -> None:
    """Have files of the kernel say so."""
    for file, text in files.items():
        Path(file).write_text(text)


def record(writes: Mapping[str, str]) -> dict[str, str]:
    """What doctor reads there, with the guest's disk at /data, and files of the kernel as told."""
    from doctor_record import record as record_host
    from guest_host import DATA, with_disk

    with_disk()
    write({"/proc/sys/kernel/hostname": "guest", **writes})
    return record_host(Path("/"), DATA)


@contextlib.contextmanager
def running(
    placement: Placement, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """The program, placed, with all its memory; and the file in which it will count.

    What `become.py` does before it becomes the program is done here by the fork of this process
    that becomes it: an emulated CPU takes seconds to start Python.
    """
    count = Path(f"/tmp/count-{os.getpid()}-{time.monotonic_ns()}")
    with grouped(placement) as in_group:
        asked = json.loads(prefix[-1]) if (prefix := in_group.prefix()) else None
        process = subprocess.Popen(
            [BODY, str(count), str(BODY_MIB)],
            env={**os.environ, **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=None if asked is None else lambda: script.place(asked),
        )
        try:
            assert process.stdout is not None
            assert process.stdout.read(1), "it has ended"
            yield process, count
        finally:
            process.kill()
            process.wait()


def _tupled(asked: Asked) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in asked.items()}


def _fields(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, colon, value in pairs if colon}


def _most_pages(maps: list[str]) -> dict[str, int]:
    """Pages by node of the mapping that has the most: that is the memory it touched."""
    held = ({node: int(pages) for node, pages in _HELD.findall(line)} for line in maps)
    return max(held, key=lambda pages: sum(pages.values()), default={})


def _count(file: Path) -> int:
    return int(struct.unpack("<q", file.read_bytes()[:8])[0])
