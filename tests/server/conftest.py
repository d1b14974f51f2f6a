"""A `contend` for each test, and a run that many tests only look at.

Servers come from the user's cache, so that they are got once; datasets go to a cache of the test
session, so that nothing of a test stays and the tests share what is loaded.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sysbench_peer
import together
from needs import missing
from run_lab import TINY, Finished, Lab, NewLab, cache_in, calibrated, finish
from test_run_scripts import BOTH
from test_run_settings import SMALL
from test_run_slices import small
from test_run_workloads import EVERY

from contend.servers import ServerBinary


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard() -> None:
    """A shell that starts a command in the background has it ignore Ctrl-C, and all its children
    with it; what the tests start is to hear it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def calibrations(
    tmp_path_factory: pytest.TempPathFactory, load_program: Path, mariadb_binary: ServerBinary
) -> Path:
    """The host calibrated for what most experiments ask; once, whatever the number of processes
    that share the tests."""
    one_and_two = '"load.connections" = [1, 2]'
    asked = (TINY, EVERY, BOTH, SMALL.format(factors=one_and_two), small(one_and_two))

    def make(folder: Path) -> None:
        lab = Lab(folder, cache_in(folder), load_program, mariadb_binary.name)
        for text in asked:
            lab.file.write_text(text)
            calibrated(lab)

    return together.once(tmp_path_factory, "calibrations", make) / "contend" / "calibrations"


@pytest.fixture(scope="session")
def cache_home(tmp_path_factory: pytest.TempPathFactory, calibrations: Path) -> Path:
    """A cache with the user's servers and datasets of its own."""
    home = cache_in(tmp_path_factory.mktemp("cache"))
    shutil.copytree(calibrations, home / "contend" / "calibrations")
    return home


@pytest.fixture(scope="session")
def new_lab(cache_home: Path, load_program: Path, mariadb_binary: ServerBinary) -> NewLab:
    """`new_lab(folder)`: a lab in a folder, on the caches of the session."""

    def make(folder: Path) -> Lab:
        return Lab(folder, cache_home, load_program, mariadb_binary.name)

    return make


@pytest.fixture
def lab(tmp_path: Path, new_lab: NewLab) -> Iterator[Lab]:
    lab = new_lab(tmp_path)
    yield lab
    lab.end()


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


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """`small_disk(size)`: a file system of so many MiB."""
    mounted: list[Path] = []

    def mount(size_mib: int) -> Path:
        folder = tmp_path / f"disk-{len(mounted)}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size_mib}m", "none", str(folder)]
        if shutil.which("mount") is None or subprocess.run(command, check=False).returncode:
            pytest.skip("this test must mount a file system, as root")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture(scope="session")
def sysbench() -> str:
    """sysbench itself, to compare with."""
    wanted = f"sysbench {sysbench_peer.VERSION}"
    return sysbench_peer.find_peer() or missing(f"{wanted} is missing: `make test-needs` gets it")
