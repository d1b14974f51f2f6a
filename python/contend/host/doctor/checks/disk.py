"""The disk of the data and its filesystem: scheduler, caches, time of a flush, free space."""

from __future__ import annotations

import os

from contend.host.doctor.model import NotChecked, Result, Severity, Subject, check, result
from contend.host.tree import chosen
from contend.units import format_duration, format_size

_FSYNC_QUICK_US = 60
_FSYNC_SLOW_US, _FSYNC_SEVERE_US = 5_000, 50_000
_FREE_SEVERE_BYTES, _FREE_WARN_SHARE = 1 << 30, 0.1


@check("io-scheduler")
def _scheduler(subject: Subject) -> Result:
    device = subject.disk
    name = chosen(subject.text(f"sys/block/{device}/queue/scheduler"))
    rotates = subject.tree.text(f"sys/block/{device}/queue/rotational") == "1"
    evidence = f"{device} uses the I/O scheduler {name}"
    # A virtual disk reports that it rotates unless its host sets that.
    is_guess = device.startswith(("vd", "xvd"))
    severity: Severity | None = None
    if name in ("bfq", "cfq"):
        severity, evidence = "warning", f"{evidence}, which shares time between processes"
    elif name == "none" and rotates and not is_guess:
        severity, evidence = "warning", f"{evidence}, although it is a rotating disk"
    elif name != "none" and (is_guess or not rotates):
        kind = "a virtual disk" if is_guess else "an SSD"
        severity, evidence = "note", f"{evidence}, although it is {kind}"
    return result(severity, evidence, scheduler=name)


@check("write-cache")
def _write_cache(subject: Subject) -> Result:
    device, path = subject.disk, f"sys/block/{subject.disk}/queue/write_cache"
    text, took_us = subject.text(path), subject.seen("fsync_us")
    if text not in ("write back", "write through"):
        raise subject.unclear(path)
    severity: Severity | None = None
    evidence = f"{device} has no volatile write cache, or one with a battery (RAID controller)"
    if text == "write back":
        severity = "note"
        evidence = f"{device} has a volatile write cache: the kernel flushes it at each commit"
    elif took_us is not None and took_us > _FSYNC_SLOW_US:
        severity, evidence = "warning", f"{device} writes through, and a flush takes over 5 ms"
    return result(severity, evidence, write_cache=text)


@check("fsync-latency")
def _fsync(subject: Subject) -> Result:
    took_us = subject.measure("fsync_us", " on the disk of the data").value
    if took_us >= _FSYNC_SLOW_US:
        severity: Severity = "severe" if took_us >= _FSYNC_SEVERE_US else "warning"
        return result(severity, f"a flush takes {format_duration(took_us / 1e6)} (limit 5 ms)")
    evidence = f"a flush takes {took_us:.0f} µs"
    if took_us < _FSYNC_QUICK_US:
        evidence += ", too fast for a disk: it ends in memory, or in a cache with a battery"
        return result("severe", f"{evidence} (at least {_FSYNC_QUICK_US} µs expected)")
    return result(None, evidence)


_FILESYSTEMS: tuple[tuple[str, Severity | None, str], ...] = (
    ("ext4 ext3 xfs f2fs jfs", None, ""),
    ("nfs nfs4 cifs smb3 glusterfs ceph lustre", "severe", ", which is on another host"),
    ("tmpfs ramfs", "warning", ", which is memory: nothing reaches a disk"),
    ("overlay aufs fuse fuse.sshfs 9p virtiofs", "warning", ", a layer above another filesystem"),
    ("btrfs zfs bcachefs", "warning", ", which writes each page to a new place"),
)


@check("filesystem")
def _kind(subject: Subject) -> Result:
    kind = subject.mount.filesystem
    unknown: tuple[Severity, str] = ("note", ", which contend does not know")
    known = ((severity, note) for kinds, severity, note in _FILESYSTEMS if kind in kinds.split())
    severity, note = next(known, unknown)
    return result(severity, f"the data is on {kind}{note}", filesystem=kind)


@check("barriers")
def _barriers(subject: Subject) -> Result:
    options, point = subject.mount.options.split(","), subject.mount.point
    off = [one for one in options if one in ("nobarrier", "barrier=0")]
    if not off:
        return result(None, "flushes reach the disk", barriers="on")
    evidence = f"{point} is mounted with {off[0]}: flushes do not reach the disk"
    return Result("severe", evidence, {"barriers": "off"}, f"mount -o remount,barrier {point}")


_SLOW_OPTIONS = {
    "sync": "each write waits for the disk",
    "dirsync": "each change of a folder waits for the disk",
    "strictatime": "each read also writes a time",
    "data=journal": "all data is written twice",
    "discard": "freed blocks are discarded at once, which can stall writes",
    "compress": "the filesystem compresses pages again",
}


@check("mount-options")
def _options(subject: Subject) -> Result:
    options, point = subject.mount.options.split(","), subject.mount.point
    slow = [
        option
        for option in _SLOW_OPTIONS
        if any(one == option or one.startswith(f"{option}=") for one in options)
    ]
    if not slow:
        return result(None, f"no mount option of {point} slows a database", slow="")
    evidence = "; ".join(f"{option}: {_SLOW_OPTIONS[option]}" for option in slow)
    severity: Severity = "note" if slow == ["discard"] else "warning"
    return result(severity, f"{point} is mounted with {evidence}", slow=", ".join(slow))


@check("free-space")
def _free(subject: Subject) -> Result:
    inside = subject.tree.root / str(subject.folder).lstrip("/")
    while not inside.exists() and inside != inside.parent:
        inside = inside.parent
    try:
        space = os.statvfs(inside)
    except OSError as error:
        raise NotChecked(f"the free space cannot be read: {error.strerror}") from error
    free, total = space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize
    evidence = f"{format_size(free)} of {format_size(total)} is free"
    if space.f_files and space.f_favail < 1000:
        return result("severe", f"only {space.f_favail} more files can be created (limit 1000)")
    if free < _FREE_SEVERE_BYTES:
        return result("severe", f"{evidence} (limit 1 GiB)")
    is_low = total > 0 and free / total < _FREE_WARN_SHARE
    return result("warning", f"{evidence} (limit 10 %)") if is_low else result(None, evidence)
