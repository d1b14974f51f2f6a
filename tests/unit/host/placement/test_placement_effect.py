"""What a placement does, shown on processes that take all CPU time that they get: by how much of it
each got, and where it ran. Shares are of CPU time, so that others at work here take from both."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import needs
import pytest

from contend.host import process_cpu_s
from contend.host.placement import Placed, Placement, become, look
from contend.host.placement import spin as spin_script
from contend.host.placement.beside import Neighbour, Spin, Watched
from contend.host.placement.cpus import layout
from contend.host.placement.groups import (
    grouped,
    lifted,
    quota_of,
    real_time_file,
    remove_left_over,
)

ALLOWED = layout().allowed
CPU = ALLOWED[-1:]


@contextmanager
def spinner(placement: Placement) -> Iterator[subprocess.Popen[bytes]]:
    with ExitStack() as stack:
        prefix = stack.enter_context(grouped(placement)).prefix()
        process = subprocess.Popen(
            [*prefix, sys.executable, "-I", "-S", spin_script.__file__, "1", "2", "arithmetic"],
            start_new_session=True,
        )
        try:
            wait_for_start(process)
            yield process
        finally:
            process.kill()
            process.wait()


def wait_for_start(process: subprocess.Popen[bytes]) -> None:
    """It has become the program, of which nothing but its name stands first."""
    limit_s = time.monotonic() + 20
    while True:
        words = Path(f"/proc/{process.pid}/cmdline").read_bytes().decode().split("\0")
        if words[3:4] == [spin_script.__file__]:
            return
        assert process.poll() is None and time.monotonic() < limit_s
        time.sleep(0.01)


def shares(one: Placement, other: Placement, seconds: float = 1.5) -> tuple[float, float]:
    """CPU time of two spinners, in CPUs of the time in which both ran."""
    with spinner(one) as first, spinner(other) as second:
        pids = (first.pid, second.pid)
        for pid, asked in zip(pids, (one, other), strict=True):
            assert not list(look.differences(asked, look.seen(pid), "it"))
        begun_s, before = time.monotonic(), [process_cpu_s(pid) or 0.0 for pid in pids]
        time.sleep(seconds)
        after = [process_cpu_s(pid) or 0.0 for pid in pids]
        took_s = time.monotonic() - begun_s
    first_share, second_share = ((b - a) / took_s for a, b in zip(before, after, strict=True))
    return first_share, second_share


def test_apart_each_has_a_cpu_of_its_own() -> None:
    """Where they ran, and not how much: others are at work here."""
    needs.two_cpus()
    placements = [Placement(cpus=(cpu,)) for cpu in ALLOWED[:2]]
    with spinner(placements[0]) as one, spinner(placements[1]) as other:
        for _ in range(20):
            ran = [
                int(Path(f"/proc/{each.pid}/stat").read_text().rpartition(")")[2].split()[36])
                for each in (one, other)
            ]
            assert ran == list(ALLOWED[:2])
            time.sleep(0.01)


def test_a_nicer_one_gets_less_although_it_has_a_session_of_its_own() -> None:
    """By the nice of a process alone both would get the same, where sessions have autogroups."""
    usual, nicer = shares(Placement(cpus=CPU, nice=0), Placement(cpus=CPU, nice=19))
    assert usual > 4 * nicer


def test_an_idle_one_gets_what_the_other_leaves() -> None:
    usual, idle = shares(Placement(cpus=CPU), Placement(cpus=CPU, scheduler="idle"))
    assert usual > 4 * idle


@pytest.mark.parametrize("scheduler", ["fifo", "rr"])
def test_a_real_time_one_goes_before_the_other(scheduler: str) -> None:
    needs.real_time()
    real_time = Placement(cpus=CPU, scheduler=scheduler, priority=5)
    usual, first = shares(Placement(cpus=CPU), real_time)
    assert first > 3 * usual


def test_a_quota_holds_it_back() -> None:
    needs.control_group()
    _, held = shares(Placement(cpus=CPU), Placement(cpus=CPU, cpu_quota=0.2))
    assert held < 0.3


@pytest.mark.parametrize("quota", [0.02, 0.15, 0.333, 1.5])
def test_a_quota_is_what_was_asked_for(quota: float) -> None:
    needs.control_group()
    asked = Placement(cpu_quota=quota)
    with spinner(asked) as one:
        assert not list(look.differences(asked, look.seen(one.pid), "it"))


def test_a_quota_is_lifted_for_a_while() -> None:
    needs.control_group()
    with spinner(Placement(cpu_quota=0.2)) as one:
        assert quota_of(one.pid) == "0.2"
        # A process whose group is not ours keeps what it has.
        with lifted([one.pid, os.getpid()]):
            assert quota_of(one.pid) == "none"
        assert quota_of(one.pid) == "0.2"


def test_a_quota_holds_a_real_time_one_back_too() -> None:
    needs.control_group()
    needs.real_time()
    if real_time_file() is None:
        needs.missing("this kernel has no real time of control groups")
    asked = Placement(cpus=CPU, scheduler="fifo", priority=5, cpu_quota=0.2)
    usual, held = shares(Placement(cpus=CPU), asked, seconds=3)
    assert 0.1 < held < 0.35
    assert usual > held


def test_a_group_goes_with_its_process_and_one_of_a_dead_maker_is_removed() -> None:
    needs.control_group()
    with grouped(Placement(cpu_quota=0.5)) as placed:
        (file,) = placed.groups
        folder = Path(file).parent
        assert folder.exists()
    assert not folder.exists()
    dead = subprocess.Popen(["true"])
    dead.wait()
    left = folder.with_name(f"contend-{dead.pid}-1")
    left.mkdir()
    ours = folder.with_name(f"contend-{os.getpid()}-9999")
    ours.mkdir()
    try:
        assert left in remove_left_over()
        assert ours.exists() and not left.exists()
    finally:
        ours.rmdir()


def test_all_of_it_is_read_back_from_the_process() -> None:
    asked = Placement(
        cpus=CPU,
        memory="bind",
        nodes=(0,),
        scheduler="batch",
        nice=3,
        io_class="best-effort",
        io_level=6,
        transparent_huge=False,
        open_files=512,
    )
    with spinner(asked) as process:
        placed = Placed(asked, look.seen(process.pid))
        if "memory" not in placed.seen:  # A kernel without nodes.
            placed.seen["memory"] = "bind:0"
        assert list(look.differences(asked, placed.seen, "it")) == []
        assert placed.seen["class"] == "batch"
        os.sched_setaffinity(process.pid, ALLOWED)
        if len(ALLOWED) > 1:
            (said,) = look.differences(asked, look.seen(process.pid), "the server")
            assert said.startswith(f"the server: requested cpus {CPU[0]}, but it has ")


@pytest.mark.parametrize("policy", become.MEMORY)
def test_the_kernel_takes_each_memory_policy(policy: str) -> None:
    nodes = (0,) if policy in ("preferred", "bind", "interleave") else ()
    asked = Placement(memory=policy, nodes=nodes)
    with spinner(asked) as process:
        assert list(look.differences(asked, look.seen(process.pid), "it")) == []


def test_what_the_kernel_refuses_is_said_and_the_program_is_not_started(tmp_path: Path) -> None:
    made = tmp_path / "made"
    asked = Placement(memory="bind", nodes=(1000,))
    done = subprocess.run(
        [*asked.prefix(), "/usr/bin/touch", str(made)], capture_output=True, text=True, check=False
    )
    assert done.returncode == become.NOT_RUN
    assert "touch: memory bind of nodes [1000]: " in done.stderr
    assert not made.exists()


def test_a_neighbour_takes_its_share_where_it_was_told_and_ends() -> None:
    neighbour = Neighbour(Spin(0.3, CPU, "memory"))
    (pid,) = neighbour.pids
    try:
        time.sleep(0.5)
        neighbour.check()
        assert os.sched_getaffinity(pid) == set(CPU)
        begun_s, before = time.monotonic(), process_cpu_s(pid) or 0.0
        time.sleep(1.5)
        share = ((process_cpu_s(pid) or 0.0) - before) / (time.monotonic() - begun_s)
        assert 0.05 < share < 0.45
    finally:
        neighbour.close()
    assert not Path(f"/proc/{pid}").exists()


class TestWatchdog:
    def target(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(["sleep", "60"], start_new_session=True)

    def test_without_a_sign_it_ends_the_process(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("contend.host.placement.beside.SIGN_EVERY_S", 1000.0)
        process = self.target()
        log = tmp_path / "log"
        with log.open("ab") as file:
            watched = Watched(process.pid, file, patience_s=0.3)
            assert process.wait(30) == -9
            assert watched.process.wait(30) == 3
            watched.close()
        assert "no sign of life for 0.3 s" in log.read_text()

    def test_with_signs_it_lives(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("contend.host.placement.beside.SIGN_EVERY_S", 0.05)
        process = self.target()
        watched = Watched(process.pid, subprocess.DEVNULL, patience_s=5.0)
        time.sleep(0.5)
        watched.close()
        assert process.poll() is None
        process.kill()
        process.wait()

    def test_it_ends_the_process_with_contend(self) -> None:
        process = self.target()
        watched = Watched(process.pid, subprocess.DEVNULL)
        assert watched.process.stdin is not None
        watched._over.set()
        watched._signs.join()
        watched.process.stdin.close()
        assert process.wait(30) == -9
        watched.process.wait(30)
