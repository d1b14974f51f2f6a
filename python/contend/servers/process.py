"""Starts server processes that die with this process, even if it is killed; and ends them, even if
the process to wait for is not the server's own but that of a wrapper.

The kernel's parent-death signal fires when the *thread* that forked ends, so all children are
forked by one thread that lives as long as the process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from contend.servers.errors import ServerFailed

_LAUNCHER = Path(__file__).with_name("launch.py")
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

    It has a session of its own, so that Ctrl-C in the terminal reaches only the lab, and a small
    environment, so that stray variables do not affect the measurement.

    Args:
        argv: an absolute path and its arguments.
        log: where its output and errors go.
        keep_open: descriptors it inherits.
        more_environment: variables in addition to PATH, TZ, HOME, TMPDIR and LC_ALL.
        group: kill the program's children with it.
    """
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    environment["LC_ALL"] = "C"
    environment.update(more_environment or {})
    scope = "group" if group else "program"
    command = [sys.executable, "-I", "-S", str(_LAUNCHER), scope, str(os.getpid()), *argv]
    started = _spawner().submit(
        subprocess.Popen,
        command,
        cwd=cwd,
        env=environment,
        stdin=stdin,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=tuple(keep_open),
    )
    return started.result()


_lock = threading.Lock()
_forking: tuple[int, ThreadPoolExecutor] | None = None


def _spawner() -> ThreadPoolExecutor:
    """The one thread that forks; it ends only when the whole process does."""
    # Threads do not survive a fork: a forked copy of this process makes its own.
    global _forking
    with _lock:
        if _forking is None or _forking[0] != os.getpid():
            _forking = os.getpid(), ThreadPoolExecutor(1, "contend-spawner")
        return _forking[1]


WRAPPER_GRACE_S = 20.0
"""Time that a wrapper may take to end after the server did."""

_POLL_S = 0.02


def server_pid(pid_file: Path, process: subprocess.Popen[bytes]) -> int:
    """The server's own process, as it reports it; that of `process` if it does not."""
    try:
        return int(pid_file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return process.pid


def stop_process(process: subprocess.Popen[bytes], pid_file: Path, timeout_s: float) -> int:
    """Ask the server itself to stop, bypassing its wrapper; returns the wrapper's exit code.

    Raises:
        ServerFailed: the server did not stop; or it did, and its wrapper goes on.
    """
    pid = server_pid(pid_file, process)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    started = time.monotonic()
    ended: float | None = None
    while process.poll() is None:
        now = time.monotonic()
        if ended is None and _has_ended(pid):
            ended = now
        if ended is not None and now > ended + WRAPPER_GRACE_S:
            raise ServerFailed(
                f"the program of server.wrap did not end within {WRAPPER_GRACE_S:.0f} s after the "
                "server.",
                hint="Use a program that ends when the server does.",
            )
        if now > started + timeout_s:
            raise ServerFailed(f"the server did not stop within {timeout_s:.0f} s and was killed.")
        time.sleep(_POLL_S)
    return process.returncode


def kill_group(process: subprocess.Popen[bytes], pid_file: Path) -> None:
    """Kill the server with a wrapper and all its children, and wait until the server ended: a
    wrapper ends sooner than a server that frees its memory."""
    pid = server_pid(pid_file, process)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + WRAPPER_GRACE_S
    while not _has_ended(pid) and time.monotonic() < deadline:
        time.sleep(_POLL_S / 10)


def _has_ended(pid: int) -> bool:
    """Whether the process has ended with all its threads, even if its exit code is still unread.
    The first thread may end while others still hold its files."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    fields = text.rpartition(")")[2].split()
    state, threads = fields[0], int(fields[17])
    return state in ("Z", "X") and threads <= 1
