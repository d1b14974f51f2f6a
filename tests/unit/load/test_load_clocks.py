"""How far clocks are apart, of processes whose steady clock the kernel has shifted."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from needs import missing

from contend.files import find_program
from contend.load.hosts import cluster as clocks
from contend.load.process import LoadFailed

SHIFTED = """
import ctypes, os, subprocess, sys
_, seconds, ns, *_ = open("/proc/self/timens_offsets").read().split()
if ctypes.CDLL(None).unshare(0x10000080) != 0:  # New user and time namespaces.
    sys.exit(1)
file = os.open("/proc/self/timens_offsets", os.O_WRONLY)
# The kernel counts from the host's clock, ours may be shifted already.
seconds, ns = divmod(int(seconds) * 10**9 + int(ns) + int(sys.argv[1]) * 1000, 10**9)
os.write(file, f"monotonic {seconds} {ns}\\n".encode())
sys.exit(subprocess.run(sys.argv[2:]).returncode)
"""
"""Run in a time namespace of its own: what it starts has a steady clock so far off."""


@contextmanager
def _clock(*prefix: str) -> Iterator[str]:
    """A contend-load that tells its clocks; gives its address."""
    argv = [*prefix, str(find_program()), "clock", "--answer", "127.0.0.1:0"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, process_group=0) as process:
        try:
            assert process.stdout is not None
            yield f"127.0.0.1:{json.loads(process.stdout.readline())['port']}"
        finally:
            subprocess.run(["kill", "-KILL", "--", f"-{process.pid}"], check=True)


def _shifted(offset_us: int) -> tuple[str, ...]:
    return (sys.executable, "-c", SHIFTED, str(offset_us))


@pytest.mark.parametrize("offset_us", [5_000, -5_000, 500_000, -500_000])
def test_an_offset_is_found_within_its_error(offset_us: int) -> None:
    tried = subprocess.run([*_shifted(offset_us), "true"], capture_output=True, check=False)
    if tried.returncode != 0:
        missing("the kernel gives no time namespace here")
    with _clock(*_shifted(offset_us)) as address:
        before, after = (clocks.ask_clock(find_program(), address) for _ in range(2))
    for found in (before, after):
        assert abs(found["steady_us"] - offset_us) <= found["error_us"]
        # Only that clock was shifted.
        assert abs(found["wall_us"]) < 1e6
    begin_ns = clocks.begin_ns(0.0)
    there_ns = clocks.on_clock(begin_ns, before)
    assert abs(there_ns - begin_ns - offset_us * 1000) <= before["error_us"] * 1000 + 1


def test_a_clock_that_does_not_answer_is_named(tmp_path: Path) -> None:
    with pytest.raises(LoadFailed, match=r"clock at 127\.0\.0\.1:9 ") as raised:
        clocks.ask_clock(find_program(), "127.0.0.1:9")
    assert "firewall" in str(raised.value.hint)
