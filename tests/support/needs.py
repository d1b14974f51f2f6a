"""What a test needs that the package does not bring: a program to compare with, a browser, a host
that lets it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

from contend.errors import RequestError, WorkError
from contend.host.placement import Placement
from contend.host.placement.groups import grouped
from contend.host.profiler import Profiler, why_no_profiler


def missing(what: str) -> NoReturn:
    """Skip for want of something; fail where CONTEND_TEST_ALL=1 says that nothing is missing."""
    if os.environ.get("CONTEND_TEST_ALL") == "1":
        pytest.fail(what)
    pytest.skip(what, allow_module_level=True)


def module(name: str) -> None:
    """A module of one of the package's extras, which `make setup` installs."""
    if importlib.util.find_spec(name) is None:
        missing(f"{name} is missing: `make setup` gets it")


def program(name: str) -> str:
    """The path of a program of PATH, which `make test-needs` gets."""
    return shutil.which(name) or missing(f"{name} is missing: `make test-needs` gets it")


def profiler_works() -> None:
    """perf is there, which `make test-needs` gets, and this host lets it sample a process."""
    program("perf")
    if (why := why_no_profiler()) is not None:
        pytest.skip(why)
    try:
        with Profiler(os.getpid(), 99):
            pass
    except WorkError as error:
        pytest.skip(f"{error}: {error.detail}")


def two_cpus() -> tuple[int, ...]:
    """The CPUs that this process may use, at least two."""
    allowed = tuple(sorted(os.sched_getaffinity(0)))
    return allowed if len(allowed) > 1 else missing("this host gives one CPU alone")


def root(why: str) -> None:
    if os.geteuid() != 0:
        missing(f"root is missing: {why}")


def writable(path: Path) -> None:
    """A file of the kernel that the test changes and puts back."""
    if not os.access(path, os.W_OK):
        missing(f"{path} cannot be written: it needs root, and a kernel that has it")


def control_group() -> None:
    """A control group of our own can be made here, with a quota."""
    try:
        with grouped(Placement(cpu_quota=0.5)):
            pass
    except RequestError as error:
        missing(error.message)


def real_time() -> None:
    """A process may be real-time here."""
    try:
        asked = Placement(scheduler="fifo", priority=1)
        subprocess.run([*asked.prefix(), "/bin/true"], check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        missing(error.stderr.decode())
