"""Placing single threads of a server that runs, by what they do for it.

A new thread begins as the one that made it. The server's first thread takes connections and makes
their threads, so it is placed as they are.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping

from contend.errors import WorkError
from contend.placement.become import CLASSES
from contend.placement.look import of_thread
from contend.placement.model import Placement

ROLES = {
    "connection": ("one_connection", "main"),
    "io": ("io_read_thread", "io_write_thread", "io_log_thread", "io_ibuf_thread"),
    "cleaner": ("page_cleaner_thread", "page_flush_coordinator_thread"),
    "log": (
        *("log_writer_thread", "log_flusher_thread", "log_checkpointer_thread"),
        *("log_write_notifier_thread", "log_flush_notifier_thread"),
    ),
    "purge": ("srv_purge_thread", "srv_worker_thread", "clone_gtid_thread"),
}
"""Last parts of the names that performance_schema.threads has, of MariaDB and MySQL."""


def role_of(name: str) -> str | None:
    """The role of a thread by its name, `thread/sql/one_connection`; None if it has none."""
    last = name.rpartition("/")[2]
    return next((role for role, names in ROLES.items() if last in names), None)


def by_role(threads: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """Thread ids of the kernel by role, of names with their ids."""
    found: dict[str, list[int]] = {}
    for name, thread in threads:
        if (role := role_of(name)) is not None:
            found.setdefault(role, []).append(thread)
    return found


def place_threads(
    threads: Mapping[str, list[int]], asked: Mapping[str, Placement]
) -> dict[str, dict[str, str]]:
    """Place threads by role; how they are placed then, by role.

    Raises:
        WorkError: the server has no thread of a role, or the kernel refuses what is asked.
    """
    seen: dict[str, dict[str, str]] = {}
    for role, placement in asked.items():
        if not threads.get(role):
            have = ", ".join(threads) or "none that contend knows"
            raise WorkError(
                f"place.server.threads.{role}: this server has no such threads",
                hint=f"It has {have}. MariaDB's I/O is done by a pool of threads that has no role.",
            )
        for thread in threads[role]:
            # A connection that has gone takes its thread with it.
            with contextlib.suppress(ProcessLookupError):
                _place(thread, placement, role)
        alive: dict[str, str] = {}
        for thread in threads[role]:
            with contextlib.suppress(ProcessLookupError):
                alive = of_thread(thread)
        seen[role] = {**alive, "threads": str(len(threads[role]))}
    return seen


def _place(thread: int, placement: Placement, role: str) -> None:
    try:
        if placement.cpus is not None:
            os.sched_setaffinity(thread, placement.cpus)
        if placement.nice is not None:
            os.setpriority(os.PRIO_PROCESS, thread, placement.nice)
        if placement.scheduler is not None:
            parameters = os.sched_param(placement.priority)
            os.sched_setscheduler(thread, CLASSES[placement.scheduler], parameters)
    except ProcessLookupError:
        raise
    except OSError as error:
        asked = ", ".join(f"{name} {value}" for name, value in placement.words())
        raise WorkError(
            f"place.server.threads.{role}: the kernel does not take {asked}: {error.strerror}"
        ) from error
