"""contend's own control groups, with a quota of CPU time. In the older hierarchy (v1, its
controller `cpu`) they are below the group that this process is in. In the unified one (v2) they are
below the nearest ancestor group whose children may have quotas.

A group is a folder that its maker removes. If the maker was killed, the next process that makes a
group removes it, or `contend restore` does: its name contains the maker's pid.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from contend.errors import RequestError
from contend.host.placement.model import Placement
from contend.host.tree import Tree

PERIOD_US = 5_000
"""Period of a quota. The kernel's default of 100 ms would stop a server for longer than a slice
lasts, and than the work of any statement; the kernel accepts 1 ms or more."""

QUOTA_MIN_US = 1_000

_PREFIX = "contend-"
_ROOT = "sys/fs/cgroup"
_RT_RUNTIME, _RT_PERIOD = "cpu.rt_runtime_us", "cpu.rt_period_us"
_REMOVE_S = 5.0
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Group:
    """A control group made by contend.

    Args:
        path: its folder.
        unified: it is in the unified hierarchy.
    """

    path: Path
    unified: bool

    @property
    def is_ours(self) -> bool:
        return self.path.name.startswith(_PREFIX)

    @property
    def join(self) -> str:
        """The file to write a pid to."""
        return str(self.path / "cgroup.procs")

    def set_quota(self, cpus: float) -> str:
        """Limit the group to this number of CPUs in total; return the kernel's value as text."""
        # Longer if the quota would be less than the kernel accepts; in whole milliseconds, of which
        # a share with three digits is a whole number.
        period = max(PERIOD_US, 1000 * math.ceil(QUOTA_MIN_US / cpus / 1000))
        quota = round(cpus * period)
        if self.unified:
            (self.path / "cpu.max").write_text(f"{quota} {period}")
        else:
            (self.path / "cpu.cfs_period_us").write_text(str(period))
            (self.path / "cpu.cfs_quota_us").write_text(str(quota))
        return self.quota()

    def quota(self) -> str:
        """Its quota in CPUs, as read from the kernel."""
        if self.unified:
            words = _read(self.path / "cpu.max").split() or ["max"]
        else:
            files = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            words = [_read(self.path / name).strip() for name in files]
        return f"{int(words[0]) / int(words[1]):g}" if words[0].isdigit() else "none"

    def allow_real_time(self, share: float) -> None:
        """Allow its processes this share of each CPU's time as real time, limited by the parent's
        share: a new group has none, and a quota does not limit real time."""
        theirs, ours = self.path.parent / _RT_RUNTIME, self.path / _RT_RUNTIME
        period_us = int((self.path / _RT_PERIOD).read_text())
        ours.write_text(str(min(int(theirs.read_text()), round(share * period_us))))

    def remove(self) -> None:
        """Possible once its last process is gone, which takes a moment after a kill;
        `remove_left_over` removes the rest."""
        limit_s = time.monotonic() + _REMOVE_S
        while True:
            try:
                self.path.rmdir()
                return
            except FileNotFoundError:
                return
            except OSError:
                if time.monotonic() > limit_s:
                    return
                time.sleep(0.01)


def make_group(path: str, root: Path = Path("/")) -> Group:
    """A new group, below one whose children may have quotas.

    Args:
        path: of the setting, for the message.

    Raises:
        RequestError: a group cannot be made here.
    """
    remove_left_over(root)
    parent, unified = _parent(Tree(root), path)
    group = Group(parent / f"{_PREFIX}{os.getpid()}-{next(_numbers)}", unified)
    try:
        group.path.mkdir()
    except OSError as error:
        raise _refused(path, parent, error) from error
    return group


@contextlib.contextmanager
def grouped(placement: Placement) -> Iterator[Placement]:
    """The placement with its own group for the life of the process, if it has a quota.

    Raises:
        RequestError: a group cannot be made, or the kernel refuses the quota.
    """
    if placement.cpu_quota is None:
        yield placement
        return
    group = make_group("cpu_quota")
    try:
        try:
            group.set_quota(placement.cpu_quota)
            if placement.is_real_time:
                group.allow_real_time(placement.cpu_quota / len(placement.cpus or (0,)))
        except OSError as error:
            raise _refused("cpu_quota", group.path, error) from error
        yield replace(placement, groups=(group.join,))
    finally:
        group.remove()


