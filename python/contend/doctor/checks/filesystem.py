"""The filesystem of the data: its kind, its options, what is free, whether it can share blocks."""

from __future__ import annotations

import os

from contend.doctor.model import (
    WRITES,
    DoctorCheck,
    Found,
    Result,
    Severity,
    Subject,
    Unseen,
    fine,
    found,
)
from contend.host.machine import Mount, mount_of
from contend.units import format_size

_PLAIN = frozenset({"ext4", "ext3", "xfs", "f2fs", "jfs"})
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})
_LAYERED = frozenset({"overlay", "aufs", "fuse", "fuse.sshfs", "9p", "virtiofs"})
_REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "glusterfs", "ceph", "lustre"})
_COPYING = frozenset({"btrfs", "zfs", "bcachefs"})
_SHARES_BLOCKS = frozenset({"btrfs", "xfs", "bcachefs"})
_FREE_SEVERE_BYTES, _FREE_WARN_SHARE = 1 << 30, 0.1


def _mount(subject: Subject) -> Mount | Unseen:
    mount = mount_of(subject.tree, subject.folder)
    return mount or Unseen("/proc/self/mountinfo shows no mount for the folder of the data")


def _kind(subject: Subject) -> Result:
    mount = _mount(subject)
    if isinstance(mount, Unseen):
        return mount
    kind, said = mount.filesystem, f"the data lies on {mount.filesystem}"
    if kind in _REMOTE:
        return found("severe", f"{said}, which is another host's", filesystem=kind)
    if kind in _IN_MEMORY:
        return found("warning", f"{said}, which is memory: nothing reaches a disk", filesystem=kind)
    if kind in _LAYERED:
        return found("warning", f"{said}, a layer above another filesystem", filesystem=kind)
    if kind in _COPYING:
        return found("warning", f"{said}, which writes each page to a new place", filesystem=kind)
    if kind in _PLAIN:
        return fine(said, filesystem=kind)
    return found("note", f"{said}, of which contend knows nothing", filesystem=kind)


def _barriers(subject: Subject) -> Result:
    mount = _mount(subject)
    if isinstance(mount, Unseen):
        return mount
    off = [one for one in mount.options.split(",") if one in ("nobarrier", "barrier=0")]
    if off:
        return Found(
            "severe",
            f"{mount.point} is mounted with {off[0]}: a flush does not reach the disk",
            {"barriers": "off"},
            mend=f"mount -o remount,barrier {mount.point}",
        )
    return fine("flushes reach the disk", barriers="on")


_SLOW_OPTIONS = {
    "sync": "each write waits for the disk",
    "dirsync": "each change of a folder waits for the disk",
    "strictatime": "each read writes a time",
    "data=journal": "all data is written twice",
    "discard": "freed blocks are discarded at once, which can stall writes",
    "compress": "pages are compressed again by the filesystem",
}
_NOTED_ONLY = ("discard",)


def _options(subject: Subject) -> Result:
    mount = _mount(subject)
    if isinstance(mount, Unseen):
        return mount
    given = mount.options.split(",")
    slow = [
        (option, why)
        for option, why in _SLOW_OPTIONS.items()
        if any(one == option or one.startswith(f"{option}=") for one in given)
    ]
    if not slow:
        return fine(f"{mount.point} is mounted with nothing that slows a database down", slow="")
    names = ", ".join(option for option, _ in slow)
    severity: Severity = "warning" if any(name not in _NOTED_ONLY for name, _ in slow) else "note"
    said = "; ".join(f"{option}: {why}" for option, why in slow)
    return found(severity, f"{mount.point} is mounted with {said}", slow=names)


def _free(subject: Subject) -> Result:
    inside = subject.tree.root / str(subject.folder).lstrip("/")
    while not inside.exists() and inside != inside.parent:
        inside = inside.parent
    try:
        space = os.statvfs(inside)
    except OSError as error:
        return Unseen(f"the folder cannot be asked: {error.strerror}")
    return judge_space(
        space.f_bavail * space.f_frsize,
        space.f_blocks * space.f_frsize,
        space.f_favail if space.f_files else None,
    )


def judge_space(free: int, total: int, files: int | None) -> Result:
    """What is free: bytes, of how many, and files that can still be made (None: no limit)."""
    said = f"{format_size(free)} of {format_size(total)} are free"
    if files is not None and files < 1000:
        return found("severe", f"only {files} more files can be made")
    if free < _FREE_SEVERE_BYTES:
        return found("severe", said)
    if total > 0 and free / total < _FREE_WARN_SHARE:
        return found("warning", said)
    return fine(said)


def _reflink(subject: Subject) -> Result:
    mount = _mount(subject)
    if isinstance(mount, Unseen):
        return mount
    if mount.filesystem in _SHARES_BLOCKS:
        return fine(f"{mount.filesystem} can copy a file without copying its blocks", reflink=True)
    return found(
        "note", f"{mount.filesystem} copies every block of a file that is copied", reflink=False
    )


CHECKS = (
    DoctorCheck(
        id="filesystem",
        title="filesystem of the data",
        why="A database writes parts of large files in place and flushes them. Layers, copies at "
        "each write and other hosts make that something else.",
        costs="The time of a flush shows it; on a filesystem in memory commits look free.",
        mend="Have the data on ext4 or xfs: XDG_CACHE_HOME=/FOLDER for contend, datadir for a "
        "server.",
        look=_kind,
        measure="fsync_us",
        touches=(WRITES,),
    ),
    DoctorCheck(
        id="barriers",
        title="write barriers",
        why="Without them a commit returns before it is on the disk: a loss of power loses what "
        "was committed, and figures look better than they are.",
        costs="Data, at the next loss of power; commits look faster.",
        mend="mount -o remount,barrier MOUNT-POINT",
        look=_barriers,
        measure="fsync_us",
        touches=(WRITES,),
    ),
    DoctorCheck(
        id="mount-options",
        title="mount options",
        why="Some options write more than the database asks for, or wait more often.",
        costs="A further write for a read or a write; not measured one by one.",
        mend="Take the option out of /etc/fstab and mount again; with discard, run fstrim by a "
        "timer instead.",
        look=_options,
        measure="fsync_us",
        touches=(WRITES,),
    ),
    DoctorCheck(
        id="free-space",
        title="free space",
        why="A server that finds its disk full stops, and a filesystem that is nearly full "
        "scatters what it writes.",
        costs="The run, when it is full.",
        mend="contend data list, contend data remove NAME; contend server remove NAME",
        look=_free,
    ),
    DoctorCheck(
        id="reflink",
        title="copies without copying",
        why="contend restores its data before runs that write. Where a filesystem can share blocks "
        "between files that takes no time.",
        costs="The time in which a dataset is copied, before each server that gets it.",
        mend="XDG_CACHE_HOME on an xfs made with reflink=1, or on btrfs",
        look=_reflink,
        touches=(),
    ),
)
