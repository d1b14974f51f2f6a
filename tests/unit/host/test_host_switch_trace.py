"""Why switches cannot be traced, in words; that they can is for a real server to show."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from needs import missing

from contend.errors import WorkError
from contend.host import switch_trace
from contend.host.switch_trace import SwitchTracer, threads_of


def test_without_root_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(subprocess, "Popen", None)
    with pytest.raises(WorkError, match=r"^tracing switches needs root$"), SwitchTracer():
        pass


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda _name: None)
    with pytest.raises(WorkError, match="unshare is not installed"), SwitchTracer():
        pass
    monkeypatch.setattr("shutil.which", lambda _name: "/bin/true")
    monkeypatch.setattr(switch_trace, "TRACEFS", str(tmp_path / "none"))
    with pytest.raises(WorkError, match="this kernel has no tracefs"), SwitchTracer():
        pass


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        # As in a container without CAP_SYS_ADMIN.
        (
            "unshare: unshare failed: Operation not permitted",
            "unshare: unshare failed: Operation not permitted",
        ),
        (
            "mount: /sys/kernel/tracing: permission denied.\n"
            "       dmesg(1) may have more information after failed mount system call.",
            "mount: /sys/kernel/tracing: permission denied.",
        ),
    ],
    ids=["a-namespace", "a-mount-and-a-hint"],
)
def test_what_is_refused_is_told_in_the_words_of_who_refused_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, reason: str
) -> None:
    refuses = tmp_path / "unshare"
    refuses.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    refuses.chmod(0o755)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(switch_trace, "TRACEFS", str(tmp_path))
    told = rf"tracefs is not available: {re.escape(reason)}$"
    with pytest.raises(WorkError, match=told), SwitchTracer():
        pass


TRACED = """
import os, time
from contend.host.switch_trace import SwitchTracer, clock_s
from contend.host.switches import event_of
with SwitchTracer() as tracer:
    tracer.watch([os.getpid()])
    begun_s = clock_s()
    tracer.begin()
    for _ in range(20):
        time.sleep(0.001)
    tracer.pause()
    ended_s = clock_s()
    events = [event for line in tracer.lines() if (event := event_of(line)) is not None]
assert len(events) >= 20, events
assert all(begun_s <= event.at_s <= ended_s for event in events), (begun_s, events, ended_s)
"""
"""A process that traces its own sleep."""


@pytest.mark.parametrize(
    ("alone", "before"),
    [
        ((), f"mount -t tracefs tracefs {switch_trace.TRACEFS}"),
        (("--time", "--monotonic=-9", "--fork"), "true"),
    ],
    ids=["mounted-already", "a-clock-of-its-own"],
)
def test_what_a_process_does_is_traced(alone: Sequence[str], before: str) -> None:
    """On a host that has tracefs mounted, as those with systemd do, after perf too: the kernel
    refuses to mount it there again. And in a time namespace, which what is traced knows nothing
    of."""
    if (why := switch_trace.why_no_switch_trace()) is not None:
        missing(why)
    unshared = ["unshare", "--mount", "--propagation", "private", *alone]
    if subprocess.run([*unshared, "true"], check=False).returncode != 0:
        missing("namespaces of a process's own cannot be had here")
    done = subprocess.run(
        [*unshared, "sh", "-c", f'{before}; exec "$0" -c "$1"', sys.executable, TRACED],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_threads_of_a_process_that_is_gone_are_none() -> None:
    assert threads_of([2**22 + 1]) == {}
