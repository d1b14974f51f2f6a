"""What is done to the state of a guest: settings of the host brought about and put back, by a
session that comes to its end, and by `contend restore` after one that was killed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import guest_init

from contend.errors import ContendError
from contend.experiment import CellSpec
from contend.experiment.settings import launch_of
from contend.host.placement.look import of_thread, place_threads
from contend.host.tree import Tree, chosen
from contend.lab.shared_host import SharedHost
from contend.servers.undo import Host, Journal, files, put_back, this_host

DATA = Path("/data")
"""Where the guest's disk is mounted."""

JOURNALS = Path("/tmp/undo")

STATE = (
    "proc/irq/[0-9]*/smp_affinity_list",
    "proc/sys/kernel/numa_balancing",
    "proc/sys/kernel/sched_autogroup_enabled",
    "proc/sys/net/core/busy_*",
    "proc/sys/vm/dirty_*",
    "proc/sys/vm/nr_hugepages",
    "proc/sys/vm/swappiness",
    "proc/sys/vm/zone_reclaim_mode",
    "sys/block/*/queue/read_ahead_kb",
    "sys/block/*/queue/scheduler",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/smt/control",
    "sys/fs/cgroup/cpuset/**/cpuset.cpus",
    "sys/kernel/mm/transparent_hugepage/enabled",
)
"""All that settings of the host change in a guest."""


def with_disk() -> None:
    """Mount the guest's disk, if it is not yet."""
    if DATA.is_mount():
        return
    names = (path.name for path in Path("/sys/block").iterdir())
    disk = next(name for name in names if name.startswith(("vd", "nvme")))
    guest_init.mount("ext4", str(DATA), device=f"/dev/{disk}")


def tried(asked: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Each setting of the host by itself, at its value.

    Returns:
        By path `refused` with its `hint`, if it was; else `brought`, what files of the kernel said
        then that said otherwise before; `rounded`, in words; and what was other than before in the
        end (`left`), and when `contend restore` had put back what a killed session left: `killed`
        by the moment, what was other then, and `restored`, what still was afterwards.
    """
    return {path: _tried(path, value) for path, value in asked.items()}


def pages_dropped() -> int:
    """How often the page cache was emptied, as the kernel counts it, by a cell that asks it."""
    before = _drops()
    host = _host()
    host.bring(launch_of(CellSpec({"host.page_cache": "dropped"}).values))
    host.close()
    return _drops() - before


def roles(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Threads of this process placed by role, as those of a server: by role what the kernel says of
    the thread, and of one that it made afterwards."""
    go, over = threading.Event(), threading.Event()
    threads: dict[str, list[int]] = {}
    later: dict[str, int] = {}

    def serve(role: str) -> None:
        threads[role] = [threading.get_native_id()]
        ready.release()
        go.wait()
        made = threading.Thread(target=served, args=(role,))
        made.start()
        made.join()

    def served(role: str) -> None:
        later[role] = threading.get_native_id()
        ready.release()
        over.wait()

    placed = launch_of(CellSpec(asked).values).threads
    ready = threading.Semaphore(0)
    own = [threading.Thread(target=serve, args=(role,)) for role in ("connection", "purge", "log")]
    for thread in own:
        thread.start()
        ready.acquire()
    try:
        said = place_threads(threads, placed)
        go.set()
        for _ in threads:
            ready.acquire()
        return {
            role: {
                "said": said.get(role),
                "thread": of_thread(threads[role][0]),
                "later": of_thread(later[role]),
            }
            for role in threads
        }
    finally:
        go.set()
        over.set()
        for thread in own:
            thread.join()


def _host() -> SharedHost:
    with_disk()
    return SharedHost(lambda _event: None, DATA, touch=True, journals=JOURNALS)


def _tried(path: str, value: Any) -> dict[str, Any]:
    cell = CellSpec({path: value})
    before = _state()
    host = _host()
    try:
        host.refuse([cell])
        host.bring(launch_of(cell.values))
    except ContendError as error:
        return {"refused": error.message, "hint": error.hint, "left": _changed(before)}
    brought, rounded = _changed(before), [mark["message"] for mark in host.warnings]
    host.close()
    killed: dict[str, dict[str, str]] = {}
    restored: dict[str, dict[str, str]] = {}
    left = _changed(before)
    for moment in ("written", "brought"):
        _killed(cell, moment)
        killed[moment] = _changed(before)
        with Journal.open(JOURNALS, this_host()) as journal:
            put_back(journal, Host(), lambda _question: False)
        restored[moment] = _changed(before)
    return {
        "brought": brought,
        "rounded": rounded,
        "left": left,
        "killed": killed,
        "restored": restored,
    }


def _killed(cell: CellSpec, moment: str) -> None:
    """A session that is killed as soon as the kernel has taken the first of its changes, which the
    journal does not know yet; or once it has all that it wants."""
    if (child := os.fork()) == 0:
        write = files._write

        def killed(path: Path, value: str) -> None:
            write(path, value)
            os.kill(os.getpid(), signal.SIGKILL)

        try:
            if moment == "written":
                files._write = killed
            _host().bring(launch_of(cell.values))
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, cell


def _state() -> dict[str, str]:
    root = Path("/")
    tree = Tree(root)
    paths = (str(path.relative_to(root)) for glob in STATE for path in root.glob(glob))
    return {path: chosen(text) for path in paths if (text := tree.text(path)) is not None}


def _changed(before: Mapping[str, str]) -> dict[str, str]:
    now = _state()
    gone = dict.fromkeys(before.keys() - now.keys(), "gone")
    return {path: text for path, text in now.items() if text != before.get(path)} | gone


def _drops() -> int:
    counts = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return int(counts["drop_pagecache"])