@contextlib.contextmanager
def lifted(pids: Iterable[int], root: Path = Path("/")) -> Iterator[None]:
    """In this context, contend's quotas do not limit these processes."""
    with contextlib.ExitStack() as stack:
        for pid in pids:
            group = _group_of(pid, Tree(root))
            if group is not None and group.is_ours:
                file = group.path / ("cpu.max" if group.unified else "cpu.cfs_quota_us")
                before = _read(file)
                file.write_text("max" if group.unified else "-1")
                stack.callback(_write_if_there, file, before)
        yield


def _write_if_there(file: Path, text: str) -> None:
    """A group disappears with its last process."""
    with contextlib.suppress(FileNotFoundError):
        file.write_text(text)


def remove_left_over(root: Path = Path("/")) -> list[Path]:
    """Remove contend's groups whose maker is gone; return those that were removed."""
    removed = []
    base = root / _ROOT
    mounts = (base / name for name in ("cpu", "cpu,cpuacct"))
    hierarchy = next((mount for mount in mounts if mount.exists()), base)
    for path in sorted(hierarchy.rglob(f"{_PREFIX}*")):
        pid = path.name.removeprefix(_PREFIX).partition("-")[0]
        if not pid.isdigit() or (root / "proc" / pid).exists():
            continue
        # A process that still runs in it keeps it.
        with contextlib.suppress(OSError):
            path.rmdir()
            removed.append(path)
    return removed


def quota_of(pid: int, root: Path = Path("/")) -> str | None:
    """CPU quota of a process's group, as text; None if no group is visible."""
    group = _group_of(pid, Tree(root))
    return None if group is None else group.quota()


def throttled_s(pid: int, root: Path = Path("/")) -> float | None:
    """Seconds for which its group's quota has throttled a process so far; None if the group is not
    contend's, or does not report it."""
    group = _group_of(pid, Tree(root))
    if group is None or not group.is_ours:
        return None
    words = _read(group.path / "cpu.stat").split()
    counted = dict(zip(words[::2], words[1::2], strict=False))
    for name, unit_s in (("throttled_time", 1e-9), ("throttled_usec", 1e-6)):
        if name in counted:
            return int(counted[name]) * unit_s
    return None


def _group_of(pid: int, tree: Tree) -> Group | None:
    if (older := _own_v1(tree, pid)) is not None:
        return Group(older, unified=False)
    unified = _own_v2(tree, pid)
    return None if unified is None else Group(unified, unified=True)


def real_time_file(root: Path = Path("/")) -> Path | None:
    """The file with the real-time limit of this process's group; None if its group does not limit
    it."""
    tree = Tree(root)
    if (own := _own_v1(tree)) is None:
        return None
    file = own / _RT_RUNTIME
    return file if file.exists() else None


def _parent(tree: Tree, path: str) -> tuple[Path, bool]:
    if (own := _own_v1(tree)) is not None:
        return own, False
    if (own := _own_v2(tree)) is not None:
        top = tree.root / _ROOT
        for folder in (own, *own.parents):
            if "cpu" in _read(folder / "cgroup.subtree_control").split():
                return folder, True
            if folder == top:
                break
    raise RequestError(
        f"{path} needs the cpu controller of control groups, which this process does not have",
        hint="In the unified hierarchy, add `cpu` to cgroup.subtree_control of a group above this "
        "process; in a container only the host can do so.",
    )


def _own_v1(tree: Tree, pid: int | str = "self") -> Path | None:
    """The folder of a process's own group, in the hierarchy of the controller `cpu`."""
    for _, controllers, path in _own_groups(tree, pid):
        if "cpu" not in controllers.split(","):
            continue
        for mount in (controllers, "cpu", "cpu,cpuacct"):
            for inside in (path.strip("/"), ""):
                folder = tree.root / _ROOT / mount / inside
                if (folder / "cpu.cfs_quota_us").exists() or (folder / "cpu.shares").exists():
                    return folder
    return None


def _own_v2(tree: Tree, pid: int | str = "self") -> Path | None:
    base = tree.root / _ROOT
    if not (base / "cgroup.controllers").exists():
        return None
    for _, controllers, path in _own_groups(tree, pid):
        if controllers == "":
            own = base / path.strip("/")
            return own if own.exists() else base
    return None


def _own_groups(tree: Tree, pid: int | str) -> list[tuple[str, str, str]]:
    lines = (tree.text(f"proc/{pid}/cgroup") or "").splitlines()
    parts = (line.split(":", 2) for line in lines)
    return [(part[0], part[1], part[2]) for part in parts if len(part) == 3]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _refused(path: str, parent: Path, error: OSError) -> RequestError:
    return RequestError(
        f"{path} needs a control group, but none can be created below {parent}: {error.strerror}",
        hint="Run as root, or have a group delegated to this user.",
    )
