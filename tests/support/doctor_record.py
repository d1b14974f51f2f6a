"""Records what the checks of doctor read on this host: `python tests/support/doctor_record.py`.
Look at what it prints before you keep it: boot parameters and mounts name disks and services."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from contend.host import Tree
from contend.host.doctor import examine
from contend.host.doctor.model import Subject
from contend.host.machine import block_device, mount_of

TOPOLOGY = ("core_id", "physical_package_id", "thread_siblings_list")
MAPS_KEPT = 8
"""Of the memory's policies; all mappings of this process have the same."""


class _Recorder(Tree):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.read: dict[str, str] = {}

    def text(self, path: str) -> str | None:
        text = super().text(path)
        if text is not None:
            self.read[path] = f"{text}\n"
        return text

    def exists(self, path: str) -> bool:
        there = super().exists(path)
        if there and not (self.root / path).is_dir():
            self.text(path)
        return there


def record(root: Path, folder: Path) -> dict[str, str]:
    """Content by path below `root`; of the disk below `folder` the link that leads to it."""
    tree = _Recorder(root)
    examine(Subject(tree, folder))
    mount = mount_of(tree, folder)
    device = None if mount is None else block_device(tree, mount)
    if mount is not None and device is not None:
        tree.read[f"sys/dev/block/{mount.device}"] = f"-> sys/block/{device}"
    # Every CPU has a folder, whether or not anything of it was read.
    for file in TOPOLOGY:
        for path in root.glob(f"sys/devices/system/cpu/cpu[0-9]*/topology/{file}"):
            tree.text(str(path.relative_to(root)))
    if maps := tree.read.get("proc/self/numa_maps"):
        tree.read["proc/self/numa_maps"] = kept_maps(maps)
    return dict(sorted(tree.read.items()))


def kept_maps(maps: str) -> str:
    """Some lines, which name no program of this host."""
    kept = (re.sub(r"file=\S+", "file=/program", line) for line in maps.splitlines())
    return "\n".join(list(kept)[:MAPS_KEPT]) + "\n"


if __name__ == "__main__":
    json.dump(record(Path("/"), Path("/data")), sys.stdout, indent=1)
