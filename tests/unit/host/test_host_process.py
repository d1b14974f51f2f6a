"""Counters of processes, from files and from this very process."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from contend.host import process_counters

STAT = "42 (maria (db) d) S 1 1 1 0 -1 4194304 100 7 3 9 250 50 0 0 20 0 2 0 230578 1 1 1\n"
STATUS = "Name:\tx\nvoluntary_ctxt_switches:\t{0}\nnonvoluntary_ctxt_switches:\t{1}\n"
IO = "rchar: 6976\nwchar: 0\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n"


def files(pid: int = 42) -> dict[str, str]:
    return {
        f"proc/{pid}/stat": STAT,
        f"proc/{pid}/io": IO,
        f"proc/{pid}/task/42/status": STATUS.format(10, 1),
        f"proc/{pid}/task/43/status": STATUS.format(5, 2),
    }


def test_counters_of_all_threads(tree_of: Callable[[dict[str, str]], Path]) -> None:
    counters = process_counters(42, tree_of(files()))
    assert counters is not None
    ticks = os.sysconf("SC_CLK_TCK")
    assert (counters.user_s, counters.system_s) == (250 / ticks, 50 / ticks)
    assert counters.cpu_s == 300 / ticks
    assert (counters.minor_faults, counters.major_faults) == (100, 3)
    assert (counters.voluntary_switches, counters.involuntary_switches) == (15, 3)
    assert (counters.read_bytes, counters.write_bytes) == (4096, 8192)


def test_a_process_that_is_gone(tmp_path: Path) -> None:
    assert process_counters(42, tmp_path) is None


def test_what_another_user_may_not_see(tree_of: Callable[[dict[str, str]], Path]) -> None:
    counters = process_counters(42, tree_of({"proc/42/stat": STAT}))
    assert counters is not None
    assert counters.read_bytes is None
    assert counters.voluntary_switches is None


def test_what_was_used_since(tree_of: Callable[[dict[str, str]], Path]) -> None:
    earlier = process_counters(42, tree_of(files()))
    later_files = files()
    later_files["proc/42/task/42/status"] = STATUS.format(110, 1)
    del later_files["proc/42/io"]
    root = tree_of(later_files)
    # A thread ended, and took its switches along.
    (root / "proc/42/task/43/status").unlink()
    (root / "proc/42/io").unlink()
    later = process_counters(42, root)
    assert earlier is not None
    assert later is not None
    used = later.since(earlier)
    assert (used.voluntary_switches, used.involuntary_switches) == (95, 0)
    assert used.read_bytes is None
    assert used.cpu_s == 0


def test_this_process() -> None:
    before = process_counters(os.getpid())
    sum(range(200_000))
    after = process_counters(os.getpid())
    assert before is not None
    assert after is not None
    assert after.since(before).minor_faults >= 0
