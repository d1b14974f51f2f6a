"""What happened to a host between two moments, and whether that disturbed a run."""

from __future__ import annotations

import json
import mmap
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from contend.host import Pressure, change, disturbances, own_cpu_s, pressure, process_cpu_s
from contend.metrics.probed import PressureChange

QUIET = PressureChange(
    elapsed_s=2.0,
    cpus=4,
    busy_share=0.5,
    steal_share=0.0,
    iowait_share=0.0,
    stall_share={"cpu.some": 0.6, "memory.full": 0.0, "io.full": 0.0},
    load_1m_before=0.1,
    vm={"pswpin": 0, "pswpout": 0, "pgmajfault": 3, "oom_kill": 0},
    throttled_s=0.0,
    thermal_events=0,
)


def snapshot(root: Path, at_s: float) -> Pressure:
    return pressure(root, clock=lambda: at_s)


def test_a_snapshot(two_sockets: Path) -> None:
    seen = snapshot(two_sockets, 5.0)
    assert (seen.at_s, seen.cpus, seen.load_1m) == (5.0, 8, 0.52)
    assert seen.cpu_s["user"] / seen.cpu_s["system"] == pytest.approx(2.0)
    assert seen.stall_us["io.full"] == 200
    assert seen.vm == {"pgmajfault": 5, "pswpin": 1, "pswpout": 2, "oom_kill": 0}
    assert (seen.throttled_us, seen.thermal_events) == (7000, 16)


def test_older_control_groups_count_nanoseconds(micro_vm: Path) -> None:
    seen = snapshot(micro_vm, 0.0)
    assert seen.throttled_us == 5000
    assert seen.thermal_events is None


def test_what_happened_between_two_snapshots(two_sockets: Path) -> None:
    before = snapshot(two_sockets, 5.0)
    (two_sockets / "proc/stat").write_text(
        "cpu  160 0 70 900 20 0 5 10 0 0\n" + "cpu0 1\n" * 8, encoding="utf-8"
    )
    (two_sockets / "proc/pressure/io").write_text("full avg10=0 total=500200\n", encoding="utf-8")
    (two_sockets / "proc/vmstat").write_text("pswpin 11\npswpout 2\n", encoding="utf-8")
    happened = change(before, snapshot(two_sockets, 7.0))
    assert happened["elapsed_s"] == 2.0
    # 60 user, 20 system, 100 idle, 10 waiting, 10 stolen.
    assert happened["busy_share"] == pytest.approx(80 / 200)
    assert happened["steal_share"] == pytest.approx(10 / 200)
    assert happened["iowait_share"] == pytest.approx(10 / 200)
    assert happened["stall_share"]["io.full"] == pytest.approx(0.25)
    assert happened["vm"] == {"pswpin": 10, "pswpout": 0}
    assert (happened["throttled_s"], happened["thermal_events"]) == (0.0, 0)


def test_a_host_that_shows_nothing(tmp_path: Path) -> None:
    seen = snapshot(tmp_path, 1.0)
    assert (seen.cpus, seen.cpu_s, seen.stall_us, seen.load_1m) == (0, {}, {}, None)
    happened = change(seen, snapshot(tmp_path, 1.0))
    assert (happened["busy_share"], happened["elapsed_s"]) == (0.0, 0.0)
    assert disturbances(happened, own_cpu_s=1.0) == []


def test_nonsense_in_the_files_is_not_believed(tree_of: Callable[[dict[str, str]], Path]) -> None:
    root = tree_of(
        {
            "proc/stat": "cpu  a b c\ncpu0 1\n",
            "proc/loadavg": "high\n",
            "proc/pressure/cpu": "some\n\n",
            "proc/vmstat": "pswpin many\npswpout 1\n".replace("many", "0 0"),
        }
    )
    seen = snapshot(root, 0.0)
    assert (seen.cpu_s, seen.load_1m, seen.stall_us, seen.vm) == ({}, None, {}, {"pswpout": 1})


def test_a_quiet_host_disturbs_nothing() -> None:
    assert disturbances(QUIET, own_cpu_s=0.5 * 2.0 * 4) == []


