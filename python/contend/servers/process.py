"""Starting child processes that die with this process, however it dies.

The kernel's parent-death signal fires when the *thread* that forked ends, so all children are
forked by one thread that lives as long as the process.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

_LAUNCHER = Path(__file__).with_name("launch.py")
_LAUNCHER_OF_GROUP = Path(__file__).with_name("launch_group.py")
_KEPT_VARIABLES = ("PATH", "TZ", "HOME", "TMPDIR")


def spawn(
    argv: Sequence[str],
    *,
    cwd: Path,
    log: IO[bytes],
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    keep_open: Sequence[int] = (),
    more_environment: Mapping[str, str] | None = None,
    group: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a program that gets SIGKILL when this process ends.

    It has a session of its own, so that Ctrl-C in the terminal reaches the lab and not the server,
    and a small environment, so that no stray variable changes what is measured.

    Args:
        argv: an absolute path and its arguments.
        cwd: the folder it stands in; core files and relative paths land there.
        log: where its output and errors go.
        stdin: what it reads.
        keep_open: descriptors it inherits.
        more_environment: variables beside the few it gets anyway.
        group: what the program starts is killed with it.
    """
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    environment["LC_ALL"] = "C"
    environment.update(more_environment or {})
    launcher = _LAUNCHER_OF_GROUP if group else _LAUNCHER
    command = [sys.executable, "-I", "-S", str(launcher), str(os.getpid()), *argv]
    return _spawner().run(
        lambda: subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=stdin,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=tuple(keep_open),
        )
    )


_Start = Callable[[], "subprocess.Popen[bytes]"]
_Answer = queue.SimpleQueue["subprocess.Popen[bytes] | BaseException"]


class _Spawner:
    """The one thread that forks. A daemon: it ends only when the whole process does."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._work: queue.SimpleQueue[tuple[_Start, _Answer]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="contend-spawner", daemon=True).start()

    def run(self, start: _Start) -> subprocess.Popen[bytes]:
        answer: _Answer = queue.SimpleQueue()
        self._work.put((start, answer))
        result = answer.get()
        if isinstance(result, BaseException):
            raise result
        return result

    def _serve(self) -> None:
        while True:
            start, answer = self._work.get()
            try:
                answer.put(start())
            except BaseException as error:
                answer.put(error)


_lock = threading.Lock()
_the_spawner: _Spawner | None = None


def _spawner() -> _Spawner:
    # Threads do not survive a fork: a forked copy of this process makes its own.
    global _the_spawner
    with _lock:
        if _the_spawner is None or _the_spawner.pid != os.getpid():
            _the_spawner = _Spawner()
        return _the_spawner
