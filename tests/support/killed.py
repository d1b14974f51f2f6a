"""Runs a piece of work again and again in processes of its own, each of which is killed one step
later than the one before."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from child_python import import_path


def killed_at_every_step(
    work: Callable[[], object],
    files: tuple[str, ...],
    events: tuple[str, ...] = ("line",),
    *,
    first: int = 1,
    by: int = 1,
) -> Iterator[int]:
    """Yields after each process that was killed, with the number of the step; ends when the work
    got to its end.

    Args:
        files: whose path has one of these in it.
        events: that are a step there: `line`, `call`, `return`.
        first, by: the first step at which a process is killed, and how many later the next is.
    """
    for step in itertools.count(first, by):
        child = os.fork()
        if child == 0:
            _work_until(step, work, files, events)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code == 0:
            return
        assert code == -signal.SIGKILL, f"the work failed by itself: {code}"
        yield step


def _work_until(
    step: int, work: Callable[[], object], files: tuple[str, ...], events: tuple[str, ...]
) -> None:
    left = step

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal left
        if event == "call" and not any(file in frame.f_code.co_filename for file in files):
            return None
        if event in events:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    code = 1
    try:
        sys.settrace(trace)
        work()
        sys.settrace(None)
        code = 0
    except BaseException:
        sys.settrace(None)
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)


def in_a_process_of_its_own(program: str, *arguments: object) -> str:
    """What a Python program says that forks, which a process with threads should not."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env={**os.environ, **import_path()},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
