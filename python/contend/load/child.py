"""A child process of contend-load: fed, read line by line, and never left behind.

It lives in a process group of its own, so that Ctrl-C reaches the lab alone and the lab decides;
it is told to die with the lab, however the lab dies.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping

from contend.errors import WorkError
from contend.program import PROGRAM


class LoadFailed(WorkError):
    """A run gave no result.

    Attributes:
        code, sqlstate, statement: of the server's refusal, if there was one.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        detail: str | None = None,
        code: int | None = None,
        sqlstate: str | None = None,
        statement: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint, detail=detail)
        self.code = code
        self.sqlstate = sqlstate
        self.statement = statement


END_GRACE_S = 3.0
"""How long a process that was told to stop may take to do so before it is killed."""

TICK_S = 0.2
LINE_BYTES_MAX = 64 * 1024 * 1024
STDERR_BYTES_KEPT = 4096


class Child:
    """A child process whose standard streams are read without a thread and within a deadline."""

    def __init__(self, argv: list[str], env: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [argv[0], f"--die-with={os.getpid()}", *argv[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **env},
            process_group=0,
        )
        self._stderr = bytearray()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                # A program that died early leaves what was not yet written to it unwritable.
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def send(self, data: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        # A program that refuses to start closes its input; its own words say why.
        with contextlib.suppress(BrokenPipeError):
            stdin.write(data)
            stdin.close()

    def lines(self, *, limit_s: float, silence_s: float | None = None) -> Iterator[bytes]:
        """The lines of standard output until it is closed.

        Args:
            limit_s: from now to the end.
            silence_s: between two lines; None if only the end counts.

        Raises:
            LoadFailed: the time is over.
        """
        started = heard = time.monotonic()
        stdout, stderr = self._process.stdout, self._process.stderr
        assert stdout is not None and stderr is not None
        pending = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            selector.register(stderr, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(TICK_S)
                now = time.monotonic()
                heard = now if ready else heard
                if now > started + limit_s or (silence_s and now > heard + silence_s):
                    raise LoadFailed(
                        f"{PROGRAM} did not end in time and was stopped",
                        hint="The server may hang; its error log and process list may say why.",
                        detail=self.stderr_tail() or None,
                    )
                for key, _ in ready:
                    chunk = os.read(key.fd, 65536)
                    if not chunk:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is stderr:
                        self._stderr = (self._stderr + chunk)[-STDERR_BYTES_KEPT:]
                    else:
                        pending += chunk
                        if len(pending) > LINE_BYTES_MAX:
                            raise LoadFailed(f"{PROGRAM} wrote a line of over 64 MiB")
                        *whole, rest = pending.split(b"\n")
                        pending = bytearray(rest)
                        yield from (bytes(line) for line in whole if line.strip())
        if pending.strip():
            yield bytes(pending)

    def stderr_tail(self) -> str:
        return self._stderr.decode(errors="replace").strip()

    def wait(self) -> int:
        """The exit code; streams are closed already, so the process is all but gone."""
        try:
            return self._process.wait(END_GRACE_S)
        except subprocess.TimeoutExpired:
            raise LoadFailed(f"{PROGRAM} closed its output and did not exit") from None

    def _end(self) -> None:
        """Stop the process, gently first. Does nothing if it has ended."""
        for stop in (signal.SIGTERM, signal.SIGKILL):
            if self._process.poll() is None:
                self._process.send_signal(stop)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(END_GRACE_S)
