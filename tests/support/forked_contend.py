"""`contend` as a process that is forked from one which has imported it already.

Importing takes more CPU time than starting a MariaDB does, and tests start `contend` hundreds of
times. The process is one of its own in all that a test can see of it but its command line: streams,
environment, folder, session, signals, exit code. A test of the command line or of the start itself
has to start a Python.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

END_S = 120.0
"""A process that was killed, or closed its streams, has ended long before."""


class Forked(subprocess.Popen[str]):
    """A `contend`, with what tests use of `Popen`; or a script in its place."""

    def __init__(
        self,
        words: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        script: str | None = None,
    ) -> None:
        self.args = list(words)
        self.stdin = None
        self.returncode: int | None = None  # type: ignore[assignment]
        self._reader: threading.Thread | None = None
        self._child_created = False  # The interpreter has no child to wait for when this is gone.
        ours, theirs = zip(*(os.pipe() for _ in range(3)), strict=True)
        self._ended, out, err = ours
        self.stdout = os.fdopen(out, encoding="utf-8", errors="replace")
        self.stderr = os.fdopen(err, encoding="utf-8", errors="replace")
        request = {
            **{"words": self.args, "script": script},
            **{"folder": str(folder), "environment": dict(environment)},
        }
        try:
            self.pid = _forker(environment["PYTHONPATH"]).ask(request, theirs)
        finally:
            for descriptor in theirs:
                os.close(descriptor)

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return code

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._ended], [], [], timeout)[0]:
            said = os.read(self._ended, 4)
            os.close(self._ended)
            assert said, "the process that forks is gone"
            self.returncode = os.waitstatus_to_exitcode(*struct.unpack("i", said))
        return self.returncode

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """A test that failed or ran out of time does not wait for what it started: nothing ends
        that wait, since the time of a test is over only once."""
        if kind is not None and self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
        self.wait(END_S)
        # A file that is being read cannot be closed.
        reads = self._reader is not None and self._reader.is_alive()
        for stream in (self.stdout, *([] if reads else [self.stderr])):
            if stream is not None:
                stream.close()

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[str, str]:
        assert input is None and self.stdout is not None and self.stderr is not None
        said: list[str] = []
        # A daemon: what left its error stream to a process that lives on does not keep the tests.
        self._reader = reader = threading.Thread(
            target=lambda: said.append(self.stderr.read()),  # type: ignore[union-attr]
            daemon=True,
        )
        reader.start()
        out = self.stdout.read()
        reader.join()
        self.stdout.close()
        self.stderr.close()
        self.wait(timeout)
        return out, said[0]


@functools.cache
def _forker(python_path: str) -> _Forker:
    return _Forker(python_path)


class _Forker:
    """The process that has imported `contend` with the given path, and its hooks."""

    def __init__(self, python_path: str) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            # The word is for hooks that look whether it is `contend` that starts.
            self._process = subprocess.Popen(
                [sys.executable, __file__, "contend"],
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": python_path},
                start_new_session=True,
            )
        atexit.register(self.end)

    def end(self) -> None:
        """What was forked goes on; nothing more is."""
        self._socket.close()
        self._process.wait()

    def ask(self, request: Mapping[str, Any], descriptors: Sequence[int]) -> int:
        text = json.dumps(request).encode()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * len(text) + 4096)
        socket.send_fds(self._socket, [text], descriptors)
        try:
            return int(self._socket.recv(8))
        except (ConnectionResetError, ValueError):
            raise AssertionError("contend cannot be imported; its process said why") from None


def prepare() -> None:
    """Have all that a run needs but its work. What a test writes outlives no loss of power, so
    nothing waits for the disk but what is to be read from it."""
    from contend import report
    from contend.cli.parser import COMMANDS
    from contend.report import html
    from contend.store import schema

    for command in COMMANDS.values():
        importlib.import_module(f"contend.cli.{command.module}")
    for module in pkgutil.iter_modules(report.__path__):
        importlib.import_module(f"contend.report.{module.name}")
    for name in html._environment().list_templates():
        html._environment().get_template(name)
    schema.SYNCHRONOUS = "OFF"
    os.fsync = lambda _descriptor: None
    to_the_disk = os.fdatasync

    def unless_a_dataset(descriptor: int) -> None:
        # Whoever looks at the disk itself, or empties the page cache, waits for it.
        if not sys._getframe(1).f_globals["__name__"].startswith("contend.data"):
            to_the_disk(descriptor)

    os.fdatasync = unless_a_dataset


def serve() -> Mapping[str, Any]:
    """Fork for each request that comes, until nobody asks any more. Returns in the child, with the
    request."""
    prepare()
    gc.collect()
    gc.freeze()
    requests = socket.socket(fileno=os.dup(0))
    children: dict[int, tuple[int, int]] = {}
    """What tells that one ended, its process, and where to say so."""
    while True:
        ready, _, _ = select.select([requests, *children], [], [])
        for one in ready:
            if one is requests:
                text, descriptors, _, _ = socket.recv_fds(requests, 1 << 20, 3)
                if not text:
                    os._exit(0)
                pid = os.fork()
                if pid == 0:
                    request: Mapping[str, Any] = json.loads(text)
                    become(request, descriptors)
                    return request
                ended, *others = descriptors
                for descriptor in others:
                    os.close(descriptor)
                children[os.pidfd_open(pid)] = pid, ended
                requests.send(str(pid).encode())
            else:
                pid, ended = children.pop(one)
                os.close(one)
                _, status = os.waitpid(pid, 0)
                with contextlib.suppress(BrokenPipeError):  # Nobody waits for it any more.
                    os.write(ended, struct.pack("i", status))
                os.close(ended)


def become(request: Mapping[str, Any], descriptors: Sequence[int]) -> None:
    os.setsid()
    _ended, out, err = descriptors
    nothing = os.open(os.devnull, os.O_RDONLY)
    for here, there in ((nothing, 0), (out, 1), (err, 2)):
        os.dup2(here, there)
    os.closerange(3, 4096)
    # Those that are there belong to other files.
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(
        2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
    )
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # As its import does.


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    asked = serve()
    sys.argv = [asked["script"] or "contend", *asked["words"]]
    if asked["script"]:
        runpy.run_path(asked["script"], run_name="__main__")
    else:
        from contend.cli.main import main

        sys.exit(main())
