"""Guests: hosts of any topology, emulated (QEMU's TCG, no KVM), to look at placement in. They say
where things run; never how fast."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import needs

import contend.servers.launch as launch_script
from contend.host import process_cpu_s

PATIENCE_CPU_S = 150
"""How much CPU time a guest may take to boot, or for a call, before it is given up: a busy machine
makes it slower, and no more work."""

QUICK = (
    "nokaslr norandmaps mitigations=off init_on_alloc=0 tsc=reliable transparent_hugepage=madvise"
)
"""Parameters of the kernel that make an emulated one several times quicker: code that lies where it
did is not translated anew, a system call does not change the tables of its memory, and the time is
read from the CPU. Huge pages are for those who ask: of a few, halves lie on no two nodes."""


@dataclass(frozen=True)
class GuestNode:
    """A NUMA node: how many CPUs it has, and how much memory. One of both may be 0."""

    cpus: int
    memory_mib: int


@dataclass(frozen=True)
class Topology:
    """What a guest is to be.

    Args:
        nodes: the first has memory; those that have CPUs have the same number.
        threads: of a core.
        cgroup: 1 is the older hierarchy, 2 the unified one.
        parameters: for the kernel.
        disks: arguments of QEMU that give it disks.
    """

    nodes: tuple[GuestNode, ...]
    threads: int = 1
    cgroup: int = 2
    parameters: str = ""
    disks: tuple[str, ...] = ()

    def arguments(self) -> list[str]:
        """For QEMU. A socket is a node that has CPUs."""
        with_cpus = [node for node in self.nodes if node.cpus]
        sockets, cpus = len(with_cpus), with_cpus[0].cpus
        smp = f"{sockets * cpus},sockets={sockets},cores={cpus // self.threads}"
        said = ["-smp", f"{smp},threads={self.threads}"]
        said += ["-m", f"{sum(node.memory_mib for node in self.nodes)}M"]
        first = 0
        for number, node in enumerate(self.nodes):
            numa = f"node,nodeid={number}"
            if node.cpus:
                numa += f",cpus={first}-{first + node.cpus - 1}"
                first += node.cpus
            if node.memory_mib:
                size = f"size={node.memory_mib}M"
                said += ["-object", f"memory-backend-ram,id=m{number},{size}"]
                numa += f",memdev=m{number}"
            said += ["-numa", numa]
        return [*said, *self.disks]


TWO_NODES = Topology((GuestNode(2, 512), GuestNode(2, 512)))
THREADS = Topology((GuestNode(4, 192), GuestNode(4, 192)), threads=2, cgroup=1)
EIGHT_NODES = Topology((GuestNode(1, 192), *[GuestNode(1, 64)] * 7))
UNEVEN = Topology((GuestNode(2, 256), GuestNode(2, 0), GuestNode(0, 96)))
"""Node 1 has no memory of its own, node 2 no CPUs."""

MANY_NODES = Topology(
    (GuestNode(1, 192), GuestNode(1, 0), *[GuestNode(1, 64)] * 5, GuestNode(0, 64))
)
"""Eight, of which node 1 has no memory of its own and node 7 no CPUs. The kernel gives numbers to
those that have CPUs first."""

GUESTS = {
    name: replace(topology, parameters=QUICK)
    for name, topology in (
        ("two_nodes", TWO_NODES),
        ("threads", THREADS),
        ("many_nodes", MANY_NODES),
    )
}
"""Those that the tests share."""


DISK_BYTES = 32 << 20


def with_disk(topology: Topology, folder: Path, device: str = "virtio-blk-pci") -> Topology:
    """The guest with a disk that has an ext4.

    Args:
        folder: for the disk.
        device: that it is there, as QEMU calls it.
    """
    disk = folder / "disk"
    with disk.open("wb") as file:
        file.truncate(DISK_BYTES)
    # It is where a user's PATH may not lead.
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    maker = shutil.which("mkfs.ext4", path=path) or needs.missing("mkfs.ext4 is missing")
    subprocess.run([maker, "-q", "-F", str(disk)], check=True)
    drive = f"file={disk},if=none,id=data,format=raw"
    return replace(topology, disks=("-drive", drive, "-device", f"{device},drive=data"))


class Guest:
    """A guest that runs until `close`, or until this process ends, however it ends.

    Args:
        folder: for what it says on its console.
        image: of `guest_image.write_image`.
    """

    def __init__(self, topology: Topology, folder: Path, kernel: Path, image: Path) -> None:
        qemu = needs.program("qemu-system-x86_64")
        self.console = folder / "console.txt"
        # On a busy machine the kernel may find that its timer does not tick in time.
        parameters = f"console=ttyS0 panic=-1 quiet no_timer_check contend.cgroup={topology.cgroup}"
        command = [
            *(qemu, "-nodefaults", "-no-reboot", "-display", "none", "-machine", "pc"),
            *("-accel", "tcg,thread=single,tb-size=128", "-cpu", "Nehalem"),
            *topology.arguments(),
            *("-kernel", str(kernel), "-initrd", str(image)),
            *("-append", f"{parameters} {topology.parameters}".strip()),
            *("-serial", f"file:{self.console}", "-serial", "stdio"),
        ]
        # A guest dies with the tests.
        script = [sys.executable, "-IS", launch_script.__file__, "program", str(os.getpid())]
        with (folder / "qemu.txt").open("wb") as log:
            self._process = subprocess.Popen(
                [*script, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            )
        self._rest = b""
        self._is_ready = False

    def wait(self) -> None:
        """Until it takes calls. Guests that are started together boot together."""
        if not self._is_ready:
            said = self._line()
            assert said == b"ready", said
            self._is_ready = True

    def call(self, function: str, **arguments: Any) -> Any:
        """What a function of `guest_acts`, or `MODULE.FUNCTION`, gives there, in a process of its
        own; JSON values."""
        self.wait()
        module, _, name = function.rpartition(".")
        asked = {"module": module or "guest_acts", "function": name, "arguments": arguments}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        self._process.stdin.flush()
        said = json.loads(self._line())
        assert "gave" in said, f"in the guest:\n{said['raised']}"
        return said["gave"]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        port, pid = self._process.stdout.fileno(), self._process.pid
        used_s = process_cpu_s(pid) or 0.0
        while b"\n" not in self._rest:
            ready, _, _ = select.select([port], [], [], 1.0)
            data = os.read(port, 65536) if ready else b""
            assert data or not ready, self._why("ended")
            took_s = (process_cpu_s(pid) or 0.0) - used_s
            assert took_s < PATIENCE_CPU_S, self._why("says nothing")
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line.strip()

    def _why(self, what: str) -> str:
        said = [file.read_text(errors="replace")[-3000:] for file in self._files()]
        return f"the guest {what}:\n" + "\n".join(said)

    def _files(self) -> Sequence[Path]:
        both = (self.console, self.console.with_name("qemu.txt"))
        return [file for file in both if file.exists()]
