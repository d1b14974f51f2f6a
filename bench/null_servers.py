"""Null servers of contend-load for the benchmarks: started, their speed known, and gone after."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from contend.load import find_program


class NullServer:
    """`contend-load null-server` on a socket in a folder of its own.

    `served` is what it says at the end: its queries, and how late its answers left.
    """

    def __init__(self, *options: str) -> None:
        self.served: dict[str, Any] = {}
        self._options = options
        self._folder = tempfile.TemporaryDirectory(prefix="contend-bench-")
        self.socket = Path(self._folder.name) / "null.sock"

    def __enter__(self) -> NullServer:
        self._process = subprocess.Popen(
            [str(find_program()), "null-server", f"--socket={self.socket}", *self._options],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            self._end()
            raise SystemExit("the null server did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._end()

    def _end(self) -> None:
        said, _ = self._process.communicate()
        self._folder.cleanup()
        if said:
            self.served = json.loads(said)


def station(servers: int, service_us: float, service: str, seed: int) -> list[str]:
    """The options of a server that serves so many queries at a time, each for a known time."""
    return [f"--servers={servers}", *service_times(service_us, service, seed)]


def service_times(service_us: float, service: str, seed: int) -> list[str]:
    """The options that decide the time of each query; `contend-load arrivals` takes them too."""
    return [f"--service-us={service_us:g}", f"--service={service}", f"--seed={seed}"]
