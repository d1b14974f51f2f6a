"""Processes that share the tests (pytest-xdist): which tests stay together, what is made once."""

from __future__ import annotations

import fcntl
import functools
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]

MOST_PROCESSES = 4

RUNS_OF_THE_LAB = {"new_lab", "tiny_run"}
"""Fixtures that run `contend` on a server of its own."""

KIND = re.compile(r"(?<=[\[-])(mariadb|mariadb_new|mysql)(?=[-\]])")


@functools.cache
def shares_a_server(file: str) -> bool:
    """Whether the tests of a file share a server: they ask for one by this name."""
    return "shared_server" in (TESTS / "server" / Path(file).name).read_text()


def unit_of(nodeid: str) -> str:
    """What a test must not be parted from: those of its class, its file, or its kind of server."""
    file, *names = nodeid.split("::")
    if "/server/" not in file:
        return file
    if shares_a_server(file):
        kind = KIND.search(nodeid)
        return f"{file} {kind[0] if kind else ''}"
    return nodeid if len(names) == 1 else f"{file}::{names[0]}"


def rank(item: pytest.Item) -> int:
    """The lower, the sooner: tests that run the whole lab are the longest, then those that share
    the servers of their file, or guests, then others with a server, then those with a browser."""
    if "guests" in getattr(item, "fixturenames", ()):
        return 1
    if item.path.parent.name != "server":
        return 3 if item.path.parent.name == "golden" else 4
    if shares_a_server(item.path.name):
        return 1
    return 2 if RUNS_OF_THE_LAB.isdisjoint(getattr(item, "fixturenames", ())) else 0


def processes() -> int:
    """How many processes share the tests: these wait for servers half of their time."""
    return min(os.cpu_count() or 1, MOST_PROCESSES // 2) * 2


def scheduler(config: pytest.Config, log: Any) -> Any:
    """Hands whole units to whichever process is free, in the order of their tests."""
    # Nobody needs it who runs the tests in one process.
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False  # the most tests are not the longest

    class Units(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

    return Units(config, log)


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that `make` fills, in one of the processes; the others wait for it."""
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, made = shared / name, shared / f"{name}.made"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            folder.mkdir()
            make(folder)
            made.touch()
    return folder
