"""The code on a worker of a Dask cluster: keeps contend-load, starts it, passes on its lines.

Workers do not need contend: this file is sent to them whole, so it imports only Python's own
modules. All methods return at once. The driver of the load polls for lines; if the polls stop for
some time, the load is stopped, so that no connection is left behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

SILENCE_S = 30.0
"""The driver polls many times a second; after this silence it counts as gone."""

END_GRACE_S = 3.0
STDERR_BYTES_KEPT = 4096


class HostWorker:
    """One host of a load."""

    def __init__(self) -> None:
        self._program: str | None = None
        self._load: PartProcess | None = None
        self._clock: Any = None

    def facts(self) -> dict[str, Any]:
        """Facts that decide whether this host can do its part."""
        return {
            "hostname": socket.gethostname(),
            "machine": platform.machine(),
            "libc": " ".join(platform.libc_ver()).strip(),
            "python": ".".join(platform.python_version_tuple()[:2]),
            "processes": processes(),
            "imports_contend": "contend" in sys.modules,
        }

    def has(self, path: str, sha256: str) -> bool:
        """Whether contend-load of that hash is here: at the path of the main host, or kept."""
        for candidate in (Path(path), _kept(sha256)):
            if _hash_of(candidate) == sha256:
                self._program = str(candidate)
                return True
        return False

    def keep(self, data: bytes, sha256: str) -> str | None:
        """Keep contend-load; returns the problem if it differs from the expected one."""
        if hashlib.sha256(data).hexdigest() != sha256:
            return "the copy is damaged"
        path = _kept(sha256)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(data)
        Path(file.name).chmod(0o700)
        Path(file.name).replace(path)
        self._program = str(path)
        return None

    def version(self) -> tuple[int, str]:
        """The exit code and the output of `contend-load --version`."""
        try:
            ran = subprocess.run(
                [str(self._program), "--version"], capture_output=True, text=True, timeout=20
            )
        except (OSError, subprocess.SubprocessError) as error:
            return 1, str(error)
        return ran.returncode, (ran.stdout + ran.stderr).strip()

    def has_variables(self, names: list[str]) -> list[str]:
        """The ones of these variables that are set here."""
        return [name for name in names if name in os.environ]

    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def clock_port(self, address: str) -> int:
        """The port at which contend-load reports its clocks here; started on the first call."""
        if self._clock is None or self._clock.poll() is not None:
            argv = [str(self._program), f"--die-with={os.getpid()}", "clock"]
            self._clock = _started_by_this_process(
                [*argv, f"--answer={address}:0"], stdout=subprocess.PIPE
            )
            line = self._clock.stdout.readline()
            self._port = int(line.split(b'"port":')[1].split(b"}")[0].split(b",")[0])
        return self._port

    def start(self, plan: str, host: int, env: Callable[[], dict[str, str]]) -> None:
        """Start this host's part of a plan: connect, and wait for the start of the load.

        Args:
            env: returns additions to its environment.
        """
        self.stop()
        self._load = PartProcess([str(self._program)], plan, host, env())

    def begin(self, at_ns: int) -> None:
        """Send the start time of the load, by the steady clock of this host."""
        if self._load is not None:
            self._load.say(f"begin {at_ns}\n")

    def hear(self) -> tuple[list[str], int | None, str]:
        """The lines since the last call; the exit code once it has ended and all lines are passed
        on; the end of its error output."""
        return ([], 1, "nothing was started") if self._load is None else self._load.hear()

    def stop(self) -> None:
        """End the load, if it is running."""
        if self._load is not None:
            self._load.stop()

    def close(self) -> None:
        """End everything that was started here."""
        self.stop()
        if self._clock is not None:
            self._clock.kill()
            self._clock.wait()
            self._clock.stdout.close()
            self._clock = None


class PartProcess:
    """contend-load running its part of a plan."""

    def __init__(self, argv: list[str], plan: str, host: int, env: dict[str, str]) -> None:
        self._lines: deque[str] = deque()
        self._stderr = b""
        self._called_at = time.monotonic()
        self._child = _started_by_this_process(
            [*argv, f"--die-with={os.getpid()}", "part", f"--host={host}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **env},
        )
        self.say(f"{plan}\n")
        self._readers = [
            threading.Thread(target=read, daemon=True)
            for read in (self._read_lines, self._read_stderr)
        ]
        for thread in (*self._readers, threading.Thread(target=self._watch, daemon=True)):
            thread.start()

    def say(self, text: str) -> None:
        # A program that has ended gives the reason on its other streams.
        with contextlib.suppress(OSError, ValueError):
            self._child.stdin.write(text.encode())
            self._child.stdin.flush()

    def hear(self) -> tuple[list[str], int | None, str]:
        self._called_at = time.monotonic()
        over = not any(thread.is_alive() for thread in self._readers)
        code = self._child.poll() if over else None
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        return lines, code, self._stderr.decode(errors="replace").strip()

    def stop(self) -> None:
        """Stop it gently, so that it reports its results; kill it after a time."""
        with contextlib.suppress(OSError, ValueError):
            self._child.stdin.close()
        threading.Thread(target=self._kill_in_time, daemon=True).start()

    def _kill_in_time(self) -> None:
        try:
            self._child.wait(END_GRACE_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            # A suspended one receives it when it goes on.
            self._child.send_signal(signal.SIGCONT)
            self._child.wait()

    def _read_lines(self) -> None:
        with self._child.stdout as stream:
            for line in stream:
                self._lines.append(line.decode().rstrip("\n"))

    def _read_stderr(self) -> None:
        with self._child.stderr as stream:
            for line in stream:
                self._stderr = (self._stderr + line)[-STDERR_BYTES_KEPT:]

    def _watch(self) -> None:
        while self._child.poll() is None:
            if time.monotonic() > self._called_at + SILENCE_S:
                self.stop()
                return
            time.sleep(0.5)


def _started_by_this_process(argv: list[str], **how: Any) -> Any:
    """On request, the kernel ends a process together with the *thread* that started it. So it is
    started by a thread that lives as long as the worker."""
    done: list[Any] = []
    wake = threading.Event()

    def live() -> None:
        try:
            done.append(subprocess.Popen(argv, process_group=0, **how))
        except OSError as error:
            done.append(error)
        wake.set()
        if isinstance(done[0], subprocess.Popen):
            done[0].wait()

    threading.Thread(target=live, daemon=True).start()
    wake.wait()
    if isinstance(done[0], OSError):
        raise done[0]
    return done[0]


def _kept(sha256: str) -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "contend" / "hosts" / sha256 / "contend-load"


def _hash_of(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def processes() -> str:
    """Equal for all observers of the same processes: the kernel's start and the namespace."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
