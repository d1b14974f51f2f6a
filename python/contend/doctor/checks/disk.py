"""The disk of the data: its scheduler, read-ahead, write cache, and what a flush takes."""

from __future__ import annotations

from contend.doctor.model import (
    LATENCY,
    NOT_MEASURED,
    WRITES,
    DoctorCheck,
    Result,
    Subject,
    Unseen,
    fine,
    found,
    missing,
)
from contend.host.machine import block_device, mount_of
from contend.host.tree import chosen

_READ_AHEAD_MOST_KB = 1024
_FSYNC_QUICK_US = 60
_FSYNC_SLOW_US, _FSYNC_SEVERE_US = 5_000, 50_000


def device_of(subject: Subject) -> str | Unseen:
    """The whole disk below the folder of the data."""
    mount = mount_of(subject.tree, subject.folder)
    if mount is None:
        return Unseen("/proc/self/mountinfo shows no mount for the folder of the data")
    device = block_device(subject.tree, mount)
    return device or Unseen(f"no block device is visible below this {mount.filesystem}")


def _queue(subject: Subject, name: str) -> tuple[str, str] | Unseen:
    """The path of a file of the disk's queue, and what it says."""
    device = device_of(subject)
    if isinstance(device, Unseen):
        return device
    path = f"sys/block/{device}/queue/{name}"
    text = subject.tree.text(path)
    return missing(subject, path) if text is None else (path, text)


def _file(subject: Subject, name: str, value: str) -> dict[str, str]:
    at = _queue(subject, name)
    return {} if isinstance(at, Unseen) else {at[0]: value}


def _scheduler(subject: Subject) -> Result:
    at = _queue(subject, "scheduler")
    if isinstance(at, Unseen):
        return at
    path, text = at
    device = path.split("/")[2]
    name = chosen(text)
    turns = subject.tree.text(f"sys/block/{device}/queue/rotational") == "1"
    said = f"{device} has the scheduler {name}"
    if name in ("bfq", "cfq"):
        return found("warning", f"{said}, which shares time between processes", scheduler=name)
    # A virtual disk says that it turns unless its host tells it otherwise.
    is_guess = device.startswith(("vd", "xvd"))
    if name == "none" and turns and not is_guess:
        return found("warning", f"{said}, and it is a disk that turns", scheduler=name)
    if name != "none" and (is_guess or not turns):
        kind = "a virtual disk" if is_guess else "an SSD"
        return found("note", f"{said}, and it is {kind}", scheduler=name)
    return fine(said, scheduler=name)


def _read_ahead(subject: Subject) -> Result:
    at = _queue(subject, "read_ahead_kb")
    if isinstance(at, Unseen):
        return at
    path, _ = at
    size = subject.number(path)
    if size is None:
        return missing(subject, path)
    said = f"the kernel reads {size} KiB ahead on {path.split('/')[2]}"
    if size > _READ_AHEAD_MOST_KB:
        return found("note", said, read_ahead_kb=size)
    return fine(said, read_ahead_kb=size)


def _write_cache(subject: Subject) -> Result:
    at = _queue(subject, "write_cache")
    if isinstance(at, Unseen):
        return at
    path, text = at
    device = path.split("/")[2]
    took_us = subject.seen("fsync_us")
    if text not in ("write back", "write through"):
        return missing(subject, path)
    state = {"write_cache": text}
    if text == "write through" and took_us is not None and took_us > _FSYNC_SLOW_US:
        return found("warning", f"{device} writes through, and a flush takes long", **state)
    if text == "write back":
        return found(
            "note",
            f"{device} has a volatile write cache: the kernel flushes it at each commit",
            **state,
        )
    return fine(
        f"{device} has no volatile write cache, or one with a battery (a RAID controller shows "
        "it so)",
        **state,
    )


def _fsync(subject: Subject) -> Result:
    took_us = subject.seen("fsync_us")
    if took_us is None:
        return Unseen(f"{NOT_MEASURED} on the disk of the data")
    if took_us >= _FSYNC_SEVERE_US:
        return found("severe", f"a flush takes {took_us / 1000:.0f} ms")
    if took_us >= _FSYNC_SLOW_US:
        return found("warning", f"a flush takes {took_us / 1000:.1f} ms")
    said = f"a flush takes {took_us:.0f} µs"
    if took_us < _FSYNC_QUICK_US:
        return found(
            "severe",
            f"{said}: no disk is that quick, so it ends in memory, or in a cache with a battery",
        )
    return fine(said)


CHECKS = (
    DoctorCheck(
        id="io-scheduler",
        title="scheduler of the disk",
        why="A database orders its requests itself. A scheduler that waits for more of one "
        "process, or shares time between processes, delays the flush of the log.",
        costs="Some time a request; that of a flush shows part of it.",
        mend="echo none > /sys/block/DEVICE/queue/scheduler",
        look=_scheduler,
        measure="fsync_us",
        touches=(WRITES,),
        files=lambda subject: _file(subject, "scheduler", "none"),
    ),
    DoctorCheck(
        id="read-ahead",
        title="read-ahead of the disk",
        why="Rows are read here and there. What is read ahead fills the page cache with pages that "
        "nobody asked for, and scans by files get faster than on other hosts.",
        costs="Throughput of the disk and room in the page cache when data is read from disk; "
        "nothing while all of it is in memory.",
        mend="echo 128 > /sys/block/DEVICE/queue/read_ahead_kb",
        look=_read_ahead,
        files=lambda subject: _file(subject, "read_ahead_kb", "128"),
    ),
    DoctorCheck(
        id="write-cache",
        title="write cache of the disk or controller",
        why="A commit is as fast as the cache that takes it. One that loses its content with the "
        "power must be flushed each time, one with a battery need not; a battery that is worn "
        "makes a controller write through.",
        costs="The time of a flush at each commit.",
        mend="None by software that contend would run: look at the battery of the controller with "
        "its own program.",
        look=_write_cache,
        measure="fsync_us",
        touches=(WRITES,),
    ),
    DoctorCheck(
        id="fsync-latency",
        title="time of a flush to the disk",
        why="With innodb_flush_log_at_trx_commit=1 a commit waits for one, and with sync_binlog=1 "
        "for another. One connection commits no faster than that.",
        costs="One connection commits at most once in this time. If a flush does not reach the "
        "disk, commits are lost with the power, and what they cost here says nothing of a disk.",
        mend="None by a setting that keeps what is committed: another disk, or a controller with "
        "a battery.",
        look=_fsync,
        measure="fsync_us",
        touches=(WRITES, LATENCY),
        is_measured=True,
    ),
)
