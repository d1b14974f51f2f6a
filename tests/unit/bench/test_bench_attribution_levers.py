"""The causes of `bench/attribution_levers.py`, and how they get into a server."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from bench_module import BENCH, bench_module

from contend.spec import load_experiment
from contend.why.candidates import CANDIDATES

levers = bench_module("attribution_levers")
injected_start = bench_module("injected_start")


def test_a_round_has_each_size_and_each_cause_for_a_contend_that_lacks_it() -> None:
    cases = list(levers.drawn(1))
    assert len({key for key, *_ in cases}) == len(cases)
    assert {(one.name, size) for _, one, size, without in cases if not without} == {
        (one.name, size) for one in levers.LEVERS for size in one.sizes
    }
    assert {one.name: without for _, one, _, without in cases if without} == {
        one.name: one.accepted[0] for one in levers.LEVERS
    }
    assert {name for one in levers.LEVERS for name in one.accepted} <= CANDIDATES.keys()


@pytest.mark.parametrize("one", levers.LEVERS, ids=lambda one: str(one.name))
def test_each_is_an_experiment(one, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    found = load_experiment(str(levers.experiment_of(one, one.sizes[0], tmp_path)))
    assert found.base.values["load.connections"] == levers.connections_of(one, one.sizes[0])


def test_what_is_injected_gives_way_to_options_of_contend() -> None:
    command = ["ld.so", "mariadbd", "--no-defaults", "--innodb-doublewrite=0"]
    assert injected_start.with_options(command, ["innodb_doublewrite=1"]) == [
        *command[:3],
        *("--innodb_doublewrite=1", command[3]),
    ]


def test_what_burns_beside_a_server_ends_with_it() -> None:
    wrapper = [sys.executable, str(BENCH / "injected_start.py"), "--burn", "1", "--"]
    shell = "read line; exit 0"
    with subprocess.Popen(
        [*wrapper, "/bin/sh", "-c", shell, "--no-defaults"], stdin=subprocess.PIPE
    ) as server:
        burning = wait_for(lambda: burners_of(server.pid))
        server.communicate(b"\n")
    assert server.returncode == 0
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in burning) and [1])


def wait_for(found: Callable[[], list[int]]) -> list[int]:
    for _ in range(1000):
        if seen := found():
            return seen
        time.sleep(0.02)
    pytest.fail("it did not come to that within 20 s")


def burners_of(pid: int) -> list[int]:
    """Processes of the wrapper that are nobody's children, by their command lines."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"--burn" in command and int(folder.name) != pid:
            found.append(int(folder.name))
    return found
