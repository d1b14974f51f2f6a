"""A `contend` for each test, and a run that many tests only look at.

Servers come from the user's cache, so that they are got once; datasets go to a cache of the test
session, so that nothing of a test stays and the tests share what is loaded.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
import sysbench_peer
import together
from needs import missing
from run_lab import Finished, Lab, NewLab, cache_in, calibrated, finish

from contend.servers import ServerBinary


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard() -> None:
    """A shell that starts a command in the background has it ignore Ctrl-C, and all its children
    with it; what the tests start is to hear it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the user's servers and datasets of its own."""
    return cache_in(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def new_lab(cache_home: Path, load_program: Path, mariadb_binary: ServerBinary) -> NewLab:
    """`new_lab(folder)`: a lab in a folder, on the caches of the session."""

    def make(folder: Path) -> Lab:
        return Lab(folder, cache_home, load_program, mariadb_binary.name)

    calibrated(make(cache_home))
    return make


@pytest.fixture
def lab(tmp_path: Path, new_lab: NewLab) -> Lab:
    return new_lab(tmp_path)


@pytest.fixture(scope="session")
def tiny_run(
    tmp_path_factory: pytest.TempPathFactory, load_program: Path, mariadb_binary: ServerBinary
) -> Finished:
    """The tiny experiment, run once, with a cache that no other run has touched."""

    def lab(folder: Path) -> Lab:
        return Lab(folder, cache_in(folder), load_program, mariadb_binary.name)

    def make(folder: Path) -> None:
        finish(calibrated(lab(folder)).draw())

    folder = together.once(tmp_path_factory, "tiny", make)
    return Finished.of(lab(folder))


@pytest.fixture(scope="session")
def sysbench() -> str:
    """sysbench itself, to compare with."""
    wanted = f"sysbench {sysbench_peer.VERSION}"
    return sysbench_peer.find_peer() or missing(f"{wanted} is missing: `make test-needs` gets it")
