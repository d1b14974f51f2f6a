"""Layouts of the servers' memory: drawn by repeat, alike in all servers of one."""

from __future__ import annotations

import mmap
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lab_fakes import experiment
from lab_in_slices import IN_SLICES
from needs import missing

from contend.lab.design import (
    STACK_MIN_BYTES,
    STACK_SPAN_BYTES,
    MemoryLayout,
    layout_of,
    why_not_matched,
)
from contend.settings.model import Launch

REPEATS = range(1, 9)


def test_the_kernel_is_told_not_to_draw_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    launch = Launch(wrap=("numactl", "-N", "0"))
    MemoryLayout(7, 200 << 20).apply(launch)
    setarch, machine, option, *rest = launch.wrap
    assert (setarch, option) == ("/bin/setarch", "-R") and machine
    assert rest == ["/bin/prlimit", "--stack=209715200:", "numactl", "-N", "0"]
    assert list(launch.environment.values()) == ["x" * 8]


def test_layouts_are_drawn_from_the_seed(tmp_path: Path) -> None:
    tiny = experiment(tmp_path, IN_SLICES)
    drawn = [layout_of(tiny, repeat, matched=True) for repeat in range(1, 40)]
    assert drawn == [layout_of(tiny, repeat, matched=True) for repeat in range(1, 40)]
    for figures in zip(*((one.padding_bytes, one.stack_limit_bytes) for one in drawn), strict=True):
        assert len(set(figures)) > 35
    for one in drawn:
        assert one.stack_limit_bytes is not None
        assert one.stack_limit_bytes % mmap.PAGESIZE == 0
        assert 0 < one.stack_limit_bytes - STACK_MIN_BYTES < STACK_SPAN_BYTES
    other = experiment(tmp_path, IN_SLICES, **{"[load]": "[load]\nseed = 2"})
    assert layout_of(other, 1, matched=True) != drawn[0]
    assert layout_of(tiny, 1, matched=False) == MemoryLayout()


def base_of_libraries(layout: MemoryLayout, *options: str) -> int:
    """Where a process of this layout has its C library."""
    launch = Launch()
    layout.apply(launch)
    script = "print(open('/proc/self/maps').read())"
    command = [*launch.wrap, sys.executable, "-I", "-S", "-c", script, *options]
    done = subprocess.run(
        command, env=launch.environment, capture_output=True, text=True, check=True
    )
    return min(int(line[:12], 16) for line in done.stdout.splitlines() if "/libc" in line)


def test_what_is_mapped_moves_by_repeat_and_is_alike_in_one(tmp_path: Path) -> None:
    """A layout that suits a level, and stayed for all repeats, would look like the level."""
    if (lacks := why_not_matched()) is not None:
        missing(f"this host lacks {lacks}")
    tiny = experiment(tmp_path, IN_SLICES)
    layouts = [layout_of(tiny, repeat, matched=True) for repeat in REPEATS]
    baselines = [base_of_libraries(one) for one in layouts]
    assert len(set(baselines)) == len(REPEATS)
    # Another level is started with other options.
    levels = [base_of_libraries(one, "--key-cache-segments=32") for one in layouts]
    assert levels == baselines
