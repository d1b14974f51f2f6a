"""The disk of the data and its filesystem: scheduler, caches, time of a flush, free space."""

from __future__ import annotations

import os

from contend.host.doctor.model import NotChecked, Result, Severity, Subject, check, result
from contend.host.tree import chosen
from contend.units import format_size

_FSYNC_QUICK_US = 60
_FSYNC_SLOW_US, _FSYNC_SEVERE_US = 5_000, 50_000
_FREE_SEVERE_BYTES, _FREE_WARN_SHARE = 1 << 30, 0.1


@check("io-scheduler")
def _scheduler(subject: Subject) -> Result:
    device = subject.disk
    name = chosen(subject.text(f"sys/block/{device}/queue/scheduler"))
    turns = subject.tree.text(f"sys/block/{device}/queue/rotational") == "1"
    said = f"{device} has the scheduler {name}"
    # A virtual disk reports that it rotates unless its host sets that.
    is_guess = device.startswith(("vd", "xvd"))
    severity: Severity | None = None
    if name in ("bfq", "cfq"):
        severity, said = "warning", f"{said}, which shares time between processes"
    elif name == "none" and turns and not is_guess:
        severity, said = "warning", f"{said}, and it is a disk that turns"
    elif name != "none" and (is_guess or not turns):
        severity, said = "note", f"{said}, and it is {'a virtual disk' if is_guess else 'an SSD'}"
    return result(severity, said, scheduler=name)


@check("write-cache")
def _write_cache(subject: Subject) -> Result:
    device, path = subject.disk, f"sys/block/{subject.disk}/queue/write_cache"
    text, took_us = subject.text(path), subject.seen("fsync_us")
    if text not in ("write back", "write through"):
        raise subject.unclear(path)
    severity: Severity | None = None
    said = (
        f"{device} has no volatile write cache, or one with a battery (a RAID controller shows "
        "it so)"
    )
    if text == "write back":
        severity = "note"
        said = f"{device} has a volatile write cache: the kernel flushes it at each commit"
    elif took_us is not None and took_us > _FSYNC_SLOW_US:
        severity, said = "warning", f"{device} writes through, and a flush takes long"
    return result(severity, said, write_cache=text)


@check("fsync-latency")
def _fsync(subject: Subject) -> Result:
    took_us = subject.measure("fsync_us", " on the disk of the data").value
    if took_us >= _FSYNC_SEVERE_US:
        return result("severe", f"a flush takes {took_us / 1000:.0f} ms")
    if took_us >= _FSYNC_SLOW_US:
        return result("warning", f"a flush takes {took_us / 1000:.1f} ms")
    said = f"a flush takes {took_us:.0f} µs"
    if took_us < _FSYNC_QUICK_US:
        said += ": no disk is that quick, so it ends in memory, or in a cache with a battery"
        return result("severe", said)
    return result(None, said)


_FILESYSTEMS: tuple[tuple[str, Severity | None, str], ...] = (
    ("ext4 ext3 xfs f2fs jfs", None, ""),
    ("nfs nfs4 cifs smb3 glusterfs ceph lustre", "severe", ", which is another host's"),
    ("tmpfs ramfs", "warning", ", which is memory: nothing reaches a disk"),
    ("overlay aufs fuse fuse.sshfs 9p virtiofs", "warning", ", a layer above another filesystem"),
    ("btrfs zfs bcachefs", "warning", ", which writes each page to a new place"),
)


@check("filesystem")
def _kind(subject: Subject) -> Result:
    kind = subject.mount.filesystem
    unknown: tuple[Severity, str] = ("note", ", of which contend knows nothing")
    known = ((severity, what) for kinds, severity, what in _FILESYSTEMS if kind in kinds.split())
    severity, what = next(known, unknown)
    return result(severity, f"the data lies on {kind}{what}", filesystem=kind)


@check("barriers")
def _barriers(subject: Subject) -> Result:
    options, point = subject.mount.options.split(","), subject.mount.point
    off = [one for one in options if one in ("nobarrier", "barrier=0")]
    if not off:
        return result(None, "flushes reach the disk", barriers="on")
    said = f"{point} is mounted with {off[0]}: a flush does not reach the disk"
    return Result("severe", said, {"barriers": "off"}, f"mount -o remount,barrier {point}")


_SLOW_OPTIONS = {
    "sync": "each write waits for the disk",
    "dirsync": "each change of a folder waits for the disk",
    "strictatime": "each read writes a time",
    "data=journal": "all data is written twice",
    "discard": "freed blocks are discarded at once, which can stall writes",
    "compress": "pages are compressed again by the filesystem",
}


@check("mount-options")
def _options(subject: Subject) -> Result:
    given, point = subject.mount.options.split(","), subject.mount.point
    slow = [
        option
        for option in _SLOW_OPTIONS
        if any(one == option or one.startswith(f"{option}=") for one in given)
    ]
    if not slow:
        return result(None, f"{point} is mounted with nothing that slows a database down", slow="")
    said = "; ".join(f"{option}: {_SLOW_OPTIONS[option]}" for option in slow)
    severity: Severity = "note" if slow == ["discard"] else "warning"
    return result(severity, f"{point} is mounted with {said}", slow=", ".join(slow))


@check("free-space")
def _free(subject: Subject) -> Result:
    inside = subject.tree.root / str(subject.folder).lstrip("/")
    while not inside.exists() and inside != inside.parent:
        inside = inside.parent
    try:
        space = os.statvfs(inside)
    except OSError as error:
        raise NotChecked(f"the folder cannot be asked: {error.strerror}") from error
    free, total = space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize
    said = f"{format_size(free)} of {format_size(total)} are free"
    if space.f_files and space.f_favail < 1000:
        return result("severe", f"only {space.f_favail} more files can be made")
    if free < _FREE_SEVERE_BYTES:
        return result("severe", said)
    return result("warning" if total > 0 and free / total < _FREE_WARN_SHARE else None, said)
