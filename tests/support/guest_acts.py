"""What is done in guests: processes are placed by settings, and read back from the kernel. Each
function takes and gives plain values; it runs in a process of its own."""

from __future__ import annotations

import contextlib
import os
import re
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import guest_body
import guest_init

from contend.errors import ContendError
from contend.load import memory_nodes
from contend.placement import Placement, look
from contend.placement.cpus import layout
from contend.placement.groups import grouped
from contend.probed import NodeMatrix
from contend.settings import SETTINGS, launch_of

BODY_MIB = 8
START_S = 100
GO = Path("/tmp/go")
_HELD = re.compile(r"N(\d+)=(\d+)")

Asked = Mapping[str, Any]


def host() -> dict[str, Any]:
    """What contend makes of the host's CPUs and nodes."""
    of = layout()
    return {
        "online": of.online,
        "allowed": of.allowed,
        "cores": of.cores,
        "nodes": {str(node): cpus for node, cpus in of.nodes.items()},
    }


def nodes_of_memory(program: str) -> NodeMatrix:
    """What the contend-load at `program` says of the memory nodes."""
    return memory_nodes(Path(program))


def place(asked: Asked, within: Asked | None = None) -> dict[str, Any]:
    """Place a program as a private server is placed, and read it back.

    Args:
        asked: settings by path, such as `place.server.cpus`.
        within: files of a control group with CPUs and nodes of its own, in which contend runs.

    Returns:
        `refused` and its `hint`, if it was; else `asked` and `seen` in words, where they `differ`;
        `status`, `policy`, `pages` (by node, of the memory that it touched), `huge_kb` (of it) as
        the kernel has them; `client`, the CPUs of contend-load.
    """
    with _inside(within or {}):
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
            "asked": dict(launch.placement.words()),
            "seen": seen,
            "differ": list(look.differences(launch.placement, seen, "it")),
            "status": _fields((folder / "status").read_text()),
            "policy": maps[0].split()[1],
            "pages": _most_pages(maps),
            "huge_kb": int(_fields(rollup)["AnonHugePages"].split()[0]),
            "group": (folder / "cgroup").read_text(),
            "client": launch.client.cpus,
        }


def shares(one: Asked, other: Asked, seconds: float = 1.5) -> tuple[float, float]:
    """Two programs side by side that count loops: the part of all loops that each did."""
    placed = Placement(**_tupled(one)), Placement(**_tupled(other))
    # A nice one would take very long to start beside one that is busy.
    with running(placed[0]) as (_, first), running(placed[1]) as (_, second):
        GO.touch()
        while not (_count(first) and _count(second)):
            time.sleep(0.05)
        before = _count(first), _count(second)
        time.sleep(seconds)
        after = _count(first), _count(second)
    GO.unlink()
    done = [end - begin for begin, end in zip(before, after, strict=True)]
    return done[0] / sum(done), done[1] / sum(done)


def write(files: Mapping[str, str]) -> None:
    """Have files of the kernel say so."""
    for file, text in files.items():
        Path(file).write_text(text)


def record(writes: Mapping[str, str]) -> dict[str, str]:
    """What doctor reads there, with the guest's disk at /data, and files of the kernel as told."""
    from doctor_record import record as record_host

    disks = (path.name for path in Path("/sys/block").iterdir())
    disk = next(name for name in disks if name.startswith(("vd", "nvme")))
    guest_init.mount("ext4", "/data", device=f"/dev/{disk}")
    write({"/proc/sys/kernel/hostname": "guest", **writes})
    return record_host(Path("/"), Path("/data"))


def become(asked: Asked) -> dict[str, Any]:
    """What the kernel says to a placement that no setting was asked about."""
    command = [*Placement(**_tupled(asked)).prefix(), sys.executable, "-c", "print('started')"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return {"code": done.returncode, "out": done.stdout, "error": done.stderr}


@contextlib.contextmanager
def running(
    placement: Placement, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """The program, placed; and the file in which it counts."""
    count = Path(f"/tmp/count-{os.getpid()}-{time.monotonic_ns()}")
    with grouped(placement) as in_group:
        script = [sys.executable, "-IS", guest_body.__file__, str(count), str(GO), str(BODY_MIB)]
        process = subprocess.Popen(
            [*in_group.prefix(), *script],
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            limit_s = time.monotonic() + START_S
            while not count.exists():
                if process.poll() is not None:
                    assert process.stderr is not None
                    raise RuntimeError(process.stderr.read().decode())
                assert time.monotonic() < limit_s, "it was not there in time"
                time.sleep(0.02)
            yield process, count
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def _inside(files: Asked) -> Iterator[None]:
    """Be in a control group below this one that has these CPUs and nodes."""
    if not files:
        yield
        return
    base = Path("/sys/fs/cgroup")
    older = base / "cpuset"
    own = older / "user.slice" if older.exists() else base / "user.slice"
    group = own / f"inside-{os.getpid()}"
    group.mkdir()
    for name, value in files.items():
        (group / name).write_text(value)
    (group / "cgroup.procs").write_text("0")
    try:
        yield
    finally:
        (own / ("session.scope/cgroup.procs")).write_text("0")
        group.rmdir()


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
