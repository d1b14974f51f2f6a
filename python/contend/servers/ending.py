"""Ending a server that another program may have started: then its own process is not the one
that we wait for."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from contend.servers.errors import ServerFailed

WRAPPER_GRACE_S = 20.0
"""How long a wrapper may take to end after the server did."""

_POLL_S = 0.02


def server_pid(pid_file: Path, process: subprocess.Popen[bytes]) -> int:
    """The server's own process, as it says itself; that of `process` if it does not."""
    try:
        return int(pid_file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return process.pid


def stop(process: subprocess.Popen[bytes], pid_file: Path, timeout_s: float) -> int:
    """Tell the server to stop, whatever its wrapper makes of signals; the wrapper's exit code.

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
        if ended is None and has_ended(pid):
            ended = now
        if ended is not None and now > ended + WRAPPER_GRACE_S:
            raise ServerFailed(
                f"the program that the server was started with did not end within "
                f"{WRAPPER_GRACE_S:.0f} s after the server.",
                hint="What server.wrap names must end when the server does.",
            )
        if now > started + timeout_s:
            raise ServerFailed(f"the server did not stop within {timeout_s:.0f} s and was killed.")
        time.sleep(_POLL_S)
    return process.returncode


def kill(process: subprocess.Popen[bytes]) -> None:
    """End the server at once, with a wrapper and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def has_ended(pid: int) -> bool:
    """Whether the process is gone, or only waits for somebody to ask how it ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    return text.rpartition(")")[2].split()[0] in ("Z", "X")