STORED = {"stall_share": {"io.full": 0.2}}
READ_AGAIN = {"workingset_refault_file": 30_000_000 // mmap.PAGESIZE}


@pytest.mark.parametrize(
    ("happened", "own_cpu_s", "code", "says"),
    [
        ({"steal_share": 0.032}, None, "host-steal", "3.2%"),
        ({"throttled_s": 0.25}, None, "cpu-quota", "0.25 s"),
        ({}, 0.4 * 2.0 * 4, "noisy-neighbour", "10.0%"),
        ({"vm": {"pswpin": 2, "pswpout": 1}}, None, "swapping", "3 memory pages"),
        ({"vm": {"oom_kill": 1}}, None, "out-of-memory", "killed a process"),
        ({"stall_share": {"memory.full": 0.05}}, None, "memory-pressure", "5.0%"),
        (STORED, None, "io-pressure", "20.0% of the time"),
        ({**STORED, "vm": READ_AGAIN}, None, "io-pressure", "30 MB of files"),
        ({"thermal_events": 4}, None, "thermal", "4 times"),
    ],
)
def test_disturbances(happened: Any, own_cpu_s: float | None, code: str, says: str) -> None:
    (found,) = disturbances({**QUIET, **happened}, own_cpu_s=own_cpu_s)
    assert found["code"] == code
    assert says in found["message"]


def test_several_come_worst_first() -> None:
    happened = {**QUIET, "steal_share": 0.1, "thermal_events": 1, "vm": {"pswpin": 1}}
    codes = [found["code"] for found in disturbances(happened)]
    assert codes == ["host-steal", "swapping", "thermal"]


def test_what_cannot_be_seen_disturbs_nothing() -> None:
    blind = {**QUIET, "throttled_s": None, "thermal_events": None, "vm": {}, "stall_share": {}}
    assert disturbances(blind) == []


def test_snapshots_and_changes_are_json(two_sockets: Path) -> None:
    seen = snapshot(two_sockets, 1.0)
    assert json.loads(json.dumps(asdict(seen))) == asdict(seen)
    happened = change(seen, snapshot(two_sockets, 2.0))
    assert json.loads(json.dumps(happened)) == happened


def test_this_host() -> None:
    before = pressure()
    happened = change(before, pressure())
    assert before.cpus >= 1
    assert 0 <= happened["busy_share"] <= 1


STAT = "42 (maria (db) d) S 1 1 1 0 -1 4194304 100 7 3 9 250 50 0 0 20 0 2 0 230578 1 1 1\n"


def test_the_cpu_of_a_process(tree_of: Callable[[dict[str, str]], Path]) -> None:
    assert process_cpu_s(42, tree_of({"proc/42/stat": STAT})) == 300 / os.sysconf("SC_CLK_TCK")


def test_a_process_that_is_gone(tmp_path: Path) -> None:
    assert process_cpu_s(42, tmp_path) is None
    assert own_cpu_s([2**22 + 1]) is None


def stat_of(parent: int, user: int, ended_user: int) -> str:
    return f"1 (contend) S {parent} 1 1 0 -1 0 100 7 3 9 {user} 0 {ended_user} 0 20 0 2 0 9 1 1 1\n"


def test_what_this_process_started_is_its_own(tree_of: Callable[[dict[str, str]], Path]) -> None:
    """A worker of a fleet, and the load generators that the worker waited for; not a neighbour."""
    own = os.getpid()
    processes = {own: (1, 100, 20), 70: (own, 30, 5), 71: (70, 7, 0), 72: (1, 10_000, 0)}
    root = tree_of({f"proc/{pid}/stat": stat_of(*given) for pid, given in processes.items()})
    assert own_cpu_s(root=root) == pytest.approx(162 / os.sysconf("SC_CLK_TCK"))
    assert own_cpu_s([71], root) == own_cpu_s(root=root)
    assert own_cpu_s([72], root) == pytest.approx(10_162 / os.sysconf("SC_CLK_TCK"))


def test_a_child_of_a_child_is_this_process_s_own() -> None:
    """Real processes: a shell that waits for a program that computes."""
    busy = "x = 0\nwhile True: x += 1"
    command = ["sh", "-c", '"$0" -c "$1" & echo $!; wait', sys.executable, busy]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdout is not None
        computing = int(shell.stdout.readline())
        before_s = own_cpu_s()
        while (process_cpu_s(computing) or 0.0) < 0.2:
            time.sleep(0.02)
        after_s = own_cpu_s()
        # The shell waits for it.
        os.kill(computing, signal.SIGKILL)
    assert before_s is not None and after_s is not None
    assert after_s - before_s >= 0.1


def test_this_process() -> None:
    before_s = own_cpu_s([os.getppid()])
    sum(range(200_000))
    after_s = own_cpu_s([os.getppid()])
    assert before_s is not None and after_s is not None
    assert after_s >= before_s > 0
