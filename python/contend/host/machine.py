"""The machine: virtualisation, containers, quotas; the disk below a folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from contend.host.tree import Tree, is_whole

_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of mountinfo."""

    point: str
    device: str
    filesystem: str
    options: str
    source: str


def mount_of(tree: Tree, folder: Path) -> Mount | None:
    """The mount that contains `folder`; of several on one point, the last is the visible one."""
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
    # File systems with several devices (btrfs) have an artificial number, but name their source.
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


_VENDORS = {
    "QEMU": "kvm",
    "KVM": "kvm",
    "Amazon EC2": "kvm",
    "Google": "kvm",
    "DigitalOcean": "kvm",
    "OpenStack": "kvm",
    "VMware": "vmware",
    "Microsoft Corporation": "hyperv",
    "Xen": "xen",
    "innotek GmbH": "virtualbox",
    "Parallels": "parallels",
}
_CLOCKS = {"kvm-clock": "kvm", "hyperv_clocksource_tsc_page": "hyperv", "xen": "xen"}
_CONTAINERS = re.compile(r"docker|kubepods|containerd|libpod|lxc|garden")
_UNLIMITED_V1 = 1 << 60


def virtualisation(tree: Tree) -> str:
    """`none`, or the hypervisor's name as detected from the guest: `kvm`, …, `unknown`."""
    if (kind := tree.text("sys/hypervisor/type")) is not None:
        return kind
    for file in ("sys_vendor", "product_name", "bios_vendor"):
        text = tree.text(f"sys/class/dmi/id/{file}") or ""
        for words, name in _VENDORS.items():
            # Microsoft and Google also sell hardware, which has no hypervisor flag.
            if words in text and _has_hypervisor_flag(tree):
                return name
    clocks = tree.text("sys/devices/system/clocksource/clocksource0/available_clocksource") or ""
    for clock, name in _CLOCKS.items():
        if clock in clocks.split():
            return name
    return "unknown" if _has_hypervisor_flag(tree) else "none"


def container(tree: Tree) -> str:
    """`docker`, `podman`, … or `none`."""
    # The image of a container can be booted as a virtual machine; its root is then a disk.
    root = mount_of(tree, Path("/"))
    on_disk = root is not None and root.source.startswith("/dev/")
    if tree.exists(".dockerenv") and not on_disk:
        return "docker"
    if tree.exists("run/.containerenv"):
        return "podman"
    if named := tree.text("run/systemd/container"):
        return named
    match = _CONTAINERS.search(tree.text("proc/self/cgroup") or "")
    return match.group() if match is not None else "none"


def cgroup_file(tree: Tree, controller: str, name: str, name_v1: str) -> str | None:
    """A file of this process's control group, in the unified hierarchy or the older one."""
    unified = tree.exists("sys/fs/cgroup/cgroup.controllers")
    for line in (tree.text("proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if unified and controllers == "":
            return _nearest_with(tree, "sys/fs/cgroup", path, name)
        if not unified and controller in controllers.split(","):
            return _nearest_with(tree, f"sys/fs/cgroup/{controller}", path, name_v1)
    return None


def cpu_quota(tree: Tree) -> float | None:
    """CPUs that the control group may use; None: no quota."""
    text = cgroup_file(tree, "cpu", "cpu.max", "cpu.cfs_quota_us")
    if text is None:
        return None
    period = cgroup_file(tree, "cpu", "cpu.max", "cpu.cfs_period_us")
    words = text.split() if " " in text else [text, period or ""]
    if len(words) == 2 and is_whole(words[0]) and is_whole(words[1]) and int(words[1]) > 0:
        return round(int(words[0]) / int(words[1]), 3)
    return None


def memory_limit(tree: Tree) -> int | None:
    """Bytes that the control group may use; None: no limit."""
    text = cgroup_file(tree, "memory", "memory.max", "memory.limit_in_bytes")
    if text is None or not is_whole(text) or int(text) >= _UNLIMITED_V1:
        return None
    return int(text)


def _nearest_with(tree: Tree, base: str, path: str, name: str) -> str | None:
    """A container sees its own group as the root of the hierarchy, for any path."""
    for group in (path.strip("/"), ""):
        text = tree.text(f"{base}/{group}/{name}" if group else f"{base}/{name}")
        if text is not None:
            return text
    return None


def _has_hypervisor_flag(tree: Tree) -> bool:
    for line in (tree.text("proc/cpuinfo") or "").splitlines():
        if line.startswith("flags"):
            return "hypervisor" in line.split()
    return False
