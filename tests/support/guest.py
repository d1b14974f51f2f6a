"""Guests: hosts of any topology, emulated (QEMU's TCG, no KVM), to look at placement in. They say
where things run; never how fast."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import needs

import contend.servers.launch as launch_script

BOOT_S = 280
CALL_S = 240


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


TWO_NODES = Topology((GuestNode(2, 192), GuestNode(2, 192)))
THREADS = Topology((GuestNode(4, 192), GuestNode(4, 192)), threads=2, cgroup=1)
EIGHT_NODES = Topology((GuestNode(1, 164), *[GuestNode(1, 48)] * 7))
UNEVEN = Topology((GuestNode(2, 256), GuestNode(2, 0), GuestNode(0, 96)))
"""Node 1 has no memory of its own, node 2 no CPUs."""

GUESTS = {
    "two_nodes": TWO_NODES,
    "threads": THREADS,
    "eight_nodes": EIGHT_NODES,
    "uneven": UNEVEN,
}
"""Those that the tests share."""


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
            *("-accel", "tcg,thread=multi,tb-size=128", "-cpu", "Nehalem"),
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
            said = self._line(BOOT_S)
            assert said == b"ready", said
            self._is_ready = True

    def call(self, function: str, **arguments: Any) -> Any:
        """What a function of `guest_acts` gives there, in a process of its own; JSON values."""
        self.wait()
        asked = {"module": "guest_acts", "function": function, "arguments": arguments}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        self._process.stdin.flush()
        said = json.loads(self._line(CALL_S))
        assert "gave" in said, f"in the guest:\n{said['raised']}"
        return said["gave"]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _line(self, patience_s: float) -> bytes:
        assert self._process.stdout is not None
        port = self._process.stdout.fileno()
        limit_s = time.monotonic() + patience_s
        while b"\n" not in self._rest:
            ready, _, _ = select.select([port], [], [], max(0.0, limit_s - time.monotonic()))
            data = os.read(port, 65536) if ready else b""
            assert data, self._why(in_time=bool(ready))
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line.strip()

    def _why(self, *, in_time: bool) -> str:
        what = "ended" if in_time else "says nothing"
        said = [file.read_text(errors="replace")[-3000:] for file in self._files()]
        return f"the guest {what}:\n" + "\n".join(said)

    def _files(self) -> Sequence[Path]:
        both = (self.console, self.console.with_name("qemu.txt"))
        return [file for file in both if file.exists()]
