"""The disk below a folder: file system, mount options, device, I/O scheduler, free space."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from contend.host.tree import Facts, Tree, chosen

_QUEUE = ("rotational", "read_ahead_kb", "nr_requests", "write_cache", "discard_max_bytes")
_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of mountinfo."""

    point: str
    device: str
    filesystem: str
    options: str
    source: str


def record_disk(facts: Facts, folder: Path | None) -> None:
    """Everything below `disk.`, for the device that holds `folder`."""
    names = ("filesystem", "options", "device", "model", "scheduler", *_QUEUE)
    if folder is None:
        for name in (*names, "total_bytes", "free_bytes"):
            facts.put(f"disk.{name}", None, reason="no folder was named")
        return
    tree = facts.tree
    _record_space(facts, folder)
    mount = mount_of(tree, folder)
    if mount is None:
        for name in names:
            facts.put(f"disk.{name}", None, reason="/proc/self/mountinfo shows no mount for it")
        return
    facts.put("disk.filesystem", mount.filesystem)
    facts.put("disk.options", mount.options)
    device = block_device(tree, mount)
    reason = f"no block device is visible below this {mount.filesystem}"
    facts.put("disk.device", device, reason=reason)
    if device is None:
        for name in ("model", "scheduler", *_QUEUE):
            facts.put(f"disk.{name}", None, reason=reason)
        return
    facts.read("disk.model", f"sys/block/{device}/device/model")
    facts.read("disk.scheduler", f"sys/block/{device}/queue/scheduler", chosen)
    for name in _QUEUE:
        parse = str if name == "write_cache" else int
        facts.read(f"disk.{name}", f"sys/block/{device}/queue/{name}", parse)


def mount_of(tree: Tree, folder: Path) -> Mount | None:
    """The mount that `folder` lies on; of several on one point the last is the one in sight."""
    wanted = folder.resolve()
    best: Mount | None = None
    for line in (tree.text("proc/self/mountinfo") or "").splitlines():
        mount = _mount(line)
        if mount is None or not wanted.is_relative_to(mount.point):
            continue
        if best is None or len(mount.point) >= len(best.point):
            best = mount
    return best


def block_device(tree: Tree, mount: Mount) -> str | None:
    """Name of the whole disk below a mount, such as `nvme0n1`; None if none is visible."""
    # File systems with several devices (btrfs) have a made-up number, but name their source.
    for entry in (f"sys/dev/block/{mount.device}", f"sys/class/block/{Path(mount.source).name}"):
        path = tree.root / entry
        if not mount.source.startswith("/dev/") and not tree.exists(entry):
            continue
        try:
            real = path.resolve(strict=True)
        except OSError:
            continue
        # The folder of a partition lies inside that of its disk, which has the queue.
        for folder in (real, real.parent):
            if (folder / "queue").is_dir():
                return folder.name
    return None


def _mount(line: str) -> Mount | None:
    """`36 35 98:0 /sub /mnt rw,noatime shared:1 - ext4 /dev/sda1 rw,errors=continue`."""
    left, dash, right = line.partition(" - ")
    fields, rest = left.split(" "), right.split(" ")
    if not dash or len(fields) < 6 or len(rest) < 3:
        return None
    own, of_filesystem = fields[5].split(","), rest[2].split(",")
    options = ",".join(dict.fromkeys([*own, *of_filesystem]))
    return Mount(_unescape(fields[4]), fields[2], rest[0], options, _unescape(rest[1]))


def _unescape(text: str) -> str:
    """Mount points write a blank as `\\040`."""
    return _ESCAPED.sub(lambda match: chr(int(match.group(1), 8)), text)


def _record_space(facts: Facts, folder: Path) -> None:
    inside = facts.tree.root / folder.relative_to(folder.anchor) if folder.anchor else folder
    while not inside.exists() and inside != inside.parent:
        inside = inside.parent
    try:
        space = os.statvfs(inside)
    except OSError as error:
        for name in ("total_bytes", "free_bytes"):
            facts.put(f"disk.{name}", None, reason=f"the folder cannot be asked: {error.strerror}")
        return
    facts.put("disk.total_bytes", space.f_blocks * space.f_frsize)
    facts.put("disk.free_bytes", space.f_bavail * space.f_frsize)
